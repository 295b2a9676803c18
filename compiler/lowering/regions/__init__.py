"""Graphs with loops and branches as statements: registers, arrays in place, tapes."""
