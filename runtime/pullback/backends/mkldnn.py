"""Absent: code is made by LLVM."""

from pullback.runtime.devices.accelerators import no as is_available  # noqa: F401
from pullback.runtime.devices.switches import enabled  # noqa: F401
from pullback.runtime.devices.switches import flags as flags
