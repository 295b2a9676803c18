"""Absent; its switches may be set."""

from pullback.runtime.devices.accelerators import no as is_built  # noqa: F401
from pullback.runtime.devices.accelerators import nothing as enable_cudnn_sdp  # noqa: F401
from pullback.runtime.devices.accelerators import nothing as enable_flash_sdp  # noqa: F401
from pullback.runtime.devices.accelerators import nothing as enable_math_sdp  # noqa: F401
from pullback.runtime.devices.accelerators import nothing as enable_mem_efficient_sdp  # noqa: F401
from pullback.runtime.devices.switches import matmul  # noqa: F401
from pullback.runtime.devices.switches import sdp_kernel as sdp_kernel
