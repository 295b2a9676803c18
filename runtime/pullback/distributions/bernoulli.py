"""Bernoulli distributions under their older path."""

from pullback.runtime.distributions.discrete import Bernoulli as Bernoulli
