"""scipy.fft on traced arrays: NumPy's transforms, and those of cosines and sines, of which each is one of NumPy's.

    dct2[k] = 2 sum x[n] cos(pi k (2n + 1) / 2N) = 2 Re(exp(-i pi k / 2N) FFT(x, 2N)[k])

SciPy's names ask backends; the default one's functions are what means something else here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...array import unknown
from ...patched.recoded import recode
from ...promotion import as_operand
from ..complex.complexes import ANY
from .special.functions import as_float

_IGNORED = ("overwrite_x", "workers", "plan")
"""How SciPy computes, which is not what."""


def _as_numpys(name: str) -> Callable[..., Any]:
    def meaning(x: Any, *args: Any, **kwargs: Any) -> Any:
        args = args[:3]  # size, axis and norm; what follows is how it is computed
        return getattr(np.fft, name)(x, *args, **{k: v for k, v in kwargs.items() if k not in _IGNORED})

    return meaning


def _half(n: int, k: Any) -> Any:
    """exp(-i pi k / 2n)."""
    return np.exp(-0.5j * np.pi * k / n)


def _cosines(x: Any, kind: int) -> Any:
    """The transform of cosines along the last axis, without a norm."""
    n = x.shape[-1]
    k = np.arange(n)
    if kind == 1:
        return np.fft.rfft(np.concatenate([x, x[..., -2:0:-1]], axis=-1)).real
    if kind == 2:
        return 2.0 * (_half(n, k) * np.fft.fft(x, 2 * n)[..., :n]).real
    made = np.fft.fft(x * _half(n, k), 2 * n)[..., :n]
    return 2.0 * made.real - x[..., :1] if kind == 3 else 2.0 * (_half(n, k + 0.5) * made).real


def _sines(x: Any, kind: int) -> Any:
    """The transform of sines along the last axis, without a norm."""
    n = x.shape[-1]
    k = np.arange(n)
    if kind == 1:
        zero = 0.0 * x[..., :1]
        odd = np.concatenate([zero, x, zero, -x[..., ::-1]], axis=-1)
        return -np.fft.rfft(odd).imag[..., 1 : n + 1]
    if kind == 2:
        return -2.0 * (_half(n, k + 1) * np.fft.fft(x, 2 * n)[..., 1 : n + 1]).imag
    made = np.fft.fft(x * _half(n, k), 2 * n)[..., :n]
    if kind == 3:
        return -2.0 * (_half(n, 2 * k + 1) * made).imag - (-1.0) ** k * x[..., -1:]
    return -2.0 * (_half(n, k + 0.5) * made).imag


def _scaled(x: Any, kind: int, sines: bool) -> Any:
    """The transform whose matrix is orthogonal."""
    n = x.shape[-1]
    of = _sines if sines else _cosines
    if kind == 1:
        ends = np.ones(n)
        if not sines:
            ends[[0, -1]] = np.sqrt(0.5)
            return of(x / ends, 1) * ends / np.sqrt(2.0 * (n - 1))
        return of(x, 1) / np.sqrt(2.0 * (n + 1))
    if kind == 4:
        return of(x, 4) / np.sqrt(2.0 * n)
    single = np.ones(n)
    single[-1 if sines else 0] = np.sqrt(0.5)
    if kind == 2:
        return of(x, 2) * single / np.sqrt(2.0 * n)
    return of(x / single, 3) / np.sqrt(2.0 * n)


def _transform(name: str, sines: bool, back: bool) -> Callable[..., Any]:
    def meaning(
        x: Any, type: int = 2, n: Any = None, axis: int = -1, norm: Any = None, overwrite_x: bool = False,
        workers: Any = None, orthogonalize: Any = None,
    ) -> Any:  # fmt: skip
        if orthogonalize is not None and orthogonalize != (norm == "ortho"):
            raise unknown(f"scipy.fft.{name}", f" with orthogonalize={orthogonalize}")
        if type not in (1, 2, 3, 4):
            raise ValueError(f"Type must be an integer 1, 2, 3 or 4, got {type!r}")
        kind = {2: 3, 3: 2}.get(type, type) if back else type
        rows = _of_length(np.moveaxis(as_float(as_operand(x)), axis, -1), n)
        if norm == "ortho":
            made = _scaled(rows, kind, sines)
        else:
            made = (_sines if sines else _cosines)(rows, kind)
            size = rows.shape[-1] + (0 if type != 1 else 1 if sines else -1)
            made = made / (2.0 * size) if back == (norm in (None, "backward")) else made
        return np.moveaxis(made, -1, axis)

    return meaning


def _of_length(x: Any, n: Any) -> Any:
    if n is None or n == x.shape[-1]:
        return x
    return x[..., :n] if n < x.shape[-1] else np.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, n - x.shape[-1])])


def _along_axes(one: Callable[..., Any]) -> Callable[..., Any]:
    def meaning(
        x: Any, type: int = 2, s: Any = None, axes: Any = None, norm: Any = None, *args: Any, **kwargs: Any
    ) -> Any:
        x = as_operand(x)
        chosen = np.atleast_1d(axes).tolist() if axes is not None else list(range(x.ndim))[-len(s) if s else None :]
        for axis, n in zip(chosen, s or [None] * len(chosen), strict=True):
            x = one(x, type, n, axis, norm, *args, **kwargs)
        return x

    return meaning


_ONES = {
    name: _transform(name, "s" in name, name.startswith("i")) for name in ("dct", "idct", "dst", "idst")
}  # fmt: skip
recode("scipy.fft._realtransforms_backend", {**_ONES, **{f"{name}n": _along_axes(one) for name, one in _ONES.items()}})
_NUMPYS = {
    name: _as_numpys(name) for name in (
        "fft", "ifft", "rfft", "irfft", "hfft", "ihfft", "fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn",
        "irfftn",
    )
}  # fmt: skip
_SHIFTS = {name: getattr(np.fft, name) for name in ("fftshift", "ifftshift")}
ANY.update(_NUMPYS.values(), _SHIFTS.values())
recode("scipy.fft._basic_backend", _NUMPYS)
recode("scipy.fft._helper", _SHIFTS)
