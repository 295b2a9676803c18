"""Which elements of a graph's results depend on which elements of its parameters: the pattern of the Jacobian.

    pattern = sparsity(graph, [0], {})     a SciPy array of bools: a row for each element of the results, one result
                                           after the other, a column for each element of the parameters

What an operation's result depends on is read off `define`: the indices of the elements that one element of the result
is made of, for all of them at once. Where an index is known only when the program runs, all elements along that axis
count. So a pattern can have more entries than there are, and never fewer. What has no `define`, such as a
factorisation, depends on everything; a cond on both of its regions. A scan whose rounds are known is followed round by
round, other loops until nothing is added.

Whole numbers that are given in `known`, and what is made of them, are looked at: a pattern holds for them only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...ir.graph import Graph, Op, Value
from ...loops import Number
from ...ops import control
from ...ops.custom import Custom
from ...ops.elementwise import Elementwise
from ...ops.tape import new_tape, pop, push
from ..packing import unpacked
from .forms import MOST, Dense, FormWalk, Pattern, Read

SETTLING = 50
"""Rounds in which the carries of a loop that is not followed may still grow, before they depend on everything."""

ROUNDS = 20_000
"""Operations up to which a loop is followed round by round: each takes some 50 µs."""

KNOWN = 10_000_000
"""Elements of whole numbers that are worth computing."""


class Record(NamedTuple):
    """A tape: what is on top, and what is below. `merged` ones are those of loops that are not followed."""

    values: tuple[Pattern, ...]
    below: Record | None


def sparsity(graph: Graph, wrt: Sequence[int], known: Mapping[int, np.ndarray]) -> Pattern:
    """The pattern of all results for the parameters numbered `wrt`; `known` are values of other parameters.

    Dense where it has too many entries to be held.
    """
    import scipy.sparse as sp

    sizes = [graph.params[k].type.static_size() for k in wrt]
    total, at = sum(sizes), 0
    given: list[Any] = [None] * len(graph.params)
    for k, size in zip(wrt, sizes, strict=True):
        entries = (np.ones(size, bool), np.arange(at, at + size), np.arange(size + 1))
        given[k], at = sp.csr_array(entries, shape=(size, total)), at + size
    numbers = [known.get(k) for k in range(len(graph.params))]
    made = Walk(total).graph(unpacked(graph), given, numbers)[0]
    rows = [_empty(r.type.static_size(), total) if p is None else p for p, r in zip(made, graph.results, strict=True)]
    pattern = sp.csr_array(sp.vstack(rows)) if rows else _empty(0, total)
    pattern.sum_duplicates()
    pattern.sort_indices()
    return pattern


def _empty(rows: int, columns: int) -> Pattern:
    import scipy.sparse as sp

    return sp.csr_array((rows, columns), dtype=bool)


class Walk:
    """Patterns with `columns` columns, from operation to operation."""

    def __init__(self, columns: int) -> None:
        self.columns = columns

    def graph(self, graph: Graph, given: Sequence[Pattern], numbers: Sequence[Any]) -> tuple[list[Pattern], list[Any]]:
        """The patterns of a graph's results and, where they are known, their values."""
        env: dict[Value, Pattern] = dict(zip(graph.params, given, strict=True))
        values: dict[Value, Any] = {p: v for p, v in zip(graph.params, numbers, strict=True) if v is not None}
        for op in graph.body:
            self._op(op, env, values)
        return [env[r] for r in graph.results], [values.get(r) for r in graph.results]

    def _op(self, op: Op, env: dict[Value, Pattern], values: dict[Value, Any]) -> None:
        given = [env[a] for a in op.args]
        known: list[Any] = [values.get(a) for a in op.args]
        if op.regions:
            made, numbers = self._region(op, given, known)
            env.update(zip(op.results, made, strict=True))
            values.update((r, v) for r, v in zip(op.results, numbers, strict=True) if v is not None)
            return
        if op.prim in (new_tape, push, pop):
            env.update(zip(op.results, _taped(op, given), strict=True))
            return
        if all(p is None for p in given):
            env.update((r, None) for r in op.results)
            if all(v is not None for v in known) and all(_is_whole(r) for r in op.results):
                made = op.prim.evaluate(known, op.attrs, op.regions)
                values.update((r, np.asarray(v, r.type.numpy)) for r, v in zip(op.results, made, strict=True))
            return
        made = self._made(op, given, known)
        env.update((r, p if r.type.is_float else None) for r, p in zip(op.results, made, strict=True))

    def _made(self, op: Op, given: list[Pattern], known: list[Any]) -> list[Pattern]:
        """The patterns of the results of an operation without regions."""
        if isinstance(op.prim, Elementwise):
            rules = op.prim.rules() if op.results[0].type.is_float else []
            return [self._union([p for p, rule in zip(given, rules, strict=False) if rule is not None])]
        if op.prim.elementwise:
            return [self._union(given)] * len(op.results)
        form = self._form(op, known)
        if form is None:
            return [self._all(given, r) for r in op.results]
        return [FormWalk(self, op, given, known).of(form)]

    def _form(self, op: Op, known: list[Any]) -> Any:
        def reads(k: int) -> Any:
            dtype, value = op.args[k].type.dtype, known[k]
            if value is not None and value.ndim == 0:
                return lambda index: Number(value.item(), dtype)
            return lambda index: Read(k, index, dtype)

        try:
            return op.prim.define(op, [reads(k) for k in range(len(op.args))])
        except NotImplementedError:
            return None

    # ---- whole patterns

    def _union(self, patterns: Sequence[Pattern]) -> Pattern:
        found: list[Pattern] = []
        for p in patterns:
            if p is not None and all(p is not each for each in found):
                found.append(p)
        if not found:
            return None
        total = found[0]
        for p in found[1:]:
            total = total + p
        return self._held(total)

    def _held(self, pattern: Pattern) -> Pattern:
        if pattern.nnz > MOST:
            raise Dense
        return pattern

    def _row(self, given: Sequence[Pattern]) -> np.ndarray:
        """The columns that occur anywhere."""
        return np.unique(np.concatenate([p.indices for p in given if p is not None] or [np.zeros(0, int)]))

    def _all(self, given: Sequence[Pattern], result: Value) -> Pattern:
        """Every element depends on every element of the arguments."""
        import scipy.sparse as sp

        columns, size = self._row(given), result.type.static_size()
        if len(columns) * size > MOST:
            raise Dense
        entries = (np.ones(size * len(columns), bool), np.tile(columns, size), np.arange(size + 1) * len(columns))
        return sp.csr_array(entries, (size, self.columns))

    def rows(
        self, pattern: Pattern, at: np.ndarray, mask: np.ndarray | None, into: np.ndarray | None, size: int
    ) -> Pattern:
        """Rows `at` of a pattern, where `mask` holds, united into rows `into` of `size` ones, or each into its own."""
        import scipy.sparse as sp

        if mask is not None:
            at = at[mask]
            into = np.flatnonzero(mask) if into is None else into[mask]
        if into is None and len(at) == size:
            return pattern[at]
        into = np.arange(len(at)) if into is None else into
        choice = sp.csr_array((np.ones(len(at), bool), (into, at)), shape=(size, pattern.shape[0]))
        return self._held(choice @ pattern)

    # ---- regions

    def _region(self, op: Op, given: list[Pattern], known: list[Any]) -> tuple[list[Pattern], list[Any]]:
        if op.prim is control.scan:
            return self._scan(op, given, known)
        if op.prim is control.loop:
            found = self._settled(op.regions[0], given, known, op.attrs["carries"])
            return [*found, None], [None] * len(op.results)
        if op.prim is control.cond:
            if known[0] is not None:
                return self.graph(op.regions[0 if bool(known[0]) else 1], given[1:], known[1:])
            sides = [self.graph(region, given[1:], known[1:])[0] for region in op.regions]
            return [self._either(*pair) for pair in zip(*sides, strict=True)], [None] * len(op.results)
        if isinstance(op.prim, Custom):
            return self._ruled(op, given, known), [None] * len(op.results)
        return self.graph(op.regions[0], given, known)

    def _ruled(self, op: Op, given: list[Pattern], known: list[Any]) -> list[Pattern]:
        """By the rule, which may say what the value does not: the transpose of how its cotangents go."""
        import scipy.sparse as sp

        floats = [r for r in op.results if r.type.is_float]
        first = len(op.args) + len(op.results)
        numbers = {k: v for k, v in enumerate(known) if v is not None}
        back = sparsity(op.regions[1], range(first, first + len(floats)), numbers)
        pairs = [(a, p) for a, p in zip(op.args, given, strict=True) if a.type.is_float]
        rows = [_empty(a.type.static_size(), self.columns) if p is None else p for a, p in pairs]
        if not rows or not floats:
            return [None] * len(op.results)
        whole = self._held(sp.csr_array(back.T @ sp.vstack(rows, format="csr")))
        made, at = [], 0
        for r in op.results:
            size = r.type.static_size() if r.type.is_float else 0
            made.append(whole[at : at + size] if r.type.is_float else None)
            at += size
        return made

    def _scan(self, op: Op, given: list[Pattern], known: list[Any]) -> tuple[list[Pattern], list[Any]]:
        count, region = op.attrs["carries"], op.regions[0]
        rounds = None if known[0] is None else max(int(known[0]), 0)
        if rounds is None or rounds * max(len(region.body), 1) > ROUNDS:
            return self._settled(region, given[1:], known[1:], count), [None] * count
        carried, numbers = given[1 : 1 + count], known[1 : 1 + count]
        rest, rest_known = given[1 + count :], known[1 + count :]
        for i in reversed(range(rounds)) if op.attrs.get("backwards") else range(rounds):
            carried, numbers = self.graph(region, [None, *carried, *rest], [np.int64(i), *numbers, *rest_known])
        return carried, numbers

    def _settled(self, region: Graph, given: list[Pattern], known: list[Any], count: int) -> list[Pattern]:
        """The carries of a loop, from before it and from all its rounds."""
        carried, rest = given[:count], given[count:]
        numbers = [None] * (count + 1) + known[count:]
        for _ in range(SETTLING):
            made = self.graph(region, [None, *carried, *rest], numbers)[0]
            grown = [self._either(a, b) for a, b in zip(carried, made, strict=True)]
            if all(_weight(a) == _weight(b) for a, b in zip(carried, grown, strict=True)):
                return grown
            carried = grown
        everything = [p for p in (*carried, *rest) if not isinstance(p, Record)]
        if any(isinstance(p, Record) for p in carried):
            raise Dense
        return [self._all(everything, r) for r in region.results]

    def _either(self, a: Any, b: Any) -> Any:
        """What may be one or the other; of tapes, one record that stands for all."""
        if not isinstance(a, Record) and not isinstance(b, Record):
            return self._union([a, b])
        merged: list[Pattern] = []
        for tape in (a, b):
            while isinstance(tape, Record):
                width = max(len(merged), len(tape.values))
                pairs = [(merged[k] if k < len(merged) else None, tape.values[k] if k < len(tape.values) else None)
                         for k in range(width)]
                merged, tape = [self._union(pair) for pair in pairs], None if tape.below is tape else tape.below
        return _endless(tuple(merged))


def _endless(values: tuple[Pattern, ...]) -> Record:
    """A tape whose every record has these patterns."""
    return Record(values, None)


def _weight(p: Any) -> Any:
    if isinstance(p, Record):
        return tuple(map(_weight, p.values))
    return 0 if p is None else p.nnz


def _taped(op: Op, given: list[Any]) -> list[Any]:
    if op.prim is new_tape:
        return [None]
    if op.prim is push:
        return [Record(tuple(given[1:]), given[0])]
    tape = given[0]
    if tape is None:
        return [None] * len(op.results)
    return [tape.below if tape.below is not None else tape, *tape.values]


def _is_whole(value: Value) -> bool:
    kind = value.type
    return not kind.is_tape and not kind.is_float and not kind.is_complex and kind.static_size() <= KNOWN


__all__ = ["sparsity"]
