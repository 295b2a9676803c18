"""Transformed distributions under their older path."""

from pullback.runtime.distributions.transformed import TransformedDistribution as TransformedDistribution
