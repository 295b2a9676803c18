"""Hooks of all optimisers; see pullback.runtime.optim.hooks."""

from pullback.runtime.optim.hooks import register_optimizer_step_post_hook as register_optimizer_step_post_hook
from pullback.runtime.optim.hooks import register_optimizer_step_pre_hook as register_optimizer_step_pre_hook
from pullback.runtime.optim.inner import ParamsT as ParamsT
from pullback.runtime.optim.inner import required as required
from pullback.runtime.optim.optimizer import Optimizer as Optimizer
from pullback.runtime.programs.reached import CAPTURABLE_DOC as _capturable_doc  # noqa: F401
from pullback.runtime.programs.reached import DIFFERENTIABLE_DOC as _differentiable_doc  # noqa: F401
from pullback.runtime.programs.reached import FOREACH_DOC as _foreach_doc  # noqa: F401
from pullback.runtime.programs.reached import FUSED_DOC as _fused_doc  # noqa: F401
from pullback.runtime.programs.reached import MAXIMIZE_DOC as _maximize_doc  # noqa: F401
from pullback.runtime.programs.reached import PARAMS_DOC as _params_doc  # noqa: F401
from pullback.runtime.programs.reached import StateDict as StateDict
from pullback.runtime.programs.reached import as_real as _view_as_real  # noqa: F401
from pullback.runtime.programs.reached import differentiable as _use_grad_for_differentiable  # noqa: F401
from pullback.runtime.programs.reached import faster_kinds as _default_to_fused_or_foreach  # noqa: F401
from pullback.runtime.programs.reached import number as _get_value  # noqa: F401
from pullback.runtime.programs.reached import same as _stack_if_compiling  # noqa: F401
