"""SymPy's formulas as operations of the function that is being traced."""
