"""Named sizes in what a module carries: cases of functions to json and back.

    case   = {"where": [[name, dimension], ...], "guards": [[size, relation], ...],
              "quotients": [[name, dividend, divisor], ...], "graph": length of its text, but for the first}

A dimension is a number, or a polynomial as a graph prints it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ...ir.graph import Graph
from ...ir.measure import Guard
from ...ir.types import Dim, Size, parse_dim, sizes_in
from ..entries import specs
from .describe import Case, Function

_RELATIONS = ("> 0", "== 0", "!= 0")
_MOST_TEXT = 1000


def cases_of(function: Function) -> tuple[Case, ...]:
    """The cases of a function; one without sizes has one of its own."""
    return function.cases or (Case(function.graph),)


# ---- writing


def spelled_shape(shape: Sequence[Dim]) -> list[int | str]:
    """A shape as json."""
    return [str(n) if isinstance(n, Size) else n for n in shape]


def case_nodes(case: Case) -> dict[str, Any]:
    """A case as json, its graph aside."""
    return {
        "where": [[name, *spelled_shape([value])] for name, value in case.where.items()],
        "guards": [[*spelled_shape([guard.size]), guard.relation] for guard in case.guards],
        "quotients": [[name, str(dividend), divisor] for name, (dividend, divisor) in case.quotients.items()],
    }


# ---- reading: whatever is not as it is written raises ValueError, TypeError or KeyError


def size_name(told: Any) -> str:
    """The name of a size."""
    if type(told) is not str or not told.isidentifier() or len(told) > _MOST_TEXT:
        raise ValueError(f"{str(told)[:40]!r} is no name of a size")
    Size.named(told)
    return told


def dim_of_text(told: Any) -> Dim:
    """A dimension that is spelled as a polynomial."""
    if type(told) is not str or len(told) > _MOST_TEXT:
        raise ValueError(f"{str(told)[:40]!r} is no dimension")
    return parse_dim(told)


def case_of(told: Any, graph: Graph) -> Case:
    """A case from its json and its graph."""
    where = {size_name(name): _dim(value) for name, value in _rows(told["where"], 2)}
    guards = tuple([_guard(size, relation) for size, relation in _rows(told["guards"], 2)])
    quotients = {}
    for name, dividend, divisor in _rows(told["quotients"], 3):
        size = dim_of_text(dividend)
        if not isinstance(size, Size) or type(divisor) is not int or not 0 < divisor < 2**62:
            raise ValueError("a quotient is of a polynomial and a positive number")
        quotients[size_name(name)] = size, divisor
    return Case(graph, where, guards, quotients)


def check_names(function: Function, case: Case) -> None:
    """Refuse sizes that no argument has as a dimension of its own, and names that are none of these."""
    if not function.sizes and not case.quotients and not case.where and not case.guards:
        own: set[str] = set()
    else:
        shapes = [spec.shape for spec in specs.input_specs(function.args) if isinstance(spec, specs.ArraySpec)]
        own = {str(n) for shape in shapes for n in shape if isinstance(n, Size)}
        if own != set(function.sizes) or len(own) != len(function.sizes):
            raise ValueError("expected each size as a dimension of an argument, and no others there")
    known = own - set(case.where)
    if set(case.where) - own or not known.issuperset(n for value in case.where.values() for n in sizes_in(value)):
        raise ValueError("a case is about sizes that its function has not")
    for name, (dividend, _) in case.quotients.items():
        if name in known or not known.issuperset(sizes_in(dividend)):
            raise ValueError(f"the quotient {name[:40]} is of sizes that are not known")
        known |= {name}
    if not known.issuperset(n for guard in case.guards for n in sizes_in(guard.size)):
        raise ValueError("a guard is of sizes that are not known")
    unknown = set(_names(case.graph)) - known
    if unknown:
        raise ValueError(f"a graph has the size {min(unknown)[:40]}, which its function has not")


def _names(graph: Graph) -> Iterator[str]:
    """The sizes in a graph."""
    pending = [graph]
    while pending:
        graph = pending.pop()
        for value in (*graph.params, *graph.results):
            yield from sizes_in(value.type)
        for op in graph.body:
            for attribute in op.attrs.values():
                yield from sizes_in(attribute)
            for value in op.results:
                yield from sizes_in(value.type)
            pending.extend(op.regions)


def _guard(size: Any, relation: Any) -> Guard:
    dim = dim_of_text(size)
    if not isinstance(dim, Size) or relation not in _RELATIONS:
        raise ValueError("a guard says of a polynomial that it is positive, zero or not zero")
    return Guard(dim, relation)


def _dim(told: Any) -> Dim:
    if type(told) is int and told >= 0:
        return told
    return dim_of_text(told)


def _rows(told: Any, length: int) -> list[list[Any]]:
    if type(told) is not list or not all(type(row) is list and len(row) == length for row in told):
        raise ValueError(f"expected rows of {length}")
    return told


__all__ = ["case_nodes", "case_of", "cases_of", "check_names", "dim_of_text", "size_name", "spelled_shape"]
