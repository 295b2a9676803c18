"""A sparse Tensor: the places of entries, their values and a shape in, an object that stands where Tensors stand out.

Values are an ordinary Tensor, with whatever history they have, and operations are gathers of rows and sums by segment
of ordinary Tensors, so derivatives of every order come from those. The layouts differ in what the object shows: a
compressed one keeps the row of every entry, and counts them when it is asked for `crow_indices()`.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ..tensor.calls.apart import apart
from ..tensor.face.functions import tensor
from ..tensor.face.printing import part_of, with_notes
from ..tensor.face.queries import Layout
from ..tensor.face.tensor import Tensor, from_array
from ..tensor.value.core import Core
from ..tensor.value.dtypes import Size, bool_, get_default_dtype, int64

COO = sparse_coo = Layout("sparse_coo", __name__)
CSR = sparse_csr = Layout("sparse_csr", __name__)
WAY_OUT = "use to_dense() first"


class SparseTensor(Tensor):
    """Entries `values` [nnz, *dense] at `indices` [sparse dimensions, nnz]; what is at no place is zero.

    Operations that sparse Tensors do not have raise NotImplementedError.
    """

    _apart = True
    _places: Any
    _entries: Any
    _sizes: tuple[int, ...]
    _once: bool
    layout: Layout = COO  # type: ignore[assignment]
    is_sparse = property(lambda self: self.layout is COO)  # type: ignore[assignment]
    is_sparse_csr = property(lambda self: self.layout is CSR)  # type: ignore[assignment]

    def _read(self) -> Any:
        raise NotImplementedError(f"this operation is not there for sparse tensors (layout {self.layout}): {WAY_OUT}")

    _kind_of = _shared = _array = _edge = _tell = _read  # type: ignore[assignment]

    def numpy(self, *, force: bool = False) -> Any:
        """Refused, as PyTorch does."""
        raise TypeError("can't convert Sparse layout tensor to numpy. Use Tensor.to_dense() first.")

    # ---- what it is

    shape = property(lambda self: Size(self._sizes))  # type: ignore[assignment]
    dtype = property(lambda self: self._entries.dtype)  # type: ignore[assignment]
    ndim = property(lambda self: len(self._sizes))  # type: ignore[assignment]
    is_leaf = property(lambda self: self._entries.is_leaf)  # type: ignore[assignment]
    grad_fn = property(lambda self: self._entries.grad_fn)  # type: ignore[assignment]

    def dim(self) -> int:
        """How many dimensions there are, sparse and dense ones."""
        return len(self._sizes)

    def size(self, dim: int | None = None) -> Any:
        """The sizes, or that of a dimension."""
        return self.shape if dim is None else self._sizes[dim]

    def numel(self) -> int:
        """How many elements there were if it were dense."""
        return prod(self._sizes)

    def sparse_dim(self) -> int:
        """How many dimensions the indices have."""
        return self._places.shape[0]

    def dense_dim(self) -> int:
        """How many dimensions an entry has."""
        return self._entries.ndim - 1

    def _nnz(self) -> int:
        return self._entries.shape[0]

    def is_coalesced(self) -> bool:
        """Whether no place comes twice and they are in order."""
        return self._once

    def is_floating_point(self) -> bool:
        """Whether the entries are floating-point numbers."""
        return self._entries.is_floating_point()

    def is_complex(self) -> bool:
        """Whether the entries are complex numbers."""
        return self._entries.is_complex()

    def __len__(self) -> int:
        return self._sizes[0]

    def __bool__(self) -> bool:
        raise RuntimeError(f"the truth of a sparse tensor is not told: {WAY_OUT}")

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        rows = self.layout is CSR
        held = {"crow_indices": self.crow_indices(), "col_indices": self.col_indices()} if rows else {
            "indices": self._places
        }  # fmt: skip
        parts = [part_of(name, x) for name, x in {**held, "values": self._entries}.items()]
        notes = [f"size={tuple(self._sizes)}", f"nnz={self._nnz()}"]
        if self.dtype not in (get_default_dtype(), int64, bool_):
            notes.append(f"dtype={self.dtype}")
        notes.append(f"layout={self.layout}")
        if self._entries.grad_fn is not None:
            notes.append(f"grad_fn=<{type(self._entries.grad_fn).__name__}>")
        elif self._entries.requires_grad:
            notes.append("requires_grad=True")
        text = "tensor(" + ",\n       ".join(parts)
        return with_notes(text, notes) if rows else with_notes(text + ",\n       " + notes[0], notes[1:])

    # ---- its parts

    def _check(self, what: str, layout: Layout) -> None:
        if self.layout is not layout:
            raise RuntimeError(f"{what} expected a tensor of layout {layout}, but got {self.layout}")
        if layout is COO and not self._once:
            raise RuntimeError(f"Cannot get {what} on an uncoalesced tensor, please call .coalesce() first")

    def indices(self) -> Any:
        """The places of the entries of a coalesced tensor: int64 [sparse dimensions, nnz]."""
        self._check("indices", COO)
        return self._places

    def values(self) -> Any:
        """The entries [nnz, *dense], with their history; of a tensor in coordinates, a coalesced one."""
        if self.layout is COO:
            self._check("values", COO)
        return self._entries

    def _indices(self) -> Any:
        return self._places

    def _values(self) -> Any:
        return self._entries

    def crow_indices(self) -> Any:
        """Where each row begins among the entries, and how many there are: int64 [rows + 1]."""
        self._check("crow_indices", CSR)
        counts = np.bincount(self._places[0]._array(), minlength=self._sizes[0])
        return from_array(np.concatenate([[0], np.cumsum(counts)]).astype(np.int64))

    def col_indices(self) -> Any:
        """The column of each entry: int64 [nnz]."""
        self._check("col_indices", CSR)
        return self._places[1].clone()

    # ---- its history

    @property
    def requires_grad(self) -> bool:  # type: ignore[override]
        """Whether the entries require a gradient."""
        return self._entries.requires_grad

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self._entries.requires_grad = value

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        """Let the entries require a gradient, or not."""
        self._entries.requires_grad_(requires_grad)
        return self

    @property
    def grad(self) -> Any:  # type: ignore[override]
        """The gradient of the entries, at their places; what is at no place has none."""
        return None if self._entries.grad is None else self._like(self._entries.grad)

    @grad.setter
    def grad(self, value: Any) -> None:
        self._entries.grad = None if value is None else value._entries

    def _like(self, entries: Any) -> Any:
        """Other entries at the same places."""
        return assemble(self._places, entries, self._sizes, self._once, self.layout)


def assemble(places: Any, entries: Any, sizes: Any, once: bool, layout: Layout = COO) -> Any:
    """A sparse Tensor of its parts, which are not looked at."""
    made: Any = Core.__new__(SparseTensor)
    apart.on = True
    made._places, made._entries, made._sizes, made._once = places, entries, tuple(sizes), once
    made.layout = layout
    return made


# ---- making


def _parts(name: str, places: Any, values: Any, dtype: Any) -> tuple[Any, Any]:
    where = places if isinstance(places, Core) else tensor(places)
    if where.is_floating_point() or where.is_complex():
        raise RuntimeError(f"{name}: indices must be an int64 tensor, got {where.dtype}")
    entries = values if isinstance(values, Core) else tensor(values, dtype=dtype)
    return where.detach().long(), entries if dtype is None else entries.to(dtype)


def _own(made: Any, requires_grad: bool) -> Any:
    if requires_grad:
        made._entries = made._entries.detach().clone().requires_grad_()
    return made


def sparse_coo_tensor(
    indices: Any = None, values: Any = None, size: Any = None, *, dtype: Any = None, device: Any = None,
    pin_memory: bool = False, requires_grad: bool = False, check_invariants: bool | None = None,
    is_coalesced: bool | None = None,
) -> Any:  # fmt: skip
    """A sparse Tensor in coordinates: `values` [nnz, *dense] at `indices` [sparse dimensions, nnz].

    Places may come more than once, then their entries add up. RuntimeError for an index that is not in `size`, which
    is the smallest that fits where it is left out. With sizes alone, as in sparse_coo_tensor((2, 3)), no entries.
    """
    if values is None:
        size = tuple(size if indices is None else indices)
        indices, values = np.zeros((len(size), 0), np.int64), tensor([], dtype=dtype)
    where, entries = _parts("sparse_coo_tensor", indices, values, dtype)
    if where.ndim != 2:
        raise RuntimeError(f"indices must be sparse_dim x nnz, but got: {list(where.shape)}")
    if entries.ndim == 0 or where.shape[1] != entries.shape[0]:
        raise RuntimeError(f"indices and values must have same nnz, but got nnz from indices: {where.shape[1]}, nnz"
                           f" from values: {entries.shape[0] if entries.ndim else 1}")
    array = where._array()
    least = tuple([int(n) + 1 for n in array.max(1)]) if array.size else (0,) * where.shape[0]
    sizes = (*least, *entries.shape[1:]) if size is None else tuple(size)
    if len(sizes) != where.shape[0] + entries.ndim - 1:
        raise RuntimeError(f"number of dimensions must be sparse_dim ({where.shape[0]}) + dense_dim"
                           f" ({entries.ndim - 1}), but got {len(sizes)}")
    for k, n in enumerate(least):
        if array.size and array[k].min() < 0:
            raise RuntimeError(f"found negative index {array[k].min()} for dim {k}")
        if n > sizes[k]:
            raise RuntimeError(f"size is inconsistent with indices: for dim {k}, size is {sizes[k]} but found index"
                               f" {n - 1}")
    if sizes[where.shape[0] :] != tuple(entries.shape[1:]):
        raise RuntimeError(f"values has incorrect size, expected {[where.shape[1], *sizes[where.shape[0]:]]}, got"
                           f" {list(entries.shape)}")
    return _own(assemble(where, entries, sizes, bool(is_coalesced)), requires_grad)


def sparse_csr_tensor(
    crow_indices: Any, col_indices: Any, values: Any, size: Any = None, *, dtype: Any = None, device: Any = None,
    pin_memory: bool = False, requires_grad: bool = False, check_invariants: bool | None = None,
) -> Any:  # fmt: skip
    """A sparse matrix by rows: `values` [nnz] in columns `col_indices` [nnz]; row i has those from crow_indices[i] on.

    RuntimeError where the indices do not fit each other or `size`, which is the smallest where it is left out.
    """
    begins, entries = _parts("sparse_csr_tensor", crow_indices, values, dtype)
    columns, _ = _parts("sparse_csr_tensor", col_indices, entries, None)
    if begins.ndim != 1 or columns.ndim != 1 or entries.ndim != 1:
        raise NotImplementedError("sparse_csr_tensor: batches and blocks are not supported; use one matrix for each")
    array, at = begins._array(), columns._array()
    counts = np.diff(array)
    if not array.size or array[0] != 0 or (counts < 0).any() or array[-1] != len(at) or len(at) != entries.shape[0]:
        raise RuntimeError(f"crow_indices must begin with 0, not fall, and end with the number of entries; got {array}"
                           f" for {len(at)} columns and {entries.shape[0]} values")
    least = int(at.max()) + 1 if at.size else 0
    sizes = (len(counts), least) if size is None else tuple(size)
    if len(sizes) != 2 or sizes[0] != len(counts) or sizes[1] < least or (at.size and at.min() < 0):
        raise RuntimeError(f"size {list(sizes)} does not fit {len(counts)} rows and columns up to {least - 1}")
    rows = np.repeat(np.arange(len(counts)), counts)
    return _own(assemble(from_array(np.stack([rows, at])), entries, sizes, True, CSR), requires_grad)


__all__ = [
    "COO", "CSR", "WAY_OUT", "SparseTensor", "assemble", "sparse_coo", "sparse_coo_tensor", "sparse_csr",
    "sparse_csr_tensor",
]  # fmt: skip
