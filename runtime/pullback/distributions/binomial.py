"""Binomial distributions under their older path."""

from pullback.runtime.distributions.discrete import Binomial as Binomial
