"""First values of parameters, written in place."""

from __future__ import annotations

import math
from typing import Any

from ..tensor.draws import normal_ as _normal
from ..tensor.draws import uniform_ as _uniform
from ..tensor.modes import no_grad

GAINS = {"linear": 1.0, "sigmoid": 1.0, "tanh": 5 / 3, "relu": math.sqrt(2)}


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The factor that keeps the spread of values through this nonlinearity."""
    if nonlinearity == "leaky_relu":
        return math.sqrt(2 / (1 + (0.01 if param is None else param) ** 2))
    if nonlinearity not in GAINS:
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}: expected one of {', '.join(GAINS)}")
    return GAINS[nonlinearity]


def fans(tensor: Any) -> tuple[int, int]:
    """How many inputs an output has, and how many outputs an input."""
    if tensor.dim() < 2:
        raise ValueError(
            "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions"
        )
    field = math.prod(tensor.shape[2:])
    return tensor.shape[1] * field, tensor.shape[0] * field


def uniform_(tensor: Any, a: float = 0.0, b: float = 1.0) -> Any:
    """Even between a and b."""
    with no_grad():
        return _uniform(tensor, a, b)


def normal_(tensor: Any, mean: float = 0.0, std: float = 1.0) -> Any:
    """Normal."""
    with no_grad():
        return _normal(tensor, mean, std)


def constant_(tensor: Any, val: float) -> Any:
    """One number."""
    with no_grad():
        return tensor.fill_(val)


def zeros_(tensor: Any) -> Any:
    """Zeros."""
    return constant_(tensor, 0.0)


def ones_(tensor: Any) -> Any:
    """Ones."""
    return constant_(tensor, 1.0)


def xavier_uniform_(tensor: Any, gain: float = 1.0) -> Any:
    """Even, as wide as keeps the spread both ways (Glorot and Bengio, 2010)."""
    fan_in, fan_out = fans(tensor)
    bound = gain * math.sqrt(6 / (fan_in + fan_out))
    return uniform_(tensor, -bound, bound)


def xavier_normal_(tensor: Any, gain: float = 1.0) -> Any:
    """Normal, as wide as keeps the spread both ways."""
    return normal_(tensor, 0.0, gain * math.sqrt(2 / sum(fans(tensor))))


def _kaiming(tensor: Any, a: float, mode: str, nonlinearity: str) -> float:
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    fan = fans(tensor)[mode == "fan_out"]
    return calculate_gain(nonlinearity, a) / math.sqrt(fan)


def kaiming_uniform_(
    tensor: Any, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu"
) -> Any:
    """Even, as wide as keeps the spread through rectifiers (He et al., 2015)."""
    bound = math.sqrt(3) * _kaiming(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound)


def kaiming_normal_(
    tensor: Any, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu"
) -> Any:
    """Normal, as wide as keeps the spread through rectifiers."""
    return normal_(tensor, 0.0, _kaiming(tensor, a, mode, nonlinearity))
