"""Derivatives along a direction; see pullback.runtime.tensor.transforms.forward."""

from pullback.runtime.tensor.transforms.forward import *  # noqa: F403
