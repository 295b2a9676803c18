"""What packages ask PyTorch's compiled part for."""

from pullback.runtime.operators.registry import below_autograd as _AutoDispatchBelowAutograd  # noqa: F401
from pullback.runtime.programs.inner import get_tracing_state as _get_tracing_state  # noqa: F401
from pullback.runtime.programs.inner import log_api_usage_once as _log_api_usage_once  # noqa: F401
from pullback.runtime.programs.reached import NoGraph as Graph  # noqa: F401
from pullback.runtime.programs.reached import NoGraph as Value  # noqa: F401
from pullback.runtime.programs.reached import set_grad as _set_grad_enabled  # noqa: F401
from pullback.runtime.tensor.face.functions import Generator as Generator
from pullback.runtime.tensor.face.functions import dtype as dtype
from pullback.runtime.tensor.value.dtypes import Size as Size
from pullback.runtime.tensor.value.dtypes import device as device
