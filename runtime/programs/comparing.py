"""`torch.testing.assert_close`: numbers, tensors and nested data that should be equal up to rounding.

    |actual - expected| <= atol + rtol * |expected|, with tolerances by dtype where none are given
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..tensor.face import functions as T
from ..tensor.face.tensor import Tensor
from ..tensor.value.core import Core
from ..tensor.value.dtypes import DType, complex64, complex128, float32, float64

SINGLE, DOUBLE = (1.3e-6, 1e-5), (1e-7, 1e-7)
TOLERANCES = {float32: SINGLE, complex64: SINGLE, float64: DOUBLE, complex128: DOUBLE}
"""rtol and atol by dtype; whole numbers and truth values are compared exactly."""

NUMBERS: tuple[type, ...] = (int, float, complex, np.number)
Message = str | Callable[[str], str] | None


class _Given:
    """What the call says."""

    def __init__(self, rtol: float | None, atol: float | None, equal_nan: bool, checked: dict[str, bool]) -> None:
        self.rtol, self.atol, self.equal_nan, self.checked = rtol, atol, equal_nan, checked

    def check(self, where: tuple[Any, ...]) -> None:
        """Raise if one tolerance is given without the other."""
        if (self.rtol is None) != (self.atol is None):
            missing = "rtol" if self.rtol is None else "atol"
            text = f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {missing}."
            raise _Differs(text, where, ValueError)

    def tolerances(self, *dtypes: DType) -> tuple[float, float]:
        if self.rtol is not None and self.atol is not None:
            return self.rtol, self.atol
        pairs = [TOLERANCES.get(d, (0.0, 0.0)) for d in dtypes]
        return max(r for r, _ in pairs), max(a for _, a in pairs)


class _Differs(Exception):
    """What is not close, and where it lies in nested data."""

    def __init__(self, text: str, where: tuple[Any, ...], kind: type[Exception] = AssertionError) -> None:
        super().__init__(text)
        self.text, self.where, self.kind = text, where, kind

    def raised(self, msg: Message) -> Exception:
        place = "".join(f"[{key!r}]" for key in self.where)
        text = self.text + (f"\n\nThe failure occurred for item {place}" if place else "")
        if msg is not None:
            text = msg if isinstance(msg, str) else msg(text)
        return self.kind(text)


def assert_close(
    actual: Any, expected: Any, *, allow_subclasses: bool = True, rtol: float | None = None,
    atol: float | None = None, equal_nan: bool = False, check_device: bool = True, check_dtype: bool = True,
    check_layout: bool = True, check_stride: bool = False, msg: Message = None,
) -> None:  # fmt: skip
    """Raise AssertionError with the differences unless two things are close, element by element.

    They are tensors, what as_tensor takes, numbers, None, or sequences and mappings of these. Devices and layouts are
    always the same here, so that check_device and check_layout change nothing.
    """
    checked = {"dtype": check_dtype, "stride": check_stride, "subclasses": allow_subclasses}
    given = _Given(rtol, atol, equal_nan, checked)
    try:
        pairs = _pairs(actual, expected, given, ())
    except _Differs as found:
        raise found.raised(None) from None
    try:
        for compare, one, other, where in pairs:
            compare(one, other, given, where)
    except _Differs as found:
        raise found.raised(msg) from None


def _pairs(actual: Any, expected: Any, given: _Given, where: tuple[Any, ...]) -> list[Any]:
    """What is to be compared, and how, of nested data."""
    both = actual, expected
    if all(isinstance(x, Sequence) and not isinstance(x, str) for x in both):
        if len(actual) != len(expected):
            raise _Differs(f"The length of the sequences mismatch: {len(actual)} != {len(expected)}", where)
        items: Any = enumerate(zip(actual, expected, strict=True))
        return [pair for k, (a, b) in items for pair in _pairs(a, b, given, (*where, k))]
    if all(isinstance(x, Mapping) for x in both):
        missing, more = set(expected) - set(actual), set(actual) - set(expected)
        if missing or more:
            raise _Differs(
                "The keys of the mappings do not match:\n"
                f"Missing keys in the actual mapping: {sorted(missing)}\n"
                f"Additional keys in the actual mapping: {sorted(more)}", where,
            )  # fmt: skip
        keys = list(actual)
        keys = sorted(keys) if all(isinstance(k, type(keys[0])) for k in keys) else keys
        return [pair for k in keys for pair in _pairs(actual[k], expected[k], given, (*where, k))]
    return [_single(actual, expected, given, where)]


def _single(actual: Any, expected: Any, given: _Given, where: tuple[Any, ...]) -> tuple[Any, ...]:
    both = actual, expected
    if any(x is None for x in both):
        return _nothings, actual, expected, where
    if all(isinstance(x, bool | np.bool_) for x in both):
        return _truths, actual, expected, where
    if all(isinstance(x, NUMBERS) for x in both):
        given.check(where)
        return _numbers, *(x.item() if isinstance(x, np.number) else x for x in both), where
    related = isinstance(actual, type(expected)) or isinstance(expected, type(actual))
    if related and (given.checked["subclasses"] or type(actual) is type(expected)):
        try:
            made = [x if isinstance(x, Core) else T.as_tensor(x) for x in both]
        except (TypeError, ValueError, RuntimeError):
            made = []
        if made:
            given.check(where)
            return _tensors, *made, where
    text = f"No comparison pair was able to handle inputs of type {type(actual)} and {type(expected)}."
    raise _Differs(text, where, TypeError)


def _nothings(actual: Any, expected: Any, given: _Given, where: tuple[Any, ...]) -> None:
    if not actual is expected is None:
        raise _Differs(f"None mismatch: {actual} is not {expected}", where)


def _truths(actual: Any, expected: Any, given: _Given, where: tuple[Any, ...]) -> None:
    if bool(actual) is not bool(expected):
        raise _Differs(f"Booleans mismatch: {bool(actual)} is not {bool(expected)}", where)


def _numbers(actual: Any, expected: Any, given: _Given, where: tuple[Any, ...]) -> None:
    if given.checked["dtype"] and type(actual) is not type(expected):
        raise _Differs(f"The (d)types do not match: {type(actual)} != {type(expected)}.", where)
    kinds = {float: float64, complex: complex128}
    rtol, atol = given.tolerances(*(kinds.get(type(x), T.long) for x in (actual, expected)))
    if actual == expected or (given.equal_nan and actual != actual and expected != expected):
        return
    difference = abs(actual - expected)
    if not (math.isfinite(difference) and difference <= atol + rtol * abs(expected)):
        raise _Differs(_scalars(actual, expected, rtol, atol), where)


def _tensors(actual: Tensor, expected: Tensor, given: _Given, where: tuple[Any, ...]) -> None:
    names = [("shape", "shape", True), ("dtype", "dtype", given.checked["dtype"])]
    names.append(("stride()", "stride", given.checked["stride"]))
    for shown, name, wanted in names:
        one, other = (getattr(x, name) if name != "stride" else x.stride() for x in (actual, expected))
        if wanted and one != other:
            raise _Differs(f"The values for attribute {shown!r} do not match: {one} != {other}.", where)
    rtol, atol = given.tolerances(actual.dtype, expected.dtype)
    if actual.dtype is not expected.dtype:
        common = T.promote_types(actual.dtype, expected.dtype)
        actual, expected = actual.to(common), expected.to(common)
    close = T.isclose(actual, expected, rtol=rtol, atol=atol, equal_nan=given.equal_nan)
    if bool(close.all()):
        return
    if actual.dim() == 0:
        raise _Differs(_scalars(actual.item(), expected.item(), rtol, atol), where)
    raise _Differs(_elements(actual, expected, close, rtol, atol), where)


# ---- texts


def _allowed(tolerance: float, exact: bool) -> str:
    return "" if exact else f" (up to {tolerance} allowed)"


def _scalars(actual: Any, expected: Any, rtol: float, atol: float) -> str:
    exact = rtol == 0 and atol == 0
    difference = abs(actual - expected)
    relative = float("inf") if expected == 0 else difference / abs(expected)
    return (
        f"Scalars are not {'equal' if exact else 'close'}!\n\n"
        f"Expected {expected} but got {actual}.\n"
        f"Absolute difference: {difference}{_allowed(atol, exact)}\n"
        f"Relative difference: {relative}{_allowed(rtol, exact)}"
    )


def _elements(actual: Tensor, expected: Tensor, close: Tensor, rtol: float, atol: float) -> str:
    exact, matches = rtol == 0 and atol == 0, np.array(close._array())
    a, b = (np.array(x.detach()._array()) for x in (actual, expected))
    if a.dtype.kind in "iub":
        a, b = a.astype(np.int64), b.astype(np.int64)
    with np.errstate(all="ignore"):
        absolute = np.abs(a - b)
        kind = np.float32 if a.dtype.kind == "i" else absolute.dtype  # that of PyTorch's quotients
        relative = absolute.astype(kind) / np.abs(b).astype(kind)
    wrong = matches.size - int(matches.sum())
    lines = [
        f"Tensor-likes are not {'equal' if exact else 'close'}!\n",
        f"Mismatched elements: {wrong} / {matches.size} ({wrong / matches.size:.1%})",
    ]
    for name, sizes, tolerance in (("absolute", absolute, atol), ("relative", relative, rtol)):
        place = int(np.argmax(np.where(matches, 0, sizes)))
        index = tuple(int(k) for k in np.unravel_index(place, sizes.shape))
        largest = np.where(matches, 0, sizes).reshape(-1)[place].item()
        lines.append(f"Greatest {name} difference: {largest} at index {index}{_allowed(tolerance, exact)}")
    return "\n".join(lines)
