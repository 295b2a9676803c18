"""Mixtures under their older path."""

from pullback.runtime.distributions.composed import MixtureSameFamily as MixtureSameFamily
