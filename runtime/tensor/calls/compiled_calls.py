"""Compiled functions called with tensors whose gradients are kept: each call is one operation of the tape.

    energy = pullback.jit(f)                     # NumPy code, loops and branches too
    energy(x).backward()                         # x is a Tensor that requires grad

The function's graph becomes a part of what is recorded, so it has the derivatives of other operations, of every
order, and runs in the same kernels.
"""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from ....compiler.frontend.results import assemble
from ....compiler.ir.graph import Graph, inline
from ...compiled.compiled import Compiled, warns
from ...compiled.function import Function
from ..trace.fragments.fragments import Operation
from ..value.cells import cell_of, number_cell
from ..value.core import Core, apply_all, wrap
from ..value.trees import mapped

_twins: WeakKeyDictionary[Function, Function] = WeakKeyDictionary()
_operations: dict[int, tuple[Compiled, Operation]] = {}

KEPT = 256
"""How many operations are kept."""


def call_followed(function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The result of a compiled function, with the history of the tensors among its arguments."""
    given: dict[int, Core] = {}
    kept = []

    def stand_in(x: Any) -> Any:
        if not isinstance(x, Core):
            return x
        kind = x._kind_of()
        array = np.empty(kind.shape, kind.type.numpy)
        kept.append(array)
        given[id(array)] = x
        return array

    plain, named = mapped(stand_in, args), mapped(stand_in, kwargs)
    twin = _static_twin(function)
    signature, leaves = twin.flatten(plain, named)
    compiled = twin.compiled(signature, enters=False)
    if warns(compiled.graph):  # a call says so, without history
        values = mapped(lambda x: x._array() if isinstance(x, Core) else x, (args, kwargs))
        function(*values[0], **values[1])
        compiled = twin.silent(signature, leaves)
    operands = [given[id(x)] if id(x) in given else _operand(x) for x in leaves]
    extras = [_operand(np.array(x)) for x in compiled.traced.extras]
    cells, node = apply_all(_operation(twin, compiled), [*operands, *extras])
    return assemble(compiled.result, lambda spec: wrap(cells[spec.index], node, spec.index))


def _static_twin(function: Function) -> Function:
    """The same function, each size compiled for itself."""
    twin = _twins.get(function)
    if twin is None:
        twin = _twins[function] = Function(function.__wrapped__, function.plan, sizes="static")
        twin._static, twin.bound = function._static, function.bound
    return twin


def _operand(x: Any) -> Core:
    """A number or an array as a tensor."""
    if isinstance(x, (float, int)):
        return wrap(number_cell(x, "f64" if isinstance(x, float) else "i64"))
    return wrap(cell_of(np.array(x, order="C")))


def _operation(function: Function, compiled: Compiled) -> Operation:
    found = _operations.get(id(compiled))
    if found is None:
        while len(_operations) >= KEPT:
            del _operations[next(iter(_operations))]
        name = function.__name__.strip("<>")
        made = Operation(name, f"{name.title().replace('_', '')}Backward0", _emitter(compiled.graph), "own")
        found = _operations[id(compiled)] = compiled, made
    return found[1]


def _emitter(graph: Graph) -> Any:
    def emit(m: Any, *terms: Any) -> Any:
        return [m(v) for v in inline(graph, m.b, [t.value for t in terms])]

    return emit


__all__ = ["call_followed"]
