"""Poisson distributions under their older path."""

from pullback.runtime.distributions.discrete import Poisson as Poisson
