"""scipy.signal's responses, resampling and short transforms of traced signals and coefficients.

    w, h = signal.freqz(b, a)       f, t, z = signal.stft(x, nperseg=64)        signal.lsim(system, u, t)
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ....array import Array, unknown
from ....patched.recoded import recode
from ....promotion import as_operand
from ...complex.complexes import ANY
from ..sparse.entries import summed
from ..special.functions import as_float, given
from .estimates import weights_of
from .filters import ENDS, convolve, lfilter, lfilter_zi, sosfilt

# ---- frequency responses


def _places(name: str, worN: Any, whole: bool, fs: Any, include_nyquist: bool = False) -> tuple[Any, Any]:
    """The frequencies as they are returned, and in radians per sample."""
    worN, fs = given(name, "worN", worN), given(name, "fs", fs)
    worN = 512 if worN is None else worN
    end = fs if whole else fs / 2
    if np.ndim(worN) == 0:
        w = np.linspace(0, end, int(worN), endpoint=bool(include_nyquist and not whole))
    else:
        w = np.asarray(worN, float)
    return w, 2 * math.pi * w / fs


def _at(coefficients: Any, w: Any) -> Any:
    """b0 + b1 z^-1 + ... on the circle."""
    b = np.atleast_1d(as_operand(coefficients))
    return np.exp(-1j * w[:, None] * np.arange(b.shape[0])) @ b


def freqz(
    b: Any, a: Any = 1, worN: Any = 512, whole: bool = False, plot: Any = None, fs: Any = 2 * math.pi,
    include_nyquist: bool = False,
) -> Any:  # fmt: skip
    if plot is not None or np.ndim(as_operand(b)) > 1 or np.ndim(as_operand(a)) > 1:
        raise unknown("scipy.signal.freqz", " with plot, or of several filters at a time,")
    shown, w = _places("scipy.signal.freqz", worN, whole, fs, include_nyquist)
    return shown, _at(b, w) / _at(a, w)


def sosfreqz(sos: Any, worN: Any = 512, whole: bool = False, fs: Any = 2 * math.pi) -> Any:
    sections = as_operand(sos)
    shown, w = _places("scipy.signal.sosfreqz", worN, whole, fs)
    made = 1.0
    for k in range(sections.shape[0]):
        made = made * (_at(sections[k, :3], w) / _at(sections[k, 3:], w))
    return shown, made


def freqs(b: Any, a: Any, worN: Any = 200, plot: Any = None) -> Any:
    if plot is not None or np.ndim(worN) == 0:
        raise unknown("scipy.signal.freqs", " that chooses its frequencies (give worN an array of them),")
    w = np.asarray(given("scipy.signal.freqs", "worN", worN), float)
    powers = lambda c: (1j * w[:, None]) ** np.arange(c.shape[0] - 1, -1, -1) @ c  # noqa: E731
    b, a = (np.atleast_1d(as_operand(c)) for c in (b, a))
    return w, powers(b) / powers(a)


# ---- resampling


def resample(x: Any, num: int, t: Any = None, axis: int = 0, window: Any = None, domain: str = "time") -> Any:
    """By the Fourier transform, cut or filled up with zeros; what lies at the edge is shared by both sides."""
    x = as_operand(x)
    if window is not None or t is not None or domain != "time" or x.dtype.kind == "c":
        raise unknown("scipy.signal.resample", " of complex signals, with t, window or domain='freq',")
    rows = np.moveaxis(as_float(x), axis, -1)
    n, num = rows.shape[-1], int(given("scipy.signal.resample", "num", num))
    least = min(n, num)
    made = np.fft.rfft(rows)[..., : least // 2 + 1]
    if least % 2 == 0 and n != num:
        factor = np.ones(least // 2 + 1)
        factor[-1] = 2.0 if num < n else 0.5
        made = made * factor.astype(rows.dtype)
    return np.moveaxis(np.fft.irfft(made, num) * (num / n), -1, axis)


def upfirdn(h: Any, x: Any, up: int = 1, down: int = 1, axis: int = -1, mode: str = "constant", cval: Any = 0) -> Any:
    if mode != "constant" or cval != 0:
        raise unknown("scipy.signal.upfirdn", f" with mode={mode!r}")
    rows, h = np.moveaxis(as_float(as_operand(x)), axis, -1), as_float(as_operand(h))
    n = rows.shape[-1]
    spread = np.concatenate([rows[..., None], np.zeros((*rows.shape, up - 1), rows.dtype)], axis=-1)
    flat = np.reshape(spread, (*rows.shape[:-1], n * up))[..., : (n - 1) * up + 1]
    lines = np.reshape(flat, (-1, flat.shape[-1]))
    made = np.stack([convolve(lines[k], h) for k in range(lines.shape[0])])[:, ::down]
    return np.moveaxis(np.reshape(made, (*rows.shape[:-1], made.shape[-1])), -1, axis)


def resample_poly(
    x: Any, up: int, down: int, axis: int = 0, window: Any = ("kaiser", 5.0), padtype: str = "constant",
    cval: Any = None,
) -> Any:  # fmt: skip
    from scipy.signal import firwin

    if padtype != "constant" or cval is not None:
        raise unknown("scipy.signal.resample_poly", f" with padtype={padtype!r}")
    shared = math.gcd(up, down)
    up, down = up // shared, down // shared
    n = np.shape(as_operand(x))[axis]
    if up == down == 1:
        return as_float(as_operand(x))
    length = n * up // down + bool(n * up % down)
    if isinstance(window, (str, tuple)):
        half = 10 * max(up, down)
        shape: Any = window
        h: Any = firwin(2 * half + 1, 1.0 / max(up, down), window=shape)
    else:
        h = as_float(as_operand(window))
        half = (h.shape[0] - 1) // 2
    before = down - half % down
    remove = (before + half) // down
    after = 0
    while _length(h.shape[0] + before + after, n, up, down) < length + remove:
        after += 1
    h = np.concatenate([np.zeros(before), h * up, np.zeros(after)]).astype(as_float(as_operand(x)).dtype)
    made = np.moveaxis(upfirdn(h, x, up, down, axis), axis, -1)
    return np.moveaxis(made[..., remove : remove + length], -1, axis)


def _length(taps: int, n: int, up: int, down: int) -> int:
    return ((n - 1) * up + taps - 1) // down + 1


def decimate(x: Any, q: int, n: Any = None, ftype: str = "iir", axis: int = -1, zero_phase: bool = True) -> Any:
    from scipy.signal import cheby1, firwin

    rows = np.moveaxis(as_float(as_operand(x)), axis, -1)
    if ftype == "iir":
        made = sosfiltfilt(cheby1(8 if n is None else n, 0.05, 0.8 / q, output="sos"), rows)
        made = made if zero_phase else sosfilt(cheby1(8 if n is None else n, 0.05, 0.8 / q, output="sos"), rows)
        return np.moveaxis(made[..., ::q], -1, axis)
    if ftype != "fir" or not zero_phase:
        raise unknown("scipy.signal.decimate", f" with ftype={ftype!r} and zero_phase={zero_phase}")
    h = firwin((20 * q if n is None else n) + 1, 1.0 / q, window="hamming")
    return np.moveaxis(resample_poly(rows, 1, q, -1, window=h), -1, axis)


# ---- forward and back


def sosfiltfilt(sos: Any, x: Any, axis: int = -1, padtype: Any = "odd", padlen: Any = None) -> Any:
    if padtype != "odd":
        raise unknown("scipy.signal.sosfiltfilt", f" with padtype={padtype!r}")
    sections, rows = as_float(as_operand(sos)), np.moveaxis(as_float(as_operand(x)), axis, -1)
    count = sections.shape[0]
    if padlen is None:
        numbers = np.zeros((count, 6)) + 1.0 if isinstance(sections, Array) else sections
        taps = 2 * count + 1 - min(np.sum(numbers[:, 2] == 0), np.sum(numbers[:, 5] == 0))
        padlen = 3 * int(taps)
    made = np.moveaxis(np.concatenate(ENDS["odd"](np.moveaxis(rows, -1, 0), padlen)), 0, -1)
    for _ in range(2):
        made = _started(sections, made)[..., ::-1]
    return np.moveaxis(made[..., padlen : made.shape[-1] - padlen], -1, axis)


def _started(sections: Any, rows: Any) -> Any:
    """Each section begins as if its first input had been there always."""
    gain, first = 1.0, rows[..., :1]
    for k in range(sections.shape[0]):
        b, a = sections[k, :3], sections[k, 3:]
        start = lfilter_zi(b, a) * gain
        gain = gain * np.sum(b) / np.sum(a)
        rows = lfilter(b, a, rows, zi=start * first)[0]
    return rows


# ---- short transforms


class _Frames(NamedTuple):
    """How a signal is cut."""

    size: int
    step: int
    length: int
    window: Any
    fs: Any


def _frames(name: str, window: Any, nperseg: Any, noverlap: Any, nfft: Any, most: int, fs: Any) -> _Frames:
    weights = weights_of(window, nperseg, most)
    size = weights.shape[0]
    overlap = size // 2 if noverlap is None else int(noverlap)
    if overlap >= size:
        raise ValueError("noverlap must be less than nperseg.")
    return _Frames(size, size - overlap, size if nfft is None else int(nfft), weights, given(name, "fs", fs))


def _transformed(rows: Any, cut: _Frames, one_sided: bool, detrend: bool) -> Any:
    """The transforms of the windowed parts, of which there is one in each row."""
    starts = np.arange((rows.shape[-1] - cut.size) // cut.step + 1) * cut.step
    parts = rows[..., starts[:, None] + np.arange(cut.size)]
    parts = parts - np.mean(parts, axis=-1, keepdims=True) if detrend else parts
    return (np.fft.rfft if one_sided else np.fft.fft)(parts * cut.window, cut.length), starts


def stft(
    x: Any, fs: Any = 1.0, window: Any = "hann", nperseg: Any = 256, noverlap: Any = None, nfft: Any = None,
    detrend: Any = False, return_onesided: bool = True, boundary: Any = "zeros", padded: bool = True, axis: int = -1,
    scaling: str = "spectrum",
) -> Any:  # fmt: skip
    name = "scipy.signal.stft"
    if boundary not in ("zeros", None) or detrend not in (False, "constant") or scaling not in ("spectrum", "psd"):
        raise unknown(name, f" with boundary={boundary!r}, detrend={detrend!r}, scaling={scaling!r}")
    rows = np.moveaxis(as_float(as_operand(x)), axis, -1)
    cut = _frames(name, window, nperseg, noverlap, nfft, rows.shape[-1], fs)
    side = np.zeros((*rows.shape[:-1], cut.size // 2 if boundary else 0))
    rows = np.concatenate([side, rows, side], axis=-1)
    missing = -(rows.shape[-1] - cut.size) % cut.step % cut.size if padded else 0
    rows = np.concatenate([rows, np.zeros((*rows.shape[:-1], missing))], axis=-1)
    made, starts = _transformed(rows, cut, return_onesided, bool(detrend))
    whole = np.sum(cut.window) if scaling == "spectrum" else math.sqrt(cut.fs * np.sum(cut.window**2))
    times = (starts + cut.size / 2) / cut.fs - (cut.size / 2 / cut.fs if boundary else 0.0)
    places = (np.fft.rfftfreq if return_onesided else np.fft.fftfreq)(cut.length, 1 / cut.fs)
    turned = np.swapaxes(made / whole, -1, -2)
    return places, times, turned if axis == -1 else np.moveaxis(turned, -2, axis)


def istft(
    Zxx: Any, fs: Any = 1.0, window: Any = "hann", nperseg: Any = None, noverlap: Any = None, nfft: Any = None,
    input_onesided: bool = True, boundary: bool = True, time_axis: int = -1, freq_axis: int = -2,
    scaling: str = "spectrum",
) -> Any:  # fmt: skip
    """The parts weighed once more and added where they were, over the sum of the squared weights."""
    spectra = np.moveaxis(as_operand(Zxx), (time_axis, freq_axis), (-2, -1))
    usual = 2 * (spectra.shape[-1] - 1) if input_onesided else spectra.shape[-1]
    size = usual if nperseg is None else int(nperseg)
    length = (size if input_onesided and size == usual + 1 else usual) if nfft is None else int(nfft)
    if length < size or scaling not in ("spectrum", "psd"):
        raise ValueError(f"nfft must be greater than or equal to nperseg, and scaling known; got {length}, {scaling!r}")
    cut = _frames("scipy.signal.istft", window, size, noverlap, length, size, fs)
    whole = np.sum(cut.window) if scaling == "spectrum" else math.sqrt(cut.fs * np.sum(cut.window**2))
    parts = (np.fft.irfft if input_onesided else np.fft.ifft)(spectra, length)[..., :size] * (cut.window * whole)
    count = parts.shape[-2]
    places = np.arange(count)[:, None] * cut.step + np.arange(size)
    total = size + (count - 1) * cut.step
    norm = np.bincount(places.reshape(-1), np.tile(cut.window**2, count), total)
    first = np.moveaxis(np.reshape(parts, (*parts.shape[:-2], -1)), -1, 0)
    made = np.moveaxis(summed(first, places.reshape(-1), total), 0, -1) / np.where(norm > 1e-10, norm, 1.0)
    made = made[..., size // 2 : total - size // 2] if boundary else made
    return np.arange(made.shape[0]) / float(cut.fs), made


def spectrogram(
    x: Any, fs: Any = 1.0, window: Any = ("tukey", 0.25), nperseg: Any = None, noverlap: Any = None, nfft: Any = None,
    detrend: Any = "constant", return_onesided: bool = True, scaling: str = "density", axis: int = -1,
    mode: str = "psd",
) -> Any:  # fmt: skip
    name = "scipy.signal.spectrogram"
    rows = as_float(as_operand(x))
    if mode != "psd" or axis not in (-1, rows.ndim - 1) or detrend not in (False, "constant"):
        raise unknown(name, f" with mode={mode!r}, axis={axis} and detrend={detrend!r}")
    weights = weights_of(window, nperseg, rows.shape[-1])
    noverlap = weights.shape[0] // 8 if noverlap is None else noverlap
    cut = _frames(name, weights, None, noverlap, nfft, rows.shape[-1], fs)
    made, starts = _transformed(rows, cut, return_onesided, bool(detrend))
    power = _power(made, made, cut, return_onesided, scaling)
    places = (np.fft.rfftfreq if return_onesided else np.fft.fftfreq)(cut.length, 1 / cut.fs)
    return places, (starts + cut.size / 2) / cut.fs, np.swapaxes(np.real(power), -1, -2)


def _power(x: Any, y: Any, cut: _Frames, one_sided: bool, scaling: str) -> Any:
    density = cut.fs * np.sum(cut.window**2)
    made = np.conj(x) * y / (density if scaling == "density" else np.sum(cut.window) ** 2)
    if not one_sided:
        return made
    double = np.full(made.shape[-1], 2.0)
    double[0] = 1.0
    if cut.length % 2 == 0:
        double[-1] = 1.0
    return made * double


def csd(
    x: Any, y: Any, fs: Any = 1.0, window: Any = "hann", nperseg: Any = None, noverlap: Any = None, nfft: Any = None,
    detrend: Any = "constant", return_onesided: bool = True, scaling: str = "density", axis: int = -1,
    average: str = "mean",
) -> Any:  # fmt: skip
    if average != "mean" or detrend not in (False, "constant") or axis != -1:
        raise unknown("scipy.signal.csd", f" with average={average!r}, detrend={detrend!r} and axis={axis}")
    x, y = as_float(as_operand(x)), as_float(as_operand(y))
    if x.shape[-1] != y.shape[-1]:
        raise unknown("scipy.signal.csd", " of signals of two lengths")
    cut = _frames("scipy.signal.csd", window, nperseg, noverlap, nfft, x.shape[-1], fs)
    (u, _), (v, _) = (_transformed(z, cut, return_onesided, bool(detrend)) for z in (x, y))
    places = (np.fft.rfftfreq if return_onesided else np.fft.fftfreq)(cut.length, 1 / cut.fs)
    return places, np.mean(_power(u, v, cut, return_onesided, scaling), axis=-2)


def coherence(
    x: Any, y: Any, fs: Any = 1.0, window: Any = "hann", nperseg: Any = None, noverlap: Any = None, nfft: Any = None,
    detrend: Any = "constant", axis: int = -1,
) -> Any:  # fmt: skip
    more = (fs, window, nperseg, noverlap, nfft, detrend, True, "density", axis)
    places, cross = csd(x, y, *more)
    own, other = (np.real(csd(z, z, *more)[1]) for z in (x, y))
    return places, (np.real(cross) ** 2 + np.imag(cross) ** 2) / own / other


recode("scipy.signal", {
    "freqz": freqz, "sosfreqz": sosfreqz, "freqz_sos": sosfreqz, "freqs": freqs, "resample": resample,
    "upfirdn": upfirdn, "resample_poly": resample_poly, "decimate": decimate, "sosfiltfilt": sosfiltfilt,
    "stft": stft, "istft": istft, "spectrogram": spectrogram, "csd": csd, "coherence": coherence,
})  # fmt: skip

ANY.add(istft)

__all__ = ["freqz", "stft"]
