"""Uniform distributions under their older path."""

from pullback.runtime.distributions.continuous import Uniform as Uniform
