"""Power series through functions: taylor and jet. One sweep makes all derivatives along a path, to any order.

Nested gradients of order k cost some 2^k times the function; here it is about k^2.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...compiler.frontend import region as R
from ...compiler.frontend import tracing, tree
from ...compiler.frontend.array import Array
from ...compiler.frontend.promotion import conform
from ...compiler.ops.source import number
from ...compiler.passes.pipeline import taylor as sweep
from ..compiled.chosen import EVERY, Argnums
from ..compiled.derive import Jit
from ..compiled.tracebacks import boundary
from .derived import Derived, Site
from .products import NONE, Statics, made_once, moving_places, statics_of

Value = Callable[[Any], Any]


class Coefficients(Derived):
    """The coefficients of a function along a path, whose coefficients come after its arguments: for each a list."""

    title, trailing = "taylor", 1
    scaled = False
    """Whether coefficient k is multiplied by the factorial of k: a derivative."""

    def _plan(self, opens: Argnums, has_aux: bool) -> Any:
        return Jit(self.title, opens=EVERY)

    @classmethod
    def of(cls, function: Any, argnums: Argnums, has_aux: bool = False, statics: Statics = NONE) -> Any:
        """One for each function."""
        return made_once(cls, function, argnums, has_aux, statics)

    body = staticmethod(lambda site, value, x, *last: _coefficients(site, value, x, last[0], False))


class Derivatives(Coefficients):
    """The same with derivatives in place of coefficients."""

    title = "jet"
    body = staticmethod(lambda site, value, x, *last: _coefficients(site, value, x, last[0], True))


def _coefficients(site: Site, value: Value, x: Any, path: Sequence[Any], scaled: bool) -> Any:
    now = tracing.current()
    assert now is not None, "transforms are traced"
    site.given(x)
    leaves: list[Any] = []
    signature = tree.flatten(tree.opened(x), leaves)
    region = R.trace_region(now, "path", [R.leaf_of(each) for each in leaves],
                            lambda *xs: value(tree.rebuild(signature, iter(xs))))
    site.result(R.rebuild(region.signature, [Array(now, v) for v in region.graph.results]))
    extras, (own,) = R.arguments(now, (region,))
    types = [p.type for p in region.graph.params[: len(leaves)]]
    inputs: list[list[Any]] = [[conform(now, each, t.numpy, t.shape)] for each, t in zip(leaves, types, strict=True)]
    for k, each in enumerate(path):
        for at, (y, t) in enumerate(zip(_like(site, x, each, len(leaves)), types, strict=True)):
            if y is not None:
                y = y / math.factorial(k + 1) if scaled else y
                y = conform(now, y, t.numpy, t.shape)
            inputs[at].append(y)
    made = sweep(now.builder, region.graph, [*inputs, *[[extras[p]] for p in own]], len(path))
    rows = []
    for k in range(len(path) + 1):
        row = []
        for y, r in zip(made, region.graph.results, strict=True):
            v = number(now.builder, 0, r.type) if y[k] is None else y[k]
            assert v is not None
            array = Array(now, v)
            row.append(array * float(math.factorial(k)) if scaled and k > 1 else array)
        rows.append(R.rebuild(region.signature, row))
    return tuple(rows)


def _like(site: Site, x: Any, given: Any, count: int) -> list[Any]:
    """The leaves of a coefficient, like those of x; None for zero."""
    if given is None:
        return [None] * count
    ours: list[Any] = []
    theirs: list[Any] = []
    if tree.flatten(tree.opened(x), ours)[0] != tree.flatten(tree.opened(given), theirs)[0] or len(theirs) != count:
        raise TypeError(f"{site.title}: a coefficient must be like the argument, which has {count} leaves")
    for a, b in zip(ours, theirs, strict=True):
        if np.shape(a) != np.shape(b) and R.leaf_of(a).type.shape != R.leaf_of(b).type.shape:
            raise TypeError(f"{site.title}: a coefficient has shape {np.shape(b)}, the argument {np.shape(a)}")
    return theirs


@boundary
def taylor(
    function: Callable[..., Any], x: Any, v: Any, order: int, has_aux: bool = False, *, argnums: Argnums | None = None,
    static_argnums: Any = (), static_argnames: Any = (),
) -> tuple[Any, ...]:
    """The Taylor coefficients of a function along a line: those of f(x + t v) in t, from the value on.

    x         the argument: a float, an array or containers of them
    v         the direction, like x
    order     of the last coefficient: 0, the value alone, or more
    has_aux   f returns (value, aux), and taylor (coefficients, aux)
    argnums   the arguments that change, for functions of several: x is then the tuple of all arguments, and v is like
              those chosen: one, or a tuple
    static_argnums, static_argnames
              arguments whose values decide how the program looks; see `grad`. x is then the tuple of all arguments,
              and v, without argnums, a tuple with a direction for each of the others

    Coefficient k is the k-th derivative along v divided by k!, and is like what f returns. ValueError for an order
    below 0, TypeError where v is not like the arguments that change.

    >>> taylor(np.exp, 0.0, 1.0, 3)
    (1.0, 1.0, 0.5, 0.16666666666666666)
    >>> taylor(lambda a, t: a * np.exp(t), (2.0, 0.0), 1.0, 2, argnums="t")
    (2.0, 2.0, 1.0)
    """
    if not isinstance(order, (int, np.integer)) or isinstance(order, bool) or order < 0:
        raise ValueError(f"taylor: order is {order!r}, expected an int of 0 or more")
    statics = statics_of(function, static_argnums, static_argnames)
    along = [v, *[None] * (int(order) - 1)] if order else []
    if argnums is None and statics == NONE:
        return Coefficients.of(function, 0, has_aux)(x, along)
    chosen = moving_places("taylor", function, x, v, argnums, statics)
    if order and argnums is None:
        along[0] = tuple(v)
    return Coefficients.of(function, chosen, has_aux, statics)(*x, along)


@boundary
def jet(
    function: Callable[..., Any], primals: tuple[Any, ...], series: tuple[Any, ...], has_aux: bool = False
) -> tuple[Any, ...]:
    """The derivatives of a function along a path that is known by its own derivatives, with JAX's signature.

    primals   the arguments: where the path is
    series    for each argument the list of the path's derivatives there: the first, the second, and so on
    has_aux   f returns (value, aux), and jet (value, derivatives, aux)

    The value, and the list of as many derivatives of f along the path. For x' = f(x) they give the Taylor series of
    the solution, one more coefficient at a time.

    >>> jet(np.sin, (0.0,), ([1.0, 0.0, 0.0],))
    (0.0, [1.0, 0.0, -1.0])
    """
    if not (isinstance(primals, (tuple, list)) and isinstance(series, (tuple, list)) and len(primals) == len(series)):
        raise TypeError("jet takes a tuple of primals and a tuple of as many series")
    lengths = {len(each) if isinstance(each, (tuple, list)) else -1 for each in series}
    if len(lengths) != 1 or min(lengths) < 1:
        raise TypeError("jet: every series is a list of derivatives, and all have as many of them, 1 or more")
    path = [tuple([each[k] for each in series]) for k in range(lengths.pop())]
    made = Derivatives.of(function, tuple(range(len(primals))), has_aux)(*primals, path)
    (value, *rest), more = (made[0], made[1:]) if has_aux else (made, ())
    return value, rest, *more


__all__ = ["jet", "taylor"]
