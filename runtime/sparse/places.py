"""Sparse Tensors from the places of others: parts, joins and new dimensions, and what pairs entries of equal places.

Beside `operations`, which they are made of; they are asked for by the same names.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..tensor.face.functions import cat as joined
from ..tensor.face.functions import stack as stacked
from ..tensor.face.tensor import from_array
from ..tensor.value.core import Core
from .operations import _flat, _pairs, coalesce, matmul, register, sparse, to_sparse_csr
from .tensors import COO, CSR, WAY_OUT, assemble


def _dim_of(input: Any, dim: int, new: bool = False) -> int:
    n = input.ndim + new
    if not -n <= dim < n:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {dim})")
    if input.layout is not COO:
        raise NotImplementedError(f"this is there for sparse tensors in coordinates only: {WAY_OUT}")
    return dim % n


def select(input: Any, dim: int, index: int) -> Any:
    """What is at an index of a dimension; of the only sparse dimension, a dense Tensor."""
    dim, wide = _dim_of(input, dim), input.sparse_dim()
    sizes = [n for k, n in enumerate(input._sizes) if k != dim]
    if not -input._sizes[dim] <= index < input._sizes[dim]:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(input._sizes)} at dimension {dim}"
        )
    index %= input._sizes[dim]
    if dim >= wide:
        return assemble(input._places, input._entries.select(dim - wide + 1, index), sizes, input._once)
    kept = np.flatnonzero(input._places[dim]._array() == index)
    entries = input._entries.index_select(0, from_array(kept.astype(np.int64)))
    if wide == 1:
        return entries.sum(0)
    places = np.delete(input._places._array()[:, kept], dim, 0)
    return assemble(from_array(places), entries, sizes, input._once)


def getitem(input: Any, key: Any) -> Any:
    """What is at an index of the first dimension, or at one of each of the first few."""
    for each in key if isinstance(key, tuple) else (key,):
        if isinstance(each, Core) and not sparse(each) and each.ndim == 0:
            each = each.item()  # type: ignore[attr-defined]
        if not isinstance(each, int) or isinstance(each, bool):
            raise NotImplementedError(f"sparse tensors are indexed by ints, got {type(each).__name__}: {WAY_OUT}")
        input = select(input, 0, each) if sparse(input) else input[each]
    return input


def index_select(input: Any, dim: int, index: Any) -> Any:
    """What is at each of some indices of a dimension, in their order."""
    dim, wide = _dim_of(input, dim), input.sparse_dim()
    asked = index._array().reshape(-1)
    sizes = [len(asked) if k == dim else n for k, n in enumerate(input._sizes)]
    if asked.size and not (asked.min() >= 0 and asked.max() < input._sizes[dim]):
        raise IndexError("index_select(): index out of range in self")
    if dim >= wide:
        return assemble(input._places, input._entries.index_select(dim - wide + 1, index), sizes, input._once)
    at, kept = _pairs(asked, input._places[dim]._array())
    places = input._places.index_select(1, kept)
    rows = [at if k == dim else places[k] for k in range(wide)]
    return coalesce(assemble(stacked(rows), input._entries.index_select(0, kept), sizes, False))


def cat(tensors: Any, dim: int = 0) -> Any:
    """Sparse Tensors one behind the other along a dimension."""
    first = tensors[0]
    if not all(map(sparse, tensors)):
        raise RuntimeError("Concatenating sparse tensors, but a dense tensor was found; use to_sparse() on it")
    dim = _dim_of(first, dim)
    for k, x in enumerate(tensors):
        if [*x._sizes[:dim], *x._sizes[dim + 1 :]] != [*first._sizes[:dim], *first._sizes[dim + 1 :]]:
            raise RuntimeError(
                f"All tensors must have the same shape: {list(first._sizes)}, but tensor at position {k} has shape:"
                f" {list(x._sizes)}"
            )
    if dim >= first.sparse_dim():
        raise NotImplementedError(f"sparse tensors are joined along sparse dimensions: {WAY_OUT}")
    begins = np.cumsum([0, *[x._sizes[dim] for x in tensors]])
    moved = []
    for x, begin in zip(tensors, begins, strict=False):
        places = x._places._array().copy()
        places[dim] += begin
        moved.append(from_array(places))
    sizes = [int(begins[-1]) if k == dim else n for k, n in enumerate(first._sizes)]
    made = assemble(joined(moved, 1), joined([x._entries for x in tensors]), sizes, False)
    return coalesce(made) if all(x._once for x in tensors) else made


def unsqueeze(input: Any, dim: int) -> Any:
    """With one more dimension, of size one."""
    dim, wide = _dim_of(input, dim, True), input.sparse_dim()
    sizes = (*input._sizes[:dim], 1, *input._sizes[dim:])
    if dim > wide:
        return assemble(input._places, input._entries.unsqueeze(dim - wide + 1), sizes, input._once)
    places = np.insert(input._places._array(), dim, 0, 0)
    return assemble(from_array(places), input._entries, sizes, input._once)


def permute(input: Any, *dims: Any) -> Any:
    """The dimensions in another order, in which the sparse ones stay the first."""
    order = [_dim_of(input, d) for d in (dims[0] if len(dims) == 1 and isinstance(dims[0], tuple | list) else dims)]
    wide = input.sparse_dim()
    if sorted(order) != list(range(input.ndim)) or sorted(order[:wide]) != list(range(wide)):
        raise RuntimeError(f"permute(sparse_coo): dims name each dimension once, the sparse ones first, got {order}")
    places = from_array(input._places._array()[order[:wide]])
    entries = input._entries.permute(0, *[1 + d - wide for d in order[wide:]])
    return assemble(places, entries, [input._sizes[d] for d in order], False)


def stack(tensors: Any, dim: int = 0) -> Any:
    """Sparse Tensors along a new dimension."""
    return cat([unsqueeze(x, dim) for x in tensors], dim % (tensors[0].ndim + 1))


def bmm(input: Any, mat2: Any) -> Any:
    """The products of a batch of sparse matrices and one of dense ones."""
    if not sparse(input) or sparse(mat2) or input.ndim != 3 or mat2.ndim != 3 or len(input) != len(mat2):
        shapes = f"{list(input.shape)} and {list(mat2.shape)}"
        raise NotImplementedError(f"bmm takes as many sparse matrices as dense ones, in this order, not {shapes}")
    return stacked([matmul(select(input, 0, k), mat2[k]) for k in range(len(input))])


def product(a: Any, b: Any) -> Any:
    """The product of two sparse Tensors, element by element: at places that both have."""
    if a.shape != b.shape or a.sparse_dim() != b.sparse_dim() or a.layout is not b.layout:
        raise NotImplementedError(f"mul of two sparse tensors takes such of one shape and layout: {WAY_OUT}")
    first, second = (coalesce(x) if x.layout is COO else x for x in (a, b))
    _, here, there = np.intersect1d(_flat(first), _flat(second), assume_unique=True, return_indices=True)
    here, there = (from_array(at.astype(np.int64)) for at in (here, there))
    entries = first._entries.index_select(0, here) * second._entries.index_select(0, there)
    made = assemble(first._places.index_select(1, here), entries, first._sizes, True)
    return to_sparse_csr(made) if a.layout is CSR else made


def pow_(input: Any, exponent: Any) -> Any:
    """Elements to the power of a positive number."""
    if not sparse(input) or isinstance(exponent, Core) or exponent <= 0:
        raise NotImplementedError(f"pow of sparse tensors takes a positive number, for 0 ** 0 is no zero: {WAY_OUT}")
    held = coalesce(input) if input.layout is COO else input
    return held._like(held._entries**exponent)


def norm(input: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False, **_: Any) -> Any:
    """The norm of all elements."""
    if dim is not None or keepdim:
        raise NotImplementedError(f"norm of sparse tensors is that of all elements, without dim: {WAY_OUT}")
    return (coalesce(input) if input.layout is COO else input)._entries.norm(p)


register({
    "select": select, "getitem": getitem, "index_select": index_select, "cat": cat, "concat": cat, "stack": stack,
    "permute": permute, "unsqueeze": unsqueeze, "bmm": bmm, "pow": pow_, "norm": norm, "product": product,
})  # fmt: skip

__all__ = [
    "bmm", "cat", "getitem", "index_select", "norm", "permute", "pow_", "product", "select", "stack", "unsqueeze",
]  # fmt: skip
