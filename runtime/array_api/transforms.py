"""Discrete Fourier transforms by the standard's signatures: the extension `fft`."""

from __future__ import annotations

from typing import Any

from ..tensor.face import fourier_functions as F


def _along(name: str) -> Any:
    function = getattr(F, name)

    def call(x: Any, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Any:
        return function(x, n, axis, norm)

    return _named(call, name, function)


def _over(name: str) -> Any:
    function = getattr(F, name)

    def call(x: Any, /, *, s: Any = None, axes: Any = None, norm: str = "backward") -> Any:
        return function(x, s, axes, norm)

    return _named(call, name, function)


def _named(call: Any, name: str, function: Any) -> Any:
    call.__name__ = call.__qualname__ = name
    call.__doc__ = function.__doc__
    return call


fft, ifft, rfft, irfft, hfft, ihfft = map(_along, ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"))
fftn, ifftn, rfftn, irfftn = map(_over, ("fftn", "ifftn", "rfftn", "irfftn"))


def fftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> Any:
    """The frequencies of a transform of n samples at distances d."""
    return F.fftfreq(n, d, dtype=dtype)


def rfftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> Any:
    """The frequencies of a transform of n real samples at distances d."""
    return F.rfftfreq(n, d, dtype=dtype)


def fftshift(x: Any, /, *, axes: Any = None) -> Any:
    """The frequency zero in the middle."""
    return F.fftshift(x, axes)


def ifftshift(x: Any, /, *, axes: Any = None) -> Any:
    """The frequency zero in front again."""
    return F.ifftshift(x, axes)


__all__ = [
    "fft", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifftn", "ifftshift", "ihfft", "irfft", "irfftn", "rfft",
    "rfftfreq", "rfftn",
]  # fmt: skip
