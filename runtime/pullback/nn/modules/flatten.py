"""Flatten and its inverse under their older path."""

from pullback.runtime.nn.layers import (  # noqa: F401
    Flatten,
    Unflatten,
)
