"""What distributions share: parameters of one shape, probabilities as logits, and attributes made when asked for."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Number
from typing import Any

from ..nn import functional as F
from ..tensor.face import functions as T
from ..tensor.reverse.modes import enable_grad
from ..tensor.value.core import Core
from ..tensor.value.dtypes import get_default_dtype


class lazy_property:
    """An attribute that is made the first time it is asked for, with its gradient, and is then kept."""

    def __init__(self, made_by: Callable[[Any], Any]) -> None:
        self.made_by = made_by
        self.__doc__ = made_by.__doc__
        self.name = made_by.__name__

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        with enable_grad():
            value = self.made_by(instance)
        setattr(instance, self.name, value)
        return value


def broadcast_all(*values: Any) -> tuple[Any, ...]:
    """Numbers and tensors as tensors of their common shape; numbers get the dtype of the first tensor.

    Raises
    ------
    ValueError
        if something is neither a tensor nor a number
    """
    for value in values:
        if not isinstance(value, Core | Number):
            raise ValueError(f"the parameters of a distribution are tensors or numbers, not {type(value).__name__}")
    first = next((v for v in values if isinstance(v, Core)), None)
    dtype = get_default_dtype() if first is None else first.dtype
    made: list[Any] = [v if isinstance(v, Core) else T.tensor(v, dtype=dtype) for v in values]
    return tuple(T.broadcast_tensors(*made))


def only_numbers(*values: Any) -> bool:
    """Whether no parameter is a tensor, so that the distribution has no batch."""
    return all(isinstance(v, Number) for v in values)


def euler_constant() -> float:
    """Euler's constant, to the digits of a float64."""
    return 0.5772156649015329


def clamp_probs(probs: Any) -> Any:
    """Probabilities whose logarithm, and that of what is left to 1, is finite."""
    eps = T.finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def probs_to_logits(probs: Any, is_binary: bool = False) -> Any:
    """The logarithms of probabilities; the logarithm of the odds of a binary one."""
    kept = clamp_probs(probs)
    return kept.log() - (-kept).log1p() if is_binary else kept.log()


def logits_to_probs(logits: Any, is_binary: bool = False) -> Any:
    """What `probs_to_logits` came from, up to a common factor."""
    return logits.sigmoid() if is_binary else F.softmax(logits, dim=-1)


def tril_matrix_to_vec(mat: Any, diag: int = 0) -> Any:
    """The lower triangles of matrices, row by row."""
    n = mat.shape[-1]
    rows, columns = T.tril_indices(n, n, diag)
    return mat[..., rows, columns]


def vec_to_tril_matrix(vec: Any, diag: int = 0) -> Any:
    """Matrices with these lower triangles, and zeros above."""
    size = vec.shape[-1]
    n = round((-1 - 2 * diag + ((1 + 2 * diag) ** 2 + 8 * size + 4 * abs(diag) * (diag + 1)) ** 0.5) / 2)
    rows, columns = T.tril_indices(n, n, diag)
    made = T.zeros((*vec.shape[:-1], n, n), dtype=vec.dtype)
    made[..., rows, columns] = vec
    return made


def standard_normal(shape: Any, dtype: Any, device: Any = None) -> Any:
    """Draws of a standard normal distribution."""
    return T.randn(shape, dtype=dtype)


def sum_rightmost(value: Any, dim: int) -> Any:
    """The sum over the last `dim` dimensions."""
    return value.sum(list(range(-dim, 0))) if dim else value


_standard_normal, _sum_rightmost = standard_normal, sum_rightmost
"""As PyTorch has them."""
