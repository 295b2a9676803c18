"""Where parts lie by rules that SymInts can follow: what NumPy says of numbers; bounds of slices as Python has them."""

from __future__ import annotations

import random
from math import prod
from typing import Any

from pullback.compiler.ir.formulas import Formulas
from pullback.compiler.ir.symint import SymInt, SymSizes, bounds_of, example
from pullback.runtime.tensor.value import orders, paths, symbolic_paths


def factors(draw: random.Random, size: int) -> tuple[int, ...]:
    """A shape of so many elements."""
    made = []
    while size > 1 and draw.random() < 0.8:
        made.append(draw.choice([d for d in range(1, size + 1) if size % d == 0]))
        size //= made[-1]
    made.append(size)
    if draw.random() < 0.3:
        made.insert(draw.randint(0, len(made)), 1)
    return tuple(made)


def further(draw: random.Random, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """A step from a part of this shape."""
    axes, kind = list(range(len(shape))), draw.random()
    if kind < 0.4:
        draw.shuffle(axes)
        return "transpose", tuple(axes)
    if kind < 0.6:
        start = tuple([draw.randint(0, max(0, n - 1)) for n in shape])
        by = tuple([draw.choice([1, 1, 2]) for _ in shape])
        most = [max(0, -(-(n - s) // b)) for n, s, b in zip(shape, start, by, strict=True)]
        return "slice", start, by, tuple([draw.randint(0, n) if draw.random() < 0.3 else n for n in most])
    if kind < 0.7:
        at = draw.randint(0, len(shape))
        wide = (*shape[:at], draw.choice([1, 2, 3]), *shape[at:])
        return "spread", wide, tuple([a for a in range(len(wide)) if a != at])
    return "reshape", factors(draw, prod(shape)) if prod(shape) else shape


def test_parts_lie_where_numpy_has_them() -> None:
    draw, dense, views = random.Random(1), {False: 0, True: 0}, {False: 0, True: 0}
    for _ in range(4000):
        whole = tuple([draw.choice([0, 1, 1, 2, 3, 4, 6]) for _ in range(draw.randint(1, 4))])
        order = tuple(draw.sample(range(len(whole)), len(whole))) if draw.random() < 0.3 else None
        path: tuple[Any, ...] = ()
        for _ in range(draw.randint(0, 3)):
            step = further(draw, paths.strided(whole, path).shape)
            path += (step,) if paths.can_view(whole, path, step) else ()
        last = further(draw, paths.strided(whole, path).shape)
        found = symbolic_paths.is_dense(whole, path)
        dense[found] += 1
        assert found == paths.is_dense(whole, path), (whole, path)
        found = symbolic_paths.can_view(whole, path, last)
        views[found] += 1
        assert found == paths.can_view(whole, path, last), (whole, path, last)
        if order is not None and prod(paths.strided(whole, path).shape):
            assert symbolic_paths.can_lie(whole, order, path, last) == orders.can_lie(whole, order, path, last)
            sizes, strides = symbolic_paths.layout(whole, path, order)
            assert orders._order_of(sizes, strides) == orders.order_of_part(whole, order, path), (whole, order, path)
    assert min(*dense.values(), *views.values()) > 100, (dense, views)


def test_sizes_of_which_the_same_is_so_are_told_by_guards() -> None:
    sizes = SymSizes(tables=False)
    n, m = sizes.symbol(5), sizes.symbol(4)
    assert not paths.can_view((n, m), (("transpose", (1, 0)),), ("reshape", (n * m,)))
    ways = Formulas()
    ways.add(sizes, [n], "copy")
    assert ways.at([7, 3]) is not None
    assert ways.at([1, 4]) is None and ways.at([5, 1]) is None  # one row, or column, lies as it is


def test_bounds_of_slices_are_pythons() -> None:
    draw = random.Random(0)
    for _ in range(3000):
        n, given = draw.randint(0, 6), [draw.choice([None, *range(-9, 10)]) for _ in range(3)]
        given[2] = given[2] or 1
        sizes = SymSizes(tables=False)
        length = sizes.symbol(n)
        parts = [k if k is None or draw.random() < 0.3 else sizes.symbol(k) for k in given]
        made = bounds_of(slice(*parts), length)
        assert tuple(map(example, made)) == slice(*given).indices(n)
        ways = Formulas()
        ways.add(sizes, made, None)
        for _ in range(3):
            others = [draw.randint(0, 6), *[draw.choice(range(-9, 10)) for k in parts if type(k) is SymInt]]
            found, rest = ways.at(others), iter(others[1:])
            full = [next(rest) if type(k) is SymInt else k for k in parts]
            assert found is None or found[0] == slice(*full).indices(others[0]), (others, full)
