"""Whether gradients are recorded; see pullback.runtime.tensor.reverse.modes."""

from pullback.runtime.tensor.reverse.modes import (  # noqa: F401
    enable_grad,
    inference_mode,
    no_grad,
    set_grad_enabled,
)
