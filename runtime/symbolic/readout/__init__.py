"""Graphs as SymPy's expressions."""
