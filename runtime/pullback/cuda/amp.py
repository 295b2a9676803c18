"""Mixed precision by its older path; see pullback.runtime.devices.precision and .scaling."""

from pullback.runtime.devices.precision import cuda_autocast as autocast  # noqa: F401
from pullback.runtime.devices.precision import custom_bwd, custom_fwd  # noqa: F401
from pullback.runtime.devices.scaling import CudaGradScaler as GradScaler  # noqa: F401
