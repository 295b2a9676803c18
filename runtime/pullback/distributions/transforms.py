"""Invertible functions of values; see pullback.runtime.distributions.transforms."""

from pullback.runtime.distributions.transforms import *  # noqa: F403
