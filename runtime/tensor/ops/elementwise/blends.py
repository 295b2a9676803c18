"""Functions of three tensors or numbers: blends, and products and quotients added to something."""

from __future__ import annotations

from typing import Any

from ...face.required import check_tensors, older_order
from ...trace.fragments.fragments import Operation
from ...value.core import Core, Tensor, apply
from ...value.promotion import c_name
from .arithmetic import Operand


def _lerp(m: Any, x: Any, y: Any, w: Any) -> Any:
    return x + w * (y - x)


LERP, LERP_TENSOR = (Operation("lerp", f"LerpBackward{k}", _lerp, "common", True) for k in (0, 1))


def lerp(input: Tensor, end: Tensor, weight: Operand) -> Tensor:
    """input + weight * (end - input)."""
    check_tensors("lerp", input=input, end=end)
    wanted = input._kind_of().dtype
    for name, other in (("end", end), ("weight", weight)):
        if isinstance(other, Core) and (came := other._kind_of().dtype) != wanted:
            names = [c_name(d).lower() for d in (wanted, came)]
            raise RuntimeError(f"expected dtype {names[0]} for `{name}` but got dtype {names[1]}")
    return apply(LERP_TENSOR if isinstance(weight, Core) else LERP, (input, end, weight))


ADDCMUL = Operation("addcmul", "AddcmulBackward0", lambda m, x, a, b, v: x + v * a * b, "common", True)
ADDCDIV = Operation("addcdiv", "AddcdivBackward0", lambda m, x, a, b, v: x + v * (a / b), "float", True)


def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, *older: Any, value: float = 1) -> Tensor:
    """input + value * tensor1 * tensor2."""
    if older:
        return older_order(addcmul, 3, ("value",), input, tensor1, tensor2, *older)
    return apply(ADDCMUL, (input, tensor1, tensor2, value))


def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *older: Any, value: float = 1) -> Tensor:
    """input + value * tensor1 / tensor2."""
    if older:
        return older_order(addcdiv, 3, ("value",), input, tensor1, tensor2, *older)
    check_tensors("addcdiv", input=input, tensor1=tensor1, tensor2=tensor2)
    if not any(x._kind_of().is_float for x in (tensor1, tensor2)):
        raise RuntimeError(
            "Integer division with addcdiv is no longer supported; for a true division write"
            " (input + value * tensor1 / tensor2), and for integers"
            " (input + value * torch.trunc(tensor1 / tensor2)).to(input.dtype)"
        )
    return apply(ADDCDIV, (input, tensor1, tensor2, value))

