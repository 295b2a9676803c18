"""Weights as length times direction, and weights divided by their largest singular value."""

from pullback.runtime.nn.reparametrized import *  # noqa: F403
