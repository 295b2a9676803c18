"""What packages ask PyTorch's compiled part for."""

from pullback.runtime.programs.inner import log_api_usage_once as _log_api_usage_once  # noqa: F401
