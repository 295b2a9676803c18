"""Distributions of classes under their older path."""

from pullback.runtime.distributions.classes import Categorical as Categorical
