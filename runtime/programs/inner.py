"""Names of PyTorch's own machinery that packages of others import: what each gives, as far as they use it.

They are no part of PyTorch's public surface, and found under the paths where PyTorch has them:

    from torch._vmap_internals import _vmap
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from ..distributions.gamma_draws import standard_gamma
from ..tensor.transforms.batched import vmap

HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")
"""The digest in the name of a file that PyTorch publishes."""


def log_api_usage_once(*args: Any) -> None:
    """Count a use; nothing is counted, so it has no effect."""


def is_fake(x: Any) -> bool:
    """Whether a tensor has a shape and no values: none has."""
    return False


def get_proxy_mode() -> None:
    """The tracer that is at work: none is, as in a PyTorch program that nobody traces."""


def get_tracing_state() -> None:
    """What TorchScript's tracer has seen: there is none."""


def wrap(fn_or_name: Any) -> Any:
    """A function that PyTorch's tracer is to call as a whole; itself, so it has no effect."""
    return fn_or_name


def one_vmap(function: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0) -> Callable[..., Any]:
    """`vmap` under its older name."""
    return vmap(function, in_dims, out_dims)


def _standard_gamma(concentration: Any, generator: Any = None) -> Any:
    """Draws of gamma distributions of rate 1, with a gradient."""
    if generator is not None:
        raise NotImplementedError("_standard_gamma draws from the default generator; seed that one")
    return standard_gamma(concentration)


__all__ = ["HASH_REGEX", "get_proxy_mode", "get_tracing_state", "is_fake", "log_api_usage_once", "one_vmap", "wrap"]
