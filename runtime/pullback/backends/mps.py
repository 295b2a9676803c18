"""Absent."""

from pullback.runtime.devices.accelerators import no as is_available  # noqa: F401
from pullback.runtime.devices.accelerators import no as is_built  # noqa: F401
