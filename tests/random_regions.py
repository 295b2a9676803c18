"""Random graphs of loops, branches and tapes, nested in one another, over numbers and small arrays.

Arguments of a region are picked among the latest values, so that arrays are handed over, viewed, passed twice, swapped
and read after they were written. Numbers stay small enough to be finite.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import numpy as np

from pullback.compiler.ir.graph import Builder, Graph, Value
from pullback.compiler.ir.types import TAPE, Type
from pullback.compiler.ops import elementwise as e
from pullback.compiler.ops.control import cond, loop, scan
from pullback.compiler.ops.memory import bump, read, update
from pullback.compiler.ops.reduce import spread, sum_
from pullback.compiler.ops.shape import reshape, slice_, transpose
from pullback.compiler.ops.source import number
from pullback.compiler.ops.tape import new_tape, pop, push

F, N, B, F32, I32 = Type("f64"), Type("i64"), Type("bool"), Type("f32"), Type("i32")
ONE, W, V, M = Type("f64", (1,)), Type("f64", (3,)), Type("f64", (4,)), Type("f64", (3, 4))
KINDS = (F, F, N, B, V, M, V, M, ONE, W, F32, I32)
PARAMS = (F, N, B, V, M, V, M, W, ONE)


class Regions:
    """One random graph; `body` adds operations to a builder, on the values at hand."""

    def __init__(self, seed: int) -> None:
        self.r = random.Random(seed)

    def graph(self, depth: int = 2) -> Graph:
        """A graph with regions nested up to so deep, and one."""
        b = Builder("main", PARAMS)
        env = list(b.params)
        self.body(b, env, depth, self.r.randint(4, 10))
        made = [v for v in env if v not in b.params]
        self.r.shuffle(made)
        made = self.repeated(made) if self.r.random() < 0.2 else made
        return b.finish([*made[:5], b.params[4]] if self.r.random() < 0.2 or not made else made[:5])

    def get(self, b: Builder, env: list[Value], type: Type) -> Value:
        """A value of a type, probably a late one."""
        found = [v for v in env if v.type == type]
        if found:
            return self.r.choice(found[-6:] if self.r.random() < 0.6 else found)
        value: float = self.r.randint(-1, 4)
        if type.is_float or type == B:
            value = self.r.choice([0.5, -1.25, 2.0]) if type.is_float else bool(value % 2)
        env.append(number(b, value, type))
        return env[-1]

    def many(self, b: Builder, env: list[Value], most: int) -> list[Value]:
        """Some values, perhaps one of them twice."""
        made = [self.get(b, env, self.r.choice(KINDS)) for _ in range(self.r.randint(1, most))]
        return [*made, self.r.choice(made)] if self.r.random() < 0.3 else made

    def body(self, b: Builder, env: list[Value], depth: int, count: int) -> None:
        """So many operations, of which those that hold regions nest up to `depth`."""
        for _ in range(count):
            k = self.r.random()
            if k < 0.3:
                env.append(self.single(b, env))
            elif k < 0.45:
                env.append(self.array(b, env))
            elif k < 0.8 or not depth:
                env.append(self.memory(b, env))
            else:
                env += self.region(b, env, depth - 1)

    def single(self, b: Builder, env: list[Value]) -> Value:
        """A number."""
        t, k = self.r.choice([F, F, N, ONE, F32, I32]), self.r.randint(0, 5)
        x, y = self.get(b, env, t), self.get(b, env, t)
        if k < 3:
            return (e.add, e.sub, e.maximum)[k](b, x, y)
        if k == 3 and not t.shape:
            return e.lt(b, x, y)
        if k == 4 and not t.shape:
            return e.select(b, self.get(b, env, B), x, y)
        return e.mul(b, x, number(b, 0.5, t)) if t.is_float else e.mod(b, x, number(b, 5, t))

    def array(self, b: Builder, env: list[Value]) -> Value:
        """Work on whole arrays."""
        t, k = self.r.choice([V, M, W]), self.r.randint(0, 8)
        x, m, v = self.get(b, env, t), self.get(b, env, M), self.get(b, env, V)
        makers: list[Callable[[], Value]] = [
            lambda: e.add(b, x, self.get(b, env, t)),
            lambda: e.maximum(b, x, self.get(b, env, t)),
            lambda: e.mul(b, x, number(b, -0.5, t)),
            lambda: sum_(b, e.rint(b, x), axes=tuple(range(t.rank))),
            lambda: spread(b, self.get(b, env, F), shape=t.shape, axes=()),
            lambda: transpose(b, transpose(b, m, axes=(1, 0)), axes=(1, 0)),
            lambda: slice_(b, v, start=(1,), step=(1,), shape=(3,)),
            lambda: slice_(b, v, start=(3,), step=(-1,), shape=(4,)),
            lambda: reshape(b, reshape(b, m, shape=(2, 6)), shape=(3, 4)),
        ]
        return makers[k]()

    def index(self, b: Builder, env: list[Value]) -> Value:
        """An index, perhaps outside."""
        return number(b, self.r.randint(-1, 4), N) if self.r.random() < 0.4 else self.get(b, env, N)

    def memory(self, b: Builder, env: list[Value]) -> Value:
        """A part of an array is read, overwritten or added to."""
        x, axes, widths, part = self.r.choice([
            (M, (0, 1), (-1, -1), F), (V, (0,), (-1,), F), (M, (0,), (-1,), V), (M, (1,), (-1,), W), (V, (0,), (3,), W),
        ])
        starts = [self.index(b, env) for _ in axes]
        a = self.get(b, env, x)
        if self.r.random() < 0.35:
            return read(b, a, *starts, axes=axes, widths=widths)
        return self.r.choice([update, bump])(b, a, self.get(b, env, part), *starts, axes=axes, widths=widths)

    # ---- regions

    def region(self, b: Builder, env: list[Value], depth: int) -> list[Value]:
        """A loop, a branch, or two loops with a tape between them."""
        make = self.r.choice([self.scan, self.scan, self.loop, self.cond, self.tape])
        return make(b, env, depth)

    def rounds(self, b: Builder, env: list[Value]) -> Value:
        """A number of rounds, known or not, perhaps negative."""
        if self.r.random() < 0.6:
            return number(b, self.r.randint(-1, 4), N)
        return e.minimum(b, self.get(b, env, N), number(b, 4, N))

    def scan(self, b: Builder, env: list[Value], depth: int) -> list[Value]:
        carries, rest = self.many(b, env, 4), self.many(b, env, 4)
        body = self.inner("body", [N, *(a.type for a in (*carries, *rest))], [a.type for a in carries], depth)
        attrs = {"carries": len(carries)} | ({"backwards": True} if self.r.random() < 0.4 else {})
        return list(b.emit(scan, self.rounds(b, env), *carries, *rest, regions=(body,), **attrs))

    def loop(self, b: Builder, env: list[Value], depth: int) -> list[Value]:
        carries, rest = [number(b, 0, N), *self.many(b, env, 3)], self.many(b, env, 3)
        types = [a.type for a in (*carries, *rest)]
        body = self.inner("body", [N, *types], [a.type for a in carries], depth, counts=True)
        t = Builder("test", types)
        self.body(t, list(t.params), 0, self.r.randint(0, 3))
        test = t.finish([e.lt(t, t.params[0], number(t, self.r.randint(0, 4), N))])
        return list(b.emit(loop, *carries, *rest, regions=(body, test), carries=len(carries)))

    def cond(self, b: Builder, env: list[Value], depth: int) -> list[Value]:
        args = self.many(b, env, 5)
        types = [a.type for a in args]
        outs = [self.r.choice(types if self.r.random() < 0.7 else KINDS) for _ in range(self.r.randint(1, 3))]
        sides = tuple(self.inner(name, types, outs, depth) for name in ("yes", "no"))
        return list(b.emit(cond, self.get(b, env, B), *args, regions=sides))

    def inner(self, name: str, types: Sequence[Type], outs: Sequence[Type], depth: int, counts: bool = False) -> Graph:
        """A region with results of these types; some are parameters as they came."""
        b = Builder(name, types)
        env = list(b.params)
        self.body(b, env, depth, self.r.randint(1, 6))
        made = [self.get(b, env, t) for t in outs]
        if self.r.random() < 0.3:
            first = {t: next((p for p in b.params if p.type == t), None) for t in outs}
            made = [first[x.type] or x if self.r.random() < 0.5 else x for x in made]
        if self.r.random() < 0.3:
            made = self.repeated(made)
        if counts:
            made[0] = e.add(b, b.params[1], number(b, 1, N))
        return b.finish(made)

    def repeated(self, values: Sequence[Value]) -> list[Value]:
        """One value of each type in place of all of it."""
        return list(map({v.type: v for v in values}.__getitem__, (v.type for v in values)))

    def tape(self, b: Builder, env: list[Value], depth: int) -> list[Value]:
        """A loop that pushes, perhaps in a branch, and one that pops in opposite order; some records fill a page."""
        long = self.r.random() < 0.2
        saved = [self.get(b, env, t) for t in (self.r.choice([F, F32, B, I32]), self.r.choice([V, M, F]), N)]
        saved += [v for v in saved if self.r.random() < 0.4]
        types = [v.type for v in saved]
        count = number(b, 300 if long else self.r.randint(0, 4), N)
        if self.r.random() < 0.5:
            count = e.maximum(b, count, e.minimum(b, self.get(b, env, N), number(b, 4, N)))
        (tape,) = b.emit(new_tape)
        fore, back = (Builder(name, [N, TAPE, *types]) for name in ("fore", "back"))
        depth = 0 if long else min(depth, 1)
        made = [p for p in fore.params if not p.type.is_tape]
        self.body(fore, made, depth, 3)
        record = [self.get(fore, made, t) for t in types]
        record = self.repeated(record) if self.r.random() < 0.5 else record
        pushed = self.pushed(fore, made, record)
        ahead = fore.finish([pushed, *(self.get(fore, made, t) for t in types)])
        tape, *after = b.emit(scan, count, tape, *saved, regions=(ahead,), carries=1 + len(saved))
        below, *popped = back.emit(pop, back.params[1], types=tuple(types))
        made = [p for p in back.params if not p.type.is_tape] + popped
        self.body(back, made, depth, 3)
        behind = back.finish([below, *(self.get(back, made + popped, t) for t in types)])
        _, *last = b.emit(scan, count, tape, *after, regions=(behind,), carries=1 + len(saved), backwards=True)
        return [*after, *last]

    def pushed(self, b: Builder, env: list[Value], record: Sequence[Value]) -> Value:
        """The tape, parameter 1, with a record on it."""
        if self.r.random() < 0.6:
            return b.emit(push, b.params[1], *record)[0]
        sides = []
        for name in ("yes", "no"):
            side = Builder(name, [TAPE, *(v.type for v in record)])
            sides.append(side.finish(side.emit(push, *side.params)))
        return b.emit(cond, self.get(b, env, B), b.params[1], *record, regions=tuple(sides))[0]


def arguments(seed: int) -> list[np.ndarray]:
    """Numbers for the parameters."""
    rng = np.random.default_rng(seed)
    whole = np.array(rng.integers(-1, 5)), np.array(rng.random() < 0.5)
    first = [np.array(rng.normal()), *whole]
    return first + [rng.normal(size=t.static_shape()) for t in PARAMS[3:]]
