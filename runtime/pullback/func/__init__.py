"""Transforms of functions of tensors; see pullback.runtime.tensor.func."""

from pullback import _func as _loaded  # noqa: F401
from pullback.runtime.tensor.batched import *  # noqa: F403
from pullback.runtime.tensor.func import *  # noqa: F403
from pullback.runtime.tensor.jacobians import *  # noqa: F403
from pullback.runtime.tensor.stateless import *  # noqa: F403
