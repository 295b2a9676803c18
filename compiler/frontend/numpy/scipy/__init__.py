"""SciPy's functions on traced arrays, by SciPy's names: special, linear algebra, distributions."""
