"""The comparator of all tests: what differs between two lists of arrays, and numbers to compare gradients with.

Types and NaN and infinite elements must agree exactly; every other element on its own, within `relative` times
its magnitude plus a `floor` stated for it.  No bound grows with the size of an array or with its largest element.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Arrays = Sequence[np.ndarray]


def difference(got: Any, want: Any, *, relative: Any = 0.0, floor: Any = 0.0) -> str | None:
    """What is wrong with one array, or None.  `relative` and `floor` are numbers or arrays of its shape."""
    if not isinstance(got, np.ndarray | np.generic):
        return f"expected an array, got {type(got).__name__}"
    got, want = np.asarray(got), np.asarray(want)
    if got.dtype != want.dtype or got.shape != want.shape:
        return f"expected {want.dtype}{list(want.shape)}, got {got.dtype}{list(got.shape)}"
    if want.dtype.kind != "f":
        return _first(got != want, got, want, "differs")
    relative, floor = _bound(relative, want), _bound(floor, want)
    for what, test in (("NaN", np.isnan), ("+inf", np.isposinf), ("-inf", np.isneginf)):
        found = _first(test(got) != test(want), got, want, f"only one is {what}")
        if found:
            return found
    finite = np.isfinite(want)
    a, b = (np.where(finite, x, 0).astype(np.longdouble) for x in (got, want))
    allowed = relative * np.abs(b) + floor
    return _first(np.abs(a - b) > allowed, got, want, "differs", allowed)


def differences(got: Arrays, want: Arrays, *, relative: Any = 0.0, floors: Any = None) -> list[str]:
    """What is wrong with a list of results; `floors` holds one floor for each."""
    if len(got) != len(want):
        return [f"expected {len(want)} results, got {len(got)}"]
    floors = [0.0] * len(want) if floors is None else floors
    found = []
    for k, (g, w, f) in enumerate(zip(got, want, floors, strict=True)):
        wrong = difference(g, w, relative=relative, floor=f)
        if wrong:
            found.append(f"result {k}: {wrong}")
    return found


def assert_close(got: Any, want: Any, *, relative: Any = 0.0, floor: Any = 0.0) -> None:
    """`got` is an array within the bounds of `want`."""
    wrong = difference(got, want, relative=relative, floor=floor)
    assert wrong is None, wrong


def assert_all_close(got: Arrays, want: Arrays, *, relative: Any = 0.0, floors: Any = None) -> None:
    """The same for lists of results."""
    wrong = differences(got, want, relative=relative, floors=floors)
    assert not wrong, "\n".join(wrong)


def assert_same(got: Arrays, want: Arrays) -> None:
    """Equal types and bits, the sign of zero included; one NaN is as good as another."""
    assert_all_close(got, want)
    for k, (g, w) in enumerate(zip(got, want, strict=True)):
        if np.asarray(w).dtype.kind == "f":
            off = (np.signbit(g) != np.signbit(w)) & ~np.isnan(w)
            wrong = _first(off, g, w, "differs in sign")
            assert wrong is None, f"result {k}: {wrong}"


def _bound(value: Any, want: np.ndarray) -> np.ndarray:
    """A bound for each element: finite, not negative, never stretched by broadcasting an array."""
    bound = np.asarray(value, np.longdouble)
    if bound.ndim and bound.shape != want.shape:
        raise ValueError(f"bounds of shape {bound.shape} for an array of shape {want.shape}")
    if not np.all(np.isfinite(bound)) or np.any(bound < 0):
        raise ValueError("a bound must be finite and not negative")
    return bound


def _first(wrong: Any, got: Any, want: np.ndarray, what: str, allowed: Any = None) -> str | None:
    """The first place where `wrong` holds, with both elements and how many places there are."""
    places = np.argwhere(wrong)
    if not len(places):
        return None
    at = tuple(int(i) for i in places[0])
    text = f"element {list(at)} {what}: expected {want[at]!r}, got {got[at]!r}"
    if allowed is not None:
        off = abs(np.longdouble(got[at]) - np.longdouble(want[at]))
        text += f", off by {off:.3g} where {np.broadcast_to(allowed, want.shape)[at]:.3g} is allowed"
    return text + (f" (and {len(places) - 1} more)" if len(places) > 1 else "")


# ---- gradients by numbers


def directional(
    f: Callable[[Arrays], Arrays], args: Arrays, along: Arrays, step: float = 2.0**-9, order: int = 4
) -> list[np.ndarray]:
    """The derivative of `f` at `args` in the direction `along`, by Richardson's central differences.

    The `order` steps h, h/2, ... remove errors up to h^(2*order); integer arguments stay.
    """
    rows: list[list[np.ndarray]] = []
    for k in range(order):
        h = step / 2**k
        plus, minus = (f([_moved(a, v, s * h) for a, v in zip(args, along, strict=True)]) for s in (1, -1))
        rows.append([_slope(p, m, h) for p, m in zip(plus, minus, strict=True)])
        for j in range(k - 1, -1, -1):
            weight = 4 ** (k - j)
            rows[j] = [(weight * n - o) / (weight - 1) for n, o in zip(rows[j + 1], rows[j], strict=True)]
    return rows[0]


def _moved(a: np.ndarray, v: np.ndarray, h: float) -> np.ndarray:
    return np.asarray(a + v * h, a.dtype) if a.dtype.kind == "f" else a


def _slope(plus: np.ndarray, minus: np.ndarray, h: float) -> np.ndarray:
    if plus.dtype.kind != "f":
        return np.zeros(plus.shape, np.longdouble)
    return (plus.astype(np.longdouble) - minus) / (2 * h)
