"""Dirichlet distributions under their older path."""

from pullback.runtime.distributions.gammas import Dirichlet as Dirichlet
