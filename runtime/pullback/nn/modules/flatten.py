"""Flatten and its inverse under their older path."""

from pullback.runtime.nn.layers.linear import (  # noqa: F401
    Flatten,
    Unflatten,
)
