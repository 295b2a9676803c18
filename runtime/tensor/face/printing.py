"""How a tensor prints: as PyTorch prints it, digit for digit.

One format serves all elements.  Floats that are all whole print as `1.`; others with four decimals, or in
scientific notation where the sizes differ too much; more than a thousand elements are summarised.
"""

from __future__ import annotations

from collections.abc import Callable
from math import floor, inf
from textwrap import indent
from typing import Any

import numpy as np

from ..value.cells import DualCell, LaneCell, levels_of
from ..value.core import Core, wrap
from ..value.dtypes import bool_, default_complex, get_default_dtype, int64
from .overriding import answers

PREFIX = "tensor("


class _Options:
    """How many decimals, elements that are summarised, elements at each end of a summary, characters in a line;
    whether numbers are scientific, None for as they come."""

    precision, threshold, edgeitems, linewidth = 4, 1000, 3, 80
    sci_mode: bool | None = None


OPTIONS = _Options()
PROFILES = {"default": (4, 1000, 3, 80), "short": (2, 1000, 2, 80), "full": (4, inf, 3, 80)}


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Change how tensors print; `profile` is "default", "short" or "full"."""
    names = ("precision", "threshold", "edgeitems", "linewidth")
    if profile is not None:
        for name, value in zip(names, PROFILES[profile], strict=True):
            setattr(OPTIONS, name, value)
    for name, value in zip(names, (precision, threshold, edgeitems, linewidth), strict=True):
        if value is not None:
            setattr(OPTIONS, name, value)
    OPTIONS.sci_mode = sci_mode

Format = Callable[[Any], str]


def text_of(x: Core) -> str:
    """What `repr(x)` gives."""
    cell = x._read()
    if type(cell) is LaneCell:
        depth = len(levels_of([cell])[0])
        return f"BatchedTensor(lvl={depth}, bdim=0, value=\n{indent(text_of(wrap(cell.whole)), '    ')}\n)"
    array, notes, dtype = x._array(), [], x.dtype
    prefix = PREFIX if not answers(type(x)) else f"{type(x).__name__}("
    if array.size == 0:
        body = "[]"
        if array.ndim != 1:
            notes.append(f"size={array.shape}")
        if dtype is not get_default_dtype():
            notes.append(f"dtype={dtype}")
    else:
        if dtype not in (get_default_dtype(), default_complex(), int64, bool_):
            notes.append(f"dtype={dtype}")
        summary = array.size > OPTIONS.threshold
        width, form = _format_for(_corners(array) if summary else array)
        body = _nested(array, len(prefix), summary, width, form)
    if x.grad_fn is not None:
        notes.append(f"grad_fn=<{type(x.grad_fn).__name__}>")
    elif x.requires_grad:
        notes.append("requires_grad=True")
    if type(cell) is DualCell and cell.level.open:
        notes.append(f"tangent={text_of(wrap(cell.tangent, *(cell.edge or ())))}")
    return _with_notes(prefix + body, notes, len(prefix))


def part_of(name: str, x: Core) -> str:
    """A tensor that is a part of another one, as it prints there: below its name, without notes but a size of none."""
    array, prefix = x._array(), f"{name}={PREFIX}"
    if not array.size:
        return f"{prefix}[], size={array.shape})"
    summary = array.size > OPTIONS.threshold
    width, form = _format_for(_corners(array) if summary else array)
    return prefix + _nested(array, len(PREFIX) + len(prefix), summary, width, form) + ")"


def with_notes(text: str, notes: list[str]) -> str:
    """The end of what prints a tensor of parts."""
    return _with_notes(text, notes, len(PREFIX))


def _with_notes(text: str, notes: list[str], indent: int) -> str:
    """The text with its notes, each on a line of its own where the line would be too long."""
    last = len(text) - text.rfind("\n") + 1
    for note in notes:
        if last + len(note) + 2 > OPTIONS.linewidth:
            text += ",\n" + " " * indent + note
            last = indent + len(note)
        else:
            text += ", " + note
            last += len(note) + 2
    return text + ")"


# ---- numbers


def _format_for(array: np.ndarray) -> tuple[int, Format]:
    """The width that every element takes, and the function that writes one."""
    if array.dtype.kind == "c":
        return _complex_format(array)
    if array.dtype.kind == "V":  # bfloat16
        array = array.astype(np.float32)
    if array.dtype.kind != "f":
        plain: Format = str
        width = max(len(plain(v)) for v in array.ravel().tolist())
        return width, lambda value: plain(value).rjust(width)
    counted = array[np.isfinite(array) & (array != 0)].astype(np.float64)
    if not counted.size:
        return 1, _whole
    sizes = np.abs(counted)
    low, high = float(sizes.min()), float(sizes.max())
    whole = bool((counted == np.ceil(counted)).all())
    scientific = high / low > 1000.0 or high > 1e8 or (not whole and low < 1e-4)
    scientific = scientific if OPTIONS.sci_mode is None else OPTIONS.sci_mode
    form: Format = _scientific if scientific else _whole if whole else _decimal
    width = max(1, *(len(form(v)) for v in counted.tolist()))
    return width, lambda value: form(value).rjust(width)


def _complex_format(array: np.ndarray) -> tuple[int, Format]:
    """The two parts, each in the format that serves its own kind, and a sign between them."""
    (first, real), (second, imag) = _format_for(np.real(array)), _format_for(np.imag(array))

    def form(value: Any) -> str:
        part = imag(value.imag).lstrip() + "j"
        return real(value.real) + (part if part[0] in "+-" else "+" + part)

    return first + second + 1, form


def _whole(value: float) -> str:
    return f"{value:.0f}" + ("." if np.isfinite(value) else "")


def _decimal(value: float) -> str:
    return f"{value:.{OPTIONS.precision}f}"


def _scientific(value: float) -> str:
    return f"{value:.{OPTIONS.precision}e}"


# ---- brackets


def _corners(array: np.ndarray) -> np.ndarray:
    """The elements that a summary shows."""
    for axis, n in enumerate(array.shape):
        if n > 2 * OPTIONS.edgeitems:
            ends = [*range(OPTIONS.edgeitems), *range(n - OPTIONS.edgeitems, n)]
            array = np.take(array, ends, axis)
    return array


def _nested(array: np.ndarray, indent: int, summary: bool, width: int, form: Format) -> str:
    if array.ndim == 0:
        return form(array.item())
    if array.ndim == 1:
        return _row(array, indent, summary, width, form)
    cut = summary and len(array) > 2 * OPTIONS.edgeitems
    rows = [*array[:OPTIONS.edgeitems], *array[-OPTIONS.edgeitems:]] if cut else list(array)
    parts = [_nested(row, indent + 1, summary, width, form) for row in rows]
    if cut:
        parts.insert(OPTIONS.edgeitems, "...")
    return "[" + ("," + "\n" * (array.ndim - 1) + " " * (indent + 1)).join(parts) + "]"


def _row(array: np.ndarray, indent: int, summary: bool, width: int, form: Format) -> str:
    each = max(1, floor((OPTIONS.linewidth - indent) / (width + 2)))
    values = [form(v) for v in array.tolist()]
    if summary and len(values) > 2 * OPTIONS.edgeitems:
        values = [*values[:OPTIONS.edgeitems], " ...", *values[-OPTIONS.edgeitems:]]
    lines = [", ".join(values[k : k + each]) for k in range(0, len(values), each)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"
