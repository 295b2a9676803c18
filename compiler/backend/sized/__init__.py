"""Kernels that serve many sizes: their code is told numbers, and what was learned of one size serves others."""
