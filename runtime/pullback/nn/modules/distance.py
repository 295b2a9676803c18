"""Distances under their older path."""

from pullback.runtime.nn.layers.distances import (  # noqa: F401
    CosineSimilarity,
    PairwiseDistance,
)
