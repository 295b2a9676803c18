"""First values of parameters."""

from pullback.runtime.nn.init import *  # noqa: F403
from pullback.runtime.nn.init import (  # noqa: F401
    _calculate_correct_fan,
    _calculate_fan_in_and_fan_out,
    _no_grad_fill_,
    _no_grad_normal_,
    _no_grad_trunc_normal_,
    _no_grad_uniform_,
    _no_grad_zero_,
)
