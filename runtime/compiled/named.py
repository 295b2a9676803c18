"""A function with sizes known by name for a module: from its signature and names to the cases that serve its sizes.

The function is traced with names for numbers from 0 on, so whatever it does with a size is noted as a guard. Sizes for
which a guard does not hold are traced for themselves: a number in place of a name (n = 1), or a name in that of another
(m = n). Where that gives what the general graph is there, the guard is not needed; else it is a case of its own. A
size, other than 0 and 1, at which the function returns something of another form is refused when a module is built.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from ...compiler.backend.extension import Case
from ...compiler.frontend import tree
from ...compiler.frontend.sizes import Sizes
from ...compiler.frontend.trace import Trace, leaves_of
from ...compiler.ir.graph import Builder, Graph, inline
from ...compiler.ir.measure import Guard, names_in
from ...compiler.ir.sizes import at_sizes
from ...compiler.ir.text import show
from ...compiler.ir.types import Dim, Size, exactly
from ...compiler.ops.source import number
from ...compiler.passes.pipeline import optimize
from ..portable.replacing import without_libraries
from .function import Function
from .regular import as_reached, content, made_inside, with_arrays

LARGE = (1000, 1013, 1019, 1021, 1031, 1033, 1039, 1049)
"""Numbers for sizes while they are traced."""

FEW = 4
"""Numbers of a size for which a guard does not hold, up to which each is traced."""

TRIED = (*range(4096), 2**16 + 1, 2**20 + 1, 2**24 + 1, 2**28 + 1)
"""Numbers at which guards are looked at, in place of all."""

PROBES = (*range(2, 41), 100, 500, 2000, 4000, *TRIED[4096:])
"""Numbers that must be served, or be refused by the function itself."""

NUMBERS = (bool, int, float, np.number, np.bool_)
MOST_CASES = 12
MOST_TRACES = 32


@dataclass(eq=False)
class Traced:
    """The function traced with `where` in place of some names; `arrays` are those that the graph takes last."""

    where: dict[str, Dim]
    trace: Trace
    graph: Graph
    arrays: tuple[np.ndarray, ...]
    result: Any
    sizes: Sizes
    dropped: set[Guard] = field(default_factory=set)

    @property
    def guards(self) -> tuple[Guard, ...]:
        return tuple([guard for guard in self.sizes.guards if guard not in self.dropped])

    @property
    def text(self) -> str:
        """What it is, for comparisons."""
        where = sorted((name, str(value)) for name, value in self.where.items())
        return f"{where} {sorted(map(str, self.sizes.guards))} {show(self.graph)} {[*map(content, self.arrays)]}"

    def serves(self, numbers: Mapping[str, int]) -> bool:
        """Whether it is for these numbers of all sizes."""
        at = {name: value.at(numbers) if isinstance(value, Size) else value for name, value in self.where.items()}
        found = self.sizes.complete(numbers)
        return all(numbers[name] == n for name, n in at.items()) and all(guard.holds(found) for guard in self.guards)

    def case(self, arrays: Sequence[np.ndarray]) -> Case:
        """What a module has of it; the graph takes `arrays`, which its own are among."""
        graph = with_arrays(self.graph, self.arrays, arrays)
        return Case(graph, dict(self.where), self.guards, dict(self.sizes.quotients), without_libraries(graph))


class NamedTraces:
    """The traces of a function for a signature, the general one first; `shapes` are of its traced leaves.

    given    names by the labels of dimensions, at least one
    arrays   what the graphs of all cases take after the arguments
    """

    def __init__(self, owner: Function, name: str, signature: tree.Signature, given: Mapping[str, str]) -> None:
        self._owner, self._name, self._signature = owner, name, signature
        paths = owner.argument_names(len(signature[1]) - 1)
        self.shapes: list[tuple[Dim, ...]] = []
        for path, node in leaves_of(signature, paths):
            shape = enumerate(tree.shape_of(node))
            labels = [(given.get(f"{path}.shape[{axis}]"), n) for axis, n in shape]
            self.shapes.append(tuple([n if label is None else Size.named(label) for label, n in labels]))
        self.names = tuple(dict.fromkeys([str(n) for shape in self.shapes for n in shape if isinstance(n, Size)]))
        self._seen: dict[str, Traced | None] = {}
        self._unlike = set[str]()
        self.made = [self._traced({})]
        self._seen["[]"] = self.made[0]
        self._add_others()
        self._check_all()
        self.arrays = tuple({content(x): x for each in self.made for x in each.arrays}.values())

    def cases(self) -> tuple[Case, ...]:
        """What a module has of them."""
        return tuple([each.case(self.arrays) for each in self.made])

    def _traced(self, where: dict[str, Dim], at: Mapping[str, int] = MappingProxyType({})) -> Traced:
        """The function with `where` in place of names, and decided by the numbers `at` of others."""
        fixed = {n for shape in self.shapes for n in shape if isinstance(n, int)}
        spare = (n for k in range(10**6) for n in (LARGE[k % len(LARGE)] + 64 * (k // len(LARGE)),) if n not in fixed)
        sizes = Sizes({name: at.get(name, next(spare)) for name in self.names if name not in where}, walked=True)
        sizes.least = dict.fromkeys(sizes.numbers, 0)
        shapes = [tuple([where.get(str(n), n) if isinstance(n, Size) else n for n in shape]) for shape in self.shapes]
        try:
            traced, graph, result = self._owner.with_names(self._signature, sizes, shapes)
            made, arrays = made_inside(graph, [np.asarray(tree.canonical(np.asarray(x))) for x in traced.extras])
            return Traced(where, traced, graph if made is graph else optimize(made), arrays, result, sizes)
        except Exception:
            if where or not sizes.frozen:
                raise
        told = "; ".join(f"{name} is fixed by {why}" for name, why in sizes.frozen.items())
        what = f"{self._name} cannot be built with these sizes known by name ({told})"
        raise TypeError(f"{what}: leave the names out, or what fixes them")

    def _add_others(self) -> None:
        """Trace what guards leave out, as far as the function takes it."""
        pending = deque(self.made)
        while pending:
            general = pending.popleft()
            names = [n for n in self.names if n not in general.where]
            for guard in list(general.sizes.guards):
                wheres = _violations(guard, names, general.sizes)
                found = None if wheres else _violating(guard, names, general.sizes)
                others = [self._other(general.where | where, {}) for where in wheres]
                others += [self._other(general.where, dict([found]))] if found else []
                if wheres and all(each is not None and _is_same(general, each) for each in others):
                    general.dropped.add(guard)
                    continue
                for other in others:
                    if other is not None and other not in self.made and len(self.made) < MOST_CASES:
                        self.made.append(other)
                        pending.append(other)

    def _check_all(self) -> None:
        """Refuse sizes that the function takes, and that no case serves."""
        large = {name: LARGE[k % len(LARGE)] for k, name in enumerate(self.names)}
        for name in self.names:
            for n in reversed(PROBES):
                if not any(each.serves(large | {name: n}) for each in self.made):
                    many = len(self._seen) >= MOST_TRACES
                    if many or self._other({}, {name: n}) is not None or _key({}, {name: n}) in self._unlike:
                        raise TypeError(self._unserved(name, n, large | {name: n}))

    def _unserved(self, name: str, n: int, numbers: Mapping[str, int]) -> str:
        first = self.made[0]
        found = first.sizes.complete(numbers)
        guard = next(guard for guard in first.guards if not guard.holds(found))
        where = first.sizes.guards[guard]
        at = f", asked for at {where.file}:{where.line}" if where else ""
        return (f"{self._name} cannot be built with the size {name} known by name: for {name} = {n} it takes another "
                f"form than where {first.sizes.told(guard)}{at}; leave the name out")

    def _other(self, where: dict[str, Dim], at: Mapping[str, int]) -> Traced | None:
        """The function traced there; None if it takes no such sizes, or returns something of another form."""
        key = _key(where, at)
        if key not in self._seen and len(self._seen) < MOST_TRACES:
            found = self._like_first(where, at)
            known = [each for each in self._seen.values() if each is not None and found and each.text == found.text]
            self._seen[key] = known[0] if known else found
        return self._seen.get(key)

    def _like_first(self, where: dict[str, Dim], at: Mapping[str, int]) -> Traced | None:
        try:
            other = _with_numbers(self._traced(where, at), self.made[0])
        except Exception:
            return None
        ranks = [[(r.type.dtype, r.type.rank) for r in each.graph.results] for each in (self.made[0], other)]
        if ranks[0] == ranks[1] and _form(self.made[0].result) == _form(other.result):
            return other
        self._unlike.add(_key(where, at))
        return None


def _with_numbers(other: Traced, first: Traced) -> Traced:
    """The same, where it returns a number of Python's and `first` one of its graph, with that in the graph, too."""
    pairs = [*_leaves(first.result, other.result)]
    made = {mine.index: theirs for mine, theirs in pairs if hasattr(mine, "index")}
    constants = {k: theirs.value for k, theirs in made.items() if isinstance(getattr(theirs, "value", None), NUMBERS)}
    if not constants or sorted(made) != [*range(len(first.graph.results))]:
        return other
    types = [r.type for r in first.graph.results]
    if any(types[k].shape or np.result_type(x) != types[k].numpy for k, x in constants.items()):
        return other
    b = Builder(other.graph.name, [p.type for p in other.graph.params], [p.hint for p in other.graph.params])
    given = inline(other.graph, b, b.params)
    results = [number(b, constants[k], types[k]) if k in constants else given[made[k].index] for k in sorted(made)]
    return replace(other, graph=b.finish(results), result=first.result)


def _leaves(mine: Any, theirs: Any) -> Iterator[tuple[Any, Any]]:
    """The leaves of two results that stand at the same places, as far as their containers are alike."""
    items = getattr(mine, "items", None)
    if items is None:
        yield mine, theirs
    elif type(mine) is type(theirs) and getattr(mine, "keys", None) == getattr(theirs, "keys", None):
        for a, b in zip(items, theirs.items, strict=False):
            yield from _leaves(a, b)


def _key(where: Mapping[str, Dim], at: Mapping[str, int]) -> str:
    return str(sorted((name, str(value)) for name, value in {**where, **at}.items()))


def _violations(guard: Guard, names: Sequence[str], sizes: Sizes) -> list[dict[str, Dim]]:
    """What to put in place of names so that a guard does not hold, if that is all there is; else nothing."""
    numbers = _numbers(guard, names, sizes)
    if numbers is not None:
        name, found = numbers
        return [{name: n} for n in found] if len(found) <= FEW else []
    if not names_in(guard.size) <= set(names):
        return []
    if _difference(guard) is not None:
        one, other = _difference(guard) or ("", "")
        return [{one: Size.named(other)}]
    for name in sorted(names_in(guard.size)):
        rest = exactly(guard.size, Size.named(name))
        if isinstance(rest, Size) and guard.relation == "!= 0":
            others = _violations(Guard(rest, guard.relation), names, sizes)
            return [{name: 0}, *others] if others else []
    return []


def _violating(guard: Guard, names: Sequence[str], sizes: Sizes) -> tuple[str, int] | None:
    """A number of a size for which a guard does not hold, where there are many: the largest that is tried."""
    numbers = _numbers(guard, names, sizes)
    return (numbers[0], numbers[1][-1]) if numbers is not None and numbers[1] else None


def _numbers(guard: Guard, names: Sequence[str], sizes: Sizes) -> tuple[str, list[int]] | None:
    """The only size of a guard, and its numbers for which it does not hold, of those that are tried."""
    mine, pending = set[str](), names_in(guard.size)
    while pending:
        name = pending.pop()
        if name in sizes.quotients:
            pending |= names_in(sizes.quotients[name][0])
        else:
            mine.add(name)
    if len(mine) != 1 or not mine <= set(names):
        return None
    (name,) = mine
    others = dict.fromkeys(sizes.numbers, 0)
    return name, [n for n in TRIED if not guard.holds(sizes.complete(others | {name: n}))]


def _difference(guard: Guard) -> tuple[str, str] | None:
    """The two names that a guard says are not equal."""
    terms = dict(guard.size.terms)
    alone = [names for names in terms if len(names) == 1]
    if guard.relation != "!= 0" or len(alone) != 2 or len(terms) != 2 or sorted(terms.values()) != [-1, 1]:
        return None
    return alone[1][0], alone[0][0]


def _is_same(general: Traced, other: Traced) -> bool:
    """Whether the general graph is the other one there, and the other one has no guards that it has not."""
    if general.sizes.quotients or other.sizes.quotients:
        return False
    if [*map(content, general.arrays)] != [*map(content, other.arrays)]:
        return False
    names = {*general.sizes.numbers, *other.sizes.numbers}
    at: Mapping[str, Any] = {name: other.where.get(name, Size.named(name)) for name in names}
    if not {Guard(g.size, g.relation) for g in other.sizes.guards} <= set(general.sizes.guards):
        return False
    try:
        there = optimize(at_sizes(general.graph, at))
        return show(as_reached(there), bare=True) == show(as_reached(other.graph), bare=True)
    except TypeError:  # the general graph is none there: an array would have a negative size
        return False


def _form(result: Any) -> Any:
    """A result without the shapes of its arrays."""
    items = getattr(result, "items", None)
    if items is not None:
        return type(result), getattr(result, "keys", None), tuple(map(_form, items))
    return type(result), getattr(result, "index", None), getattr(result, "dtype", None), getattr(result, "value", None)


__all__ = ["NamedTraces", "Traced"]
