"""OpenBLAS and LAPACK as NumPy brings them: where they are, and the text of functions that call them."""
