"""Absent; its switches may be set."""

from pullback.runtime.devices.accelerators import no as is_available  # noqa: F401
from pullback.runtime.devices.accelerators import nothing as version  # noqa: F401
from pullback.runtime.devices.switches import allow_tf32, benchmark, deterministic, enabled  # noqa: F401
from pullback.runtime.devices.switches import flags as flags
