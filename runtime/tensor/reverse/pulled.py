"""The pullback of a whole call: what backward does of its nodes, which is the same wherever the call stands.

    linear          t, view, addmm, view of arguments x, w, b
    its pullback    reads the cotangent of the result, x and w; gives cotangents of b, x and w

The steps are those that backward records as it goes from node to node.  As one fragment they are quicker where they run
once, and read arguments in place of what the call only moved about.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....compiler.ops.reduce import spread
from ....compiler.ops.shape import reshape, transpose
from ..recorder import launch
from ..trace.fragments.composed import Part, compose
from ..trace.fragments.fragments import COTANGENT, INPUT, Fragment
from ..trace.states import ABSOLUTE, Call, Template
from ..value.cells import Kind

VALUE, ZERO = "value", "zero"

FEW = 24
"""Calls of so many steps at most are made one fragment each."""

MOVES = frozenset({reshape, transpose, spread})
"""Primitives of steps that are worth no memory: who reads their results can do them again."""

Read = tuple[Any, Any]
"""What a pullback reads: (COTANGENT, which of the call's ends), (VALUE, ref), or (ZERO, kind)."""


Sums = tuple[tuple[Fragment, int, int], ...]
"""Sums of what a pullback gives, as numbers that go on after those of its steps: (fragment, -1 or a number, a number),
where -1 is a term from elsewhere."""


class Whole:
    """Steps as one fragment; its results are those steps' values of these numbers.

    reads  what it reads, as refs of a call; of a pullback they are places among what its steps read, or of arguments
    plain  all that is read, in that order: the arguments, or what the steps of a pullback read
    """

    __slots__ = ("fragment", "alone", "reads", "results", "plain")

    def __init__(self, fragment: Fragment, reads: Sequence[int], results: Sequence[int], plain: bool) -> None:
        self.fragment, self.alone, self.plain = fragment, fragment.alone, plain
        self.reads, self.results = tuple(reads), tuple(results)

    def run(self, values: list[Any], numbers: Sequence[int], base: int) -> None:
        """Run on the values of these numbers; the results become values, counted from `base`."""
        quick = self.alone.quick
        if quick is None or not launch(quick, values, numbers, self.results, base):
            made = self.fragment.run([values[n] for n in numbers])  # which raises the error if there was one
            for ref, array in zip(self.results, made, strict=True):
                values[base + ref] = array


class Pulled:
    """The pullback of calls that follow a template, for those of its ends that have a cotangent.

    reads    what the steps read; their values are numbered in this order, and then come their results
    steps    (fragment, numbers, which step of the call it pulls back through or -1)
    gives    (after how many steps, where a cotangent goes that is outside of the call, its number)
    kinds    of the results
    reached  the numbers of the nodes that backward passes
    """

    __slots__ = ("template", "reads", "steps", "gives", "kinds", "reached", "_wholes")

    def __init__(
        self, template: Template, reads: Sequence[Read], steps: Sequence[Any], gives: Sequence[Any],
        kinds: Sequence[Kind], reached: set[int],
    ) -> None:  # fmt: skip
        self.template, self.reads, self.steps, self.gives = template, tuple(reads), tuple(steps), tuple(gives)
        self.kinds, self.reached = tuple(kinds), frozenset(reached)
        self._wholes: dict[Sums, Any] = {}

    def whole(self, sums: Sums = ()) -> Whole | None:
        """The steps, and some sums of what they give, as one fragment; None if they are too many, or none.

        It reads, besides what the steps read, the terms of sums that come from elsewhere.
        """
        found = self._wholes.get(sums)
        if found is None:
            found = self._wholes[sums] = is_small(self.template) and bool(self.steps) and self._made_whole(sums)
        return found or None

    def _made_whole(self, sums: Sums) -> Whole:
        template, steps, count = self.template, self.steps, len(self.reads)
        moved = any(what is VALUE and moves_before(template, ref) for what, ref in self.reads)
        if len(steps) == 1 and not moved and not sums:
            fragment, reads, _ = steps[0]
            return Whole(fragment, reads, range(count, count + len(fragment.results)), reads == tuple(range(count)))
        totals = count + len(self.kinds)
        results = {n for _, _, n in self.gives} | {*range(totals, totals + len(sums))}
        return _whole(template, self.reads, steps, sums, sorted(results - {n for _, *terms in sums for n in terms}))


def is_small(template: Template) -> bool:
    """Whether calls may be run as one fragment each, and pulled back so."""
    inside = not any(r >= ABSOLUTE for s in template.steps for r in s[1])
    return len(template.steps) <= FEW and len(template.nodes or ()) <= FEW and inside


def ends_of(template: Template) -> tuple[tuple[int, int], ...]:
    """The nodes' results that cotangents from outside may come to."""
    return tuple(dict.fromkeys([way for _, way in template.ends if way[0] >= 0]))


def kind_of_read(template: Template, read: Read) -> Kind:
    """The kind of what a pullback reads."""
    what, which = read
    if what is ZERO:
        return which
    if what is VALUE:
        return kind_of_ref(template, which)
    number, index = ends_of(template)[which]
    return template.steps[template.nodes[number].step][0].results[index]  # type: ignore[index]


def kind_of_ref(template: Template, ref: int) -> Kind:
    """The kind of a value of a call, which one of its steps reads or makes."""
    if 0 <= ref < len(template.kinds):
        return template.kinds[ref]
    for fragment, refs, _, _ in template.steps:
        if ref in refs:
            return fragment.inputs[refs.index(ref)]
    raise LookupError(ref)


def _whole(
    template: Template, reads: Sequence[Read], steps: Sequence[Any], sums: Sums, results: Sequence[int]
) -> Whole:
    """The steps and sums as one, which moves arguments about itself."""
    outside: dict[Read, int] = {}
    moved: dict[int, tuple[int, Fragment, tuple[int, ...]]] = {}
    for what, ref in reads:
        before = moves_before(template, ref) if what is VALUE else None
        for first, fragment, refs in before or ():
            moved[first] = first, fragment, refs
            for r in refs:
                if r < 0:
                    outside.setdefault((VALUE, r), len(outside))
        if before is None:
            outside.setdefault((what, ref), len(outside))
    parts: list[Part] = []
    numbers: dict[Any, int] = {read: k for k, read in enumerate(outside)}
    others = [fragment.inputs[0] for fragment, a, _ in sums if a < 0]
    term, count = len(outside), len(outside) + len(others)
    for first, fragment, refs in sorted(moved.values()):
        parts.append((fragment, tuple([numbers[VALUE, r] for r in refs])))
        for k in range(len(fragment.results)):
            numbers[VALUE, first + k] = count
            count += 1
    places = [numbers[read] for read in reads]
    for fragment, refs, _ in steps:
        parts.append((fragment, tuple([places[r] for r in refs])))
        places += range(count, count + len(fragment.results))
        count += len(fragment.results)
    for fragment, a, b in sums:
        parts.append((fragment, (term if a < 0 else places[a], places[b])))
        places.append(count)
        term, count = term + (a < 0), count + 1
    kinds = [*[kind_of_read(template, read) for read in outside], *others]
    fragment = compose(f"{template.function.__name__}_pull", kinds, parts, [places[n] for n in results])
    where = [reads.index(read) if read in reads else read[1] for read in outside]
    where += range(len(reads), len(reads) + len(others))
    return Whole(fragment, where, results, where == [*range(len(reads) + len(others))])


def moves_before(template: Template, ref: int) -> list[tuple[int, Fragment, tuple[int, ...]]] | None:
    """The steps that make a value of the call's own by moving an argument about, in order; None if there are others."""
    found: list[tuple[int, Fragment, tuple[int, ...]]] = []
    while ref >= 0:
        step = next((s for s in template.steps if s[2] <= ref < s[2] + len(s[0].results)), None)
        if step is None or len(step[1]) != 1 or any(op.prim not in MOVES for op in step[0].graph.body):
            return None
        found.append((step[2], step[0], step[1]))
        ref = step[1][0]
    return found[::-1] if found else None


def whole_call(template: Template) -> Whole | None:
    """All that a call does as one fragment of the values that others may read; None if it is too much, or nothing."""
    found = template.whole
    if found is None:
        few = bool(template.steps) and not template.call.exact and is_small(template)
        found = template.whole = few and _whole_call(template)
    return found or None


def _whole_call(template: Template) -> Whole:
    steps = template.steps
    if len(steps) == 1:
        fragment, refs, first, _ = steps[0]
        return Whole(fragment, refs, range(first, first + len(fragment.results)), _are_arguments(refs))
    made = {s[2] + k for s in steps for k in range(len(s[0].results))}
    wanted = {ref for ref, _, _ in template.results} | {ref for _, ref in template.assigns}
    wanted |= {other for _, other in template.aliases}
    for known in template.nodes or ():
        fragment, refs, first, _ = steps[known.step]
        reads = [refs[k] if what == INPUT else first + k for what, k in known.pull.reads if what != COTANGENT]
        wanted.update(r for r in reads if r in made and moves_before(template, r) is None)
    wanted &= made
    outside = sorted({r for _, refs, _, _ in steps for r in refs if r not in made}, reverse=True)
    numbers = {r: k for k, r in enumerate(outside)}
    parts: list[Part] = []
    for fragment, refs, first, _ in steps:
        parts.append((fragment, tuple([numbers[r] for r in refs])))
        for k in range(len(fragment.results)):
            numbers[first + k] = len(numbers)
    kinds = [kind_of_ref(template, r) for r in outside]
    results = sorted(wanted)
    fragment = compose(template.function.__name__, kinds, parts, [numbers[r] for r in results])
    return Whole(fragment, outside, results, _are_arguments(outside))


def _are_arguments(refs: Sequence[int]) -> bool:
    return list(refs) == [-1 - k for k in range(len(refs))]


Group = tuple[Call, Pulled, list[int], int, list[tuple[int, Fragment, tuple[int, int], int]]]
"""A call that is pulled back: the call, how, the numbers of what its steps read, the first number of their results, and
sums of its cotangents with others (after how many steps, fragment, numbers, first)."""


class Walked(Template):
    """What a backward does; its steps are written out when they are asked for."""

    __slots__ = ("groups", "base", "place")

    groups: list[Group]
    base: int
    place: Any

    def __getattr__(self, name: str) -> Any:
        if name != "steps":
            raise AttributeError(name)
        self.steps = self._written_out()
        return self.steps

    def _written_out(self) -> list[tuple[Fragment, tuple[int, ...], int, Any]]:
        base, made = self.base, []

        def ref(n: int) -> int:
            return n - base if n >= base else ABSOLUTE + n

        for call, pulled, reads, first, adds in self.groups:
            numbers = [*reads, *range(first, first + len(pulled.kinds))]
            at, sums = first, iter([*adds, (-1, None, (), 0)])
            after, fragment, terms, total = next(sums)
            for k, (what, wanted, step) in enumerate(pulled.steps, 1):
                place = self.place if step < 0 else call.place or call.template.steps[step][3]
                made.append((what, tuple([ref(numbers[r]) for r in wanted]), at - base, place))
                at += len(what.results)
                while after == k:
                    made.append((fragment, tuple(map(ref, terms)), total - base, self.place))
                    after, fragment, terms, total = next(sums)
        return made


__all__ = [
    "VALUE", "ZERO", "Group", "Pulled", "Read", "Walked", "Whole", "ends_of", "kind_of_read", "whole_call",
]  # fmt: skip
