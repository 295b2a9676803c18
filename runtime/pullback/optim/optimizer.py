"""Hooks of all optimisers; see pullback.runtime.optim.hooks."""

from pullback.runtime.optim.hooks import register_optimizer_step_post_hook as register_optimizer_step_post_hook
from pullback.runtime.optim.hooks import register_optimizer_step_pre_hook as register_optimizer_step_pre_hook
from pullback.runtime.optim.inner import ParamsT as ParamsT
from pullback.runtime.optim.inner import required as required
from pullback.runtime.optim.optimizer import Optimizer as Optimizer
