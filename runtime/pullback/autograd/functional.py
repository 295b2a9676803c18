"""Jacobians, Hessians and their products; see pullback.runtime.tensor.functional."""

from pullback.runtime.tensor.functional import *  # noqa: F403
