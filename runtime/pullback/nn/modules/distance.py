"""Distances under their older path."""

from pullback.runtime.nn.distances import (  # noqa: F401
    CosineSimilarity,
    PairwiseDistance,
)
