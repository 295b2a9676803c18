"""Tensors made by the standard's signatures; conversions, dtypes, and what the namespace can do."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..tensor.face import functions as T
from ..tensor.face import queries as Q
from ..tensor.value.core import Core
from ..tensor.value.dtypes import ALL, DType, get_default_dtype

KINDS = {
    "bool": ("bool",),
    "signed integer": ("i8", "i16", "i32", "i64"),
    "unsigned integer": ("u8", "u16", "u32", "u64"),
    "real floating": ("f32", "f64"),
    "complex floating": ("c64", "c128"),
}
KINDS["integral"] = KINDS["signed integer"] + KINDS["unsigned integer"]
KINDS["numeric"] = KINDS["integral"] + KINDS["real floating"] + KINDS["complex floating"]
"""The dtypes of each kind of the standard's."""


def asarray(obj: Any, /, *, dtype: Any = None, device: Any = None, copy: builtins.bool | None = None) -> Any:
    """A tensor of a number, of nested sequences, or of what shares its memory: it is shared unless `copy` is True."""
    if copy is False and not isinstance(obj, (Core, np.ndarray)) and not hasattr(obj, "__dlpack__"):
        raise ValueError("asarray: numbers and sequences are always copied; leave copy=False out")
    made = T.asarray(obj, dtype=dtype, device=device)
    if copy is False and made.dtype is not (obj.dtype if isinstance(obj, Core) else made.dtype):
        raise ValueError("asarray: another dtype takes a copy; leave copy=False out")
    return made.clone() if copy else made


def arange(
    start: Any, /, stop: Any = None, step: Any = 1, *, dtype: Any = None, device: Any = None
) -> Any:
    """Numbers from `start`, or from 0, to before `stop` in steps; none where the steps lead away from it."""
    first, last = (0, start) if stop is None else (start, stop)
    if (last - first) * step <= 0:
        whole = all(isinstance(each, int) for each in (first, last, step))
        return T.empty((0,), dtype=dtype or (ALL["i64"] if whole else None), device=device)
    return T.arange(first, last, step, dtype=dtype, device=device)


def empty(shape: Any, *, dtype: Any = None, device: Any = None) -> Any:
    """A tensor whose elements are any."""
    return T.empty(_sizes(shape), dtype=dtype, device=device)


def zeros(shape: Any, *, dtype: Any = None, device: Any = None) -> Any:
    """A tensor of zeros."""
    return T.zeros(_sizes(shape), dtype=dtype, device=device)


def ones(shape: Any, *, dtype: Any = None, device: Any = None) -> Any:
    """A tensor of ones."""
    return T.ones(_sizes(shape), dtype=dtype, device=device)


def full(shape: Any, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Any:
    """A tensor of one number."""
    return T.full(_sizes(shape), fill_value, dtype=dtype, device=device)


def empty_like(x: Any, /, *, dtype: Any = None, device: Any = None) -> Any:
    """A tensor of the shape and dtype of another, whose elements are any."""
    return T.empty_like(x, dtype=dtype, device=device)


def zeros_like(x: Any, /, *, dtype: Any = None, device: Any = None) -> Any:
    """Zeros of the shape and dtype of another tensor."""
    return T.zeros_like(x, dtype=dtype, device=device)


def ones_like(x: Any, /, *, dtype: Any = None, device: Any = None) -> Any:
    """Ones of the shape and dtype of another tensor."""
    return T.ones_like(x, dtype=dtype, device=device)


def full_like(x: Any, /, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Any:
    """One number in the shape and dtype of another tensor."""
    return T.full_like(x, fill_value, dtype=dtype, device=device)


def eye(
    n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: Any = None, device: Any = None
) -> Any:
    """Ones on the k-th diagonal, zeros elsewhere."""
    columns = n_rows if n_cols is None else n_cols
    rows, across = T.arange(n_rows).reshape(-1, 1), T.arange(columns)
    return T.eq(across - rows, k).to(dtype or get_default_dtype())


def linspace(
    start: Any, stop: Any, /, num: int, *, dtype: Any = None, device: Any = None, endpoint: builtins.bool = True
) -> Any:
    """`num` numbers at even distances, with `stop` or, without the endpoint, up to before it."""
    if endpoint or num == 0:
        return T.linspace(start, stop, num, dtype=dtype, device=device)
    return T.linspace(start, stop, num + 1, dtype=dtype, device=device)[:-1]


def meshgrid(*arrays: Any, indexing: str = "xy") -> list[Any]:
    """Coordinates of a grid: in each tensor those along one of its axes."""
    return list(T.meshgrid(*arrays, indexing=indexing))


def tril(x: Any, /, *, k: int = 0) -> Any:
    """Zeros above the k-th diagonal."""
    return T.tril(x, k)


def triu(x: Any, /, *, k: int = 0) -> Any:
    """Zeros below the k-th diagonal."""
    return T.triu(x, k)


def from_dlpack(x: Any, /, *, device: Any = None, copy: builtins.bool | None = None) -> Any:
    """A tensor on the memory of another library's."""
    made = T.from_dlpack(x)
    return made.clone() if copy else made


def _sizes(shape: Any) -> tuple[int, ...]:
    return tuple(shape) if isinstance(shape, Sequence) else (shape,)


# ---- dtypes


def astype(x: Any, dtype: DType, /, *, copy: builtins.bool = True, device: Any = None) -> Any:
    """A tensor of another dtype; the same one if it has it and no copy is asked for."""
    if x.dtype.is_complex and not dtype.is_complex and dtype is not ALL["bool"]:
        raise TypeError(f"astype: {x.dtype} has an imaginary part, which {dtype} has not; take real(x)")
    return x.to(dtype, copy=copy)


def can_cast(from_: Any, to: DType, /) -> builtins.bool:
    """Whether promotion leads from one dtype, or that of a tensor, to another."""
    dtype = from_.dtype if isinstance(from_, Core) else from_
    return T.promote_types(dtype, to) is to


def isdtype(dtype: DType, kind: Any) -> builtins.bool:
    """Whether a dtype is another one, of a kind, or one of several."""
    if isinstance(kind, tuple):
        return any(isdtype(dtype, each) for each in kind)
    if isinstance(kind, str):
        if kind not in KINDS:
            raise ValueError(f"isdtype: the kinds are {', '.join(KINDS)}; got {kind!r}")
        return any(dtype is ALL[name] for name in KINDS[kind])
    return dtype is kind


def result_type(*arrays_and_dtypes: Any) -> DType:
    """The dtype that tensors, dtypes and numbers have together; numbers do not widen within their kind."""
    dtypes = [each.dtype if isinstance(each, Core) else each for each in arrays_and_dtypes]
    known = [each for each in dtypes if isinstance(each, DType)]
    if not known:
        raise ValueError("result_type: give at least one tensor or dtype")
    made = known[0]
    for each in known[1:]:
        made = T.promote_types(made, each)
    for number in (each for each in dtypes if not isinstance(each, DType)):
        made = T.result_type(T.empty((1,), dtype=made), number)
    return made


def broadcast_arrays(*arrays: Any) -> list[Any]:
    """Tensors in their common shape."""
    return list(T.broadcast_tensors(*arrays))


def broadcast_to(x: Any, /, shape: Any) -> Any:
    """A tensor repeated to a shape."""
    return T.broadcast_to(x, tuple(shape))


def broadcast_shapes(*shapes: Any) -> tuple[int, ...]:
    """The shape that tensors of these shapes have together."""
    return tuple(T.broadcast_shapes(*shapes))


def finfo(type: Any, /) -> Any:
    """What floats of a dtype, or of a tensor's, can tell apart: eps, max, min, smallest_normal, bits."""
    dtype = type.dtype if isinstance(type, Core) else type
    return _told(Q.finfo(dtype), dtype.to_real())


def iinfo(type: Any, /) -> Any:
    """Between which numbers those of a whole dtype are: min, max, bits."""
    dtype = type.dtype if isinstance(type, Core) else type
    return _told(Q.iinfo(dtype), dtype)


def _told(info: Any, dtype: DType) -> Any:
    """With a dtype that compares, where PyTorch has its name."""
    info.dtype = dtype
    return info


# ---- what the namespace can do


class Info:
    """What `__array_namespace_info__()` tells, with the standard's methods."""

    def capabilities(self) -> dict[str, Any]:
        """Masks as indices and shapes that depend on values are there; shapes have at most 64 dimensions."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> str:
        """Where tensors are made."""
        return "cpu"

    def devices(self) -> list[str]:
        """Where tensors can be."""
        return ["cpu"]

    def default_dtypes(self, *, device: Any = None) -> dict[str, DType]:
        """The dtypes of what is made of Python's numbers."""
        real = get_default_dtype()
        whole = ALL["i64"]
        return {
            "real floating": real,
            "complex floating": ALL["c128" if real is ALL["f64"] else "c64"],
            "integral": whole,
            "indexing": whole,
        }

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, DType]:
        """The dtypes of a kind, by the standard's names."""
        return {name: each for name, each in _NAMED.items() if kind is None or isdtype(each, kind)}


_NAMED = {
    "bool": ALL["bool"], "int8": ALL["i8"], "int16": ALL["i16"], "int32": ALL["i32"], "int64": ALL["i64"],
    "uint8": ALL["u8"], "uint16": ALL["u16"], "uint32": ALL["u32"], "uint64": ALL["u64"], "float32": ALL["f32"],
    "float64": ALL["f64"], "complex64": ALL["c64"], "complex128": ALL["c128"],
}  # fmt: skip


def __array_namespace_info__() -> Info:
    """What the namespace can do."""
    return Info()


bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, *_floats = _NAMED.values()
float32, float64, complex64, complex128 = _floats

__all__ = [
    "Info",
    "__array_namespace_info__",
    "arange",
    "asarray",
    "astype",
    "bool",
    "broadcast_arrays",
    "broadcast_shapes",
    "broadcast_to",
    "can_cast",
    "complex64",
    "complex128",
    "empty",
    "empty_like",
    "eye",
    "finfo",
    "float32",
    "float64",
    "from_dlpack",
    "full",
    "full_like",
    "iinfo",
    "int8",
    "int16",
    "int32",
    "int64",
    "isdtype",
    "linspace",
    "meshgrid",
    "ones",
    "ones_like",
    "result_type",
    "tril",
    "triu",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "zeros",
    "zeros_like",
]  # fmt: skip
