"""Discrete Fourier transforms; see pullback.runtime.tensor.ops.windows.fourier."""

from pullback import _fft as _loaded  # noqa: F401
from pullback.runtime.tensor.face.fourier_functions import *  # noqa: F403
