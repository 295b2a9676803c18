"""Special functions by SciPy's names: primitives with formulas of their own, and calls of SciPy's with their slopes."""
