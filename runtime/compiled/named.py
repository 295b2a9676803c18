"""A function with sizes known by name for a module: from its signature and names to the cases that serve its sizes.

The function is traced with names for numbers from 0 on, so whatever it does with a size is noted as a guard. Sizes for
which a guard does not hold are traced for themselves: a number in place of a name (n = 1), or a name in that of another
(m = n). Where that gives what the general graph is there, the guard is not needed; else it is a case of its own.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from ...compiler.backend.extension import Case
from ...compiler.frontend import tree
from ...compiler.frontend.sizes import Sizes
from ...compiler.frontend.trace import Trace, leaves_of
from ...compiler.ir.graph import Graph
from ...compiler.ir.measure import Guard, exactly, names_in
from ...compiler.ir.sizes import at_sizes
from ...compiler.ir.text import show
from ...compiler.ir.types import Dim, Size
from ...compiler.passes import optimize
from .function import Function
from .places import given_names, places_of

LARGE = (1000, 1013, 1019, 1021, 1031, 1033, 1039, 1049)
"""Numbers for sizes while they are traced."""

FEW = 4
"""Numbers of a size for which a guard does not hold, up to which each is traced."""

MOST_NUMBER = 4096
MOST_CASES = 12
MOST_TRACES = 32


@dataclass(eq=False)
class Traced:
    """The function traced with `where` in place of some names."""

    where: dict[str, Dim]
    trace: Trace
    graph: Graph
    result: Any
    sizes: Sizes
    dropped: set[Guard] = field(default_factory=set)

    @property
    def guards(self) -> tuple[Guard, ...]:
        return tuple([guard for guard in self.sizes.guards if guard not in self.dropped])

    def case(self) -> Case:
        """What a module has of it."""
        return Case(self.graph, dict(self.where), self.guards, dict(self.sizes.quotients))


class NamedTraces:
    """The traces of a function for a signature, the general one first; `shapes` are of its traced leaves."""

    def __init__(self, owner: Function, name: str, signature: tree.Signature) -> None:
        self._owner, self._name, self._signature = owner, name, signature
        paths = owner.argument_names(len(signature[1]) - 1)
        given = given_names(owner.naming.rule, list(places_of(signature, paths)))
        self.shapes: list[tuple[Dim, ...]] = []
        for path, node in leaves_of(signature, paths):
            shape = enumerate(tree.shape_of(node))
            labels = [(given.get(f"{path}.shape[{axis}]"), n) for axis, n in shape]
            self.shapes.append(tuple([n if label is None else Size.named(label) for label, n in labels]))
        self.names = tuple(dict.fromkeys([str(n) for shape in self.shapes for n in shape if isinstance(n, Size)]))
        self._seen: dict[str, Traced | None] = {}
        self.made = [self._traced({})]
        if self.names:
            self._add_others()

    def _traced(self, where: dict[str, Dim], at: Mapping[str, int] = MappingProxyType({})) -> Traced:
        """The function with `where` in place of names, and decided by the numbers `at` of others."""
        fixed = {n for shape in self.shapes for n in shape if isinstance(n, int)}
        spare = (n for k in range(10**6) for n in (LARGE[k % len(LARGE)] + 64 * (k // len(LARGE)),) if n not in fixed)
        sizes = Sizes({name: at.get(name, next(spare)) for name in self.names if name not in where})
        sizes.least = dict.fromkeys(sizes.numbers, 0)
        shapes = [tuple([where.get(str(n), n) if isinstance(n, Size) else n for n in shape]) for shape in self.shapes]
        try:
            return Traced(where, *self._owner.with_names(self._signature, sizes, shapes), sizes)
        except Exception:
            if where or not sizes.frozen:
                raise
        told = "; ".join(f"{name} is fixed by {why}" for name, why in sizes.frozen.items())
        raise TypeError(f"{self._name} cannot be built with these sizes known by name ({told}): leave the names out, or "
                        "what fixes them")

    def _add_others(self) -> None:
        """Trace what guards leave out, as far as the function takes it."""
        pending = deque(self.made)
        while pending:
            general = pending.popleft()
            for guard in list(general.sizes.guards):
                names = [n for n in self.names if n not in general.where]
                wheres = _violations(guard, names)
                found = None if wheres else _violating(guard, names)
                alike = bool(wheres)
                for more, at in [*((each, {}) for each in wheres), *([({}, dict([found]))] if found else [])]:
                    where = general.where | more
                    key = str(sorted((name, str(value)) for name, value in (where | at).items()))
                    if key not in self._seen and len(self._seen) < MOST_TRACES:
                        self._seen[key] = self._other(where, at)
                    other = self._seen.get(key)
                    same = other is not None and not at and _is_same(general, other)
                    alike = alike and same
                    if other is not None and not same and other not in self.made and len(self.made) < MOST_CASES:
                        self.made.append(other)
                        pending.append(other)
                if alike:
                    general.dropped.add(guard)

    def _other(self, where: dict[str, Dim], at: Mapping[str, int]) -> Traced | None:
        """The function traced there; None if it takes no such sizes, or returns something of another form."""
        try:
            other = self._traced(where, at)
        except Exception:
            return None
        first = self.made[0].trace.extras
        alike = len(first) == len(other.trace.extras) and all(map(np.array_equal, first, other.trace.extras))
        ranks = [[(r.type.dtype, r.type.rank) for r in each.graph.results] for each in (self.made[0], other)]
        return other if alike and ranks[0] == ranks[1] and _form(self.made[0].result) == _form(other.result) else None


def _violations(guard: Guard, names: Sequence[str]) -> list[dict[str, Dim]]:
    """What to put in place of names so that a guard does not hold, if that is all there is; else nothing."""
    mine = names_in(guard.size)
    if not mine <= set(names):
        return []
    if len(mine) == 1:
        (name,) = mine
        numbers = [n for n in range(MOST_NUMBER) if not guard.holds({name: n})]
        return [{name: n} for n in numbers] if len(numbers) <= FEW else []
    if _difference(guard) is not None:
        one, other = _difference(guard) or ("", "")
        return [{one: Size.named(other)}]
    for name in sorted(mine):
        rest = exactly(guard.size, Size.named(name))
        if isinstance(rest, Size) and guard.relation == "!= 0":
            others = _violations(Guard(rest, guard.relation), names)
            return [{name: 0}, *others] if others else []
    return []


def _violating(guard: Guard, names: Sequence[str]) -> tuple[str, int] | None:
    """A number of a size for which a guard does not hold, where there are many: the largest that is tried."""
    mine = names_in(guard.size)
    if len(mine) != 1 or not mine <= set(names):
        return None
    (name,) = mine
    return next(((name, n) for n in reversed(range(MOST_NUMBER)) if not guard.holds({name: n})), None)


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
    names = {*general.sizes.numbers, *other.sizes.numbers}
    at: Mapping[str, Any] = {name: other.where.get(name, Size.named(name)) for name in names}
    if not {Guard(g.size, g.relation) for g in other.sizes.guards} <= set(general.sizes.guards):
        return False
    try:
        return show(optimize(at_sizes(general.graph, at))) == show(other.graph)
    except TypeError:  # the general graph is none there: an array would have a negative size
        return False


def _form(result: Any) -> Any:
    """A result without the shapes of its arrays."""
    items = getattr(result, "items", None)
    if items is not None:
        return type(result), getattr(result, "keys", None), tuple(map(_form, items))
    return type(result), getattr(result, "index", None), getattr(result, "dtype", None), getattr(result, "value", None)


__all__ = ["NamedTraces", "Traced"]
