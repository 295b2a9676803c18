"""Functions of Python and NumPy written as plain Python, and walked like code of the user."""

from __future__ import annotations

from typing import Any


def total(xs: Any, start: Any) -> Any:
    for x in xs:
        start = start + x
    return start


def product(xs: Any, start: Any) -> Any:
    for x in xs:
        start = start * x
    return start


def largest(xs: Any) -> Any:
    best = xs[0]
    for x in xs:
        if x > best:
            best = x
    return best


def smallest(xs: Any) -> Any:
    best = xs[0]
    for x in xs:
        if x < best:
            best = x
    return best


def some(xs: Any) -> bool:
    for x in xs:  # noqa: SIM110 - this is what any() is
        if x:
            return True
    return False


def every(xs: Any) -> bool:
    for x in xs:  # noqa: SIM110 - this is what all() is
        if not x:
            return False
    return True


def put_at(a: Any, index: Any, v: Any) -> None:
    if isinstance(index, tuple):
        for k in range(len(v)):
            a[index[0][k], index[1][k]] = v[k]
    else:
        for k in range(len(v)):
            a[index[k]] = v[k]


def add_at(a: Any, index: Any, v: Any) -> None:
    if isinstance(index, tuple):
        for k in range(len(v)):
            a[index[0][k], index[1][k]] += v[k]
    else:
        for k in range(len(v)):
            a[index[k]] += v[k]


def subtract_at(a: Any, index: Any, v: Any) -> None:
    add_at(a, index, -v)


def change_at(ufunc: Any, a: Any, index: Any, v: Any) -> None:
    if isinstance(index, tuple):
        for k in range(len(v)):
            a[index[0][k], index[1][k]] = ufunc(a[index[0][k], index[1][k]], v[k])
    else:
        for k in range(len(v)):
            a[index[k]] = ufunc(a[index[k]], v[k])


def turn_at(ufunc: Any, a: Any, index: Any, v: Any) -> None:
    if isinstance(index, tuple):
        for k in range(len(v)):
            a[index[0][k], index[1][k]] = ufunc(a[index[0][k], index[1][k]])
    else:
        for k in range(len(v)):
            a[index[k]] = ufunc(a[index[k]])
