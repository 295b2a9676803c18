"""First values of parameters, written in place."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from ..tensor.calls.apart import asking
from ..tensor.ops.arranging.creation import empty_like, from_numpy
from ..tensor.ops.folds.searching import where
from ..tensor.ops.random.distributions import normal_ as _normal
from ..tensor.ops.random.distributions import uniform_ as _uniform
from ..tensor.ops.random.draws import randn, randperm
from ..tensor.reverse.modes import no_grad

GAINS = {"linear": 1, "sigmoid": 1, "tanh": 5 / 3, "relu": math.sqrt(2), "selu": 3 / 4}
GAINS |= {f"conv{t}{k}d": 1 for t in ("", "_transpose") for k in (1, 2, 3)}


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The factor that keeps the spread of values through this nonlinearity."""
    if nonlinearity == "leaky_relu":
        if param is not None and (isinstance(param, bool) or not isinstance(param, int | float)):
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2 / (1 + (0.01 if param is None else param) ** 2))
    if nonlinearity not in GAINS:
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}: expected leaky_relu or one of {', '.join(GAINS)}")
    return GAINS[nonlinearity]


def fans(tensor: Any) -> tuple[int, int]:
    """How many inputs an output has, and how many outputs an input."""
    if tensor.dim() < 2:
        raise ValueError(
            "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions"
        )
    field = math.prod(tensor.shape[2:])
    return tensor.shape[1] * field, tensor.shape[0] * field


@asking
def uniform_(tensor: Any, a: float = 0.0, b: float = 1.0, generator: Any = None) -> Any:
    """Even between a and b."""
    with no_grad():
        return _uniform(tensor, a, b, generator=generator)


@asking
def normal_(tensor: Any, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Any:
    """Normal."""
    with no_grad():
        return _normal(tensor, mean, std, generator=generator)


OFTEN = 0.3
"""If so many normal numbers are within the bounds, the others are drawn again."""


def _below(x: float) -> float:
    """The normal distribution function."""
    return (1 + math.erf(x / math.sqrt(2))) / 2


@asking
def trunc_normal_(
    tensor: Any, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0, generator: Any = None
) -> Any:
    """Normal within a .. b, by drawing again what is outside; far from the mean, by the density of even numbers."""
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution may be incorrect.",
            stacklevel=2,
        )
    if tensor.is_meta:
        return tensor
    kept = _below((b - mean) / std) - _below((a - mean) / std)
    with no_grad():
        return (_rejected if kept > OFTEN else _accepted)(tensor, mean, std, a, b, generator)


def _rejected(tensor: Any, mean: float, std: float, a: float, b: float, generator: Any) -> Any:
    """Normal numbers, and others where they are outside."""
    low, high = tensor.new_tensor(a), tensor.new_tensor(b)
    made = _normal(tensor, mean, std, generator=generator)
    while (outside := (made < low) | (made > high)).any():
        made = where(outside, _normal(empty_like(made), mean, std, generator=generator), made)
    return tensor if made is tensor else tensor.copy_(made)


def _accepted(tensor: Any, mean: float, std: float, a: float, b: float, generator: Any) -> Any:
    """Even numbers, each accepted with the density there by that at its peak, and others where they are not."""
    peak = -0.5 * ((max(a, min(mean, b)) - mean) / std) ** 2
    made, pending = _uniform(tensor, a, b, generator=generator), None
    drawn = made.clone()
    while True:
        density = ((drawn - mean) / std).pow(2) * -0.5 - peak
        refused = _uniform(empty_like(drawn), generator=generator).log() > density
        pending = refused if pending is None else pending & refused
        if not pending.any():
            return tensor if made is tensor else tensor.copy_(made)
        drawn = _uniform(empty_like(drawn), a, b, generator=generator)
        made = where(pending, drawn, made)


@asking
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


def _write(tensor: Any, array: np.ndarray) -> Any:
    with no_grad():
        return tensor.copy_(from_numpy(np.ascontiguousarray(array)))


def eye_(tensor: Any) -> Any:
    """Ones on the diagonal of a matrix."""
    if tensor.dim() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    return _write(tensor, np.eye(*tensor.shape))


def dirac_(tensor: Any, groups: int = 1) -> Any:
    """Kernels that pass each channel on as it is."""
    if tensor.dim() not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    outputs, channels, *kernel = tensor.shape
    if outputs % groups:
        raise ValueError("dim 0 must be divisible by groups")
    each, made = outputs // groups, np.zeros(tuple(tensor.shape))
    middle = tuple([n // 2 for n in kernel])
    for g in range(groups):
        for k in range(min(each, channels)):
            made[(g * each + k, k, *middle)] = 1
    return _write(tensor, made)


def orthogonal_(tensor: Any, gain: float = 1, generator: Any = None) -> Any:
    """Rows or columns at right angles to one another, evenly among all such matrices (Saxe et al., 2013)."""
    if tensor.dim() < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if not tensor.numel():
        return tensor
    rows, columns = tensor.shape[0], tensor.numel() // tensor.shape[0]
    drawn = randn((rows, columns), dtype=tensor.dtype, generator=generator).numpy()
    q, r = np.linalg.qr(drawn.T if rows < columns else drawn)
    q = q * np.sign(np.diag(r))
    return _write(tensor, gain * (q.T if rows < columns else q).reshape(tuple(tensor.shape)))


def sparse_(tensor: Any, sparsity: float, std: float = 0.01, generator: Any = None) -> Any:
    """Normal, but for a share of zeros in every column (Martens, 2010)."""
    if tensor.dim() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    (rows, columns), made = tensor.shape, normal_(tensor, 0, std, generator)
    keep = np.ones((rows, columns), np.bool_)
    for k in range(columns):
        keep[randperm(rows).numpy()[: math.ceil(sparsity * rows)], k] = False
    with no_grad():
        return tensor.copy_(where(from_numpy(keep), made, 0.0))


def xavier_uniform_(tensor: Any, gain: float = 1.0, generator: Any = None) -> Any:
    """Even, as wide as keeps the spread both ways (Glorot and Bengio, 2010)."""
    fan_in, fan_out = fans(tensor)
    bound = gain * math.sqrt(6 / (fan_in + fan_out))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Any, gain: float = 1.0, generator: Any = None) -> Any:
    """Normal, as wide as keeps the spread both ways."""
    return normal_(tensor, 0.0, gain * math.sqrt(2 / sum(fans(tensor))), generator)


def fan_of(tensor: Any, mode: str) -> int:
    """One of the two `fans`."""
    if (mode := mode.lower()) not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    return fans(tensor)[mode == "fan_out"]


def _kaiming(tensor: Any, a: float, mode: str, nonlinearity: str) -> float:
    fan = fan_of(tensor, mode)
    return calculate_gain(nonlinearity, a) / math.sqrt(fan)


@asking
def kaiming_uniform_(
    tensor: Any, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None
) -> Any:
    """Even, as wide as keeps the spread through rectifiers (He et al., 2015)."""
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=2)
        return tensor
    bound = math.sqrt(3) * _kaiming(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound, generator)


def narrow_(tensor: Any) -> None:
    """Even within 1/sqrt(inputs of an output): what linear layers and convolutions start from."""
    if 0 not in tensor.shape:
        kaiming_uniform_(tensor, math.sqrt(5))


def kaiming_normal_(
    tensor: Any, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None
) -> Any:
    """Normal, as wide as keeps the spread through rectifiers."""
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=2)
        return tensor
    return normal_(tensor, 0.0, _kaiming(tensor, a, mode, nonlinearity), generator)


def _old_name(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function under its name without the underscore, which PyTorch keeps with a warning."""
    new = function.__name__

    def deprecated(*args: Any, **kwargs: Any) -> Any:
        said = f"`nn.init.{new[:-1]}` is now deprecated in favor of `nn.init.{new}`."
        warnings.warn(said, FutureWarning, stacklevel=2)
        return function(*args, **kwargs)

    deprecated.__name__ = deprecated.__qualname__ = new[:-1]
    deprecated.__doc__ = f"`{new}` under its old name."
    return deprecated


uniform, normal, constant, eye = _old_name(uniform_), _old_name(normal_), _old_name(constant_), _old_name(eye_)
dirac, orthogonal, sparse = _old_name(dirac_), _old_name(orthogonal_), _old_name(sparse_)
xavier_uniform, xavier_normal = _old_name(xavier_uniform_), _old_name(xavier_normal_)
kaiming_uniform, kaiming_normal = _old_name(kaiming_uniform_), _old_name(kaiming_normal_)

# ---- under the names that programs reach for

_calculate_fan_in_and_fan_out, _calculate_correct_fan = fans, fan_of
_no_grad_uniform_, _no_grad_normal_, _no_grad_trunc_normal_ = uniform_, normal_, trunc_normal_
_no_grad_fill_, _no_grad_zero_ = constant_, zeros_
