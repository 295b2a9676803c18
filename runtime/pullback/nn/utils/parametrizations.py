"""Weights as length times direction, divided by their largest singular value, or orthogonal."""

from pullback.runtime.nn.orthogonal import *  # noqa: F403
from pullback.runtime.nn.reparametrized import *  # noqa: F403
