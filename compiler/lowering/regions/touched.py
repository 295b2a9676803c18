"""Steps on tables: what a step does to the rows that nothing was scattered to, it need not do.

    table - 0.5 * scatter                          x - 0.5 * 0.0 is x, for every x

Such a result is a copy of the table, or the table itself if it lies in its place, but for the places of the scatter:
there the scatter's buffer is cleared, added to, read and cleared again, and nowhere else is it touched. A place that
comes twice is done twice, the second time with the 0.0 that the first one left. Which zero it is matters: -0.0 + 0.0
is 0.0. So a factor that is only known at run time is tried there, on 0.0, before, and decides what is done.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...ir.types import STORED
from ...loops import Affine, Apply, Buffer, Element, Load, Number
from ...ops.elementwise import add, div, mul, neg, sub
from ..nests.inside import reachable
from ..program import InPlace, Multiply, Nest, Still, Store, tops

FEWER = 4  # times that a table must be larger than all that is scattered to it

_SPELLINGS = {prim.spelling: prim.numpy for prim in (add, sub, mul, div, neg)}


def touched_only(
    statements: Iterable[Nest | Multiply], inputs: Sequence[Buffer], results: Sequence[Buffer]
) -> list[Nest | Multiply]:
    """The statements, with steps on tables on the rows that are touched, if that is what they mean."""
    return _Steps(statements, inputs, results).statements()


@dataclass(frozen=True)
class _Scattered:
    """A buffer that is zero but where the nests `by` add to it; `nest` and `store` make it zero."""

    nest: Nest
    store: Store
    by: tuple[Nest, ...]


@dataclass(frozen=True)
class _Step:
    """A store of `base` and a change that is `zero` where the scattered buffers are."""

    nest: Nest
    store: Store
    base: Load
    change: Element
    zero: float
    scattered: dict[Buffer, _Scattered]


class _Steps:
    def __init__(
        self, statements: Iterable[Nest | Multiply], inputs: Sequence[Buffer], results: Sequence[Buffer]
    ) -> None:
        self.body = list(statements)
        self.inputs, self.results = set(inputs), set(results)
        self.readers: dict[Buffer, set[Nest | Multiply]] = {}
        self.scattered: dict[Buffer, _Scattered] = {}
        if any(s.fold for nest in self._nests() for s in nest.stores):
            self._find_readers()
            self._find_scattered()

    def statements(self) -> list[Nest | Multiply]:
        if not self.scattered:
            return self.body
        steps = [step for nest in self._nests() for s in nest.stores if (step := self._step(nest, s)) is not None]
        gone = {s for step in steps for s in (step.store, *(each.store for each in step.scattered.values()))}
        moved = {nest for step in steps for each in step.scattered.values() for nest in each.by}
        body = [_without(s, gone) for s in self.body if s not in moved]
        return [s for s in body if s is not None] + [s for step in steps for s in _ways(step)]

    def _nests(self) -> Iterator[Nest]:
        return (s for s in self.body if isinstance(s, Nest))

    # ---- facts

    def _find_readers(self) -> None:
        for s in self.body:
            if isinstance(s, Multiply):
                read = {s.left.buffer, s.right.buffer}
            else:
                read = {e.buffer for e in reachable(tops(s)) if isinstance(e, Load)}
            for buffer in read:
                self.readers.setdefault(buffer, set()).add(s)

    def _find_scattered(self) -> None:
        zero: dict[Buffer, list[tuple[Nest, Store]]] = {}
        by: dict[Buffer, list[Nest]] = {}
        for nest in self._nests():
            for s in nest.stores:
                if s.fold == "sum":
                    by.setdefault(s.buffer, []).append(nest)
                else:
                    zero.setdefault(s.buffer, []).append((nest, s))
        for buffer, nests in by.items():
            apart = all(len(n.stores) == 1 and not n.asserts for n in nests)
            if buffer in self.results or buffer not in zero or not apart or not _is_large(buffer, nests):
                continue
            (nest, store), *others = zero[buffer]
            if not others and _is_zero(store.value):
                self.scattered[buffer] = _Scattered(nest, store, tuple(nests))

    # ---- steps

    def _step(self, nest: Nest, s: Store) -> _Step | None:
        """The step that a store is, if it is one."""
        if s.buffer not in self.results or s.gathered or s.buffer in self.readers:
            return None
        for base, change, zero in _sums(s.value):
            if not self._is_base(base, s):
                continue
            found = self._scattered_in(change, nest, s)
            if found and _leaves(change, found, zero):
                assert isinstance(base, Load)
                return _Step(nest, s, base, change, zero, found)
        return None

    def _is_base(self, e: Element, s: Store) -> bool:
        if not isinstance(e, Load) or e.buffer not in self.inputs or e.gathered:
            return False
        return e.offset == s.offset and e.buffer.type == s.buffer.type

    def _scattered_in(self, change: Element, nest: Nest, s: Store) -> dict[Buffer, _Scattered]:
        """The scattered buffers that a change is made of, if all else in it is the same everywhere."""
        found: dict[Buffer, _Scattered] = {}
        made = {each.buffer for each in (*nest.stores, *nest.folds, *nest.after)}
        for e in reachable([change]):
            if isinstance(e, Load) and e.buffer in self.scattered:
                if e.gathered or e.offset != s.offset or e.buffer.type.size != s.buffer.type.size:
                    return {}
                found[e.buffer] = self.scattered[e.buffer]
            elif isinstance(e, Load):
                if e.offset.terms or e.buffer in made:
                    return {}
            elif not isinstance(e, Apply | Number):
                return {}
        others = [t for t in tops(nest) if t is not s.value]
        elsewhere = {e.buffer for e in reachable(others) if isinstance(e, Load)}
        alone = all(self.readers[buffer] == {nest} and buffer not in elsewhere for buffer in found)
        return found if alone else {}


def _is_zero(e: Element) -> bool:
    return isinstance(e, Number) and e.value == 0 and math.copysign(1.0, e.value) == 1.0


def _is_large(buffer: Buffer, nests: list[Nest]) -> bool:
    few = sum(math.prod(axis.extent for axis in nest.axes) for nest in nests)
    return FEWER * few <= math.prod(buffer.type.static_shape())


def _sums(e: Element) -> Iterator[tuple[Element, Element, float]]:
    """What an element may be the sum of: a base, a change, and the zero that changes no base."""
    if isinstance(e, Apply) and e.spelling in ("add", "sub"):
        a, b = e.args
        nothing = -0.0 if e.spelling == "add" and STORED[e.dtype].kind == "f" else 0.0
        yield a, b, nothing
        if e.spelling == "add":
            yield b, a, nothing


def _without(statement: Nest | Multiply, gone: set[Store]) -> Nest | Multiply | None:
    """A statement without some stores, if anything is left."""
    if isinstance(statement, Multiply) or gone.isdisjoint(statement.stores):
        return statement
    left = replace(statement, stores=tuple(s for s in statement.stores if s not in gone))
    return left if left.stores or left.folds or left.asserts else None


# ---- what happens to a base that nothing was scattered to


def _leaves(change: Element, scattered: Mapping[Buffer, _Scattered], zero: float) -> bool:
    """Whether the change may be `zero` where nothing was scattered: it is, or that is only known at run time."""
    still = _folded(_still(change, scattered))
    return still is None or (still == zero and np.signbit(still) == np.signbit(zero))


def _still(change: Element, scattered: Mapping[Buffer, _Scattered]) -> Element:
    """The change where nothing was scattered."""
    return _with(change, lambda e: _zero(e.dtype) if e.buffer in scattered else e)


def _zero(dtype: str) -> Number:
    return Number(0.0 if STORED[dtype].kind == "f" else 0, dtype)


def _with(top: Element, instead: Callable[[Load], Element]) -> Element:
    """An element with something else instead of its loads."""
    made: dict[int, Element] = {}
    for e in reachable([top]):
        if isinstance(e, Load):
            made[id(e)] = instead(e)
        elif isinstance(e, Apply):
            made[id(e)] = Apply(e.spelling, tuple(made[id(a)] for a in e.args), e.dtype)
        else:
            made[id(e)] = e
    return made[id(top)]


def _folded(top: Element) -> np.generic | None:
    """The value of an element of numbers; None if it is not of the plainest operations."""
    made: dict[int, np.generic] = {}
    with np.errstate(all="ignore"):
        for e in reachable([top]):
            if isinstance(e, Number):
                made[id(e)] = STORED[e.dtype].type(e.value)
            elif isinstance(e, Apply) and e.spelling in _SPELLINGS and STORED[e.dtype].kind == "f":
                made[id(e)] = _SPELLINGS[e.spelling](*(made[id(a)] for a in e.args))
            else:
                return None
    return made[id(top)]


# ---- the nests of a step


def _ways(step: _Step) -> Iterator[Nest]:
    """The nests of a step on the elements that are touched; and, if it may mean others, on all of them."""
    still = _still(step.change, step.scattered)
    out, few, all_of_it = step.store.buffer, (), ()
    if _folded(still) is None:
        change = Buffer(f"{out.name}_still", out.type.with_shape(()))
        yield Nest((), 0, (Store(change, Affine(), still),))
        case = Still(change, math.copysign(1.0, step.zero) < 0)
        few, all_of_it = ((case, True),), ((case, False),)
    targets = [nest for each in step.scattered.values() for nest in each.by]
    elsewhere = ((InPlace(out, step.base.buffer), False),)
    yield Nest(step.nest.axes, 0, (replace(step.store, value=step.base),), cases=elsewhere)
    if all_of_it:
        for each in step.scattered.values():
            yield Nest(each.nest.axes, 0, (each.store,), cases=all_of_it)
    for nest in targets:
        yield Nest(nest.axes, 0, _cleared(step, nest), cases=few)
    yield from targets
    if all_of_it:
        yield Nest(step.nest.axes, 0, (step.store,), cases=all_of_it)
    for nest in targets:
        yield Nest(nest.axes, 0, (_moved(step, nest), *_cleared(step, nest)), cases=few)


def _cleared(step: _Step, target: Nest) -> tuple[Store, ...]:
    """Zeros in all scattered buffers where a nest scatters to one."""
    (at,) = target.stores
    return tuple(Store(buffer, at.offset, _zero(buffer.type.dtype), at.gathered) for buffer in step.scattered)


def _moved(step: _Step, target: Nest) -> Store:
    """The step where a nest scatters, in place: the base is read where the result lies."""
    (at,) = target.stores
    out = step.store.buffer

    def load(e: Load) -> Element:
        return Load(e.buffer, at.offset, at.gathered) if e.buffer in step.scattered else e

    base, change = Load(out, at.offset, at.gathered), _with(step.change, load)
    assert isinstance(step.store.value, Apply)
    args = (base, change) if step.store.value.args[0] is step.base else (change, base)
    return Store(out, at.offset, Apply(step.store.value.spelling, args, base.dtype), at.gathered)


__all__ = ["touched_only"]
