"""scipy.special on traced arrays: ufuncs by name, and functions that SciPy writes in Python."""
