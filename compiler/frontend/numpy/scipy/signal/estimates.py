"""scipy.signal's spectral estimates and median filters of traced signals: welch, periodogram, medfilt, medfilt2d.

A signal is cut into segments that overlap, each is freed of its mean and weighed by a window, and the squares of its
Fourier transform are averaged (P. Welch, IEEE Transactions on Audio and Electroacoustics 15, 1967).
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ....array import unknown
from ....patched.recoded import recode
from ....promotion import as_operand
from ..ndimage.images import median_filter
from ..special.functions import as_float, given


def weights_of(window: Any, n: int | None, most: int) -> Any:
    """A window of n elements, or as many as it has itself."""
    from scipy.signal import get_window

    if isinstance(window, (str, tuple)):
        size = min(256, most) if n is None else n
        if size > most:
            text = f"nperseg = {size} is greater than input length  = {most}, using nperseg = {most}"
            warnings.warn(text, stacklevel=3)
        return np.asarray(get_window(window, min(size, most)))
    made = np.asarray(given("scipy.signal.welch", "window", window), float)
    if made.ndim != 1 or (n is not None and n != made.shape[0]) or made.shape[0] > most:
        raise ValueError("window must be 1-D, as long as nperseg, and not longer than input signal")
    return made


def welch(
    x: Any, fs: Any = 1.0, window: Any = "hann", nperseg: Any = None, noverlap: Any = None, nfft: Any = None,
    detrend: Any = "constant", return_onesided: bool = True, scaling: str = "density", axis: int = -1,
    average: str = "mean",
) -> Any:  # fmt: skip
    x = as_operand(x)
    if getattr(x, "dtype", np.dtype(float)).kind == "c" or average != "mean" or detrend not in ("constant", False):
        raise unknown("scipy.signal.welch", " of complex signals, with medians, or with trends that are not constant")
    if scaling not in ("density", "spectrum"):
        raise ValueError(f"Unknown scaling: {scaling!r}")
    rows = np.moveaxis(as_float(x), axis, -1)
    n, fs = rows.shape[-1], given("scipy.signal.welch", "fs", fs)
    weights = weights_of(window, nperseg, n)
    size = weights.shape[0]
    overlap = size // 2 if noverlap is None else int(noverlap)
    length = size if nfft is None else int(nfft)
    if overlap >= size or length < size:
        raise ValueError("noverlap must be less than nperseg, and nfft not less")
    starts = np.arange((n - overlap) // (size - overlap)) * (size - overlap)
    parts = rows[..., starts[:, None] + np.arange(size)]
    parts = parts - np.mean(parts, axis=-1, keepdims=True) if detrend else parts
    scale = 1.0 / (fs * np.sum(weights**2)) if scaling == "density" else 1.0 / np.sum(weights) ** 2
    transform, places = (np.fft.rfft, np.fft.rfftfreq) if return_onesided else (np.fft.fft, np.fft.fftfreq)
    made = transform(parts * weights, length)
    power = (np.real(made) ** 2 + np.imag(made) ** 2) * scale
    if return_onesided:
        double = np.full(power.shape[-1], 2.0)
        double[0] = 1.0
        if length % 2 == 0:
            double[-1] = 1.0
        power = power * double
    return places(length, 1.0 / fs), np.moveaxis(np.mean(power, axis=-2), -1, axis)


def periodogram(
    x: Any, fs: Any = 1.0, window: Any = "boxcar", nfft: Any = None, detrend: Any = "constant",
    return_onesided: bool = True, scaling: str = "density", axis: int = -1,
) -> Any:  # fmt: skip
    size = np.shape(as_operand(x))[axis]
    return welch(x, fs, window, size, 0, nfft, detrend, return_onesided, scaling, axis)


def medfilt(volume: Any, kernel_size: Any = None) -> Any:
    x = as_float(as_operand(volume))
    size = 3 if kernel_size is None else kernel_size
    sizes = tuple(np.broadcast_to(np.asarray(size, int), (x.ndim,)).tolist())
    if any(n % 2 == 0 for n in sizes):
        raise ValueError("Each element of kernel_size should be odd.")
    return median_filter(x, sizes, mode="constant", cval=0.0)


recode("scipy.signal", {"welch": welch, "periodogram": periodogram, "medfilt": medfilt, "medfilt2d": medfilt})

__all__ = ["weights_of", "welch"]
