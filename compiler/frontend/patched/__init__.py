"""Functions of Python, NumPy and SciPy that ask no protocol, and are replaced while a function is traced."""
