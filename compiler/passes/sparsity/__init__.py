"""The pattern of a graph's Jacobian: which elements of its results depend on which elements of its parameters."""

from .forms import Dense
from .walk import sparsity

__all__ = ["Dense", "sparsity"]
