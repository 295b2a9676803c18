"""Weights as length times direction, by hooks, under an older path."""

from pullback.runtime.nn.older_norms import WeightNorm as WeightNorm
from pullback.runtime.nn.older_norms import remove_weight_norm as remove_weight_norm
from pullback.runtime.nn.older_norms import weight_norm as weight_norm
