"""What packages ask PyTorch's compiled part for."""

from pullback.runtime.operators.registry import below_autograd as _AutoDispatchBelowAutograd  # noqa: F401
from pullback.runtime.programs.inner import get_tracing_state as _get_tracing_state  # noqa: F401
from pullback.runtime.programs.inner import log_api_usage_once as _log_api_usage_once  # noqa: F401
