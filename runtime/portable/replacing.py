"""A graph goes in; out comes one in which library operations are loops of the graph, as far as these are known."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from ...compiler.frontend import tree
from ...compiler.frontend.trace import trace
from ...compiler.frontend.tracing import add_program
from ...compiler.ir.graph import Builder, Graph, Op, Value, inline, rewrite
from ...compiler.ir.primitive import Primitive
from ...compiler.ir.types import Type
from ...compiler.ops import ordering as sorts
from ...compiler.ops.complex import fourier as transforms
from ...compiler.ops.linalg import factor, lapack, solutions
from ...compiler.ops.linalg import spectra as values
from ...compiler.passes.cleanup import expand, inside
from . import fourier, matrices, ordering, spectra

WHOLE = None
"""In place of a rank: a definition takes all axes itself."""

DEFINITIONS: dict[Primitive, tuple[Callable[..., Any], int | None]] = {
    lapack.potrf: (matrices.potrf, 2),
    lapack.getrf: (matrices.getrf, 2),
    lapack.getri: (matrices.getri, 2),
    lapack.getrs: (matrices.getrs, 2),
    lapack.trsm: (matrices.trsm, 2),
    factor.qr: (matrices.qr, 2),
    factor.lu_factor: (matrices.lu_factor, 2),
    factor.permutation: (matrices.permutation, 1),
    factor.cholesky_info: (matrices.cholesky_info, 2),
    values.eigh: (spectra.eigh, 2),
    values.svd: (spectra.svd, 2),
    values.singular_values: (spectra.singular_values, 2),
    values.matrix_exp: (spectra.matrix_exp, 2),
    solutions.pinv: (spectra.pinv, 2),
    solutions.cofactor: (spectra.cofactor, 2),
    sorts.sort: (ordering.sort, 1),
    sorts.argsort: (ordering.argsort, 1),
    sorts.argpartition: (ordering.argpartition, 1),
    transforms.fft: (fourier.fft, WHOLE),
    transforms.rfft: (fourier.rfft, WHOLE),
    transforms.irfft: (fourier.irfft, WHOLE),
}
"""What operations are, where the first argument has so many axes; more in front are a batch of all arguments."""

for _name in ("fourier", "matrices", "ordering", "replacing", "spectra"):
    add_program(os.path.join(os.path.dirname(__file__), f"{_name}.py"))


def without_libraries(graph: Graph) -> Graph:
    """The same graph without calls of LAPACK and NumPy; those of which there is no definition stay."""
    if not _calls(graph):
        return graph
    return rewrite(expand(graph, keep=lambda prim: prim in DEFINITIONS), _replaced)


def _calls(graph: Graph) -> bool:
    return any(op.prim.opaque or any(map(_calls, op.regions)) for op in graph.body)


def _replaced(b: Builder, op: Op, args: tuple[Value, ...]) -> Any:
    if op.prim not in DEFINITIONS:
        return inside(b, op, args, lambda region: rewrite(region, _replaced))
    types = tuple([a.type for a in op.args])
    if not all(isinstance(n, int) for t in types for n in t.shape):
        raise TypeError(f"{op.prim.name} of {', '.join(map(str, types))} has sizes that are known by name, and a module"
                        f" computes it for numbers only: leave the names out")
    return inline(_defined(op.prim, types, tuple(sorted(op.attrs.items()))), b, args)


@lru_cache(maxsize=256)
def _defined(prim: Primitive, types: tuple[Type, ...], attributes: tuple[tuple[str, Any], ...]) -> Graph:
    """The graph of an operation for arguments of these types."""
    definition, rank = DEFINITIONS[prim]
    results = prim.infer(types, dict(attributes), ())
    examples = [np.zeros(t.static_shape(), t.numpy) for t in types]
    leaves: list[Any] = []
    signature = tree.flatten((*examples, {}), leaves)

    def definition_of_one(*arrays: Any) -> Any:
        return definition(*arrays, **dict(attributes))

    def batched(*arrays: Any) -> Any:
        rows = [a.reshape((count, *a.shape[len(lead):])) for a in arrays]
        made = [np.zeros((count, *t.static_shape()[len(lead):]), t.numpy) for t in results]
        for k in range(count):
            parts = definition_of_one(*[row[k] for row in rows])
            for whole, part in zip(made, parts if len(made) > 1 else (parts,), strict=True):
                whole[k] = part
        return tuple([whole.reshape(t.static_shape()) for whole, t in zip(made, results, strict=True)])

    lead = () if rank is None else types[0].static_shape()[: types[0].rank - rank]
    count = math.prod(lead)
    names = [f"a{k}" for k in range(len(types))]
    made = trace(batched if lead else definition_of_one, signature, names, prim.name)
    assert not made.extras, f"the definition of {prim.name} meets arrays beside its arguments"
    return made.graph


__all__ = ["DEFINITIONS", "without_libraries"]
