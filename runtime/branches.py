"""Branches as functions: cond and switch, with JAX's signatures.

    grad(lambda x: cond(x > 1.0, np.sqrt, lambda x: 0.5 * x, x))

Within a compiled function each becomes a branch of its graph. See `control`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..compiler.frontend import region as R
from ..compiler.frontend import tracing
from ..compiler.frontend.array import Array, value_of
from ..compiler.frontend.region import Leaf, Region
from ..compiler.frontend.tracing import Tracing, user_line
from ..compiler.ir.graph import Builder, Value, inline
from ..compiler.ops import control, elementwise
from ..compiler.ops.source import number
from .carried import check_function, formed, name_of
from .compiled.tracebacks import boundary


@boundary
def cond(pred: Any, true_fun: Callable[..., Any], false_fun: Callable[..., Any], *operands: Any) -> Any:
    """`true_fun(*operands)` if `pred` holds, else `false_fun(*operands)`; only that one runs.

    pred   a scalar: a bool, or a number, which holds if it is not zero

    Both return trees of one structure, with the same shapes and dtypes; a TypeError says where they do not. The
    gradient is that of the branch that runs.

    >>> grad(lambda x: cond(x > 1.0, np.sqrt, lambda x: 0.5 * x, x))(4.0)
    0.25
    """
    for each in (true_fun, false_fun):
        check_function("cond", each)
    now = tracing.current()
    if now is None or not isinstance(pred, Array):
        return (true_fun if pred else false_fun)(*operands)
    return formed(
        now,
        lambda: _branches(now, "cond", _truth(now, "cond", pred), (true_fun, false_fun), operands),
        lambda: (true_fun if pred else false_fun)(*operands),
    )


@boundary
def switch(index: Any, branches: Sequence[Callable[..., Any]], *operands: Any) -> Any:
    """`branches[index](*operands)`; an index outside is moved to the nearest branch.

    index   an integer scalar

    >>> grad(lambda x, k: switch(k, [np.sin, np.cos, np.exp], x))(0.0, 2)
    1.0
    """
    branches = tuple(branches)
    for each in branches:
        check_function("switch", each)
    if not branches:
        raise ValueError("switch needs at least one branch")
    now = tracing.current()
    if now is None or not isinstance(index, Array):
        return branches[min(max(operator.index(index), 0), len(branches) - 1)](*operands)
    if index.shape or index.dtype.kind != "i":
        R.refuse("switch: the index is no integer scalar", "convert it: .astype(int)", index=R.leaf_of(index))
    return formed(
        now,
        lambda: _halves(index, branches, operands),
        lambda: branches[min(max(operator.index(index), 0), len(branches) - 1)](*operands),
    )


def _halves(index: Any, branches: tuple[Callable[..., Any], ...], operands: tuple[Any, ...], first: int = 0) -> Any:
    """A choice between halves, and so on; `first` is the number of the first branch."""
    if len(branches) == 1:
        return branches[0](*operands)
    half, now = len(branches) // 2, tracing.current()
    assert now is not None

    def below(*given: Any) -> Any:
        return _halves(index, branches[:half], given, first)

    def above(*given: Any) -> Any:
        return _halves(index, branches[half:], given, first + half)

    return _branches(now, "switch", _truth(now, "switch", index < first + half), (below, above), operands)


def _truth(now: Tracing, form: str, pred: Array) -> Value:
    """A condition as a truth value; NaN holds, as it does in Python."""
    if pred.shape:
        fix = "reduce it with np.any or np.all, or choose elements with np.where"
        R.refuse(f"{form}: the condition is an array", fix, condition=R.leaf_of(pred))
    value = value_of(now, pred)
    now.builder.where = user_line()
    if value.type.dtype == "bool":
        return value
    return elementwise.ne(now.builder, value, number(now.builder, 0, value.type))


def _branches(now: Tracing, form: str, pred: Value, functions: tuple[Any, Any], operands: tuple[Any, ...]) -> Any:
    """What one of two functions returns."""
    names = [name_of(each, other) for each, other in zip(functions, ("first", "second"), strict=True)]
    first = R.trace_region(now, names[0], (), lambda: R.call(functions[0], *operands))
    second = R.trace_region(now, names[1], (), lambda: R.call(functions[1], *operands), first.signature)
    leaves = _agreed(form, first, second)
    args, places = R.arguments(now, (first, second))
    regions = []
    for region, own in zip((first, second), places, strict=True):
        b = Builder(region.graph.name, [a.type for a in args])
        made = inline(region.graph, b, [b.params[p] for p in own])
        regions.append(b.finish([R.converted(b, v, leaf) for v, leaf in zip(made, leaves, strict=True)]))
    now.builder.where = user_line()
    made = now.builder.emit(control.cond, pred, *args, regions=regions)
    return R.rebuild(first.signature, [Array(now, v, leaf.weak) for v, leaf in zip(made, leaves, strict=True)])


def _agreed(form: str, first: Region, second: Region) -> list[Leaf]:
    """The types that both branches can give."""
    names = [first.graph.name, second.graph.name]
    if names[0] == names[1]:
        names = [f"{names[0]}, the first", f"{names[1]}, the second"]
    found = R.difference(first.signature, second.signature, "")
    if found is not None:
        path, *said = found
        verdict = f"{form}: the branches return different structures{R.at(path)}"
        R.refuse(verdict, "return the same structure from both", **dict(zip(names, said, strict=True)))
    leaves = []
    for path, a, b in zip(R.paths(first.signature), first.leaves, second.leaves, strict=True):
        both = R.joined(a, b)
        if both is None:
            fix = "return arrays of one shape from both"
            if a.type.shape == b.type.shape:
                fix = f"convert one: .astype({np.promote_types(a.type.numpy, b.type.numpy)})"
            verdict = f"{form}: the branches return different types{R.at(path)}"
            R.refuse(verdict, fix, **dict(zip(names, (a, b), strict=True)))
        leaves.append(both)
    return leaves


__all__ = ["cond", "switch"]
