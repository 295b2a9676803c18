"""Long loops that fill arrays: of what they carry, numbers as functions of the round and arrays by what a round puts.

    x[k] = f(x[k - 1]), y[k] = g(s), s = h(s)      x[j] is a recurrence after j rounds, y[j] is g of one

A round puts values at places that move with its number; at any other place an array is as it was. So an element is what
the round put that came to its place, told by what is carried then. What a round reads of an array that it fills was put
some rounds before: it is carried along as a number of its own. Where places are computed, an element is a recurrence of
its own, that waits until its place comes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from functools import partial
from itertools import count
from typing import Any, NamedTuple

from ....compiler.ops.memory import DROPPED
from ..shared.library import sympy_module
from .elements import NoExpression, SymbolicArray, choose

FARTHEST = 8
"""The most rounds that a value is carried along until it is read."""

class Written(SymbolicArray):
    """An array with `part` in place of what stands at `place`: an index with None for axes that are meant whole."""

    def __init__(self, m: Any, parent: SymbolicArray, place: tuple[Any, ...], part: Any) -> None:
        self.m, self.parent, self.place, self.part = m, parent, place, part
        super().__init__(parent.shape, self._element, base=True)

    @property
    def explicit(self) -> bool:
        return False

    def _element(self, *index: Any) -> Any:
        sympy = sympy_module()

        pairs = [(i, p) for i, p in zip(index, self.place, strict=True) if p is not None]
        here = sympy.And(*[sympy.Eq(i, p) for i, p in pairs])
        if here == False:  # noqa: E712
            return self.parent[index]
        inner = self.part[[i for i, p in zip(index, self.place, strict=True) if p is None]]
        return inner if here == True else choose(self.m, here, inner, self.parent[index])  # noqa: E712


def written(reading: Any, x: SymbolicArray, v: SymbolicArray, starts: Sequence[Any], attrs: Any, add: bool) -> Any:
    """An array with a part put, or added, at starts that are expressions; None where the part is no row or element."""
    if any(width != DROPPED for width in attrs["widths"]) or (x.explicit and not x.base):
        return None
    at = dict(zip(attrs["axes"], [s[()] for s in starts], strict=True))
    place = tuple([at.get(axis) for axis in range(len(x.shape))])
    if not add:
        return Written(reading.m, x, place, v)

    def total(*inner: Any) -> Any:
        rest = iter(inner)
        return x[[next(rest) if p is None else p for p in place]] + v[list(inner)]

    return Written(reading.m, x, place, SymbolicArray(v.shape, total))


def either(m: Any, p: Any, a: SymbolicArray, b: SymbolicArray) -> Written | None:
    """What two branches made of one array that is filled; None where it is not."""
    chains = [_chain(x) for x in (a, b)]
    if chains[0][0] is not chains[1][0] or not any(stores for _, stores in chains):
        return None
    made: SymbolicArray = chains[0][0]
    for place in dict.fromkeys([s.place for _, stores in chains for s in stores]):

        def value(*inner: Any, place: tuple[Any, ...] = place) -> Any:
            rest = iter(inner)
            index = [next(rest) if q is None else q for q in place]
            return choose(m, p, a[index], b[index])

        shape = tuple([n for n, q in zip(made.shape, place, strict=True) if q is None])
        made = Written(m, made, place, SymbolicArray(shape, value))
    return made if isinstance(made, Written) else None


def _chain(x: SymbolicArray) -> tuple[SymbolicArray, list[Written]]:
    """What was written to, and what was written, in order."""
    stores: list[Written] = []
    while isinstance(x, Written):
        stores.append(x)
        x = x.parent
    return x, stores[::-1]


class Store(NamedTuple):
    """What each round puts into an array: at the place of which the component `axis` is slope * k + first."""

    number: int
    axis: int
    slope: int
    first: Any
    place: tuple[Any, ...]
    part: Callable[..., Any]

    def rounds_before(self, index: Sequence[Any], k: Any) -> Any:
        """How many rounds before this one it put what is read at an index; None if it did not."""
        for axis, (i, p) in enumerate(zip(index, self.place, strict=True)):
            if axis != self.axis and p is not None and i != p:
                if not (i - p).is_Integer:
                    raise NoExpression(f"sympy() cannot tell whether {i} and {p} are one place of an array")
                return None
        sympy = sympy_module()
        before = sympy.expand(self.slope * k + self.first - index[self.axis]) / self.slope
        if not before.is_Rational:
            raise NoExpression(f"sympy() cannot tell in which round the element {index[self.axis]} was put")
        return int(before) if before.is_Integer and before > 0 else None


class Rounds:
    """What one round of a loop does to its state, and to the arrays that it fills.

    start, steps   of the numbers that are carried, by keys: what they are first, and after a round
    state          the symbols of these
    """

    def __init__(
        self, reading: Any, k: Any, start: dict[Any, Any], steps: dict[Any, Any], state: dict[Any, Any],
        fixed: dict[Any, Any],
    ) -> None:
        self.reading, self.k, self.start, self.steps, self.state = reading, k, dict(start), dict(steps), dict(state)
        self.bases: dict[Any, tuple[SymbolicArray, list[Store]]] = {}
        self.computed: dict[Any, tuple[SymbolicArray, list[tuple[tuple[Any, ...], Callable[..., Any]]]]] = {}
        self.known = {**fixed, **self._counters(fixed)}

    def _counters(self, fixed: dict[Any, Any]) -> dict[Any, Any]:
        """Numbers that grow by the same in each round are told by the number of the round."""
        steps = {p: e.xreplace(fixed) - self.state[p] for p, e in self.steps.items() if self.state[p] not in fixed}
        return {self.state[p]: self.start[p] + by * self.k for p, by in steps.items() if by.is_Integer}

    def told_all(self) -> None:
        """What rounds do, once all arrays that they fill are known."""
        for p in list(self.steps):
            self.steps[p] = self.told(self.steps[p])

    def told(self, e: Any) -> Any:
        """An expression of a round, with what it reads of arrays that are filled as what is carried."""
        sympy = sympy_module()

        e = e.xreplace(self.known)
        if any(x.base in self.computed for x in e.atoms(sympy.Indexed)):
            raise NoExpression("sympy() cannot read a long loop that reads an array which it fills at computed places")
        for _ in range(FARTHEST):
            found = {x: self._read(x) for x in e.atoms(sympy.Indexed) if x.base in self.bases}
            if not found:
                return e
            e = e.xreplace(found)
        raise NoExpression("sympy() cannot read arrays that are filled from places which they tell")

    def fill(self, base: Any, was: SymbolicArray, now: SymbolicArray) -> None:
        """An array of the name `base` in a round is filled."""
        sympy = sympy_module()

        root, stores = _chain(now)
        if not (root.base and root[[0] * len(root.shape)].base == base):
            raise NoExpression("sympy() cannot read a long loop that carries large arrays and makes them anew")
        places = [tuple([None if p is None else sympy.expand(p.xreplace(self.known)) for p in s.place]) for s in stores]
        made = [self._store(number, each, place) for number, each, place in zip(count(), stores, places, strict=False)]
        told = [each for each in made if each is not None]
        if len(told) == len(made):
            self.bases[base] = was, told
        else:
            self.computed[base] = was, [(p, partial(_part, each)) for p, each in zip(places, stores, strict=True)]

    def _store(self, number: int, each: Written, place: tuple[Any, ...]) -> Store | None:
        """What is put at a place that moves by the same in each round; None for one that is computed."""
        moving = [axis for axis, p in enumerate(place) if p is not None and p.has(self.k)]
        if len(moving) != 1 or any(p is not None and p.free_symbols & {*self.state.values()} for p in place):
            return None
        (axis,) = moving
        at: Any = place[axis]
        slope = at.coeff(self.k, 1)
        first = at - slope * self.k
        if not slope.is_Integer or first.has(self.k):
            return None
        return Store(number, axis, int(slope), first, place, partial(_part, each))

    def with_element(self, base: Any, index: Sequence[Any]) -> tuple[Any, Rounds]:
        """A key, and the rounds that carry one element of an array that is filled at computed places along by it.

        Where a round puts a value into another place, the element stays as it was.
        """
        sympy = sympy_module()

        key, (was, stores) = (base, *index), self.computed[base]
        carried = self.reading.symbol("s", real=True)
        value = carried
        for place, part in stores:
            put = part(*[i for i, p in zip(index, place, strict=True) if p is None])
            here = sympy.And(*[sympy.Eq(p, i) for i, p in zip(index, place, strict=True) if p is not None])
            own = {x: value for x in put.atoms(sympy.Indexed) if x.base == base and _is_at(x, place, index, self.known)}
            value = choose(self.reading.m, here, put.xreplace(own), value)
        if any(x.base == base for x in value.atoms(sympy.Indexed)):
            raise NoExpression("sympy() cannot read a long loop that fills an array at computed places by other places")
        made = copy(self)
        made.start, made.state = {**self.start, key: was[index]}, {**self.state, key: carried}
        made.steps = {**self.steps, key: self.told(value)}
        return key, made

    def _read(self, x: Any) -> Any:
        """What an element of an array that is filled was before a round."""
        was, stores = self.bases[x.base]
        found = [(before, -s.number, s) for s in stores if (before := s.rounds_before(x.indices, self.k)) is not None]
        if not found:
            return was[x.indices]
        before, _, store = min(found)
        inner = tuple([i for i, p in zip(x.indices, store.place, strict=True) if p is None])
        if before > FARTHEST or not all(i.is_Integer for i in inner):
            raise NoExpression(f"sympy() cannot read what a loop put {before} rounds before")
        return self._carried(x.base, store, before, inner)

    def _carried(self, base: Any, store: Store, before: int, inner: tuple[Any, ...]) -> Any:
        """The symbol of what a store put some rounds before, which is carried along from then."""
        key = (base, store.number, before, inner)
        if key in self.state:
            return self.state[key]
        self.state[key] = made = self.reading.symbol("s", real=True)
        first = store.first - before * store.slope
        size = self.bases[base][0].shape[store.axis]
        if not first.is_Integer or not 0 <= first < size:
            raise NoExpression("sympy() cannot read a loop that reads an array before its beginning")
        rest = iter(inner)
        index = [first if a == store.axis else next(rest) if p is None else p for a, p in enumerate(store.place)]
        self.start[key] = self.bases[base][0][index]
        if before > 1:
            self.steps[key] = self._carried(base, store, before - 1, inner)
        else:
            self.steps[key] = made  # until it is told, as it may read itself
            self.steps[key] = self.told(store.part(*inner))
        return made


def _is_at(x: Any, place: tuple[Any, ...], index: Sequence[Any], known: dict[Any, Any]) -> bool:
    """Whether an element is the one that is put there, where it is that of the index."""
    expand = sympy_module().expand
    return all(expand(i.xreplace(known)) in (p, at) for i, p, at in zip(x.indices, place, index, strict=True))


def _part(each: Written, *inner: Any) -> Any:
    return each.part[list(inner)]


def filled(
    rounds: Rounds, base: Any, n: Any, after: Callable[[Any, Any], Any], found: Callable[[Rounds, Any], Any]
) -> SymbolicArray:
    """An array after n rounds that filled it; `after` tells of a key what is carried after some rounds."""
    if base in rounds.computed:

        def element(*index: Any) -> Any:
            key, more = rounds.with_element(base, [sympy_module().sympify(i) for i in index])
            return found(more, n)[key]

        return SymbolicArray(rounds.computed[base][0].shape, element)
    was, stores = rounds.bases[base]
    made = was
    for store in stores:
        place = tuple([None if a == store.axis else p for a, p in enumerate(store.place)])
        shape = tuple([size for size, p in zip(was.shape, place, strict=True) if p is None])
        part = SymbolicArray(shape, partial(_filled, rounds, store, made, n, after), base=True)
        made = Written(rounds.reading.m, made, place, part)
    return made


def _filled(rounds: Rounds, store: Store, was: SymbolicArray, n: Any, after: Any, *inner: Any) -> Any:
    """An element of what a store put in all rounds, or what was there before."""
    sympy = sympy_module()

    rest = iter(inner)
    open_ = {a: next(rest) for a, p in enumerate(store.place) if p is None or a == store.axis}
    j = sympy.sympify(open_[store.axis])
    where = _between(j, n, store, was.shape[store.axis])
    old = lambda: was[[open_.get(a, p) for a, p in enumerate(store.place)]]  # noqa: E731
    if where == False:  # noqa: E712
        return old()
    k = (j - store.first) / store.slope
    value = rounds.told(store.part(*[i for a, i in open_.items() if a != store.axis]))
    value = _after(rounds, value, k, after)
    return value if where == True else choose(rounds.reading.m, where, value, old())  # noqa: E712


def _between(j: Any, n: Any, store: Store, size: int) -> Any:
    """Where a place is one that is filled."""
    sympy = sympy_module()

    low, high = store.first, store.first + store.slope * (n - 1)
    if store.slope < 0:
        low, high = high, low
    parts = []
    if abs(store.slope) != 1:
        parts.append(sympy.Eq(sympy.Mod(j - store.first, abs(store.slope)), 0))
    if low != 0:
        parts.append(sympy.Ge(j, low))
    if high != size - 1:
        parts.append(sympy.Le(j, high))
    return sympy.And(*parts)


def _after(rounds: Rounds, value: Any, k: Any, after: Callable[[Any, Any], Any]) -> Any:
    """A value of the round k by what is carried after k rounds, or after k + 1 where that is all it needs."""
    named = {x: p for p, x in rounds.state.items()}
    steps = {p: e for p, e in rounds.steps.items() if e.args}
    following = {e: sympy_module().Dummy(real=True) for e in steps.values()}
    short = value.xreplace(following)
    if not short.free_symbols & set(named):
        keys = {e: p for p, e in steps.items()}
        env = {x: after(keys[e], k + 1) for e, x in following.items() if short.has(x)}
        return short.xreplace({rounds.k: k, **env})
    return value.xreplace({rounds.k: k, **{x: after(named[x], k) for x in value.free_symbols & set(named)}})


__all__ = ["Rounds", "Written", "either", "filled", "written"]
