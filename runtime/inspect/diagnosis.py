"""A function and the arguments of a call in; where its numbers first go wrong out, in the value and in the gradient.

    >>> print(slope.diagnose(np.array([1.0, 0.0])))
    diagnosis of loss
      value: infinity, first made by log at loss.py:4
           4 | y = np.log(x)
        element [1] is -inf; x[1] is 0.0
        on its way to the result: mul at loss.py:5, sum at loss.py:6

The graph is followed operation by operation with NumPy, by the same walk as `check` uses for blame. What compiled code
does is the same up to rounding.
"""

from __future__ import annotations

import linecache
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from ...compiler.ir.graph import Graph, Op, Value, Where
from ...compiler.ops import elementwise as E
from ..derivatives.blame import MOST, Step, Walk, kinks

SHOWN = 8
"""Operations of a way to the result, and kinks, that are told in print."""

NAN, INFINITY, OVERFLOW, DENORMAL = "NaN", "infinity", "overflow", "denormal"
KINDS = (NAN, INFINITY, OVERFLOW, DENORMAL)


class Operand(NamedTuple):
    """What an operation was given: its name, or what made it, and its value (at the place that went wrong)."""

    name: str
    value: str

    def __str__(self) -> str:
        return f"{self.name} is {self.value}"


class Finding(NamedTuple):
    """The first operation that made a kind of number from operands that held none of it.

    sweep      value or adjoint
    kind       NaN, infinity, overflow (what is infinite, or wrapped around, though no operand is singular) or denormal
    operation  its name; argument if the call brought it along
    where      the user's file and line, None if it is not known
    rounds     the round of each loop around it, outermost first, counted from 0, and the loop's line
    element    which element of its result, () of a single number
    value      what stands there
    operands   what it was given
    path       the operations through which it came to a result, empty if it did not
    reaches    whether it came to a result; None if the call was not followed to its end
    """

    sweep: str
    kind: str
    operation: str
    where: Where | None
    rounds: tuple[tuple[Where | None, int], ...]
    element: tuple[int, ...]
    value: float
    operands: tuple[Operand, ...]
    path: tuple[str, ...] = ()
    reaches: bool | None = False

    @property
    def line(self) -> int | None:
        """The user's line."""
        return None if self.where is None else self.where.line

    def __str__(self) -> str:
        at = f" at {self.where}" if self.where else ""
        rounds = "".join(f", in round {k} of the loop" + (f" at {w}" if w else "") for w, k in reversed(self.rounds))
        first = "brought along by" if self.operation == "argument" else "first made by"
        lines = [f"{self.sweep}: {self.kind}, {first} {self.operation}{at}{rounds}"]
        source = linecache.getline(self.where.file, self.where.line).strip() if self.where else ""
        lines += [f"     {self.line} | {source}"] if source else []
        element = f"element {list(self.element)} is" if self.element else "it is"
        lines.append("; ".join([f"  {element} {self.value}", *map(str, self.operands)]))
        if self.path:
            told = [_times(place, len(list(same))) for place, same in groupby(self.path)]
            more = f" and {len(told) - SHOWN} more" if len(told) > SHOWN else ""
            lines.append(f"  on its way to the result: {', '.join(told[:SHOWN])}{more}")
        elif self.reaches is None:
            lines.append("  its way was not followed to the end")
        elif self.operation != "argument":
            lines.append("  it comes to no result: something chooses, or multiplies with, another number")
        return "\n    ".join(lines)


class Diagnosis(NamedTuple):
    """What went wrong in a call, each kind once for the value and once for the adjoint; print it, or read its fields.

    findings  in the order in which they were met, the value's before the adjoint's
    kinks     operations at which the point is a kink: there the gradient is one of several; none are looked for if the
              value was not followed to its end
    followed  how many operations were followed
    whole     whether these are all: of a very long loop, the first rounds are followed
    """

    name: str
    findings: tuple[Finding, ...]
    kinks: tuple[str, ...]
    followed: int
    whole: bool

    @property
    def ok(self) -> bool:
        """Whether all numbers are ordinary ones."""
        return not self.findings

    @property
    def first(self) -> Finding | None:
        """What was met first, denormals only if there is nothing else."""
        return next((f for f in self.findings if f.kind != DENORMAL), self.findings[0] if self.findings else None)

    def __str__(self) -> str:
        lines = [f"diagnosis of {self.name}"]
        lines += [f"  {each}" for each in self.findings]
        if self.ok:
            lines.append(f"  no NaN, infinity, overflow or denormal in {self.followed:,} operations")
        lines += [f"  the point is a kink: {each}" for each in self.kinks[:SHOWN]]
        lines += [f"  and {len(self.kinks) - SHOWN} kinks more"] if len(self.kinks) > SHOWN else []
        lines += [] if self.whole else [f"  only the first {self.followed:,} operations were looked at"]
        return "\n".join(lines)

    __repr__ = __str__


def _times(place: str, count: int) -> str:
    return f"{place} ({count} times)" if count > 1 else place


def diagnose(name: str, value: Graph, derived: Graph, inputs: Sequence[np.ndarray], names: Sequence[str]) -> Diagnosis:
    """Follow the graph of a function, and that of its derivative if it is another one."""
    first = _Follow("value", value, names, frozenset())
    first.run(inputs)
    found, followed, whole = list(first.findings.values()), first.followed, first.whole
    if derived is not value:
        second = _Follow("adjoint", derived, names, frozenset(first.events))
        second.run(inputs)
        found += second.findings.values()
        followed, whole = followed + second.followed, whole and second.whole
    floats = [k for k, p in enumerate(value.params) if p.type.is_float]
    creased = kinks(value, inputs, floats) if first.whole else ()
    return Diagnosis(name, tuple(found), creased, followed, whole)


class _Link:
    """A result with a number that is not ordinary: where it was made, of which link, and the kinds that began there."""

    __slots__ = ("array", "place", "parent", "kinds")

    def __init__(self, array: Any, place: str, parent: _Link | None, kinds: Sequence[str]) -> None:
        self.array, self.place, self.parent, self.kinds = array, place, parent, kinds


class _Follow:
    """One run of a graph; `known` are events of the value's run, which are none of the adjoint's."""

    def __init__(self, sweep: str, graph: Graph, names: Sequence[str], known: frozenset[Any]) -> None:
        self.sweep, self.graph, self.names, self.known = sweep, graph, names, known
        self.findings: dict[str, Finding] = {}
        self.events: set[Any] = set()
        self.links: dict[int, _Link] = {}
        self.starts: dict[str, _Link] = {}
        self.flags: set[str] = set()
        self.followed, self.whole = 0, True
        self.makers = dict(_makers(graph))

    def run(self, inputs: Sequence[np.ndarray]) -> None:
        """Follow everything, and then the ways to the results."""
        for name, x, p in zip(self.names, inputs, self.graph.params, strict=False):
            kinds = [k for k in (NAN, INFINITY, DENORMAL) if p.type.is_float and _holds(x, k)]
            for kind in kinds:
                at = _first(x, kind)
                if self.sweep == "value":
                    self._note(kind, Finding(self.sweep, kind, "argument", None, (), at, float(x[at]),
                                             (Operand(name, f"{x[at]}"),)))
            if kinds:
                self.links[id(x)] = _Link(x, f"argument {name}", None, kinds)
        made: list[Any] | None = None
        with np.errstate(all="call", call=lambda kind, _: self.flags.add(kind)):
            for each in Walk(every=True).graph(self.graph, inputs, [True] * len(self.graph.params)):
                if isinstance(each, Step):
                    self.followed += 1
                    self._step(each)
                    self.flags.clear()
                else:
                    made = each[0]
                if self.followed >= MOST:
                    break
        self.whole = made is not None
        self._ways(made)

    def _note(self, kind: str, finding: Finding) -> None:
        self.findings.setdefault(kind, finding)

    def _step(self, step: Step) -> None:
        """Look at the results of one operation."""
        given = [a for a in step.args if isinstance(a, (np.ndarray, np.generic)) and np.asarray(a).dtype.kind == "f"]
        parents = [self.links[id(a)] for a in step.args if id(a) in self.links]
        for value, made in zip(step.op.results, step.results, strict=True):
            if value.type.is_tape:
                if parents:
                    self.links[id(made)] = _Link(made, step.place, _worst(parents), ())
                continue
            kinds = list(self._kinds(step, made, given))
            new = [k for k in kinds if (k, step.op.prim, step.op.where) not in self.known]
            for kind in kinds:
                self.events.add((kind, step.op.prim, step.op.where))
            for kind in new:
                if kind not in self.findings:
                    self._note(kind, self._finding(kind, step, made))
            if kinds or (parents and value.type.is_float and any(_holds(made, k) for k in (NAN, INFINITY, DENORMAL))):
                link = self.links[id(made)] = _Link(made, step.place, _worst(parents), new)
                for kind in new:
                    self.starts.setdefault(kind, link)

    def _kinds(self, step: Step, made: np.ndarray, given: Sequence[np.ndarray]) -> Iterator[str]:
        """What begins in a result."""
        if made.dtype.kind == "i":
            if _wraps(step.op, step.args, made):
                yield OVERFLOW
            return
        if made.dtype.kind != "f":
            return
        constant = not step.args
        if _holds(made, NAN) and not any(_holds(a, NAN) for a in given):
            yield NAN
        if not constant and _holds(made, INFINITY) and not any(_holds(a, INFINITY) or _holds(a, NAN) for a in given):
            singular = "divide by zero" in self.flags or ("overflow" not in self.flags and any(map(_has_zero, given)))
            yield INFINITY if singular else OVERFLOW
        if _holds(made, DENORMAL) and not any(_holds(a, DENORMAL) for a in given):
            yield DENORMAL

    def _finding(self, kind: str, step: Step, made: np.ndarray) -> Finding:
        at = _first(made, kind) if made.dtype.kind == "f" else _wrapped(step.op, step.args, made)
        operands = tuple([
            Operand(self._name(v, a, at, made), _shown(a, at, made))
            for v, a in zip(step.op.args, step.args, strict=True) if not v.type.is_tape
        ])
        name = str(step.op.attrs.get("name", step.op.prim.name))
        value = made[at].item()
        return Finding(self.sweep, kind, name, step.op.where, step.rounds, at, value, operands)

    def _name(self, value: Value, array: Any, at: tuple[int, ...], made: np.ndarray) -> str:
        name = value.hint or self.makers.get(value, "an operand")
        return f"{name}{list(at)}" if at and np.shape(array) == made.shape else name

    def _ways(self, results: Sequence[Any] | None) -> None:
        """From each finding to a result, backwards along the links."""
        if results is None:
            self.findings = {kind: each._replace(reaches=None) for kind, each in self.findings.items()}
            return
        chains = []
        for result in results:
            chain, link = [], self.links.get(id(result))
            while link is not None:
                chain.append(link)
                link = link.parent
            chains.append(chain[::-1])
        for kind, finding in list(self.findings.items()):
            start = self.starts.get(kind)
            way = next((chain[chain.index(start) + 1 :] for chain in chains if start in chain), None) if start else None
            if way is not None:
                path = tuple([link.place for link in way]) or ("the result itself",)
                self.findings[kind] = finding._replace(path=path, reaches=True)


def _makers(graph: Graph) -> Iterator[tuple[Value, str]]:
    for op in graph.body:
        yield from ((r, op.prim.name) for r in op.results)
        for region in op.regions:
            yield from _makers(region)


def _worst(parents: Sequence[_Link]) -> _Link | None:
    """The link with what is worse than a denormal, or any."""
    for link in parents:
        if isinstance(link.array, np.ndarray) and not np.all(np.isfinite(link.array)):
            return link
    return parents[0] if parents else None


def _where_is(x: Any, kind: str) -> Any:
    if kind == NAN:
        return np.isnan(x)
    if kind in (INFINITY, OVERFLOW):
        return np.isinf(x)
    return (x != 0) & (np.abs(x) < np.finfo(np.asarray(x).dtype).smallest_normal)


def _holds(x: Any, kind: str) -> bool:
    return bool(np.any(_where_is(x, kind)))


def _first(x: Any, kind: str) -> tuple[int, ...]:
    """The first element of a kind."""
    return tuple([int(k) for k in np.argwhere(_where_is(x, kind))[0]])


def _has_zero(x: Any) -> bool:
    return bool(np.any(x == 0))


def _wide(op: Op, args: Sequence[Any]) -> np.ndarray | None:
    """What sums and products of whole numbers are without bounds, to the precision of a float."""
    if op.prim not in (E.add, E.sub, E.mul):
        return None
    return np.asarray(op.prim.evaluate([np.asarray(a, np.float64) for a in args], op.attrs, ())[0])


def _wraps(op: Op, args: Sequence[Any], made: np.ndarray) -> bool:
    wide = _wide(op, args)
    return wide is not None and bool(np.any(np.abs(wide - made) > np.abs(wide) * 0.5 + 1))


def _wrapped(op: Op, args: Sequence[Any], made: np.ndarray) -> tuple[int, ...]:
    wide = _wide(op, args)
    assert wide is not None
    return tuple([int(k) for k in np.argwhere(np.abs(wide - made) > np.abs(wide) * 0.5 + 1)[0]])


def _shown(array: Any, at: tuple[int, ...], made: np.ndarray) -> str:
    """An operand as text: a number, or the range of an array."""
    x = np.asarray(array)
    if x.ndim == 0:
        return str(x)
    if x.shape == made.shape:
        return str(x[at])
    if not x.size:
        return f"{x.dtype}{list(x.shape)}"
    return f"{x.dtype}{list(x.shape)} from {np.min(x)} to {np.max(x)}"


__all__ = ["Diagnosis", "Finding", "Operand", "diagnose"]
