"""Fourier transforms of short pieces of signals, and signals back from them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ...value.cells import cell_of
from ...value.core import Tensor, wrap
from ...value.dtypes import ALL
from ..arranging.creation import ones, zeros
from ..arranging.pieces import cat, flip
from ..arranging.scattering import index_add
from ..arranging.shapes import narrow, reshape, shape_of, squeeze, transpose, unsqueeze
from ..elementwise.arithmetic import div, mul
from ..elementwise.complexes import view_as_real
from .fourier import fft, ifft, irfft, rfft


def _window(name: str, window: Any, win_length: int, n_fft: int, like: Any) -> Any:
    """The window, in the middle of n_fft values that are zero."""
    if window is None:
        window = ones(win_length, dtype=ALL[like._kind_of().dtype].to_real())
    if shape_of(window) != (win_length,):
        raise RuntimeError(
            f"{name}: expected a 1D window of size equal to win_length={win_length}, got size {list(shape_of(window))}"
        )
    left = (n_fft - win_length) // 2
    kind = ALL[window._kind_of().dtype]
    sides = [zeros(n, dtype=kind) for n in (left, n_fft - win_length - left)]
    return window if win_length == n_fft else cat([sides[0], window, sides[1]])


def _lengths(name: str, n_fft: int, hop_length: int | None, win_length: int | None) -> tuple[int, int]:
    hop = n_fft // 4 if hop_length is None else hop_length
    width = n_fft if win_length is None else win_length
    if n_fft <= 0:
        raise RuntimeError(f"{name}: expected 0 < n_fft, got n_fft={n_fft}")
    if hop <= 0:
        raise RuntimeError(f"{name}: expected hop_length > 0, got hop_length={hop}")
    if not 0 < width <= n_fft:
        raise RuntimeError(f"{name}: expected 0 < win_length <= n_fft, got win_length={width}")
    return hop, width


def _padded(x: Any, by: int, mode: str) -> Any:
    """The rows with what lies at their ends going on, mirrored, repeated, around again or zero."""
    n = shape_of(x)[-1]
    if mode == "reflect" and by >= n:
        raise RuntimeError(f"stft: a signal of {n} cannot be padded with {by} by reflection; use a smaller n_fft")
    if mode == "reflect":
        ends = flip(narrow(x, -1, 1, by), -1), flip(narrow(x, -1, n - 1 - by, by), -1)
    elif mode == "circular":
        ends = narrow(x, -1, n - by, by), narrow(x, -1, 0, by)
    elif mode == "replicate":
        ends = tuple(narrow(x, -1, k, 1).expand(*shape_of(x)[:-1], by) for k in (0, n - 1))
    elif mode == "constant":
        ends = (mul(narrow(x, -1, 0, 1).expand(*shape_of(x)[:-1], by), 0),) * 2
    else:
        raise NotImplementedError(f"stft: pad_mode is 'reflect', 'constant', 'replicate' or 'circular', got {mode!r}")
    return cat([ends[0], x, ends[1]], -1) if by else x


def stft(
    input: Tensor, n_fft: int, hop_length: int | None = None, win_length: int | None = None, window: Any = None,
    center: bool = True, pad_mode: str = "reflect", normalized: bool = False, onesided: bool | None = None,
    return_complex: bool | None = None, align_to_window: bool | None = None,
) -> Tensor:  # fmt: skip
    """The transforms of pieces of n_fft values, `hop_length` apart: (frequencies, pieces), batches first.

    With `center` the k-th piece has the value number k * hop_length in its middle.
    """
    kind = input._kind_of()
    if not kind.is_float or len(kind.shape) not in (1, 2):
        raise RuntimeError(f"stft: expected a 1D or 2D tensor of floats or complex numbers, got {kind}")
    hop, width = _lengths("stft", n_fft, hop_length, win_length)
    is_complex = kind.is_complex or (window is not None and window._kind_of().is_complex)
    if return_complex is None:
        if not is_complex:
            raise RuntimeError("stft requires the return_complex parameter be given for real inputs")
        return_complex = True
    weights = _window("stft", window, width, n_fft, input)
    x = input if len(kind.shape) == 2 else unsqueeze(input, 0)
    x = _padded(x, n_fft // 2, pad_mode) if center else x
    if shape_of(x)[-1] < n_fft:
        raise RuntimeError(f"stft: expected 0 < n_fft <= {shape_of(x)[-1]}, got n_fft={n_fft}")
    pieces = mul(x.unfold(-1, n_fft, hop), weights)
    half = not is_complex if onesided is None else onesided
    made = (rfft if half else fft)(pieces, norm="ortho" if normalized else None)
    made = transpose(made, 1, 2)
    made = made if len(kind.shape) == 2 else squeeze(made, 0)
    return made if return_complex else view_as_real(made)


def istft(
    input: Tensor, n_fft: int, hop_length: int | None = None, win_length: int | None = None, window: Any = None,
    center: bool = True, normalized: bool = False, onesided: bool | None = None, length: int | None = None,
    return_complex: bool = False,
) -> Tensor:  # fmt: skip
    """The signal whose `stft` comes nearest, by the pieces added up and divided by what their windows add up to."""
    kind = input._kind_of()
    if not kind.is_complex:
        raise RuntimeError(f"istft requires a complex tensor, as stft gives with return_complex=True, got {kind}")
    if len(kind.shape) not in (2, 3) or not kind.size:
        raise RuntimeError(f"istft: expected a tensor with 2 or 3 dimensions that is not empty, got {list(kind.shape)}")
    hop, width = _lengths("istft", n_fft, hop_length, win_length)
    z = input if len(kind.shape) == 3 else unsqueeze(input, 0)
    half = shape_of(z)[1] != n_fft if onesided is None else onesided
    if shape_of(z)[1] != (n_fft // 2 + 1 if half else n_fft):
        raise RuntimeError(f"istft: expected the frequency dimension to fit n_fft={n_fft}, got {shape_of(z)[1]}")
    weights = _window("istft", window, width, n_fft, input)
    norm = "ortho" if normalized else None
    spectra = transpose(z, 1, 2)
    if not half and not return_complex:  # as of a real signal, of which the first half of the spectrum tells all
        spectra, half = narrow(spectra, -1, 0, n_fft // 2 + 1), True
    pieces = irfft(spectra, n_fft, norm=norm) if half else ifft(spectra, norm=norm)
    count = shape_of(pieces)[1]
    whole = n_fft + hop * (count - 1)
    signal = _overlapped(mul(pieces, weights), whole, hop)
    envelope = _overlapped(mul(weights, weights).expand(1, count, n_fft), whole, hop)
    start = n_fft // 2 if center else 0
    end = start + length if length is not None else whole - (n_fft // 2 if center else 0)
    have = min(end, whole)
    signal, envelope = (narrow(v, -1, start, have - start) for v in (signal, envelope))
    if float(envelope.detach().abs().amin()) < 1e-11:
        raise RuntimeError("istft: at some place no window is above zero, so the signal there is unknown")
    made = div(signal, envelope)
    if have < end:
        warnings.warn(f"istft: the signal has {have - start} of {length} values, the others are zeros", stacklevel=2)
        made = cat([made, mul(narrow(made, -1, 0, 1).expand(shape_of(made)[0], end - have), 0)], -1)
    return made if len(kind.shape) == 3 else squeeze(made, 0)


def _overlapped(pieces: Any, whole: int, hop: int) -> Any:
    """Pieces (batch, count, size) added up at places `hop` apart."""
    batch, count, size = shape_of(pieces)
    places = (np.arange(count)[:, None] * hop + np.arange(size)).reshape(-1)
    ground = zeros(batch, whole, dtype=ALL[pieces._kind_of().dtype])
    return index_add(ground, 1, wrap(cell_of(places)), reshape(pieces, batch, count * size))


__all__ = ["istft", "stft"]
