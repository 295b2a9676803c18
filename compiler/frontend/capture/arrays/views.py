"""Views that move or drop axes, and stores through them: in comes a reference to an array, out comes a part of it.

    P.T[i] = x        the rows of what P.T shows are columns of P, which is what changes
    a.flat[k] = x     the element of a that is at place k of all of them in order
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ...array import Array
from ...sizes import Length
from ..calls import NATIVE, attribute, call, lower, meaning_of
from ..containers.listed import has_traced
from ..machine import Machine
from ..values import At, Part, Ref, Span, is_array
from .access import get_array, read, set_array, shape_of, view, wrap
from .parts import native


def moved_axes(m: Machine, move: Callable[..., Any], x: Any, *args: Any, **kwargs: Any) -> Any:
    """What a function of NumPy makes of an array by moving and dropping axes."""
    low, named = [lower(m, a) for a in args], {k: lower(m, v) for k, v in kwargs.items()}
    if not is_array(x) or has_traced(low) or has_traced(named):
        return NATIVE[0](m, move, [x, *args], kwargs)
    made = _moved(m, x, lambda a: move(a, *low, **named))
    return made if made.path[-1].order else get_array(m, made, ())


def _moved(m: Machine, ref: Ref, move: Callable[[np.ndarray], np.ndarray]) -> Ref:
    """The view, found by what the function does with an array whose strides tell its axes apart."""
    sizes = shape_of(m, ref)
    marks = tuple(range(8, 8 * len(sizes) + 8, 8))
    numbers = tuple([2 if isinstance(n, Length) and n != 1 else int(n) for n in sizes])  # axes of one may be dropped
    made = native(m, lambda: move(np.lib.stride_tricks.as_strided(np.empty(1), numbers, marks)))
    axes = [mark // 8 - 1 for mark in made.strides]
    entries = tuple([Span(0, 1, n) if k in axes else At(0) for k, n in enumerate(sizes)])
    ranks = {axis: rank for rank, axis in enumerate(sorted(axes))}
    return view(m, ref, Part(entries, tuple([ranks[axis] for axis in axes]), sizes))


for _move in (np.transpose, np.matrix_transpose, np.linalg.matrix_transpose, np.swapaxes, np.moveaxis, np.rollaxis,
              np.squeeze):
    meaning_of(_move)(lambda m, a, *args, move=_move, **kwargs: moved_axes(m, move, a, *args, **kwargs))


def stored_into(m: Machine, into: ast.expr, set_item: Callable[..., None]) -> tuple[Any, Callable[..., None]]:
    """What `into[key] = value` stores into, and how: of a.flat it is a."""
    if not isinstance(into, ast.Attribute) or into.attr != "flat":
        return m.eval(into), set_item
    base = m.eval(into.value)
    return (base, functools.partial(_set_flat, set_item)) if is_array(base) else (attribute(m, base, "flat"), set_item)


def _set_flat(set_item: Callable[..., None], m: Machine, ref: Ref, key: Any, value: Any) -> None:
    """a.flat[key] = value."""
    x = read(m, ref)
    row = wrap(m, Array(m.now, m.value(x)).reshape(-1) if isinstance(x, Array) else x.reshape(-1).copy())
    set_item(m, row, key, value)
    set_array(m, ref, Ellipsis, call(m, np.reshape, [row, shape_of(m, ref)], {}))


__all__ = ["moved_axes", "stored_into"]
