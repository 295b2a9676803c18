"""What sparse Tensors do: products, sums, scalings and changes of form, by rows gathered and added up.

`OPERATIONS` names the functions of Tensors that take sparse ones, which are asked for by name where one is among the
arguments of a call; any other function refuses.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from ..tensor.calls.apart import apart
from ..tensor.face.functions import cat, mm, stack, zeros
from ..tensor.face.tensor import from_array
from ..tensor.value.core import Core
from .tensors import COO, CSR, WAY_OUT, Layout, SparseTensor, assemble


def sparse(x: Any) -> bool:
    """Whether something is a sparse Tensor."""
    return isinstance(x, SparseTensor)


# ---- forms


def _flat(x: Any) -> Any:
    """One number for each place."""
    places = x._places._array()
    return np.ravel_multi_index(tuple(places), x._sizes[: len(places)]) if places.size else places[0]


def coalesce(x: Any) -> Any:
    """The same with each place once, in order; entries of one place are added up."""
    if x._once and x.layout is COO:
        return x
    flat, inverse = np.unique(_flat(x), return_inverse=True)
    wide = x._sizes[: x.sparse_dim()]
    places = from_array(np.array(np.unravel_index(flat, wide), np.int64).reshape(len(wide), len(flat)))
    entries = zeros((len(flat), *x._entries.shape[1:]), dtype=x.dtype)
    if x._nnz():
        entries = entries.index_add(0, from_array(inverse.reshape(-1).astype(np.int64)), x._entries)
    return assemble(places, entries, x._sizes, True)


def to_dense(x: Any, dtype: Any = None, *, masked_grad: Any = None) -> Any:
    """An ordinary Tensor of the same elements."""
    wide = x._sizes[: x.sparse_dim()]
    empty = zeros((prod(wide), *x._entries.shape[1:]), dtype=x.dtype)
    made = empty.index_add(0, from_array(_flat(x).astype(np.int64)), x._entries) if x._nnz() else empty
    return made.reshape(x._sizes).to(dtype or x.dtype)


def to_sparse(x: Any, sparse_dim: Any = None, *, layout: Any = None, **others: Any) -> Any:
    """A sparse Tensor of the elements that are not zero, which the gradient flows back to."""
    if isinstance(sparse_dim, Layout):
        sparse_dim, layout = None, sparse_dim
    if others:
        raise NotImplementedError(f"to_sparse: {', '.join(others)} is not supported; there are coordinates and rows")
    if layout not in (None, COO, CSR):
        raise NotImplementedError(f"to_sparse: layout {layout} is not supported; {COO} and {CSR} are")
    made = coalesce(x) if sparse(x) else _entries_of(x, x.ndim if sparse_dim is None else sparse_dim)
    return to_sparse_csr(made) if layout is CSR else made


def _entries_of(x: Any, sparse_dim: int) -> Any:
    if not 0 < sparse_dim <= max(x.ndim, 1):
        raise RuntimeError(f"sparse_dim argument must be in >0 and <={x.ndim}, but got {sparse_dim}")
    array = x.detach()._array()
    places = np.array(np.nonzero(array.reshape(*array.shape[:sparse_dim], -1).any(-1)), np.int64)
    return assemble(from_array(places), x[tuple(map(from_array, places))], x.shape, True)


def to_sparse_csr(x: Any, dense_dim: Any = None) -> Any:
    """A sparse matrix by rows of the elements that are not zero."""
    if x.ndim != 2:
        raise RuntimeError(f"Only tensors with two dimensions can be converted to the SparseCsr layout, got {x.ndim}")
    made = coalesce(x) if sparse(x) else _entries_of(x, 2)
    return assemble(made._places, made._entries, made._sizes, True, CSR)


def sparse_mask(x: Any, mask: Any) -> Any:
    """The elements of a dense Tensor at the places of a sparse one."""
    where = coalesce(mask)
    return where._like(_found(x, where))


def _found(x: Any, mask: Any) -> Any:
    return x[tuple(mask._places.unbind(0))]


# ---- products


def _fit(a: Any, b: Any) -> None:
    """Refuse matrices that have no product."""
    if a._sizes[1] != b.shape[0]:
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({a._sizes[0]}x{a._sizes[1]} and"
                           f" {'x'.join(map(str, b.shape))})")
    if a.dtype is not b.dtype:
        raise RuntimeError(f"expected mat1 and mat2 to have the same dtype, but got: {a.dtype} != {b.dtype}")


def _product(a: Any, b: Any) -> Any:
    """A sparse matrix times a dense one, or a vector."""
    if a.ndim != 2 or a.dense_dim() or b.ndim not in (1, 2):
        shapes = f"{list(a.shape)} and {list(b.shape)}"
        raise NotImplementedError(f"products are of a sparse matrix and a dense one or vector, not {shapes}: {WAY_OUT}")
    _fit(a, b)
    rows, columns = a._places.unbind(0)
    weights = a._entries if b.ndim == 1 else a._entries.unsqueeze(1)
    return zeros((a._sizes[0], *b.shape[1:]), dtype=b.dtype).index_add(0, rows, weights * b.index_select(0, columns))


def _sparse_product(a: Any, b: Any) -> Any:
    """The product of two sparse matrices, which is sparse: at each place of a row and a column that meet."""
    if a.ndim != 2 or b.ndim != 2 or a.dense_dim() or b.dense_dim():
        shapes = f"{list(a.shape)} and {list(b.shape)}"
        raise NotImplementedError(f"products of sparse tensors are of two matrices of numbers, not {shapes}: {WAY_OUT}")
    if a.layout is not b.layout:
        raise RuntimeError(f"a product of tensors of layouts {a.layout} and {b.layout} is not there: use"
                           " to_sparse_csr() on the other one, or to_dense()")
    _fit(a, b)
    first, second = _pairs(a._places[1]._array(), b._places[0]._array())
    places = stack([a._places[0].index_select(0, first), b._places[1].index_select(0, second)])
    entries = a._entries.index_select(0, first) * b._entries.index_select(0, second)
    made = coalesce(assemble(places, entries, (a._sizes[0], b._sizes[1]), False))
    return to_sparse_csr(made) if a.layout is CSR else made


def _pairs(columns: np.ndarray, rows: np.ndarray) -> tuple[Any, Any]:
    """The entries of two matrices that meet: each of the first with all of the second in the row of its column."""
    order = np.argsort(rows, kind="stable")
    begins, ends = (np.searchsorted(rows, columns, side, sorter=order) for side in ("left", "right"))
    counts = ends - begins
    first = np.repeat(np.arange(len(columns)), counts)
    within = np.arange(len(first)) - np.repeat(np.cumsum(counts) - counts, counts)
    second = order[np.repeat(begins, counts) + within]
    return from_array(first.astype(np.int64)), from_array(second.astype(np.int64))


def matmul(input: Any, other: Any) -> Any:
    """The product of two matrices, one of which is sparse: a dense Tensor, or a sparse one if both are."""
    if sparse(input) and sparse(other):
        return _sparse_product(input, other)
    if sparse(input):
        return _product(input, other)
    turned = transpose(other)
    return _product(turned, input) if input.ndim == 1 else _product(turned, input.t()).t()


def addmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """beta * input + alpha * (mat1 @ mat2), for a sparse matrix and dense ones."""
    return beta * input + alpha * matmul(mat1, mat2)


def sparse_mm(mat1: Any, mat2: Any) -> Any:
    """The product of two matrices, which may be sparse: a dense Tensor, or a sparse one if both are."""
    return matmul(mat1, mat2) if sparse(mat1) or sparse(mat2) else mm(mat1, mat2)


spmm = sparse_mm

# ---- element by element


def _scaled(name: str) -> Callable[..., Any]:
    def scaled(input: Any, other: Any) -> Any:
        if not sparse(input):
            input, other = (other, input) if name == "mul" else (input, other)
        number = not isinstance(other, Core) or other.ndim == 0
        if sparse(input) and number:
            return input._like(getattr(input._entries, name)(other))
        if name == "mul" and sparse(other):
            return OPERATIONS["product"](input, other)
        if name == "mul" and not sparse(other) and input.shape == other.shape:
            return input._like(input._entries * _found(other, input))
        raise NotImplementedError(f"{name} of sparse tensors takes a number, or mul a Tensor of the same shape:"
                                  f" {WAY_OUT}")

    return scaled


def add(input: Any, other: Any, *, alpha: Any = 1) -> Any:
    """The sum of two sparse Tensors, or of a dense and a sparse one."""
    if not isinstance(input, Core) or not isinstance(other, Core):
        raise NotImplementedError(f"a number added to a sparse tensor would be at every place: {WAY_OUT}")
    if tuple(input.shape) != tuple(other.shape):
        raise RuntimeError(f"add: expected sizes of 'self' and 'other' to match, but {list(input.shape)} !="
                           f" {list(other.shape)}")
    if not sparse(input):
        return input + alpha * to_dense(other)
    if not sparse(other):
        raise RuntimeError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")
    places = cat([input._places, other._places], 1)
    joined = assemble(places, cat([input._entries, alpha * other._entries]), input._sizes, False)
    if input.layout is CSR:
        return to_sparse_csr(joined)
    return coalesce(joined) if input._once and other._once else joined


def sub(input: Any, other: Any, *, alpha: Any = 1) -> Any:
    """The difference of two sparse Tensors, or of a dense and a sparse one."""
    return add(input, other, alpha=-alpha)


def _each(name: str) -> Callable[..., Any]:
    """A function of entries which leaves zero as it is."""

    def each(input: Any, *args: Any, **options: Any) -> Any:
        held = input if name in LINEAR else coalesce(input) if input.layout is COO else input
        return held._like(getattr(held._entries, name)(*args, **options))

    return each


# ---- shapes and sums


def transpose(input: Any, dim0: int = 0, dim1: int = 1) -> Any:
    """The matrix turned."""
    if input.sparse_dim() != 2 or {dim0 % input.ndim, dim1 % input.ndim} != {0, 1}:
        raise NotImplementedError(f"transpose of sparse tensors changes both dimensions of a matrix: {WAY_OUT}")
    sizes = (input._sizes[1], input._sizes[0], *input._sizes[2:])
    return assemble(input._places.flip(0), input._entries, sizes, False)


def sum_(input: Any, dim: Any = None, *, dtype: Any = None) -> Any:
    """The sum of all elements; over sparse dimensions, of which some stay, a sparse Tensor."""
    entries = input._entries if dtype is None else input._entries.to(dtype)
    if dim is None:
        return entries.sum()
    gone = {d % input.ndim for d in ([dim] if isinstance(dim, int) else dim)}
    stay = [k for k in range(input.sparse_dim()) if k not in gone]
    if any(d >= input.sparse_dim() for d in gone):
        raise NotImplementedError(f"sum over dense dimensions of sparse tensors is not supported: {WAY_OUT}")
    if not stay:
        return entries.sum(0)
    places = stack([input._places[k] for k in stay])
    return coalesce(assemble(places, entries, [n for k, n in enumerate(input._sizes) if k not in gone], False))


def _soft(logarithm: bool) -> Callable[..., Any]:
    def soft(input: Any, dim: int, *, dtype: Any = None) -> Any:
        """The softmax along a dimension, of the entries alone: what is at no place counts as minus infinity."""
        x = coalesce(input) if input.layout is COO else input
        if x.dense_dim():
            raise NotImplementedError(f"softmax of entries that are arrays is not supported: {WAY_OUT}")
        entries, (groups, count) = x._entries if dtype is None else x._entries.to(dtype), _groups(x, dim % x.ndim)
        top = zeros(count, dtype=entries.dtype).scatter_reduce(0, groups, entries.detach(), "amax", include_self=False)
        moved = entries - top[groups]
        total = zeros(count, dtype=entries.dtype).index_add(0, groups, moved.exp())[groups]
        return x._like(moved - total.log() if logarithm else moved.exp() / total)

    return soft


def _groups(x: Any, dim: int) -> tuple[Any, int]:
    """To which of how many lines along a dimension each entry belongs."""
    places = np.delete(x._places._array(), dim, axis=0)
    found, inverse = np.unique(places, axis=1, return_inverse=True)
    return from_array(inverse.reshape(-1).astype(np.int64)), found.shape[1]


def zero_(input: Any) -> Any:
    """No entries any more."""
    input._places, input._entries = input._places[:, :0], input._entries.detach()[:0]
    return input


LINEAR = {"clone", "detach", "neg", "to", "float", "double", "half", "bfloat16"}
EACH = """abs asin asinh atan atanh ceil erf erfinv expm1 floor log1p relu round sgn sign sin sinh sqrt square tan tanh
    trunc"""

OPERATIONS: dict[str, Callable[..., Any]] = {
    **{name: _each(name) for name in (*LINEAR, *EACH.split())},
    "negative": _each("neg"), "mul": _scaled("mul"), "multiply": _scaled("mul"), "div": _scaled("div"), "rmul":
    _scaled("mul"), "add": add, "radd": add, "sub": sub, "mm": matmul, "matmul": matmul, "mv": matmul, "rmatmul":
    lambda input, other: matmul(other, input), "addmm": addmm, "sum": sum_, "sum_": sum_,
    "transpose": transpose, "t": transpose,
    "coalesce": coalesce, "to_dense": to_dense, "to_sparse": to_sparse, "to_sparse_csr": to_sparse_csr,
    "to_sparse_coo": coalesce, "zero_": zero_,
}  # fmt: skip
"""By the names of functions without what marks them as methods."""


def _holds_sparse(x: Any) -> bool:
    return any(map(sparse, x)) if type(x) in (list, tuple) else sparse(x)


def _answer(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The result of a call with sparse Tensors."""
    if not any(map(_holds_sparse, (*args, *kwargs.values()))):
        return NotImplemented
    found = OPERATIONS.get(name.removeprefix("__").removesuffix("__"))
    if found is None:
        raise NotImplementedError(f"{name} is not there for sparse tensors: {WAY_OUT}")
    return found(*args, **kwargs)


apart.answer = _answer



def _method(name: str) -> Any:
    def method(self: Any, *args: Any, **options: Any) -> Any:
        return OPERATIONS[name](self, *args, **options)

    method.__name__ = name
    return method


def register(functions: dict[str, Callable[..., Any]]) -> None:
    """Answer by these functions, too, as methods as well."""
    OPERATIONS.update(functions)
    for name in functions:
        setattr(SparseTensor, f"__{name}__" if name == "getitem" else name, _method(name))


register(dict(OPERATIONS))
SparseTensor.__add__, SparseTensor.__sub__, SparseTensor.__mul__ = map(_method, ("add", "sub", "mul"))  # type: ignore
SparseTensor.__truediv__, SparseTensor.__matmul__ = map(_method, ("div", "matmul"))  # type: ignore[method-assign]
SparseTensor.__neg__, SparseTensor.__rmul__ = map(_method, ("neg", "mul"))  # type: ignore[method-assign]
SparseTensor.__radd__ = lambda self, other: add(other, self)  # type: ignore[method-assign]
SparseTensor.__rmatmul__ = _method("rmatmul")  # type: ignore[method-assign]
SparseTensor.T = property(transpose)  # type: ignore[assignment]

__all__ = [
    "add", "addmm", "assemble", "coalesce", "matmul", "sparse", "sparse_mask", "sparse_mm", "spmm", "sum_", "to_dense",
    "to_sparse", "to_sparse_csr",
]  # fmt: skip
