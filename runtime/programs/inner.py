"""Names of PyTorch's own machinery that packages of others import: what each gives, as far as they use it.

They are no part of PyTorch's public surface, and found under the paths where PyTorch has them:

    from torch._vmap_internals import _vmap
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..distributions.gamma_draws import standard_gamma
from ..tensor.transforms.batched import vmap


def log_api_usage_once(*args: Any) -> None:
    """Count a use; nothing is counted, so it has no effect."""


def one_vmap(function: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0) -> Callable[..., Any]:
    """`vmap` under its older name."""
    return vmap(function, in_dims, out_dims)


def _standard_gamma(concentration: Any, generator: Any = None) -> Any:
    """Draws of gamma distributions of rate 1, with a gradient."""
    if generator is not None:
        raise NotImplementedError("_standard_gamma draws from the default generator; seed that one")
    return standard_gamma(concentration)


__all__ = ["log_api_usage_once", "one_vmap"]
