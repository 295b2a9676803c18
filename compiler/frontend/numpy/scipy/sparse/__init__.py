"""SciPy's sparse matrices with traced entries or operands."""
