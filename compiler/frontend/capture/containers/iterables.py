"""Python's functions of sequences: range, len, zip, enumerate, reversed, map, list, tuple, dict, sorted."""

from __future__ import annotations

import functools
import math
import operator
from typing import Any

import numpy as np

from ...array import Array
from ...sizes import Length
from .. import numbers
from ..arrays.access import shape_of
from ..arrays.parts import native
from ..calls import call, meaning_of
from ..machine import Machine
from ..python import as_int, minimum, scalar_of
from ..values import Grown, Iter, Ref, Steps, is_array, is_list, is_scalar, traced
from .iterate import affine, every, iterate, subtract
from .sequences import dict_method, new_dict, new_list
from .tables import Table


def _bound(x: Any) -> Any:
    """An end of a range: a number as an index, a named size as it is."""
    return x if isinstance(x, Length) else operator.index(x)


@meaning_of(range)
def _range(m: Machine, *args: Any) -> Any:
    args = tuple(m.known(scalar_of(m, a), "range()") for a in args)
    if not any(traced(a) or isinstance(a, Length) for a in args):
        return native(m, lambda: range(*args))
    start, stop, step = (0, args[0], 1) if len(args) == 1 else (*args, 1)[:3]
    if traced(step) or isinstance(step, Length):
        m.refuse("a range whose step is traced", "use a while loop")
    for x in (start, stop):
        if isinstance(x, Array) and x.type.dtype not in ("i64", "i32"):
            m.fail(TypeError("'float' object cannot be interpreted as an integer"))
    if step == 0:
        m.fail(ValueError("range() arg 3 must not be zero"))
    start, stop = (as_int(m, x) if isinstance(x, Array) else _bound(x) for x in (start, stop))
    return Steps(start, stop, operator.index(step))


@meaning_of(len)
def _len(m: Machine, x: Any) -> Any:
    if is_array(x):
        shape = shape_of(m, x)
        return shape[0] if shape else m.fail(TypeError("len() of unsized object"))
    if isinstance(x, Ref):
        held = m.items(x.box)
        return held.count if isinstance(held, (Grown, Table)) else len(held)
    if isinstance(x, (Steps, Iter)):
        return iterate(m, x).trip
    if is_scalar(x):
        m.fail(TypeError(f"object of type '{'int' if x.type.dtype == 'i64' else 'float'}' has no len()"))
    return native(m, lambda: len(x))


def _shortest(m: Machine, trips: list[Any]) -> Any:
    if all(isinstance(t, int) for t in trips):
        return min(trips)
    if all(isinstance(t, Length) and t.size == trips[0].size for t in trips):
        return trips[0]
    trips = [m.ranges.counted(m, t) for t in trips]
    return trips[0] if all(t is trips[0] for t in trips) else functools.reduce(lambda a, b: minimum(m, a, b), trips)


@meaning_of(zip)
def _zip(m: Machine, *xs: Any, strict: bool = False) -> Any:
    its = [iterate(m, x) for x in xs]
    trips = [i.trip for i in its]
    if strict and any(t != trips[0] for t in trips if not isinstance(t, Array)):
        m.fail(ValueError("zip() arguments have different lengths"))

    def check() -> None:
        for i in its:
            i.check()

    trip = _shortest(m, trips) if its else 0
    return Iter(trip, lambda k: tuple(i.item(k) for i in its), all(i.rolled for i in its), check)


@meaning_of(np.ndindex)
def _ndindex(m: Machine, *shape: Any) -> Any:
    whole = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple) else shape
    whole = tuple([m.known(n, "an index or size") for n in whole])
    if any(map(traced, whole)):
        m.refuse("np.ndindex of a traced shape", "declare the argument static: static_argnames=('n',)")
    sizes = [operator.index(n) for n in whole]
    return Iter(math.prod(sizes), lambda k: _place(m, sizes, k), bool(sizes))


def _place(m: Machine, sizes: list[int], k: Any) -> tuple[Any, ...]:
    """The indices of the k-th element of an array."""
    if not isinstance(k, Array):
        return tuple(map(int, np.unravel_index(k, sizes))) if sizes else ()
    made: list[Any] = []
    for n in reversed(sizes[1:]):
        made.append(numbers.binary(m, operator.mod, k, n))
        k = numbers.binary(m, operator.floordiv, k, n)
    return (k, *reversed(made))


@meaning_of(np.ndenumerate)
def _ndenumerate(m: Machine, x: Any) -> Any:
    x = call(m, np.asarray, [x], {})
    flat, places = iterate(m, call(m, np.ravel, [x], {})), _ndindex(m, *shape_of(m, x))
    return Iter(flat.trip, lambda k: (places.item(k), flat.item(k)), flat.rolled and places.rolled)


@meaning_of(np.nditer)
def _nditer(m: Machine, x: Any, *args: Any, **kwargs: Any) -> Any:
    if args or kwargs or not (is_array(x) or is_scalar(x)):
        m.refuse("np.nditer with options or of several arrays", "iterate over zip(x.ravel(), y.ravel())")
    return iterate(m, call(m, np.ravel, [x], {}))


@meaning_of(enumerate)
def _enumerate(m: Machine, xs: Any, start: Any = 0) -> Any:
    it = iterate(m, xs)
    return Iter(it.trip, lambda k: (affine(m, start, 1, k), it.item(k)), it.rolled, it.check)


@meaning_of(reversed)
def _reversed(m: Machine, xs: Any) -> Any:
    it = iterate(m, xs)
    last = subtract(m, it.trip, 1)

    def item(k: Any) -> Any:
        at = subtract(m, last, k)
        if isinstance(at, Array) and m.ranges.inside(k, 0, None):
            m.ranges.note(at, 0, m.ranges.of(last)[1])
        return it.item(at)

    return Iter(it.trip, item, it.rolled, it.check)


@meaning_of(map)
def _map(m: Machine, function: Any, *xs: Any) -> Any:
    it = _zip(m, *xs)
    return tuple([call(m, function, list(it.item(k)), {}) for k in range(len(every(m, it)))])


@meaning_of(list)
def _list(m: Machine, xs: Any = ()) -> Any:
    if is_list(xs):
        held = m.content(xs.box)
        return m.new("list", held.copied() if isinstance(held, Grown) else held)
    return new_list(m, every(m, xs))


@meaning_of(tuple)
def _tuple(m: Machine, xs: Any = ()) -> Any:
    return tuple(every(m, xs))


@meaning_of(dict)
def _dict(m: Machine, *args: Any, **kwargs: Any) -> Any:
    made = new_dict(m, (), ())
    dict_method(m, made, "update", list(args), kwargs)
    return made


@meaning_of(sorted)
def _sorted(m: Machine, xs: Any, *, key: Any = None, reverse: bool = False) -> Any:
    items = every(m, xs)
    if traced(tuple(items)) or (key is not None and traced(tuple(call(m, key, [i], {}) for i in items))):
        m.refuse("sorted() of traced values", "np.sort is not known either: sort by loops and item assignment")
    keys = [call(m, key, [i], {}) for i in items] if key is not None else items
    order = native(m, lambda: sorted(range(len(items)), key=keys.__getitem__, reverse=reverse))
    return new_list(m, [items[k] for k in order])
