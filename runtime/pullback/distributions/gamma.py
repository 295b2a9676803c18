"""Gamma distributions under their older path."""

from pullback.runtime.distributions.gammas import Gamma as Gamma
