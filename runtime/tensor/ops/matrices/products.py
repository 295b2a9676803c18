"""Matrix products, inner products and einsum."""

from __future__ import annotations

from math import prod
from typing import Any

from .....compiler.ops.contract import contract
from .....compiler.ops.shape import reshape
from ...trace.fragments.fragments import Operation
from ...value.core import Core, Tensor, apply
from ...value.promotion import common_shape
from ...value.prompt import product_of_parts
from ..arranging.shapes import expand, shape_of, unsqueeze
from ..arranging.shapes import reshape as reshaped
from ..elementwise.arithmetic import mul

UNSAFE_VIEW = Operation("view", "UnsafeViewBackward0", lambda m, x, shape: _reshape(m, x, shape))
SQUEEZE = Operation("squeeze", "SqueezeBackward4", lambda m, x, shape: _reshape(m, x, shape))

C_NAMES = {
    "u8": "unsigned char", "i8": "signed char", "i16": "short", "f32": "float", "f64": "double", "i32": "int",
    "i64": "long", "bool": "bool", "u16": "unsigned short", "u32": "unsigned int", "u64": "unsigned long",
    "f16": "c10::Half", "bf16": "c10::BFloat16",
}  # fmt: skip


def _reshape(m: Any, x: Any, shape: tuple[int, ...]) -> Any:
    return m(reshape(m.b, x.value, shape=shape))


def _product(left: int, right: int, batch: int = 0) -> Any:
    """The product over axis `left` of one and `right` of the other, after `batch` common axes."""
    attrs: dict[str, Any] = {"left": (left,), "right": (right,)}
    if batch:
        attrs["batch"] = tuple((k, k) for k in range(batch))

    def emit(m: Any, x: Any, y: Any) -> Any:
        return m(contract(m.b, x.value, y.value, **attrs))

    return emit


DOT = Operation("dot", "DotBackward0", _product(0, 0))
MV = Operation("mv", "MvBackward0", _product(1, 0))
MM = Operation("mm", "MmBackward0", _product(1, 0))
BMM = Operation("bmm", "BmmBackward0", _product(2, 1, 1))


def same_dtype(x: Core, y: Core, names: str = "m1 and m2") -> None:
    a, b = x._kind_of().dtype, y._kind_of().dtype
    if a != b:
        raise RuntimeError(
            f"expected {names} to have the same dtype, but got: {C_NAMES[a]} != {C_NAMES[b]}"
        )
    if a == "bool":
        raise RuntimeError("matrix products of bool tensors are not supported; convert them first")


def _by(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape))


def mm(input: Tensor, mat2: Tensor) -> Tensor:
    """The product of two matrices."""
    a, b = shape_of(input), shape_of(mat2)
    for name, shape in (("self", a), ("mat2", b)):
        if len(shape) != 2:
            raise RuntimeError(f"{name} must be a matrix")
    same_dtype(input, mat2)
    if a[1] != b[0]:
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({_by(a)} and {_by(b)})")
    return apply(MM, (input, mat2))


def mv(input: Tensor, vec: Tensor) -> Tensor:
    """The product of a matrix and a vector."""
    a, b = shape_of(input), shape_of(vec)
    if len(a) != 2 or len(b) != 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got {len(a)}, {len(b)}")
    same_dtype(input, vec)
    if a[1] != b[0]:
        raise RuntimeError(f"size mismatch, got input ({a[0]}), mat ({_by(a)}), vec ({b[0]})")
    return apply(MV, (input, vec))


def dot(input: Tensor, tensor: Tensor) -> Tensor:
    """The inner product of two vectors."""
    a, b = shape_of(input), shape_of(tensor)
    if len(a) != 1 or len(b) != 1:
        raise RuntimeError(f"1D tensors expected, but got {len(a)}D and {len(b)}D tensors")
    same_dtype(input, tensor, "both vectors")
    if a != b:
        raise RuntimeError(
            f"inconsistent tensor size, expected tensor {list(a)} and src {list(b)} to have the same number"
            f" of elements, but got {a[0]} and {b[0]} elements respectively"
        )
    return apply(DOT, (input, tensor))


def bmm(input: Tensor, mat2: Tensor) -> Tensor:
    """The products of two batches of matrices."""
    a, b = shape_of(input), shape_of(mat2)
    if len(a) != 3 or len(b) != 3:
        raise RuntimeError("batch1 and batch2 must be 3D tensors")
    same_dtype(input, mat2)
    if a[0] != b[0] or a[2] != b[1]:
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{a[0]}, {a[2]}] but got:"
            f" [{b[0]}, {b[1]}]."
        )
    return apply(BMM, (input, mat2))


def matmul(input: Tensor, other: Tensor) -> Tensor:
    """The product of vectors, matrices or batches of matrices, in the steps that PyTorch's graph shows."""
    a, b = shape_of(input), shape_of(other)
    if not a or not b:
        raise RuntimeError(
            f"both arguments to matmul need to be at least 1D, but they are {len(a)}D and {len(b)}D"
        )
    if len(a) == 1 and len(b) == 1:
        return dot(input, other)
    if len(a) == 2 and len(b) == 1:
        return mv(input, other)
    if len(a) == 1 and len(b) == 2:
        made = mm(unsqueeze(input, 0), other)
        return apply(SQUEEZE, (made,), ((b[1],),))
    if len(a) == 2 and len(b) == 2:
        return mm(input, other)
    return _batched(input, other, a, b)


for _function in (matmul, mv, dot):
    _function.at_once = product_of_parts  # type: ignore[attr-defined]


def _batched(input: Tensor, other: Tensor, a: tuple[int, ...], b: tuple[int, ...]) -> Tensor:
    if len(b) <= 2:
        flat = reshaped(input, prod(a[:-1]), a[-1])
        made = mm(flat, other) if len(b) == 2 else mv(flat, other)
        return apply(UNSAFE_VIEW, (made,), ((*a[:-1], *b[1:]),))
    if len(a) == 1:
        made = _batched(unsqueeze(input, 0), other, (1, *a), b)
        return apply(UNSAFE_VIEW, (made,), ((*b[:-2], *b[-1:]),))
    (m, k), (rows, n) = a[-2:], b[-2:]
    lead = common_shape([a[:-2], b[:-2]])
    if k != rows:
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({m}x{k} and {rows}x{n})")
    left = reshaped(_expanded(input, (*lead, m, k)), prod(lead), m, k)
    right = reshaped(_expanded(other, (*lead, k, n)), prod(lead), k, n)
    return apply(UNSAFE_VIEW, (bmm(left, right),), ((*lead, m, n),))


def _expanded(x: Tensor, shape: tuple[int, ...]) -> Tensor:
    return x if shape_of(x) == shape else expand(x, shape)


def outer(input: Tensor, vec2: Tensor) -> Tensor:
    """All products of an element of one vector with one of the other."""
    if len(shape_of(input)) != 1 or len(shape_of(vec2)) != 1:
        raise RuntimeError("outer: Expected 1-D arguments")
    return mul(reshaped(input, -1, 1), vec2)
