"""NumPy's functions of complex numbers on traced arrays: parts, formulas, folds, order and linear algebra."""
