"""Jacobians, Hessians and their products; see pullback.runtime.tensor.transforms.functional."""

from pullback.runtime.tensor.transforms.functional import *  # noqa: F403
