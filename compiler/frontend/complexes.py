"""Complex numbers among the arguments and results of traced functions: containers of a real and an imaginary part.

    flatten(np.array([1 + 2j]))    ("named", Parts, (("array", "f64", (1,)), ("array", "f64", (1,)))), [[1.], [2.]]

So a transform has nothing to know of them: the gradient of a real number with respect to z = x + iy has as its parts
the derivatives along x and along y, which is PyTorch's convention, the direction of steepest ascent.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..ir.graph import Graph, dtypes
from ..ir.types import COMPLEX, DTYPES
from ..ops.complex.complexes import complex_, whole
from ..passes.carried import NotOfIntegers, without_carried
from ..passes.complexes import NotOfComplex, split_complex
from .array import Array
from .errors import TraceError, message

COMPUTED = {*DTYPES, "tape"}
"""Dtypes that native code computes with."""


class Parts:
    """Made of its parts, a complex array, NumPy scalar, Python number or traced value, as they are."""

    _fields = ("real", "imag")

    def __new__(cls, real: Any, imag: Any) -> Any:
        if isinstance(real, Array):
            made = real.tracing.emit(complex_, real.value, imag.value)
            return Array(real.tracing, made, real.weak, real.shared)
        if isinstance(real, (np.ndarray, np.generic)):
            made = whole(real, imag)
            return made if isinstance(real, np.ndarray) else made[()]
        return complex(real, imag)


def parts_of(x: Any) -> tuple[Any, Any] | None:
    """The real and the imaginary part of a complex number or array; None for anything else."""
    if isinstance(x, Array):
        return x.parts if x.type.is_complex else None
    is_complex = x.dtype.kind == "c" if isinstance(x, (np.ndarray, np.generic)) else type(x) is complex
    return (x.real, x.imag) if is_complex else None


def as_computed(graph: Graph) -> Graph:
    """The graph with complex values taken apart and narrow integers carried by wider ones, if there are any."""
    known = dtypes(graph)
    if known <= COMPUTED:
        return graph
    try:
        return without_carried(graph if known.isdisjoint(COMPLEX) else split_complex(graph))
    except NotOfComplex as error:
        fix = "work on np.real(z) and np.imag(z)"
        raise TraceError(message(str(error), error.where, fix)) from None
    except NotOfIntegers as error:
        fix = "convert it: x.astype(np.int64), or .astype(float)"
        raise TraceError(message(str(error), error.where, fix)) from None


__all__ = ["Parts", "as_computed", "parts_of"]
