"""Discrete Fourier transforms; see pullback.runtime.tensor.fourier."""

from pullback import _fft as _loaded  # noqa: F401
from pullback.runtime.tensor.fourier_functions import *  # noqa: F403
