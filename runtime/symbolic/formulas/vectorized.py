"""Many expressions of one shape computed as one over arrays: the terms of a sum, and what a function returns.

    sin(x0*x1) + sin(x1*x2) + ...     np.sum(np.sin(x[:-1] * x[1:]))
    [x1 - x0, x2 - x1, ...]           x[1:] - x[:-1], of which each element is a result

A column of `alike` is a slice or gather of the array that its arguments are elements of, an array of numbers, or
stacked scalars. A formula of hundreds of terms so has a graph, derivatives and code of the size of one. This is
superword-level parallelism (Larsen and Amarasinghe, PLDI 2000), found in the formula, where terms have no order yet.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ....compiler.frontend.array import here
from ....compiler.ops.expression import Plan, pairwise
from ....compiler.ops.term import Term
from ..shared.library import sympy_module
from .algebras import RealAlgebra
from .alike import FEWEST, Column, Group
from .arguments import ArrayElement


def vectorized_sum(reader: Any, e: Any, env: Mapping[Any, Any]) -> Plan | None:
    """How to read a sum by groups of its terms, where it has any."""
    if len(e.args) < FEWEST or reader.complex:
        return None
    groups = reader.groups(e, env)
    if not groups:
        return None
    parts, alone = _outside(e.args, groups)
    rest = [sympy_module().Add(*alone)] if alone else []

    def join(m: Any, *terms: Any) -> Any:
        given = dict(zip(parts, terms, strict=False))
        made = [_summed(reader, m, group, given) for group in groups]
        return sum([*made[1:], *terms[len(parts) :]], made[0])

    return Plan(("vectorized", e), [*parts, *rest], join, True)


def read_elements(
    reader: Any, exprs: Sequence[Any], groups: Sequence[Group], m: Any, env: Mapping[Any, Any]
) -> list[Any]:
    """The terms of several expressions; those of `groups` as sources, the array of a group and a place there."""
    if not groups or m.batch or not isinstance(m, RealAlgebra):
        return reader.read(exprs, m, env)
    parts, alone = _outside(exprs, groups)
    terms = reader.read([*parts, *alone], m, env)
    given, rest = dict(zip(parts, terms, strict=False)), iter(terms[len(parts) :])
    grouped: dict[int, ArrayElement] = {}
    for group in groups:
        term = _vector(reader, m, group, given)
        grouped |= {number: ArrayElement(term, (place,)) for place, number in enumerate(group.numbers)}
    return [grouped[k] if k in grouped else next(rest) for k in range(len(exprs))]


def _outside(exprs: Sequence[Any], groups: Sequence[Group]) -> tuple[list[Any], list[Any]]:
    """What the columns of groups consist of, and the expressions of no group."""
    grouped = {number for group in groups for number in group.numbers}
    parts = [part for group in groups for column in group.columns for part in column.parts]
    return parts, [e for k, e in enumerate(exprs) if k not in grouped]


def _summed(reader: Any, m: Any, group: Group, given: Mapping[Any, Any]) -> Any:
    """The sum of a group. Where numbers are arrays themselves, there is enough to do for each as it is."""
    if m.batch or not isinstance(m, RealAlgebra):
        terms = list(_one_by_one(reader, m, group, given))
        return pairwise(terms, [False] * len(terms))
    return m.term(np.sum(m.array(_vector(reader, m, group, given))))


def _vector(reader: Any, m: Any, group: Group, given: Mapping[Any, Any]) -> Term:
    """The expressions of a group as one term over arrays."""
    inner = m.like(here(), (len(group.numbers),))
    env = {column.symbol: _whole(inner, m, column, given) for column in group.columns}
    return inner.term(reader.read([group.template], inner, env)[0])


def _one_by_one(reader: Any, m: Any, group: Group, given: Mapping[Any, Any]) -> Iterator[Any]:
    for parts in zip(*[column.parts for column in group.columns], strict=True):
        env = {column.symbol: given[part] for column, part in zip(group.columns, parts, strict=True)}
        yield reader.read([group.template], m, env)[0]


def _whole(inner: Any, m: Any, column: Column, given: Mapping[Any, Any]) -> Any:
    """A column as a term over arrays."""
    parts = column.parts
    terms = [given[part] for part in parts]
    if len(set(parts)) == 1:
        return inner.term(m.array(terms[0])) if isinstance(terms[0], Term) else terms[0]
    if not any(isinstance(t, Term) for t in terms):
        return inner.term(np.array(terms, dtype=inner.type.numpy))
    sources = [m.sources.get(part) for part in parts]
    if all(source is not None and source.array is sources[0].array for source in sources):
        return inner.term(sources[0].array[_index([source.place for source in sources])])
    return inner.term(np.stack([m.array(m.term(t)) for t in terms]))


def _index(places: Sequence[tuple[int, ...]]) -> Any:
    """A slice where the elements are evenly spaced in a vector, whole numbers elsewhere."""
    table = np.array(places)
    if table.shape[1] == 1:
        steps = np.unique(np.diff(table[:, 0]))
        if len(steps) == 1 and steps[0] > 0:
            first, last, step = int(table[0, 0]), int(table[-1, 0]), int(steps[0])
            return slice(first, last + 1, step)
    return tuple(table.T)


__all__ = ["read_elements", "vectorized_sum"]
