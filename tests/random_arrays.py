"""Random array programs, in and out of regions: parts read, updated and bumped at fixed and run-time places.

All numbers are small integers, so every order of adding them gives the same bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pullback.compiler.ir.graph import Builder, Graph, Value
from pullback.compiler.ir.types import Type
from pullback.compiler.ops.contract import contract
from pullback.compiler.ops.control import cond, scan
from pullback.compiler.ops.elementwise import add, lt, maximum, minimum, mul, sub
from pullback.compiler.ops.memory import bump, read, update
from pullback.compiler.ops.reduce import spread, sum_
from pullback.compiler.ops.shape import reshape, transpose
from pullback.compiler.ops.source import number

INDEX, FLOAT = Type("i64"), Type("f64")
TYPES = [Type("f64", s) for s in ((4, 6), (6, 4), (6, 6), (4,), (6,), ())]
SHAPES = [(), (4,), (6,), (4, 6), (6, 4), (6, 6), (24,), (36,), (16,), (4, 4)]


class Arrays:
    """One random graph after another."""

    def __init__(self, seed: int) -> None:
        self.r = np.random.default_rng(seed)

    def arguments(self, graph: Graph) -> list[np.ndarray]:
        """Integers for the parameters; indices reach beyond the arrays."""
        floats = [self.r.integers(-9, 10, p.type.static_shape()).astype(float) for p in graph.params]
        return [f if p.type.is_float else self.r.integers(-1, 6, ()) for p, f in zip(graph.params, floats, strict=True)]

    def graph(self, regions: bool) -> Graph:
        """A graph with regions or without."""
        b = Builder("f", [*TYPES, INDEX, INDEX], ["a", "b", "c", "v", "w", "s", "i", "j"])
        have, indices = list(b.params[:6]), list(b.params[6:])
        self.grow(b, have, indices, int(self.r.integers(0 if regions else 3, 6 if regions else 14)))
        for _ in range(int(self.r.integers(1, 3)) if regions else 0):
            self.region(b, have, indices, 1)
            self.grow(b, have, indices, int(self.r.integers(0, 5)))
        made = have[6:] or have
        return b.finish([have[-1], *(self.some(made) for _ in range(int(self.r.integers(0, 3))))])

    def some(self, of: Sequence[Any]) -> Any:
        return of[int(self.r.integers(len(of)))]

    def maybe(self, chance: float) -> bool:
        return self.r.random() < chance

    # ---- operations

    def grow(self, b: Builder, have: list[Value], indices: list[Value], count: int) -> None:
        """Add operations."""
        for _ in range(count):
            x = self.some(have) if self.maybe(0.5) else have[-1]
            made = None if 0 in x.type.shape else self.operation(b, x, have, indices)
            have += [made] if made is not None else []

    def operation(self, b: Builder, x: Value, have: list[Value], indices: list[Value]) -> Value | None:
        """One operation on `x`, if it fits."""
        shape, kind = x.type.static_shape(), int(self.r.integers(9))

        def of(*shapes: tuple[int, ...]) -> Value | None:
            found = [v for v in have if v.type.shape in shapes]
            return self.some(found) if found else None

        if kind < 4 and shape:
            return self.part(b, kind, x, have, indices)
        if kind == 4:
            return small(b, self.some([add, sub, mul])(b, x, of(shape)))
        if kind == 5 and len(shape) == 2:
            alike = [s for s in SHAPES if np.prod(s) == np.prod(shape)] or [shape]
            return transpose(b, x, axes=(1, 0)) if self.maybe(0.5) else reshape(b, x, shape=self.some(alike))
        y = of((shape[1], 4), (shape[1], 6)) if kind == 6 and len(shape) == 2 else of((4,), (6,))
        if kind == 6 and len(shape) == 2 and y is not None:
            return small(b, contract(b, x, y, left=(1,), right=(0,)))
        if kind == 7 and shape:
            axes = tuple(range(len(shape))) if self.maybe(0.5) else (int(self.r.integers(len(shape))),)
            return small(b, sum_(b, x, axes=axes))
        return small(b, contract(b, x, y, left=(), right=())) if kind == 8 and len(shape) == 1 and y else None

    def part(self, b: Builder, kind: int, x: Value, have: list[Value], indices: list[Value]) -> Value:
        """A part of `x` read, or written to with something that may be made of `x`."""
        shape = x.type.static_shape()
        many = int(self.r.integers(len(shape) == 1, len(shape) + 1))
        axes = tuple(sorted(self.r.choice(len(shape), size=many, replace=False).tolist()))
        widths, steps = [], []
        for axis in axes:
            width, step = int(self.r.choice([-1, -1, 1, 2, 3, shape[axis] - 1, shape[axis]])), 1
            if width == 2 and self.maybe(0.5):
                step = int(self.r.choice([2, -1, -2]))
            fits = (max(width, 1) - 1) * abs(step) < shape[axis]
            widths.append(width if fits else -1)
            steps.append(step if fits else 1)
        attrs: dict[str, Any] = {"axes": axes, "widths": tuple(widths), "steps": tuple(steps)}
        starts = self.starts(b, shape, axes, indices)
        if kind == 0:
            return read(b, x, *starts, **attrs)
        (part,) = read.infer([x.type, *[INDEX] * many], attrs, ())
        fitting = [v for v in have if v.type == part]
        v = self.some(fitting) if fitting else spread(b, self.single(b, have), shape=part.shape, axes=())
        if self.maybe(0.4):
            others = starts if self.maybe(0.4) else self.starts(b, shape, axes, indices)
            v = add(b, v, read(b, x, *others, **attrs))
        return (update if self.maybe(0.6) else bump)(b, x, small(b, v), *starts, **attrs)

    def single(self, b: Builder, have: list[Value]) -> Value:
        found = [v for v in have if v.type == FLOAT]
        return self.some(found) if found else number(b, float(self.r.integers(-5, 6)), FLOAT)

    def starts(self, b: Builder, shape: Sequence[int], axes: Sequence[int], indices: list[Value]) -> list[Value]:
        fixed = [number(b, int(self.r.integers(-1, shape[a] + 1)), INDEX) for a in axes]
        return [self.some(indices) if self.maybe(0.4) else f for f in fixed]

    # ---- regions

    def region(self, b: Builder, have: list[Value], indices: list[Value], depth: int) -> None:
        """A scan or a cond; the same array may be a carry and rest, and carries may change places."""
        found = [[v for v in have if v.type == t] for t in TYPES]
        carries = [self.some(f) for f in found if f and self.maybe(0.6)] or have[:1]
        rest = [self.some(have) for _ in range(int(self.r.integers(0, 4)))] + [self.some(indices)]
        if self.maybe(0.6):
            rounds = number(b, int(self.r.integers(0, 5)), INDEX) if self.maybe(0.6) else self.some(indices)
            body = self.body("body", [INDEX], carries, rest, depth)
            backwards = {"backwards": True} if self.maybe(0.3) else {}
            have += b.emit(scan, rounds, *carries, *rest, regions=(body,), carries=len(carries), **backwards)
        else:
            p = lt(b, self.some(indices), number(b, int(self.r.integers(0, 5)), INDEX))
            sides = [self.body(name, [], carries, rest, depth) for name in ("yes", "no")]
            have += b.emit(cond, p, *carries, *rest, regions=tuple(sides))

    def body(self, name: str, first: list[Type], carries: list[Value], rest: list[Value], depth: int) -> Graph:
        b = Builder(name, [*first, *(v.type for v in (*carries, *rest))])
        have = [p for p in b.params if p.type.is_float]
        indices = [p for p in b.params if p.type == INDEX]
        self.grow(b, have, indices, int(self.r.integers(2, 8)))
        if depth and self.maybe(0.5):
            self.region(b, have, indices, depth - 1)
            self.grow(b, have, indices, int(self.r.integers(0, 4)))
        found = [[v for v in have if v.type == c.type] for c in carries]
        return b.finish([f[-1] if self.maybe(0.6) else self.some(f) for f in found])


def small(b: Builder, v: Value) -> Value:
    """`v` between -50 and 50."""
    return maximum(b, minimum(b, v, number(b, 50.0, v.type)), number(b, -50.0, v.type))
