"""Numbers in steps, and tensors that are made in the likeness of another: arange, linspace, eye, `x.new_zeros`."""

from __future__ import annotations

from math import ceil, inf
from typing import Any

import numpy as np

from ...face.results import deliver
from ...transforms.crossings import alike
from ...value.core import Core, Tensor
from ...value.dtypes import (
    ALL,
    DType,
    bfloat16,
    complex64,
    complex128,
    dtype_of,
    float16,
    float32,
    float64,
    get_default_dtype,
    int64,
)  # fmt: skip
from ...value.numbers import number_of
from ..random.laws import fused
from .creation import empty, filled, finished, full, ones, tensor, zeros
from .strides import as_strided


def eye(
    n: int, m: int | None = None, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Any:
    """Ones on the diagonal."""
    for name, size in (("n", n), ("m", m)):
        if size is not None and size < 0:
            raise RuntimeError(f"{name} must be greater or equal to 0, got {size}")
    kind = dtype_of(dtype) if dtype is not None else get_default_dtype()
    return finished(np.eye(n, m, dtype=kind.numpy), requires_grad, device)


def arange(
    start: Any,
    end: Any = None,
    step: Any = 1,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    layout: Any = None,
    out: Any = None,
) -> Any:
    """start, start + step, ... below end."""
    if out is not None:
        kind = dtype_of(out.dtype)
        given = [start, end, step]
        if not kind.is_floating_point:
            given = [b if b is None else int(b) for b in given]
        if given[2] == 0:
            raise ValueError("step must be nonzero")
        return deliver(arange(*given, dtype=kind), out)
    bounds: list[Any] = [b._array().item() if isinstance(b, Core) else number_of(b) for b in (start, end, step)]
    if end is None:
        bounds[:2] = [0, bounds[0]]
    if None in bounds:
        raise TypeError(f"arange(): expected numbers, got {start!r}, {end!r} and {step!r}")
    first, last, stride = bounds
    for bound in bounds:
        if bound != bound or bound in (inf, -inf):
            raise RuntimeError(f"unsupported range: {first} -> {last}")
    if stride == 0:
        raise RuntimeError("step must be nonzero")
    if (last - first) * stride < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    kind = dtype_of(dtype) if dtype is not None else None
    if kind is None:
        kind = int64 if all(isinstance(b, int) for b in bounds) else get_default_dtype()
    whole = not (kind.is_floating_point or kind.is_complex)
    if whole:
        first, stride = int(first), int(stride)
        last = int(last) if kind == int64 else last  # PyTorch counts the others by what it was given
        if stride == 0:
            raise RuntimeError("step must be nonzero")
    n = max(0, ceil((last - first) / stride))
    if kind in LANES and abs(first) < LARGE and abs(stride * n) < LARGE:
        return finished(_from_blocks(float(first), float(stride), n, kind), requires_grad, device)
    return finished((first + stride * np.arange(n)).astype(kind.numpy), requires_grad, device)


LANES = {float32: 8, float64: 4, float16: 16, bfloat16: 16}
"""How many numbers PyTorch's kernel makes from the first of them."""


def _from_blocks(first: float, stride: float, n: int, kind: DType) -> np.ndarray:
    """PyTorch's numbers to the last bit: first + i step, rounded, and of a block's others the k-th k steps from there.
    Blocks come in pairs, and what is left over is computed one by one; halves in single precision, rounded at last."""
    lanes, wide = LANES[kind], np.float32 if kind in (float16, bfloat16) else np.float64
    i, step, start = np.arange(n, dtype=wide), wide(stride), wide(first)
    made = fused(i, step.item(), start.item()).astype(kind.numpy)
    blocks = made[: n - n % (2 * lanes)].reshape(-1, lanes)
    bases = blocks[:, 0].astype(np.float64)
    for k in range(1, lanes):
        blocks[:, k] = fused(np.full(len(bases), float(k)), np.float64(step), bases).astype(wide)
    return made


def _end(name: str, value: Any) -> float:
    """One end of a range, perhaps a tensor of one number."""
    if isinstance(value, Core):
        array = value._array()
        if array.ndim:
            raise RuntimeError(
                f"{name} only supports 0-dimensional start and end tensors, but got one with {array.ndim} dimension(s)."
            )
        return array.item()
    return value


LARGE = 1e30
"""Up to here products are exact in parts, without an overflow."""


def _ends(name: str, start: Any, end: Any, steps: int, dtype: Any) -> tuple[Any, Any, DType]:
    kind = dtype_of(dtype) if dtype is not None else get_default_dtype()
    first, last = _end(name, start), _end(name, end)
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    if dtype is None and (isinstance(first, complex) or isinstance(last, complex)):
        kind = complex128 if kind is float64 else complex64
    return first, last, kind


def _steps(first: Any, last: Any, steps: int, kind: DType) -> np.ndarray:
    """Numbers evenly spaced in double precision, to be converted to a dtype."""
    if kind.is_floating_point or kind.is_complex:
        return np.linspace(first, last, steps, dtype=(complex128 if kind.is_complex else float64).numpy)
    first, last = int(first), int(last)
    stride = (last - first) / max(steps - 1, 1)
    at = np.arange(steps)
    return np.where(at < steps / 2, first + stride * at, last - stride * (steps - 1 - at))


def _from_both_ends(first: Any, last: Any, steps: int, dtype: Any) -> np.ndarray:
    """PyTorch's numbers to the last bit: first + i step, then last - j step, each rounded once to the dtype."""
    i, half = np.arange(steps, dtype=dtype), steps // 2
    first, last = i.dtype.type(first), i.dtype.type(last)
    step = (last - first) / i.dtype.type(steps - 1)
    below, above = fused(i[:half] + 0, step, first), fused(i[half:] - i[-1], step, last)
    i[:half], i[half:] = below, above
    i += 0  # for no -0
    return i


def _of_halves(first: Any, last: Any, steps: int, dtype: Any) -> np.ndarray:
    """The same of halves, of which each product and each sum is rounded."""
    ends = np.array([first, last]).astype(dtype)
    step, i = (ends[1] - ends[0]) / np.array(steps - 1).astype(dtype), np.arange(steps)
    below, above = ends[0] + step * i.astype(dtype), ends[1] - step * i[::-1].astype(dtype)
    return np.where(i < steps // 2, below, above)


def linspace(
    start: Any,
    end: Any,
    steps: int,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    layout: Any = None,
) -> Any:
    """`steps` numbers evenly spaced from start to end, both included."""
    first, last, kind = _ends("linspace", start, end, steps, dtype)
    if steps > 1 and kind in (float32, float64) and abs(first) < LARGE and abs(last) < LARGE:
        array = _from_both_ends(first, last, steps, kind.numpy)
    elif steps > 1 and kind in (float16, bfloat16):
        array = _of_halves(first, last, steps, kind.numpy)
    else:
        array = _steps(first, last, steps, kind).astype(kind.numpy)
    return finished(array, requires_grad, device)


def logspace(
    start: Any,
    end: Any,
    steps: int,
    base: float = 10.0,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    layout: Any = None,
) -> Any:
    """base ** x for `steps` numbers x evenly spaced from start to end."""
    first, last, kind = _ends("logspace", start, end, steps, dtype)
    with np.errstate(all="ignore"):
        array = np.power(float(base), _steps(first, last, steps, kind)).astype(kind.numpy)
    return finished(array, requires_grad, device)


def scalar_tensor(s: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Any:
    """A tensor of one number, by default of the default dtype."""
    return filled(((),), s, dtype, requires_grad, device)


def empty_strided(size: Any, stride: Any, **options: Any) -> Any:
    """Elements that nobody should count on, so many elements apart along each dimension."""
    shape, steps = tuple(map(int, size)), tuple(map(int, stride))
    if len(shape) != len(steps):
        raise RuntimeError(
            f"dimensionality of sizes ({len(shape)}) must match dimensionality of strides ({len(steps)})"
        )
    made = empty(shape, **options)
    if steps == made.stride() or not made.numel() or made.is_meta:
        return made
    needs = options.pop("requires_grad", False)
    room = 1 + sum((n - 1) * step for n, step in zip(shape, steps, strict=True))
    made = as_strided(empty(max(room, 1), **options), shape, steps)
    return made.requires_grad_() if needs else made


def empty_permuted(size: Any, physical_layout: Any, **options: Any) -> Any:
    """Elements that nobody should count on, whose dimensions lie in memory in this order, the outermost first."""
    if len(size) != len(physical_layout):
        raise RuntimeError(
            "Number of dimensions in size does not match the length of the physical_layout;"
            f" i.e. len(size) = {len(size)} is not equal to len(physical_layout) = {len(physical_layout)}"
        )
    if sorted(physical_layout) != list(range(len(size))):
        raise RuntimeError(f"physical_layout must name each dimension once, got {list(physical_layout)}")
    steps, step = [0] * len(size), 1
    for k in reversed(physical_layout):
        steps[k], step = step, step * max(int(size[k]), 1)
    return empty_strided(size, steps, **options)


# ---- in the dtype of another


def _dtype(x: Core, dtype: Any) -> Any:
    return ALL[x._kind_of().dtype] if dtype is None else dtype


def new_zeros(input: Tensor, *size: Any, dtype: Any = None, **options: Any) -> Tensor:
    """Zeros of the dtype of `input`."""
    return alike(zeros(*_size(size, options), dtype=_dtype(input, dtype), **_there(input, options)), input)


def new_ones(input: Tensor, *size: Any, dtype: Any = None, **options: Any) -> Tensor:
    """Ones of the dtype of `input`."""
    return alike(ones(*_size(size, options), dtype=_dtype(input, dtype), **_there(input, options)), input)


def new_empty(input: Tensor, *size: Any, dtype: Any = None, **options: Any) -> Tensor:
    """Elements, of the dtype of `input`, that nobody should count on."""
    return alike(empty(*_size(size, options), dtype=_dtype(input, dtype), **_there(input, options)), input)


def new_empty_strided(input: Tensor, size: Any, stride: Any, *, dtype: Any = None, **options: Any) -> Tensor:
    """The same, so many elements apart along each dimension."""
    return empty_strided(size, stride, dtype=_dtype(input, dtype), **_there(input, options))


def new_full(input: Tensor, size: Any, fill_value: Any, *, dtype: Any = None, **options: Any) -> Tensor:
    """One number, in the dtype of `input`."""
    return alike(full(size, fill_value, dtype=_dtype(input, dtype), **_there(input, options)), input)


def new_tensor(input: Tensor, data: Any, *, dtype: Any = None, **options: Any) -> Tensor:
    """A copy of `data` in the dtype of `input`."""
    return tensor(data, dtype=_dtype(input, dtype), **_there(input, options))


def _there(x: Core, options: dict[str, Any]) -> dict[str, Any]:
    """The options, with the device of `x` if they name none."""
    return options if options.get("device") is not None else {**options, "device": x.device}  # type: ignore


def _size(size: tuple[Any, ...], options: dict[str, Any]) -> tuple[Any, ...]:
    """The size, which may be given by name."""
    return (options.pop("size"),) if "size" in options else size
