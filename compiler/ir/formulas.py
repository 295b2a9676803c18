"""Numbers as formulas of sizes: what was computed with SymInts goes in, and at other sizes the numbers come out.

    formulas = Formulas()
    formulas.add(sizes, [steps], "code")
    formulas.at([60])                    (7,), "code"
    formulas.at([10])                    None: no way is known
    formulas.packed({"code": 0})         what JSON can keep, for `Formulas.unpacked` in another process
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from .symint import COMPUTED, CONSTANT, GUARDS, OF_ONE, SIZE, SymSizes

Step = tuple[Callable[[Any, Any], Any], int, int]
"""A number from two others, by their places among the values."""

FUNCTIONS = {**COMPUTED, **OF_ONE, **GUARDS}
NAMES = {function: name for name, function in FUNCTIONS.items()}
"""What steps compute, by name, and the other way round; beside these there are constants."""


class Branch:
    """A guard of a decision tree, or an end of it.

    steps      what is computed before the guard
    guard      what decides; None where no way goes on
    following  where ways have gone on, by what has come out
    ends       the ways that end here
    other      a branch for ways that have asked for something else here: a table finds what is equal by chance
    """

    __slots__ = ("steps", "guard", "following", "ends", "other")

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.guard: Step | None = None
        self.following: dict[Any, Branch] = {}
        self.ends: list[End] = []
        self.other: Branch | None = None

    def at(self, steps: list[Step], guard: Step) -> Branch:
        """This branch, or the other one that has this guard."""
        branch = self
        while branch.guard is not None and (branch.guard, branch.steps) != (guard, steps):
            branch.other = branch.other or Branch()
            branch = branch.other
        branch.steps, branch.guard = steps, guard
        return branch


class End(NamedTuple):
    """A way: what is computed at its end, where the results lie, and what they are for.

    Tables that have been asked for a number on the way have found equal ones and no others. So the numbers at `apart`
    must differ, and be none of the `constants`.
    """

    steps: list[Step]
    results: list[int]
    apart: list[int]
    constants: set[int]
    made: Any


class Formulas:
    """Numbers as formulas of sizes, by the way that a computation goes at these: a decision tree over its guards.

    Two ways are the same up to the first comparison that comes out another way, so one walk through the tree tells
    which of them is gone at some sizes, if it has been gone before.
    """

    def __init__(self) -> None:
        self.root, self.count = Branch(), 0

    def add(self, sizes: SymSizes, results: Iterable[Any], made: Any, constants: Iterable[Any] = ()) -> None:
        """A way that has been gone, what it computes and what for; `constants` may be in tables with its sizes."""
        places = _Places(sizes)
        at = self.root
        for (relation, a, b), came in sizes.guards.items():
            guard = GUARDS[relation], places.of(a), places.of(b)
            at = at.at(places.taken(), guard)
            at = at.following.setdefault(came, Branch())
        found = [places.of(operand[0]) for x in results if (operand := sizes.operand(x))]
        apart = [places.of(node) for node in {n: node for node, n in sizes.hashed.items()}.values()]
        others = {n for n in constants if type(n) is int} - {*sizes.hashed.values()}
        at.ends = [End(places.taken(), found, apart, others, made), *at.ends]
        self.count += 1

    def at(self, sizes: Iterable[int]) -> tuple[tuple[Any, ...], Any] | None:
        """The numbers at some sizes, and what they are for; None where no way is known."""
        values = [*sizes] or [0]  # constants are steps, too, and read something
        append, pending = values.append, [(self.root, len(values))]
        while pending:
            at, count = pending.pop()
            del values[count:]
            try:
                while True:
                    for end in at.ends:
                        found = _ended(end, values)
                        if found is not None:
                            return found, end.made
                    if at.other is not None:
                        pending.append((at.other, len(values)))
                    if at.guard is None:
                        break
                    for compute, a, b in at.steps:
                        append(compute(values[a], values[b]))
                    compute, a, b = at.guard
                    at = at.following[compute(values[a], values[b])]
            except (KeyError, ArithmeticError, ValueError):  # of numbers that go another way some are not computed
                continue
        return None

    def made(self) -> list[Any]:
        """What the ways are for."""
        return [end.made for branch in self._branches() for end in branch.ends]

    def _branches(self) -> list[Branch]:
        found = [self.root]
        for branch in found:  # which grows meanwhile
            found += [*branch.following.values(), *([branch.other] if branch.other else [])]
        return found

    def packed(self, made: Mapping[Any, int]) -> dict[str, Any]:
        """All ways as lists of numbers and texts; what they are for as `made` says."""
        functions: dict[Callable[[Any, Any], Any], int] = {}
        branches, rows, ends, steps = self._branches(), [], [], list[Step]()
        number = {branch: k for k, branch in enumerate(branches)}
        for branch in branches:
            following = [[came, number[other]] for came, other in branch.following.items()]
            other = number[branch.other] if branch.other else -1
            before = len(steps)
            steps += [*branch.steps, *([branch.guard] if branch.guard else [])]
            rows.append([len(steps) - before, branch.guard is not None, len(branch.ends), other, following])
            for end in branch.ends:
                ends.append([len(end.steps), end.results, end.apart, [*end.constants], made[end.made]])
                steps += end.steps
        numbers = [functions.setdefault(function, len(functions)) for function, _, _ in steps]
        return {
            "functions": [NAMES.get(f) or f.constant for f in functions],  # type: ignore[attr-defined]
            "steps": [numbers, [a for _, a, _ in steps], [b for _, _, b in steps]],
            "branches": rows, "ends": ends, "count": self.count,
        }  # fmt: skip

    @classmethod
    def unpacked(cls, kept: Mapping[str, Any], made: Sequence[Any]) -> Formulas:
        """The same formulas again; what they are for out of `made`."""
        functions = [FUNCTIONS[f] if type(f) is str else _constant(KINDS[f[0]], f[1]) for f in kept["functions"]]
        numbers, a, b = kept["steps"]
        steps: list[Step] = [*zip(map(functions.__getitem__, numbers), a, b, strict=True)]
        branches = [Branch() for _ in kept["branches"]]
        ends, at = iter(kept["ends"]), 0
        for branch, (count, guarded, ending, other, following) in zip(branches, kept["branches"], strict=True):
            branch.steps, at = steps[at : at + count], at + count
            branch.guard = branch.steps.pop() if guarded else None
            branch.following = {came: branches[k] for came, k in following}
            branch.other = branches[other] if other >= 0 else None
            for _ in range(ending):
                count, results, apart, constants, number = next(ends)
                branch.ends.append(End(steps[at : at + count], results, apart, {*constants}, made[number]))
                at += count
        found = cls()
        found.root, found.count = branches[0], kept["count"]
        return found


def _ended(end: End, values: list[Any]) -> tuple[Any, ...] | None:
    """The results of a way, if its end is reached with these values."""
    count, append = len(values), values.append
    try:
        for compute, a, b in end.steps:
            append(compute(values[a], values[b]))
        apart = {values[k] for k in end.apart}
        if len(apart) == len(end.apart) and apart.isdisjoint(end.constants):
            return tuple([values[k] for k in end.results])
    except (ArithmeticError, ValueError):  # what it would compute is not computed where it goes
        pass
    del values[count:]
    return None


class _Places:
    """Where the values of nodes lie: after the sizes, in the order in which they are asked for."""

    def __init__(self, sizes: SymSizes) -> None:
        self._nodes, self._steps = sizes.nodes, list[Step]()
        self._places = {k: node.a for k, node in enumerate(sizes.nodes) if node.op == SIZE}
        self._count = max(1, sizes.count)

    def of(self, node: int) -> int:
        """The place of a node's value, with steps that make it if there are none yet."""
        missing: set[int] = set()
        pending = [node]
        while pending:
            at = pending.pop()
            if at not in self._places and at not in missing:
                missing.add(at)
                op, a, b = self._nodes[at]
                pending += () if op == CONSTANT else (a, b)
        for at in sorted(missing):  # operands first
            op, a, b = self._nodes[at]
            if op == CONSTANT:
                self._steps.append((_constant(type(a), repr(a)), 0, 0))
            else:
                self._steps.append((COMPUTED.get(op) or OF_ONE[op], self._places[a], self._places[b]))
            self._places[at] = self._count
            self._count += 1
        return self._places[node]

    def taken(self) -> list[Step]:
        """The steps since the last time."""
        taken, self._steps = self._steps, []
        return taken


@functools.lru_cache(4096)
def _constant(kind: type, text: str) -> Callable[[Any, Any], Any]:
    number = kind(text)

    def constant(*_: Any) -> Any:
        return number

    constant.constant = (kind.__name__, text)  # type: ignore[attr-defined]
    return constant


KINDS = {"int": int, "float": float}


__all__ = ["Formulas"]
