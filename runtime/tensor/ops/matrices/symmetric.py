"""Symmetric matrices to their factors L D L' (Bunch and Kaufman 1977), and solutions by these.

The factors are in one matrix as LAPACK's `sytrf` leaves them: D on the diagonal, in blocks of one or two rows, L below.
A pivot k > 0 says that the row was exchanged with row k; two of -k that a block of two rows starts here, of which the
second was exchanged with row k.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from .....compiler.ops.complex.pair import Pair
from ...reverse.nodes import UNKNOWN
from ...trace.fragments.fragments import Operation
from ...value.core import Core, Tensor, apply_all, wrap
from ...value.found import returned
from ..arranging.creation import constant
from ..arranging.shapes import shape_of
from ..elementwise.complexes import adjoint
from .outside import computed, outside
from .products import matmul
from .solving import check_alike, check_rank, check_square, fail, solve

GROWTH = (1 + 17**0.5) / 8
"""How large a pivot on the diagonal must be beside its column: with this, elements grow least."""
ldl_factor_result = returned("linalg_ldl_factor", "LD", "pivots")
ldl_factor_ex_result = returned("linalg_ldl_factor_ex", "LD", "pivots", "info")


def _size(x: Any) -> Any:
    return np.abs(x.real) + np.abs(x.imag) if np.iscomplexobj(x) else np.abs(x)


def _pivot(a: np.ndarray, k: int) -> tuple[int, int, bool]:
    """The row to exchange with, how many rows the block has, and whether there is a pivot at all."""
    n, own = len(a), _size(a[k, k])
    column = _size(a[k + 1 :, k])
    most = column.max() if k + 1 < n else 0.0
    if not max(own, most) > 0 or np.isnan(own):
        return k, 1, False
    if own >= GROWTH * most:
        return k, 1, True
    row = k + 1 + int(np.argmax(column))
    others = np.concatenate([_size(a[row, k:row]), _size(a[row + 1 :, row])])
    if own >= GROWTH * most * (most / others.max()):
        return k, 1, True
    return (row, 1, True) if _size(a[row, row]) >= GROWTH * others.max() else (row, 2, True)


def _exchange(a: np.ndarray, k: int, p: int, rows: int, hermitian: bool) -> None:
    """Rows and columns k + rows - 1 and p of what is left, of which the lower triangle is there."""
    q = k + rows - 1
    a[p + 1 :, [q, p]] = a[p + 1 :, [p, q]]
    column, row = a[q + 1 : p, q].copy(), a[p, q + 1 : p].copy()
    a[q + 1 : p, q], a[p, q + 1 : p] = (row.conj(), column.conj()) if hermitian else (row, column)
    if hermitian:
        a[p, q] = a[p, q].conj()
    a[q, q], a[p, p] = a[p, p], a[q, q]
    if rows == 2:
        a[k + 1, k], a[p, k] = a[p, k], a[k + 1, k]


def _factored(given: np.ndarray, hermitian: bool) -> tuple[np.ndarray, np.ndarray, int]:
    """L and D in one matrix, pivots and the first pivot that is zero, from 1."""
    a, n, info, k = np.tril(given), len(given), 0, 0
    pivots = np.zeros(n, np.int32)
    if hermitian:
        a[np.diag_indices(n)] = np.real(a.diagonal())
    while k < n:
        p, rows, found = _pivot(a, k)
        if not found:
            info = info or k + 1
        elif p != k + rows - 1:
            _exchange(a, k, p, rows, hermitian)
        pivots[k : k + rows] = p + 1 if rows == 1 else -(p + 1)
        end = k + rows
        if found and end < n:
            below, block = a[end:, k:end].copy(), a[k:end, k:end].copy()
            if rows == 2:
                block[0, 1] = block[1, 0].conj() if hermitian else block[1, 0]
            factor = below / block[0, 0] if rows == 1 else np.linalg.solve(block.T, below.T).T
            a[end:, end:] -= np.tril(factor @ (below.conj() if hermitian else below).T)
            if hermitian:
                left = range(end, n)
                a[left, left] = np.real(a[left, left])
            a[end:, k:end] = factor
        k = end
    return a, pivots, info


def _parts(m: Any, x: Any) -> tuple[tuple[Any, ...], tuple[int, ...]]:
    terms = (x.re, x.im) if isinstance(x, Pair) else (x,)
    return terms, terms[0].value.type.shape


def _factors(*given: Any) -> tuple[np.ndarray, ...]:
    *arrays, hermitian = given
    whole: Any = arrays[0] + 1j * arrays[1] if len(arrays) == 2 else arrays[0]
    shape, lead = whole.shape, whole.shape[:-2]
    made = [_factored(a, hermitian) for a in whole.reshape(prod(lead), *shape[-2:])]
    packed: Any = np.array([each[0] for each in made], whole.dtype).reshape(shape)
    pivots = np.array([each[1] for each in made], np.int32).reshape(shape[:-1])
    info = np.array([each[2] for each in made], np.int32).reshape(lead)
    return (*((packed.real, packed.imag) if len(arrays) == 2 else (packed,)), pivots, info)


computed("ldl_factor", _factors)


def _ldl(m: Any, x: Any, hermitian: bool) -> tuple[Any, ...]:
    terms, shape = _parts(m, x)
    kind, lead = terms[0].value.type, shape[:-2]
    whole = kind.with_dtype("i32")
    types = [*[kind] * len(terms), whole.with_shape(shape[:-1]), whole.with_shape(lead)]
    *packed, pivots, info = outside(m, "ldl_factor", terms, types, hermitian)
    return (Pair(m, *packed) if len(packed) == 2 else packed[0]), pivots, info


LDL = Operation("linalg_ldl_factor_ex", UNKNOWN, _ldl)


def ldl_factor_ex(A: Core, *, hermitian: bool = False, check_errors: bool = False) -> Any:
    """L and D in one matrix, pivots, and 0 or the place of a pivot that is zero; symmetric unless `hermitian`."""
    complex_ = check_square("torch.linalg.ldl_factor_ex", A)._kind_of().is_complex
    (packed, pivots, info), node = apply_all(LDL, (A,), (hermitian and complex_,))
    made = ldl_factor_ex_result(wrap(packed, node), wrap(pivots), wrap(info))
    if check_errors:
        fail("torch.linalg.ldl_factor_ex", made.info._array(), _zero_pivot)
    return made


def _zero_pivot(k: int) -> str:
    return f"D[{k},{k}] is zero, so its factors cannot be used to solve; ldl_factor_ex factors without this check"


def ldl_factor(A: Core, *, hermitian: bool = False) -> Any:
    """L and D in one matrix, and pivots; symmetric unless `hermitian`."""
    made = ldl_factor_ex(A, hermitian=hermitian)
    fail("torch.linalg.ldl_factor", made.info._array(), _zero_pivot)
    return ldl_factor_result(made.LD, made.pivots)


def _unpacked(packed: np.ndarray, pivots: np.ndarray, hermitian: bool) -> tuple[np.ndarray, np.ndarray]:
    """S and D with the inverse S' D^-1 S: what exchanges and L do to the right side, and D."""
    n, k = len(packed), 0
    s, d = np.eye(n, dtype=packed.dtype), np.zeros_like(packed)
    while k < n:
        rows = 1 if pivots[k] > 0 else 2
        end, p = k + rows, abs(int(pivots[k])) - 1
        s[[end - 1, p]] = s[[p, end - 1]]
        s[end:] -= packed[end:, k:end] @ s[k:end]
        d[k:end, k:end] = packed[k:end, k:end]
        if rows == 2:
            d[k, k + 1] = d[k + 1, k].conj() if hermitian else d[k + 1, k]
        k = end
    return s, d


def ldl_solve(LD: Tensor, pivots: Tensor, B: Tensor, *, hermitian: bool = False) -> Tensor:
    """X with A X = B, where `ldl_factor` gave LD and the pivots of A; its gradient is that of B alone."""
    name, shape, right = "torch.linalg.ldl_solve", shape_of(LD), check_rank("torch.linalg.ldl_solve", B)
    check_square(name, LD)
    check_alike(name, LD, B)
    if shape_of(pivots) != shape[:-1]:
        raise RuntimeError(
            f"{name}: Expected LD.shape[:-1] and pivots.shape to be the same, but got pivots with shape"
            f" {list(shape_of(pivots))} instead"
        )
    if pivots._kind_of().is_float:
        raise RuntimeError(f"{name}: Expected pivots to be integers. Got {pivots._kind_of()}")
    if right[-2] != shape[-1]:
        raise RuntimeError(
            f"Incompatible matrix sizes for {name}: each A matrix is {shape[-1]} by {shape[-1]} but each b matrix is"
            f" {right[-2]} by {right[-1]}"
        )
    if LD.requires_grad:
        raise RuntimeError(f"{name}: the derivative in LD is not implemented: use solve(A, B), or pass LD.detach()")
    n, hermitian = shape[-1], hermitian and LD._kind_of().is_complex
    given = zip(LD._array().reshape(-1, n, n), pivots._array().reshape(-1, n), strict=True) if prod(shape) else ()
    made = [_unpacked(packed, at, hermitian) for packed, at in given]
    s, d = (constant(np.array([each[k] for each in made], LD._array().dtype).reshape(shape)) for k in (0, 1))
    return matmul(adjoint(s) if hermitian else s.mT, solve(d, matmul(s, B)))


__all__ = ["ldl_factor", "ldl_factor_ex", "ldl_solve"]
