"""Derivatives along a direction; see pullback.runtime.tensor.forward."""

from pullback.runtime.tensor.forward import *  # noqa: F403
