"""Softmax in its several forms."""

from __future__ import annotations

import warnings
from typing import Any

from ...tensor.draws import rand_like
from ...tensor.scattering import scatter
from ...tensor.softmax import log_softmax as _log_softmax
from ...tensor.softmax import softmax as _softmax
from ...tensor.tape import unrepeatable
from ...tensor.tensor import Tensor
from .terms import need_tensor, size_of


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """Exponentials along `dim`, divided by their sum."""
    return _softmax(input, _implied(input, dim, "softmax"), dtype=dtype)


def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """softmax of -x."""
    return _softmax(-input, _implied(input, dim, "softmin"), dtype=dtype)


def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """The logarithm of softmax along `dim`."""
    return _log_softmax(input, _implied(input, dim, "log_softmax"), dtype=dtype)


def _implied(input: Tensor, dim: int | None, name: str) -> int:
    need_tensor(name, "input", input)
    if dim is not None:
        return dim
    unrepeatable()
    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X"
        " as an argument.",
        stacklevel=3,
    )
    return 0 if len(size_of(input)) in (0, 1, 3) else 1


def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """A draw from the categories that the logits say, smoothed; if `hard`, one-hot with the smooth one's gradient."""
    noise = -(-(1 - rand_like(logits)).log()).log()
    soft = _softmax((logits + noise) / tau, dim)
    if not hard:
        return soft
    index = soft.detach().argmax(dim, keepdim=True)
    ones = scatter(soft.detach() * 0, dim, index, value=1.0)
    return ones - soft.detach() + soft


__all__ = ["gumbel_softmax", "log_softmax", "softmax", "softmin"]
