"""Fourier transforms by the array API standard; see pullback.runtime.array_api.transforms."""

from pullback import _array_api as _loaded  # noqa: F401
from pullback.runtime.array_api.transforms import *  # noqa: F403
