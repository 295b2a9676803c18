"""Complex tensors: making them of real ones, and their parts.

The conjugate is computed when it is asked for, so no tensor is a conjugate that is still to be resolved; the real and
the imaginary part are copies, not views.
"""

from __future__ import annotations

import math
from typing import Any

from .....compiler.ops.complex.pairs import Complex, Pair, joined, split
from .....compiler.ops.complex.pairs import angle as angle_of
from ...face.required import check_tensors
from ...face.results import deliver
from ...trace.fragments.fragments import Operation
from ...value.core import REVIEW, Tensor, apply
from ...value.promotion import c_name
from ..arranging.shapes import shape_of, transpose
from ..matrices.products import dot

REVIEW.emit.by_parts = True  # type: ignore[attr-defined]


def _is_complex(x: Any, name: str) -> bool:
    check_tensors(name, input=x)
    return x._kind_of().is_complex


COMPLEX = Operation("complex", "ComplexBackward0", lambda m, x, y: Pair(m, x, y), "common", True, of_complex=True)
POLAR = Operation(
    "polar", "PolarBackward0", lambda m, r, a: Pair(m, r * m.cos(a), r * m.sin(a)), "common", True, of_complex=True
)
REAL = Operation("real", "SelectBackward0", lambda m, z: z.re, of_complex=True)
IMAG = Operation("imag", "SelectBackward0", lambda m, z: z.im, of_complex=True)
CONJ = Operation("conj", "ConjBackward0", lambda m, z: Pair(m, z.re, -z.im), of_complex=True)
CONJ_PHYSICAL = Operation("conj_physical", "ConjPhysicalBackward0", CONJ.emit, of_complex=True)
AS_REAL = Operation("view_as_real", "ViewAsRealBackward0", lambda m, z: m(joined(z)), of_complex=True)
AS_COMPLEX = Operation("view_as_complex", "ViewAsComplexBackward0", lambda m, x: split(m, x.value), of_complex=True)


def _angle(m: Any, x: Any) -> Any:
    if isinstance(m, Complex) and isinstance(x, Pair):
        return angle_of(m, x)
    return m.select(m.lt(x, 0), math.pi, m.select(m.ne(x, x), m.stop_gradient(x), 0.0))


ANGLE = Operation("angle", "AngleBackward0", _angle, "float")


def _both_floats(name: str, words: tuple[str, str], first: Any, second: Any) -> None:
    check_tensors(name, **{words[0]: first, words[1]: second})
    kinds = [x._kind_of().dtype for x in (first, second)]
    if not all(k in ("f32", "f64") for k in kinds):
        raise RuntimeError(f"{name}: expected float32 or float64 tensors, got {' and '.join(map(c_name, kinds))}")
    if kinds[0] != kinds[1]:
        raise RuntimeError(f"{name}: expected both of one dtype, got {c_name(kinds[0])} and {c_name(kinds[1])}")


def complex_(real: Tensor, imag: Tensor, *, out: Any = None) -> Tensor:
    """real + i imag."""
    _both_floats("complex", ("real", "imag"), real, imag)
    made = apply(COMPLEX, (real, imag))
    if out is not None and out._kind_of().dtype != made._kind_of().dtype:
        raise RuntimeError(f"complex: expected out of dtype {made.dtype}, got {out.dtype}")
    return made if out is None else deliver(made, out)


complex_.__name__ = complex_.__qualname__ = "complex"


def vdot(input: Tensor, other: Tensor) -> Tensor:
    """The inner product of two vectors, of which the first is conjugated."""
    return dot(conj(input), other)


def polar(abs: Tensor, angle: Tensor) -> Tensor:
    """abs * exp(i angle)."""
    _both_floats("polar", ("abs", "angle"), abs, angle)
    return apply(POLAR, (abs, angle))


def real(input: Tensor) -> Tensor:
    """The real parts; a real tensor itself."""
    return apply(REAL, (input,)) if _is_complex(input, "real") else input


def imag(input: Tensor) -> Tensor:
    """The imaginary parts."""
    if not _is_complex(input, "imag"):
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    return apply(IMAG, (input,))


def conj(input: Tensor) -> Tensor:
    """The conjugates; a real tensor itself."""
    return apply(CONJ, (input,)) if _is_complex(input, "conj") else input


def conj_physical(input: Tensor) -> Tensor:
    """The conjugates; a real tensor itself."""
    return apply(CONJ_PHYSICAL, (input,)) if _is_complex(input, "conj_physical") else input


def resolve_conj(input: Tensor) -> Tensor:
    """The tensor itself: conjugates are computed at once."""
    _is_complex(input, "resolve_conj")
    return input


def angle(input: Tensor) -> Tensor:
    """The angles with the positive real numbers."""
    _is_complex(input, "angle")
    return apply(ANGLE, (input,))


def view_as_real(input: Tensor) -> Tensor:
    """Real and imaginary parts as a last dimension of two."""
    if not _is_complex(input, "view_as_real"):
        raise RuntimeError("view_as_real is only supported for complex tensors")
    return apply(AS_REAL, (input,))


def view_as_complex(input: Tensor) -> Tensor:
    """Complex numbers of a last dimension that holds real and imaginary parts."""
    kind = input._kind_of()
    if kind.dtype not in ("f32", "f64"):
        raise RuntimeError(f"view_as_complex is only supported for float tensors, but got {c_name(kind.dtype)}")
    if not kind.shape or kind.shape[-1] != 2:
        raise RuntimeError(f"Tensor must have a last dimension of size 2, got shape {list(kind.shape)}")
    return apply(AS_COMPLEX, (input,))


def adjoint(input: Tensor) -> Tensor:
    """The conjugates of the matrices, transposed."""
    if len(shape_of(input)) < 2:
        raise RuntimeError(f"tensor.adjoint() is only supported on matrices, got {len(shape_of(input))} dimensions")
    return conj(transpose(input, -2, -1))


def hermitian(input: Tensor) -> Tensor:
    """The conjugate of a matrix, transposed."""
    if len(shape_of(input)) not in (0, 2):
        raise RuntimeError(f"tensor.H is only supported on matrices, got {len(shape_of(input))} dimensions")
    return conj(transpose(input, -2, -1)) if shape_of(input) else conj(input)
