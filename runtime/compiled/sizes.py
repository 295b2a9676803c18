"""Which dimensions are known by name: one graph serves every size of them.

The first call of a function is compiled for its sizes. When a dimension comes with a second one it is given a name,
and so is every other that has changed along; the function is traced once more, with the names, and that form serves
all further sizes. Sizes of 16 and less are compiled for themselves. What a function does with a size may keep it from
being a name (a loop over range(n)) or restrict the sizes that a form serves (a branch on n > 100): the guards.

    @jit(sizes="static")                every size is compiled for itself
    @jit(sizes={"x": ("n", 3)})         x has n rows, named from the first call on, and 3 columns, which is checked
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from inspect import Signature
from itertools import count as counted
from typing import TYPE_CHECKING, Any

from ...compiler.backend.entries import specs
from ...compiler.frontend import tree
from ...compiler.frontend.results import map_result
from ...compiler.frontend.sizes import Frozen
from ...compiler.frontend.sizes import Sizes as Named
from ...compiler.frontend.state.hidden import Hidden
from ...compiler.frontend.trace import Trace
from ...compiler.ir.graph import Graph
from ...compiler.ir.key import graph_key
from ...compiler.ir.measure import LEAST
from ...compiler.ir.sizes import at_sizes
from ...compiler.ir.types import Dim
from ...compiler.later import later
from . import kernels
from .compiled import Content
from .places import (
    Place,
    Rule,
    checked_names,
    checked_rule,
    given_names,
    in_units,
    listed,
    outline,
    places_of,
    shapes_of,
)

if TYPE_CHECKING:
    from ...compiler.backend.sized import shared as sharing
    from ...compiler.backend.sized.shared import Shared
else:
    sharing = later(__package__, "...compiler.backend.sized.shared")

MAX_FORMS = 8
"""Forms of one family that are kept; the oldest is dropped first."""

SEEN = 16
"""Earlier calls that tell which sizes change together."""


@dataclass(frozen=True)
class Form:
    """A function traced and derived with names for some of its sizes.

    names    of the dimensions, in order; None where the number in `dims` is fixed
    units    by name: what the dimensions are multiples of
    sizes    the guards
    """

    traced: Trace
    graph: Graph
    result: Any
    names: tuple[str | None, ...]
    dims: tuple[int, ...]
    units: dict[str, int]
    sizes: Named
    key: Any
    contents: list[Content]
    shared: Shared

    def numbers(self, dims: Sequence[int]) -> dict[str, int] | None:
        """The number for each name, if the form serves these dimensions."""
        found: dict[str, int] = {}
        for name, mine, n in zip(self.names, self.dims, dims, strict=True):
            if (mine if name is None else found.setdefault(name, n)) != n:
                return None
        numbers = in_units(found, self.units)
        return numbers if numbers is not None and self.sizes.hold(numbers) else None

    def at(self, signature: tree.Signature, numbers: Mapping[str, int]) -> tuple[Trace, Graph, Any]:
        """The trace, the derived graph and its result for a signature."""
        graph = at_sizes(self.graph, self.sizes.complete(numbers))

        def sized(leaf: Any) -> Any:
            if not isinstance(leaf, specs.ArrayResult):
                return leaf
            return specs.ArrayResult(leaf.index, leaf.dtype, graph.results[leaf.index].type.static_shape())

        result = map_result(self.result, sized)
        return Trace(self.traced.graph, signature, result, self.traced.extras), graph, result

    def named(self, numbers: Mapping[str, int], symbols: Sequence[Any]) -> Graph:
        """The graph with SymInts for sizes."""
        return at_sizes(self.graph, self.sizes.complete(dict(zip(numbers, symbols, strict=True))))


@dataclass
class Family:
    """Signatures that differ only in sizes above 16, and the forms that serve them.

    seen      dimensions of earlier calls, in order of the arguments
    varying   which of them have had another number, or are named by the user
    frozen    which of those can be no names, and why
    units     which of those are multiples of what
    refused   why no form could be made at all
    """

    seen: list[tuple[int, ...]] = field(default_factory=list)
    varying: set[int] = field(default_factory=set)
    frozen: dict[int, Frozen] = field(default_factory=dict)
    units: dict[int, int] = field(default_factory=dict)
    forms: list[Form] = field(default_factory=list)
    refused: str = ""


@dataclass
class Choice:
    """How a signature is compiled: by a form at some numbers, or for itself; and why."""

    reasons: list[str]
    form: Form | None = None
    numbers: dict[str, int] = field(default_factory=dict)
    settle: Callable[[], None] = lambda: None

    def made(self, signature: tree.Signature) -> tuple[Trace, Graph, Any, kernels.Runnable]:
        """What the form gives for a signature: the trace, the derived graph, its result and its kernel."""
        form, numbers = self.form, self.numbers
        assert form is not None
        traced, graph, result = form.at(signature, numbers)
        kernel = kernels.make_shared(form.shared, graph, [*numbers.values()], functools.partial(form.named, numbers))
        if form.shared.refused:
            self.reasons.append(f"with code of its own: {form.shared.refused}")
        return traced, graph, result, kernel


Make = Callable[[Named, list[tuple[Dim, ...]]], tuple[Trace, Graph, Any]]
"""Trace and derive a function with these names, in these shapes of its traced leaves."""


class Naming:
    """The sizes of one function's arguments: what has been seen of them, and which are named."""

    def __init__(self, rule: Rule, signature: Signature | None) -> None:
        self.rule = checked_names(checked_rule(rule), signature)
        self.families: dict[tree.Signature, Family] = {}

    def choose(self, signature: tree.Signature, paths: Sequence[str], hidden: Hidden, make: Make) -> Choice:
        """How to compile a signature that is new; `settle` the choice once that has gone well."""
        places = list(places_of(signature, paths))
        given = given_names(self.rule, places)
        if self.rule == "static":
            return Choice(["sizes='static': every size is compiled for itself"])
        kind = outline(signature)
        family = self.families.get(kind) or Family()
        new = "arguments of another structure, dtype, rank or size up to 16" if self.families else "the first call"
        dims = tuple([place.number for place in places if place.number >= LEAST])
        places = [place for place in places if place.number >= LEAST]
        before = family.seen[0] if family.seen else dims
        family.varying |= {k for k, p in enumerate(places) if dims[k] != before[k] or given.get(p.label)}
        choice = self._chosen(family, places, dims, given, signature, hidden, make)
        choice.reasons[:0] = [] if family.seen else [new]

        def settle() -> None:
            self.families[kind] = family
            family.seen = [*family.seen[: SEEN - 1], dims]
            if choice.form is None and not family.refused:
                family.refused = trouble[0] if (trouble := [r for r in choice.reasons if r.startswith(REFUSED)]) else ""

        choice.settle = settle
        return choice

    def _chosen(
        self,
        family: Family,
        places: list[Place],
        dims: tuple[int, ...],
        given: dict[str, str],
        signature: tree.Signature,
        hidden: Hidden,
        make: Make,
    ) -> Choice:
        """A form that is there, a new one, or none."""
        key, arrays = hidden.read()
        if family.refused:
            return Choice([family.refused])
        for form in reversed(family.forms):
            numbers = form.numbers(dims)
            if numbers is None or form.key != key:
                continue
            if all(content.holds(now) for now, content in zip(arrays, form.contents, strict=True)):
                return Choice([f"another size of the same graph: {listed(numbers)}"], form, numbers)
        reasons: list[str] = []
        while True:
            names = _names(family, places, dims, given)
            reasons += [f"{places[k].label} has no name: {why}" for k, why in family.frozen.items()]
            if not any(names):
                return Choice(reasons)
            whole = {name: n for name, n in zip(names, dims, strict=True) if name}
            units = {name: family.units.get(k, 1) for k, name in enumerate(names) if name}
            numbers = in_units(whole, units)
            if numbers is None:
                return Choice([*reasons, f"sizes that are multiples elsewhere are not here: {listed(whole)}"])
            if len(set(numbers.values())) < len(numbers):
                return Choice([*reasons, f"sizes that differ elsewhere are equal here: {listed(numbers)}"])
            sizes = Named(dict(numbers))
            try:
                traced, graph, result = make(sizes, shapes_of(signature, names, units))
            except Exception as error:
                if not sizes.frozen.keys() & set(names):
                    said = str(error).partition("\n  fix")[0].replace("\n ", ";")
                    return Choice([*reasons, f"{REFUSED}{type(error).__name__}: {said}"])
                reasons = []
                for k, name in enumerate(names):
                    if name in sizes.units:
                        family.units[k] = family.units.get(k, 1) * sizes.units[name]
                    elif name in sizes.frozen:
                        family.frozen[k] = sizes.frozen[name]
                continue
            contents = [Content(each) for each in arrays]
            shared = sharing.Shared(graph.name, True, functools.partial(_key, graph, [*numbers]))
            form = Form(traced, graph, result, names, dims, units, sizes, key, contents, shared)
            family.forms = [*family.forms[-MAX_FORMS + 1 :], form]
            reasons += [_change(places[k], name, family, k) for k, name in enumerate(names) if name]
            reasons += [f"{name} counts in steps of {unit}" for name, unit in units.items() if unit > 1]
            if sizes.guards:
                reasons.append("it serves sizes with " + ", ".join(map(sizes.told, sizes.guards)))
            return Choice(reasons, form, numbers)


def _key(graph: Graph, names: list[str]) -> list[str | bytes] | None:
    """What tells a graph with named sizes from others in any process."""
    key = graph_key(graph)
    return None if key is None else [key, *names]


REFUSED = "traced for each size, because it cannot be traced with names: "


def _names(
    family: Family, places: list[Place], dims: tuple[int, ...], given: Mapping[str, str]
) -> tuple[str | None, ...]:
    """A name for every dimension that varies: one name for those that have always been equal."""
    taken = set(given.values())
    spare = (name for k in counted() for letter in "nmkpqrst" if (name := letter + str(k or "")) not in taken)
    by_history: dict[Any, str] = {}
    names: list[str | None] = []
    for k, place in enumerate(places):
        if k not in family.varying or k in family.frozen:
            names.append(None)
            continue
        history = given.get(place.label) or (dims[k], *(each[k] for each in family.seen))
        if history not in by_history:
            by_history[history] = history if isinstance(history, str) else next(spare)
        names.append(by_history[history])
    return tuple(names)


def _change(place: Place, name: str, family: Family, k: int) -> str:
    if not family.seen or family.seen[0][k] == place.number:
        return f"{place.label} is {name}"
    return f"{place.label} is {place.number} and was {family.seen[0][k]}: it is {name} from now on"


__all__ = ["Choice", "Family", "Form", "Naming", "Rule"]
