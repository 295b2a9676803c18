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
from .....compiler.ops.external import MAKERS, Function, external, numbered

_COMPUTED: dict[str, Callable[..., Any]] = {}


def computed(name: str, call: Callable[..., Any]) -> None:
    """Let operations speak of `call(*arrays, *attributes)`, an array or a tuple of them, by a name.

    It must give the same in every process, so that kernels which call it can be kept on disk.
    """
    if _COMPUTED.setdefault(name, call) is not call:
        raise ValueError(f"there are two functions of the name {name!r}")


def outside(m: Any, name: str, terms: Sequence[Any], types: Sequence[Type], *attributes: Any) -> list[Any]:
    """The terms of `types` that the function of this name gives, converted where needed."""
    values = [stop_gradient(m.b, t.value) if t.value.type.is_float else t.value for t in terms]
    function = _function(name, attributes, tuple([v.type for v in values]), tuple(types))
    made = m.b.emit(external, *values, name=name, number=numbered(function), types=tuple(types))
    return [m(v) for v in made]


def _function(name: str, attributes: tuple[Any, ...], takes: tuple[Type, ...], gives: tuple[Type, ...]) -> Function:
    call, wanted = _COMPUTED[name], [t.numpy for t in gives]

    def converted(arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        with np.errstate(all="ignore"):
            made = call(*arrays, *attributes)
        parts = made if isinstance(made, tuple) else (made,)
        return [np.ascontiguousarray(a, d).reshape(np.shape(a)) for a, d in zip(parts, wanted, strict=True)]

    return Function(name, converted, takes, gives, maker="outside", attributes=attributes)


MAKERS["outside"] = _function
