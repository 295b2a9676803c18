"""Transforms of functions of tensors; see pullback.runtime.tensor.transforms.func."""

from pullback import _func as _loaded  # noqa: F401
from pullback.runtime.tensor.transforms.batched import *  # noqa: F403
from pullback.runtime.tensor.transforms.func import *  # noqa: F403
from pullback.runtime.tensor.transforms.jacobians import *  # noqa: F403
from pullback.runtime.tensor.transforms.stateless import *  # noqa: F403
