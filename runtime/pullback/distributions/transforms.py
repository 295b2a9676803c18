"""Invertible functions of values; see pullback.runtime.distributions.transforms."""

from pullback.runtime.distributions.transform import _InverseTransform as _InverseTransform
from pullback.runtime.distributions.transforms import *  # noqa: F403
from pullback.runtime.distributions.transforms import __all__ as __all__
