"""The class of all modules, and hooks of all modules."""

from pullback.runtime.nn.hooks import (  # noqa: F401
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
)
from pullback.runtime.nn.module import Module  # noqa: F401
from pullback.runtime.nn.registration import BUFFERS as _global_buffer_registration_hooks  # noqa: F401
from pullback.runtime.nn.registration import MODULES as _global_module_registration_hooks  # noqa: F401
from pullback.runtime.nn.registration import PARAMETERS as _global_parameter_registration_hooks  # noqa: F401
from pullback.runtime.nn.registration import (  # noqa: F401
    register_module_buffer_registration_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)
from pullback.runtime.nn.state import _IncompatibleKeys  # noqa: F401
from pullback.runtime.programs.reached import EXTRA_STATE as _EXTRA_STATE_KEY_SUFFIX  # noqa: F401
from pullback.runtime.programs.reached import indented as _addindent  # noqa: F401
