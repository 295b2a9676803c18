"""Windows and their sums under their older path."""

from pullback.runtime.nn.layers.pictures import Fold as Fold
from pullback.runtime.nn.layers.pictures import Unfold as Unfold
