"""Learning rate schedulers; see pullback.runtime.optim.lr_scheduler."""

from pullback.runtime.optim.lr_scheduler import *  # noqa: F403
from pullback.runtime.optim.lr_scheduler import LRScheduler as _LRScheduler  # noqa: F401
