"""Exponential distributions under their older path."""

from pullback.runtime.distributions.gammas import Exponential as Exponential
