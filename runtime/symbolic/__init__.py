"""SymPy's face: formulas as compiled functions, and compiled functions read back as formulas."""
