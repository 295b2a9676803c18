"""What NumPy computes inside a recorded operation: orders, searches and the like, whose results have no gradient.

    graph @sort(%input: f32[5]) {
      %0: f32[5] = stop_gradient %input
      %1: i64[5] = external %0 {name="argsort", number=3, types=(i64[5],)}
      %2: f32[5] = take %input, %1 {axis=0}
      return %2, %1
    }

The indices come from NumPy and the values from the graph, so derivatives of every order follow from the graph alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .....compiler.ir.types import Type
from .....compiler.ops.custom import stop_gradient
from .....compiler.ops.external import Function, external, numbered


def outside(
    m: Any, name: str, call: Callable[..., Any], terms: Sequence[Any], types: Sequence[Type]
) -> list[Any]:
    """The terms of `types` that `call(*arrays)` gives: an array or a tuple of them, converted where needed."""
    wanted = [t.numpy for t in types]

    def converted(arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        with np.errstate(all="ignore"):
            made = call(*arrays)
        parts = made if isinstance(made, tuple) else (made,)
        return [np.ascontiguousarray(a, d).reshape(np.shape(a)) for a, d in zip(parts, wanted, strict=True)]

    values = [stop_gradient(m.b, t.value) if t.value.type.is_float else t.value for t in terms]
    function = Function(name, converted, [v.type for v in values], types)
    made = m.b.emit(external, *values, name=name, number=numbered(function), types=tuple(types))
    return [m(v) for v in made]
