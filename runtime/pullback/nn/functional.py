"""The functions that networks are made of."""

from pullback.runtime.nn.functional import *  # noqa: F403
from pullback.runtime.nn.functional import (  # noqa: F401
    Tensor,
    _canonical_mask,
    _in_projection,
    _in_projection_packed,
    _none_or_dtype,
    _pair,
    _single,
    _triple,
    handle_torch_function,
    has_torch_function,
    has_torch_function_unary,
    has_torch_function_variadic,
)
from pullback.runtime.programs.refused import functional as __getattr__  # noqa: F401
