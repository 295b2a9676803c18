"""Where a derivative is wrong, and where there is none: the first operation that disagrees with numbers, and kinks.

Both follow the graph of a function operation by operation, with NumPy, into branches and through the rounds of loops.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...compiler.ir.graph import Builder, Graph, Op, Value, Where, evaluate
from ...compiler.ir.primitive import Primitive
from ...compiler.ops import control
from ...compiler.ops import elementwise as E
from ...compiler.ops.custom import checkpoint
from ...compiler.ops.reduce import max_, min_
from ...compiler.passes import adjoint, dead

MOST = 100_000
"""Operations that are followed."""

VISITS, ELEMENTS = 3, 8
"""How often one operation is compared with numbers, and at how many elements of each argument."""

APART = 1e-4
"""How far apart a derivative and a difference may be, relatively."""


class Step(NamedTuple):
    """An operation as it ran: what it was given, which of that depends on what is differentiated, what it gave, and in
    which round of which loops, outermost first."""

    op: Op
    args: list[np.ndarray]
    active: list[bool]
    results: list[Any]
    rounds: tuple[tuple[Where | None, int], ...] = ()

    @property
    def place(self) -> str:
        name = self.op.attrs.get("name", self.op.prim.name)
        return f"{name} at {self.op.where}" if self.op.where else str(name)


class Walk:
    """A run of a graph that tells of its operations: of `every` one, or where something is active."""

    def __init__(self, every: bool = False, most: int = MOST) -> None:
        self.left, self.every = most, every
        self.rounds: list[tuple[Where | None, int]] = []

    def graph(
        self, graph: Graph, args: Sequence[Any], active: Sequence[bool]
    ) -> Iterator[Step | tuple[list[Any], list[bool]]]:
        """Its steps, and at last its results and which of them are active."""
        env: dict[Value, Any] = dict(zip(graph.params, args, strict=True))
        moving = {p for p, a in zip(graph.params, active, strict=True) if a}
        for op in graph.body:
            given, flags = [env[a] for a in op.args], [a in moving for a in op.args]
            made: tuple[list[Any], list[bool]] | None = None
            if (self.every or any(flags)) and self.left > 0:
                self.left -= 1
                for each in self._inside(op, given, flags):
                    if isinstance(each, Step):
                        yield each
                    else:
                        made = each
            if made is None:
                results = op.prim.evaluate(given, op.attrs, op.regions)
                made = [np.asarray(v, r.type.numpy) if not r.type.is_tape else v
                        for v, r in zip(results, op.results, strict=True)], [any(flags)] * len(op.results)
                if (any(flags) and not op.regions) or op.prim not in _ENTERED:
                    yield Step(op, given, flags, made[0], tuple(self.rounds))
            env.update(zip(op.results, made[0], strict=True))
            on = [r for r, a in zip(op.results, made[1], strict=True) if a]
            moving.update(r for r in on if r.type.is_float or r.type.is_tape)
        yield [env[r] for r in graph.results], [r in moving for r in graph.results]

    def _inside(self, op: Op, given: list[Any], flags: list[bool]) -> Iterator[Any]:
        if op.prim in (control.call, checkpoint):
            yield from self.graph(op.regions[0], given, flags)
        elif op.prim is control.cond:
            yield from self.graph(op.regions[0 if bool(given[0]) else 1], given[1:], flags[1:])
        elif op.prim in (control.scan, control.loop):
            yield from self._rounds(op, given, flags)

    def _rounds(self, op: Op, given: list[Any], flags: list[bool]) -> Iterator[Any]:
        first, count = (1 if op.prim is control.scan else 0), op.attrs["carries"]
        carried, on = given[first : first + count], flags[first : first + count]
        rest, rest_on = given[first + count :], flags[first + count :]
        total = int(given[0]) if op.prim is control.scan else None
        k = 0
        while k < total if total is not None else bool(evaluate(op.regions[1], [*carried, *rest])[0]):
            at = total - 1 - k if total is not None and op.attrs.get("backwards") else k
            self.rounds.append((op.where, at))
            for each in self.graph(op.regions[0], [np.int64(at), *carried, *rest], [False, *on, *rest_on]):
                if isinstance(each, Step):
                    yield each
                else:
                    carried, on = each[0], [a or b for a, b in zip(on, each[1], strict=True)]
            self.rounds.pop()
            k += 1
        more = [] if total is not None else [np.int64(k)]
        yield [*carried, *more], [*on, *[False] * len(more)]


_ENTERED = (control.call, checkpoint, control.cond, control.scan, control.loop)


def steps(graph: Graph, inputs: Sequence[np.ndarray], wrt: Sequence[int]) -> Iterator[Step]:
    """Every operation that depends on the parameters numbered `wrt`, as it runs."""
    active = [k in wrt for k in range(len(graph.params))]
    with np.errstate(all="ignore"):
        for each in Walk().graph(graph, inputs, active):
            if isinstance(each, Step) and any(each.active):
                yield each


def first_fault(graph: Graph, inputs: Sequence[np.ndarray], wrt: Sequence[int]) -> str | None:
    """The first operation whose derivative is not what differences give, in words; None if there is none."""
    visited: dict[int, int] = {}
    for step in steps(graph, inputs, wrt):
        op = step.op
        visited[id(op)] = visited.get(id(op), 0) + 1
        if visited[id(op)] > VISITS or any(v.type.is_tape for v in (*op.args, *op.results)):
            continue
        try:
            found = _compared(step)
        except (ArithmeticError, ValueError, TypeError, np.linalg.LinAlgError):
            continue  # what cannot be run beside this point
        if found is not None:
            return f"{step.place}: {found}"
    return None


def _compared(step: Step) -> str | None:
    op, args = step.op, [np.asarray(a) for a in step.args]
    moving = [k for k, (a, on) in enumerate(zip(op.args, step.active, strict=True)) if on and a.type.is_float]
    floats = [k for k, r in enumerate(op.results) if r.type.is_float]
    if not moving or not floats:
        return None
    b = Builder("alone", [a.type for a in op.args])
    alone = b.finish(b.emit(op.prim, *b.params, regions=op.regions, **op.attrs))
    rng = np.random.default_rng(5)
    cts = [rng.uniform(0.5, 1.5, op.results[k].type.static_shape()).astype(op.results[k].type.numpy) for k in floats]
    made = evaluate(adjoint(alone, moving), [*args, *cts])[len(op.results) :]

    def value(moved: list[np.ndarray]) -> float:
        out = evaluate(alone, moved)
        return float(sum(np.sum(np.asarray(out[k], float) * ct) for k, ct in zip(floats, cts, strict=True)))

    for k, slope in zip(moving, made, strict=True):
        for at in np.unique(np.linspace(0, max(args[k].size - 1, 0), min(args[k].size, ELEMENTS)).astype(int)):
            got, want, sides = float(slope.reshape(-1)[at]), *_difference(value, args, k, int(at))
            scale = max(abs(got), abs(want), 1e-6)
            if np.isfinite(got) and np.isfinite(want) and sides < APART * scale < abs(got - want):
                which = "" if args[k].ndim == 0 else f"[{at}]"
                return f"the derivative for its argument {k}{which} is {got:.8g}, differences give {want:.8g}"
    return None


def _difference(value: Callable[[Any], float], args: list[np.ndarray], k: int, at: int) -> tuple[float, float]:
    """A central difference, extrapolated; and how much it changes with the step."""
    coarse = args[k].dtype == np.float32
    h = (1e-2 if coarse else 1e-4) * max(1.0, abs(float(args[k].reshape(-1)[at])))

    def central(h: float) -> float:
        sides = []
        for step in (h, -h):
            moved = [a.copy() for a in args]
            moved[k].reshape(-1)[at] += step
            sides.append(value(moved))
        return (sides[0] - sides[1]) / (2 * h)

    wide, narrow = central(h), central(h / 2)
    return (4 * narrow - wide) / 3, abs(narrow - wide)


def _equal(x: np.ndarray, y: np.ndarray) -> bool:
    return bool(np.any(x == y))


def _is_whole(x: np.ndarray, *_: np.ndarray) -> bool:
    return bool(np.any(x == np.floor(x)))


KINKS: dict[Primitive, Callable[..., bool]] = {
    **dict.fromkeys((E.eq, E.ne, E.lt, E.le, E.gt, E.ge, E.maximum, E.minimum), _equal),
    **dict.fromkeys((E.floor, E.ceil, E.trunc), _is_whole),
    E.abs_: lambda x: bool(np.any(x == 0)), E.sign: lambda x: bool(np.any(x == 0)),
    E.rint: lambda x: _is_whole(x + 0.5),
    E.floordiv: lambda x, y: _is_whole(x / y), E.mod: lambda x, y: _is_whole(x / y),
}
"""Whether an operation at such arguments has another slope on each side."""


def kinks(graph: Graph, inputs: Sequence[np.ndarray], wrt: Sequence[int]) -> tuple[str, ...]:
    """The operations at which the point is a kink, each once: what is compared is equal, or a maximum is tied."""
    found: dict[str, None] = {}
    for step in steps(graph, inputs, wrt):
        prim, args = step.op.prim, step.args
        if prim in KINKS and step.op.args[0].type.is_float and KINKS[prim](*args):
            found[step.place] = None
        elif prim in (max_, min_):
            best = prim.evaluate(args, step.op.attrs, ())[0]
            tied = args[0] == np.expand_dims(best, step.op.attrs["axes"])
            if np.any(np.sum(tied, step.op.attrs["axes"]) > 1):
                found[step.place] = None
    return tuple(found)


def forward(graph: Graph, inputs: Sequence[np.ndarray], wrt: Sequence[int], tangents: Sequence[np.ndarray]) -> float:
    """The derivative of the first result along tangents, by the pushforward's graph."""
    alone = Graph(graph.name, graph.params, graph.body, graph.results[:1])
    back = adjoint(alone, wrt)
    back = dead(Graph(back.name, back.params, back.body, back.results[1:]))
    forth = adjoint(back, [len(graph.params)])
    forth = dead(Graph(forth.name, forth.params, forth.body, forth.results[len(wrt) :]))
    seed = np.ones((), graph.results[0].type.numpy)
    given = [t.astype(graph.params[k].type.numpy) for k, t in zip(wrt, tangents, strict=True)]
    return float(evaluate(forth, [*inputs, seed, *given])[0])


__all__ = ["Step", "Walk", "first_fault", "forward", "kinks"]
