"""What packages ask PyTorch's compiled part for."""

from pullback.runtime.operators.registry import below_autograd as _AutoDispatchBelowAutograd  # noqa: F401
from pullback.runtime.programs.inner import get_tracing_state as _get_tracing_state  # noqa: F401
from pullback.runtime.programs.inner import log_api_usage_once as _log_api_usage_once  # noqa: F401
from pullback.runtime.programs.inside.settled import FUNCTORCH as _functorch  # noqa: F401
from pullback.runtime.programs.inside.settled import NN as _nn  # noqa: F401
from pullback.runtime.programs.inside.settled import is_alias_of as _is_alias_of  # noqa: F401
from pullback.runtime.programs.inside.settled import no as _are_functorch_transforms_active  # noqa: F401
from pullback.runtime.programs.inside.settled import no as _is_torch_function_mode_enabled  # noqa: F401
from pullback.runtime.programs.inside.settled import no as _jit_can_fuse_on_cpu  # noqa: F401
from pullback.runtime.programs.inside.settled import no as _jit_can_fuse_on_gpu  # noqa: F401
from pullback.runtime.programs.inside.settled import nothing as _jit_override_can_fuse_on_cpu  # noqa: F401
from pullback.runtime.programs.inside.settled import nothing as _jit_override_can_fuse_on_gpu  # noqa: F401
from pullback.runtime.programs.inside.settled import nothing as _jit_set_nvfuser_enabled  # noqa: F401
from pullback.runtime.programs.inside.settled import nothing as _jit_set_profiling_executor  # noqa: F401
from pullback.runtime.programs.inside.settled import nothing as _jit_set_profiling_mode  # noqa: F401
from pullback.runtime.programs.inside.settled import nothing as _jit_set_texpr_fuser_enabled  # noqa: F401
from pullback.runtime.programs.reached import NoGraph as Graph  # noqa: F401
from pullback.runtime.programs.reached import NoGraph as Value  # noqa: F401
from pullback.runtime.programs.reached import set_grad as _set_grad_enabled  # noqa: F401
from pullback.runtime.tensor.face.functions import Generator as Generator
from pullback.runtime.tensor.face.functions import dtype as dtype
from pullback.runtime.tensor.face.overriding import DisableTorchFunction as DisableTorchFunction
from pullback.runtime.tensor.face.overriding import DisableTorchFunctionSubclass as DisableTorchFunctionSubclass
from pullback.runtime.tensor.face.overriding import disabled as _disabled_torch_function_impl  # noqa: F401
from pullback.runtime.tensor.face.overriding import is_enabled as _is_torch_function_enabled  # noqa: F401
from pullback.runtime.tensor.value.dtypes import Size as Size
from pullback.runtime.tensor.value.dtypes import device as device
