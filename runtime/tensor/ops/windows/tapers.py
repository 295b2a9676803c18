"""Windows by which signals are weighed: Hann's, Hamming's, Blackman's, Kaiser's and others."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .....compiler.ops.scipy.bessel import i0 as bessel
from ...value.dtypes import DType, dtype_of, float32, float64, get_default_dtype
from ..arranging.creation import finished

Shape = Callable[[np.ndarray, float], np.ndarray]
"""(places, distance of the last from the first) -> the window."""


def cosines(a: Sequence[float]) -> Shape:
    """a[0] - a[1] cos(x) + a[2] cos(2 x) - ..., over one period."""

    def shape(k: np.ndarray, span: float) -> np.ndarray:
        turns = 2 * math.pi * k / span
        return sum((-1) ** n * c * np.cos(n * turns) for n, c in enumerate(a))  # type: ignore[return-value]

    return shape


def kaisers(beta: float) -> Shape:
    def shape(k: np.ndarray, span: float) -> np.ndarray:
        inside = np.sqrt(np.maximum(1 - (2 * k / span - 1) ** 2, 0))
        made, whole = (bessel.evaluate([np.asarray(beta * v)], {}, ())[0] for v in (inside, 1.0))
        return made / whole

    return shape


def _made(shape: Shape, count: int, symmetric: bool, kind: DType, requires_grad: bool) -> Any:
    if count < 2:
        return finished(np.ones(count, kind.numpy), requires_grad)
    values = shape(np.arange(count, dtype=np.float64), count - 1.0 if symmetric else float(count))
    return finished(np.asarray(values, kind.numpy), requires_grad)


# ---- torch.signal.windows


def _new(name: str, M: int, shape: Shape, sym: bool, dtype: Any, requires_grad: bool) -> Any:
    if M < 0:
        raise ValueError(f"{name} requires non-negative window length, got M={M}")
    kind = dtype_of(dtype) if dtype is not None else get_default_dtype()
    if kind not in (float32, float64):
        raise ValueError(f"{name} expects float32 or float64 dtypes, got: {kind}")
    return _made(shape, M, sym, kind, requires_grad)


def _plain(name: str, shape: Shape) -> Callable[..., Any]:
    def window(
        M: int, *, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None,
        requires_grad: bool = False,
    ) -> Any:  # fmt: skip
        return _new(name, M, shape, sym, dtype, requires_grad)

    window.__name__ = window.__qualname__ = name
    window.__doc__ = f"The {name.title()} window of M values; periodic instead of symmetric unless `sym`."
    return window


def _half_sine(k: np.ndarray, span: float) -> np.ndarray:
    return np.sin(math.pi * (k + 0.5) / (span + 1))


bartlett = _plain("bartlett", lambda k, span: 1 - np.abs(2 * k / span - 1))
blackman = _plain("blackman", cosines((0.42, 0.5, 0.08)))
cosine = _plain("cosine", _half_sine)
hamming = _plain("hamming", cosines((0.54, 0.46)))
hann = _plain("hann", cosines((0.5, 0.5)))
nuttall = _plain("nuttall", cosines((0.3635819, 0.4891775, 0.1365995, 0.0106411)))


def general_cosine(
    M: int, *, a: Any, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False,
) -> Any:  # fmt: skip
    """The alternating sum of cosines weighed by `a`."""
    try:
        weights = list(a)
    except TypeError:
        raise TypeError("Coefficients must be a list/tuple") from None
    if not weights:
        raise ValueError("Coefficients cannot be empty")
    return _new("general_cosine", M, cosines(weights), sym, dtype, requires_grad)


def general_hamming(
    M: int, *, alpha: float = 0.54, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False,
) -> Any:  # fmt: skip
    """alpha - (1 - alpha) cos(x)."""
    return _new("general_hamming", M, cosines((alpha, 1 - alpha)), sym, dtype, requires_grad)


def gaussian(
    M: int, *, std: float = 1.0, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False,
) -> Any:  # fmt: skip
    """A bell of standard deviation `std` around the middle."""
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")
    return _new("gaussian", M, lambda k, n: np.exp(-(((k - n / 2) / std) ** 2) / 2), sym, dtype, requires_grad)


def exponential(
    M: int, *, center: float | None = None, tau: float = 1.0, sym: bool = True, dtype: Any = None, layout: Any = None,
    device: Any = None, requires_grad: bool = False,
) -> Any:  # fmt: skip
    """A decay by e every `tau` values from the middle, or from `center`."""
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")

    def shape(k: np.ndarray, span: float) -> np.ndarray:
        return np.exp(-np.abs(k - (span / 2 if center is None else center)) / tau)

    return _new("exponential", M, shape, sym, dtype, requires_grad)


def kaiser(
    M: int, *, beta: float = 12.0, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False,
) -> Any:  # fmt: skip
    """Kaiser's window, which is narrower in the middle the larger `beta`."""
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")
    return _new("kaiser", M, kaisers(float(beta)), sym, dtype, requires_grad)


# ---- the older names


def _older(name: str, length: int, shape: Shape, periodic: bool, dtype: Any, requires_grad: bool) -> Any:
    if length < 0:
        raise RuntimeError(f"{name} requires non-negative window_length, got window_length={length}")
    kind = dtype_of(dtype) if dtype is not None else get_default_dtype()
    if not kind.is_floating_point:
        raise RuntimeError(f"{name} expects floating point dtypes, got: {kind}")
    return _made(shape, length, not periodic, kind, requires_grad)


def _older_window(name: str, shape: Shape) -> Callable[..., Any]:
    def window(
        window_length: int, periodic: bool = True, *, dtype: Any = None, layout: Any = None, device: Any = None,
        pin_memory: bool = False, requires_grad: bool = False,
    ) -> Any:  # fmt: skip
        return _older(name, window_length, shape, periodic, dtype, requires_grad)

    window.__name__ = window.__qualname__ = name
    window.__doc__ = f"{name.split('_')[0].title()}'s window, periodic or symmetric."
    return window


hann_window = _older_window("hann_window", cosines((0.5, 0.5)))
blackman_window = _older_window("blackman_window", cosines((0.42, 0.5, 0.08)))
bartlett_window = _older_window("bartlett_window", lambda k, span: 1 - np.abs(2 * k / span - 1))


def hamming_window(
    window_length: int, periodic: bool = True, alpha: float = 0.54, beta: float = 0.46, *, dtype: Any = None,
    layout: Any = None, device: Any = None, pin_memory: bool = False, requires_grad: bool = False,
) -> Any:  # fmt: skip
    """alpha - beta cos(x), periodic or symmetric."""
    return _older("hamming_window", window_length, cosines((alpha, beta)), periodic, dtype, requires_grad)


def kaiser_window(
    window_length: int, periodic: bool = True, beta: float = 12.0, *, dtype: Any = None, layout: Any = None,
    device: Any = None, pin_memory: bool = False, requires_grad: bool = False,
) -> Any:  # fmt: skip
    """Kaiser's window, periodic or symmetric."""
    return _older("kaiser_window", window_length, kaisers(float(beta)), periodic, dtype, requires_grad)


__all__ = [
    "bartlett", "blackman", "cosine", "exponential", "gaussian", "general_cosine", "general_hamming", "hamming", "hann",
    "kaiser", "nuttall",
]  # fmt: skip
