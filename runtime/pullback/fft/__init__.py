"""Discrete Fourier transforms; see pullback.runtime.tensor.fourier."""

from pullback.runtime.tensor.fourier_functions import *  # noqa: F403
