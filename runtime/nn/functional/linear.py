"""Linear and bilinear maps."""

from __future__ import annotations

from typing import Any

from ....compiler.ops.contract import contract
from ...tensor.face.tensor import Tensor
from ...tensor.ops.arranging.shapes import reshape, t
from ...tensor.ops.matrices.affine import addmm
from ...tensor.ops.matrices.products import matmul
from ...tensor.trace.fragments.fragments import Operation
from ...tensor.value.core import apply
from .terms import listed, need_tensor, size_of, wide


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """input @ weight.T + bias."""
    need_tensor("linear", "input", input)
    need_tensor("linear", "weight", weight)
    shape, columns = size_of(input), t(weight)
    if bias is None:
        return matmul(input, columns)
    if len(shape) == 2:
        return addmm(bias, input, columns)
    if not shape or len(size_of(weight)) != 2 or shape[-1] != size_of(weight)[1]:
        return matmul(input, columns) + bias
    flat = addmm(bias, reshape(input, -1, shape[-1]), columns)
    return reshape(flat, *shape[:-1], size_of(flat)[-1])


def _bilinear(m: Any, x: Any, y: Any, w: Any, *bias: Any) -> Any:
    half = contract(m.b, x.value, w.value, left=(1,), right=(1,))
    made = m(contract(m.b, half, y.value, left=(2,), right=(1,), batch=((0, 0),)))
    return made + wide(m, bias[0], made.value.type.static_shape()) if bias else made


BILINEAR = Operation("bilinear", "TrilinearBackward0", _bilinear)
BILINEAR_BIAS = Operation("bilinear", "AddBackward0", _bilinear)


def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """input1 @ weight[k] @ input2 + bias[k], for each k."""
    a, b, w = size_of(input1), size_of(input2), size_of(weight)
    if len(a) != len(b) or a[:-1] != b[:-1]:
        raise RuntimeError(
            f"bilinear(): input batch dimensions do not match: got {listed(input1)} and {listed(input2)}"
        )
    if len(w) != 3 or a[-1] != w[1] or b[-1] != w[2]:
        raise RuntimeError(f"bilinear(): input sizes {a[-1]} and {b[-1]} do not match weight size: got {list(w)}")
    if bias is not None and size_of(bias) != w[:1]:
        raise RuntimeError(f"bilinear(): bias size does not match weight size: got {listed(bias)} but expected {w[0]}")
    flat = [x.reshape(-1, n[-1]) for x, n in ((input1, a), (input2, b))]
    given = () if bias is None else (bias,)
    made = apply(BILINEAR if bias is None else BILINEAR_BIAS, (*flat, weight, *given))
    return made if len(a) == 2 else made.reshape(*a[:-1], w[0])


__all__ = ["bilinear", "linear"]
