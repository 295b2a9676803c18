"""Laplace distributions under their older path."""

from pullback.runtime.distributions.continuous import Laplace as Laplace
