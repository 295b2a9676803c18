"""From (operation, attributes, *arguments) to what a fragment of these is made of: its graph, with all promotion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .....compiler.ir.graph import Builder, Graph
from .....compiler.ir.types import HALVES, Type
from .....compiler.ops.term import Term
from .....compiler.passes import common
from .....compiler.passes.carried import without_carried
from ...ops.elementwise.meanings import is_complex, results_of
from ...value.cells import Kind, kind_of
from ...value.promotion import (
    UNSIGNED,
    Argument,
    cast_to,
    common_dtype,
    common_shape,
    computed,
    float_dtype,
    own_dtype,
    small_results,
    widen,
)
from .changing import refuse_numbers, with_scalars
from .fragments import Operation, Rule

Made = tuple[Graph, Sequence[str | None], Operation, tuple[Any, ...], tuple[tuple[Kind, ...], tuple[Kind, ...]] | None]
"""What `Fragment` takes."""


def made_of(key: tuple[Any, ...]) -> Made:
    """What the fragment of (operation, attributes, *arguments) is made of, also where kinds have SymInts for sizes."""
    operation, attributes, *arguments = key
    kinds, numbers, dtype = _kinds(operation.rule, arguments)
    b = Builder(operation.name, [k.type for k in kinds])
    further = attributes.count(float)
    if operation.of_complex or is_complex(kinds, dtype, attributes):
        refuse_numbers(further)
        return _of_complex(b, operation, attributes, kinds, numbers, dtype)
    values, small = list(b.params), small_results(kinds, dtype, attributes)
    if small:
        refuse_numbers(further if "i32" in small else 0)
        values = [cast_to(b, v, computed(v.type.dtype)) if computed(v.type.dtype) in small else v for v in values]
        dtype = computed(dtype) if dtype and computed(dtype) in small else dtype
        attributes = tuple([computed(a) if isinstance(a, str) and computed(a) in small else a for a in attributes])
    values = [cast_to(b, v, dtype or v.type.dtype) for v in values]
    if operation.spreads:
        shape = common_shape([k.shape for k in kinds])
        values = [widen(b, v, shape) for v in values]
    m, attributes = with_scalars(b, attributes, [b.param(Type("f64")) for _ in range(further)])
    made = operation.emit(m, *map(m, values), *attributes)
    results = [r.value for r in ([made] if isinstance(made, Term) else made)]
    ends = [cast_to(b, r, small.get(r.type.dtype, r.type.dtype)) for r in results]
    graph = common(b.finish(ends))
    graph = without_carried(graph) if any(v.type.dtype in UNSIGNED for v in (*b.params, *ends)) else graph
    return graph, [*numbers, *["f64"] * further], operation, key[1], None


def _of_complex(
    b: Builder, operation: Operation, attributes: Any, kinds: list[Kind], numbers: list[str | None], dtype: str | None
) -> Made:
    shape = common_shape([k.shape for k in kinds]) if operation.spreads else None
    wide = None if shape is None else lambda b, value: widen(b, value, shape)
    values, results = results_of(b, operation, kinds, dtype, attributes, wide)
    return common(b.finish(values)), numbers, operation, attributes, (tuple(kinds), results)


def _kinds(rule: Rule, arguments: Sequence[Argument]) -> tuple[list[Kind], list[str | None], str | None]:
    """The arguments' kinds, the dtypes of those that are numbers, and the dtype to compute in."""
    dtype = None
    if rule in ("common", "float"):
        dtype = common_dtype(arguments)
        dtype = float_dtype(dtype) if rule == "float" else dtype
    first = next((a.dtype for a in arguments if isinstance(a, Kind)), None)
    kinds, numbers = [], []
    for a in arguments:
        if isinstance(a, Kind):
            kinds.append(a)
            numbers.append(None)
        else:
            own = dtype or (first if rule == "first" else None) or own_dtype(a, arguments)
            own = computed(own) if own in HALVES else own
            kinds.append(kind_of(own))
            numbers.append(own)
    return kinds, numbers, dtype


__all__ = ["Made", "made_of"]
