"""scipy.signal on traced arrays: convolutions in any number of axes, recursive filters, smoothing.

A recursive filter a * y = b * x is a banded system for y, whose matrix has the coefficients of a along its diagonals.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ....array import unknown
from ....patched.recoded import recode
from ....promotion import as_operand
from ...convolutions import conv
from ..special.functions import as_float, given

MOST = 512
"""The most elements of a kernel that convolutions go through one by one."""


def _floats(*operands: Any) -> list[Any]:
    return [as_float(as_operand(x), *map(as_operand, operands)) for x in operands]


# ---- convolutions


def _flipped(x: Any) -> Any:
    return x[(slice(None, None, -1),) * x.ndim]


def _full(x: Any, kernel: Any, fast: bool) -> Any:
    """All places where the two overlap."""
    sizes = [n + k - 1 for n, k in zip(x.shape, kernel.shape, strict=True)]
    if fast:
        axes = tuple(range(x.ndim))
        return np.fft.irfftn(np.fft.rfftn(x, sizes, axes) * np.fft.rfftn(kernel, sizes, axes), sizes, axes)
    around = [(k - 1, k - 1) for k in kernel.shape]
    return conv(x[None, None], _flipped(kernel)[None, None], padding=around)[0, 0]


def _cut(made: Any, sizes: Any) -> Any:
    """The middle of an array."""
    starts = [(n - m) // 2 for n, m in zip(made.shape, sizes, strict=True)]
    return made[tuple([slice(s, s + m) for s, m in zip(starts, sizes, strict=True)])]


def _convolved(name: str, x: Any, kernel: Any, mode: str, fast: bool | None) -> Any:
    x, kernel = _floats(x, kernel)
    if x.ndim != kernel.ndim:
        raise ValueError("in1 and in2 should have the same dimensionality")
    if mode not in ("full", "same", "valid"):
        raise ValueError("acceptable mode flags are 'valid', 'same', or 'full'")
    if x.ndim == 0:
        return x * kernel
    shape = x.shape
    if kernel.size > x.size:
        x, kernel = kernel, x
    made = _full(x, kernel, kernel.size > MOST if fast is None else fast and kernel.size > MOST)
    if mode == "full":
        return made
    if mode == "same":
        return _cut(made, shape)
    return _cut(made, [abs(n - k) + 1 for n, k in zip(x.shape, kernel.shape, strict=True)])


def convolve(in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> Any:
    return _convolved("convolve", in1, in2, mode, None if method == "auto" else method == "fft")


def correlate(in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> Any:
    return convolve(in1, _flipped(as_operand(in2)), mode, method)


def fftconvolve(in1: Any, in2: Any, mode: str = "full", axes: Any = None) -> Any:
    if axes is not None:
        raise unknown("scipy.signal.fftconvolve", " with axes")
    return _convolved("fftconvolve", in1, in2, mode, None)


_PADS: dict[str, Any] = {"symm": "symmetric", "symmetric": "symmetric", "wrap": "wrap", "circular": "wrap"}


def convolve2d(in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: Any = 0) -> Any:
    x, kernel = _floats(in1, in2)
    if x.ndim != 2 or kernel.ndim != 2:
        raise ValueError("convolve2d inputs must both be 2-D arrays")
    if mode == "valid" or (boundary in ("fill", "pad") and isinstance(fillvalue, int) and fillvalue == 0):
        return _convolved("convolve2d", x, kernel, mode, None)
    around = [(k - 1, k - 1) for k in kernel.shape]
    more = {} if boundary in _PADS else {"constant_values": fillvalue}
    padded = np.pad(x, around, _PADS.get(boundary, "constant"), **more)
    made = conv(padded[None, None], _flipped(kernel)[None, None])[0, 0]
    return _cut(made, x.shape) if mode == "same" else made


def correlate2d(in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: Any = 0) -> Any:
    kernel = _flipped(as_operand(in2))
    if mode != "same" or all(n % 2 for n in kernel.shape):
        return convolve2d(in1, kernel, mode, boundary, fillvalue)
    made = convolve2d(in1, kernel, "full", boundary, fillvalue)
    starts = [k // 2 for k in kernel.shape]
    return made[tuple([slice(s, s + n) for s, n in zip(starts, np.shape(as_operand(in1)), strict=True)])]


# ---- recursive filters


def lfilter(b: Any, a: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    b, a, x = _floats(np.atleast_1d(as_operand(b)), np.atleast_1d(as_operand(a)), x)
    b, a = b / a[0], a / a[0]
    rows = np.moveaxis(x, axis, 0)
    n, taps, order = rows.shape[0], b.shape[0], a.shape[0]
    late = np.concatenate([np.zeros((taps - 1, *rows.shape[1:]), x.dtype), rows])
    y = sum(b[k] * late[taps - 1 - k : taps - 1 - k + n] for k in range(taps))
    if zi is None:
        return np.moveaxis(_recursive(a, y), 0, axis)
    states = np.moveaxis(as_float(as_operand(zi)), axis, 0)
    if n < max(taps, order) - 1:
        raise unknown("scipy.signal.lfilter", " with zi and fewer samples than states")
    y = _recursive(a, y + np.concatenate([states, np.zeros((n - states.shape[0], *rows.shape[1:]))]))
    ends = []
    for k in range(states.shape[0]):
        fed = sum(b[j] * rows[n + k - j] for j in range(k + 1, taps)) if k + 1 < taps else 0.0 * rows[0]
        ends.append(fed - sum(a[j] * y[n + k - j] for j in range(k + 1, order)))
    return np.moveaxis(y, 0, axis), np.moveaxis(np.stack(ends), 0, axis)


def _recursive(a: Any, x: Any) -> Any:
    """y with y[n] + a[1] y[n - 1] + ... = x[n], along the first axis."""
    order, n = a.shape[0], x.shape[0]
    if order == 1:
        return x
    from scipy.linalg import solve_banded

    bands = np.stack([a[k] * np.ones(n) for k in range(order)])
    return solve_banded((order - 1, 0), bands, x.reshape(n, -1)).reshape(x.shape)


def lfilter_zi(b: Any, a: Any) -> Any:
    b, a = _floats(np.atleast_1d(as_operand(b)), np.atleast_1d(as_operand(a)))
    n = max(a.shape[0], b.shape[0])
    a, b = (np.concatenate([c, np.zeros(n - c.shape[0])]) / a[0] for c in (a, b))
    moved = np.concatenate([-a[1:, None], np.eye(n - 1)[:, : n - 2]], axis=1)
    return np.linalg.solve(np.eye(n - 1) - moved, b[1:] - a[1:] * b[0])


def sosfilt(sos: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    if zi is not None:
        raise unknown("scipy.signal.sosfilt", " with zi")
    sections = as_float(as_operand(sos))
    for k in range(sections.shape[0]):
        x = lfilter(sections[k, :3], sections[k, 3:], x, axis)
    return x


ENDS: dict[Any, Callable[[Any, int], list[Any]]] = {
    "odd": lambda x, n: [2 * x[:1] - x[n:0:-1], x, 2 * x[-1:] - x[-2 : -(n + 2) : -1]],
    "even": lambda x, n: [x[n:0:-1], x, x[-2 : -(n + 2) : -1]],
    "constant": lambda x, n: [x[:1]] * n + [x] + [x[-1:]] * n,
    None: lambda x, n: [x],
}
"""How a signal goes on before it begins and after it ends."""


def filtfilt(
    b: Any, a: Any, x: Any, axis: int = -1, padtype: Any = "odd", padlen: Any = None, method: str = "pad",
    irlen: Any = None,
) -> Any:  # fmt: skip
    if method != "pad":
        raise unknown("scipy.signal.filtfilt", f" with method={method!r}")
    b, a, x = _floats(np.atleast_1d(as_operand(b)), np.atleast_1d(as_operand(a)), x)
    n = 3 * max(a.shape[0], b.shape[0]) if padlen is None else padlen
    n = 0 if padtype is None else n
    rows = np.moveaxis(x, axis, 0)
    if rows.shape[0] <= n:
        raise ValueError(f"The length of the input vector x must be greater than padlen, which is {n}.")
    made = np.concatenate(ENDS[padtype if n else None](rows, n))
    start = lfilter_zi(b, a).reshape(-1, *[1] * (rows.ndim - 1))
    for _ in range(2):
        made = lfilter(b, a, made, 0, start * made[:1])[0][::-1]
    return np.moveaxis(made[n : made.shape[0] - n], 0, axis)


# ---- smoothing and trends


def detrend(data: Any, axis: int = -1, type: str = "linear", bp: Any = 0, overwrite_data: bool = False) -> Any:
    x = as_float(as_operand(data))
    if type in ("constant", "c"):
        return x - np.mean(x, axis=axis, keepdims=True)
    if not np.array_equal(bp, 0):
        raise unknown("scipy.signal.detrend", " with bp")
    t = np.arange(x.shape[axis]) - (x.shape[axis] - 1) / 2.0
    rows = np.moveaxis(x, axis, -1)
    line = np.sum(rows * t, axis=-1, keepdims=True) / np.sum(t * t) * t
    return np.moveaxis(rows - np.mean(rows, axis=-1, keepdims=True) - line, -1, axis)


def hilbert(x: Any, N: Any = None, axis: int = -1) -> Any:
    rows = np.moveaxis(as_float(as_operand(x)), axis, -1)
    n = rows.shape[-1] if N is None else given("scipy.signal.hilbert", "N", N)
    weights = np.zeros(n)
    weights[1 : (n + 1) // 2] = 2.0
    weights[[0] if n % 2 else [0, n // 2]] = 1.0
    return np.moveaxis(np.fft.ifft(np.fft.fft(rows, n) * weights), -1, axis)


_MODES: dict[str, Any] = {"mirror": "reflect", "constant": "constant", "nearest": "edge", "wrap": "wrap"}


def savgol_filter(
    x: Any, window_length: int, polyorder: int, deriv: int = 0, delta: float = 1.0, axis: int = -1,
    mode: str = "interp", cval: float = 0.0,
) -> Any:  # fmt: skip
    from scipy.signal import savgol_coeffs, savgol_filter

    for name, each in (("window_length", window_length), ("polyorder", polyorder), ("delta", delta)):
        given("scipy.signal.savgol_filter", name, each)
    rows: Any = np.moveaxis(as_float(as_operand(x)), axis, 0)
    half, n = window_length // 2, rows.shape[0]
    weights = savgol_coeffs(window_length, polyorder, deriv, delta)[::-1]
    ends = None
    if mode == "interp":
        if window_length > n:
            raise ValueError("If mode is 'interp', window_length must be less than or equal to the size of x.")
        of: Any = savgol_filter(np.eye(window_length), window_length, polyorder, deriv, delta, 0)
        first, last = rows[:window_length], rows[n - window_length :]
        ends = np.tensordot(of[:half], first, 1), np.tensordot(of[window_length - half :], last, 1)
    else:
        around = [(half, half), *[(0, 0)] * (rows.ndim - 1)]
        more = {"constant_values": cval} if mode == "constant" else {}
        rows = np.pad(rows, around, _MODES[mode], **more)
    size = rows.shape[0] - 2 * half
    made: Any = sum(weights[k] * rows[k : k + size] for k in range(window_length))
    return np.moveaxis(made if ends is None else np.concatenate([ends[0], made, ends[1]]), 0, axis)


recode("scipy.signal", {
    "convolve": convolve, "correlate": correlate, "fftconvolve": fftconvolve, "oaconvolve": fftconvolve,
    "convolve2d": convolve2d, "correlate2d": correlate2d, "lfilter": lfilter, "lfilter_zi": lfilter_zi,
    "sosfilt": sosfilt, "filtfilt": filtfilt, "detrend": detrend, "hilbert": hilbert, "savgol_filter": savgol_filter,
})  # fmt: skip
