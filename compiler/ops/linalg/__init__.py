"""Primitives of linear algebra: solutions, factors, eigenvalues; NumPy's LAPACK, or written out for a few rows."""
