"""An orthonormal basis of what is orthogonal to a matrix's columns: given as numbers, with the derivative of its span.

LAPACK's choice of Z is no function of the matrix, but what Z spans is: with Z^H dZ = 0 its differential is
dZ = -(A^+)^H dA^H Z (Golub and Pereyra, "The differentiation of pseudo-inverses and nonlinear least squares problems
whose variables separate", 1973), which gives each function of the span its derivative. A function of the span is one
whose slope has a Hermitian Z^H g, as no rotation of Z changes it; for any other there is an error of the call.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...ir.types import Type
from ..complex.pair import Pair
from ..library import Library, near_one
from ..reduce import max_
from ..require import require
from . import matrices as M
from .factor import qr


def largest(m: Any, x: Any) -> Any:
    """The largest size of any number of a term or a pair, as one number."""
    if isinstance(x, Pair):
        return m.real.maximum(largest(m.real, x.re), largest(m.real, x.im))
    shape = M.shape_of(x)
    if 0 in shape:
        return m.number(0.0, Type(x.value.type.dtype))
    return m(max_(m.b, m.abs(x).value, axes=tuple(range(len(shape)))))


def vanishes(m: Any, wrong: Any, scale: Any, text: str) -> None:
    """An error of the call where a number of `wrong` is more than half the digits allow beside `scale`."""
    r = m.real if isinstance(wrong, Pair) else m
    bound = float(np.sqrt(np.finfo(wrong.value.type.numpy).eps)) * scale
    require(m.b, r.not_(r.gt(largest(m, wrong), bound)).value, error="NotImplementedError", text=text)


def complement_pull(m: Any, inputs: Any, results: Any, cts: Any, text: str) -> Any:
    (_, a), (z,), (ct,) = inputs, results, cts
    turns = M.product(m, M.adjoint(m, z), ct)
    vanishes(m, turns - M.adjoint(m, turns), largest(m, ct), text)
    q, r = m.qr(a, mode="reduced") if isinstance(a, Pair) else map(m, m.b.emit(qr, a.value, mode="reduced"))
    along = m.triangular(r, M.product(m, M.adjoint(m, q), ct), upper=1, turned=0)
    return [None, -M.product(m, z, M.adjoint(m, along))]


def complement_type(z: Type, a: Type, text: str) -> Type:
    if len(z.shape) != len(a.shape) or z.shape[:-2] != a.shape[:-2] or z.dtype != a.dtype:
        raise TypeError(f"vectors of type {z} do not fit with a matrix of type {a}")
    return z


def samples(rng: np.random.Generator) -> Any:
    text = {"text": "vectors that only span a space have no derivative"}
    made = [near_one(rng, *shape) for shape in ((4, 2), (2, 5, 3))]
    return [([np.linalg.qr(a, "complete")[0][..., a.shape[-1] :].copy(), a], text) for a in made]


complement = Library(
    "complement", complement_type, lambda z, a, text: z, complement_pull, {"text": "word"}, samples=samples
)
"""Z, which is orthonormal and orthogonal to the columns of A, which are independent."""

__all__ = ["complement", "complement_pull", "complement_type", "largest", "vanishes"]
