"""The pattern of a graph's Jacobian: which elements of its results depend on which elements of its parameters.

And the entries along its diagonals, where it has few.
"""

from .diagonal import Diagonal, Irregular
from .diagonals import diagonals
from .forms import Dense
from .walk import sparsity

__all__ = ["Dense", "Diagonal", "Irregular", "diagonals", "sparsity"]
