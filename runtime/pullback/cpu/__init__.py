"""The processor, asked as a device; see pullback.runtime.devices.accelerators."""

from pullback import _cpu as _loaded  # noqa: F401
from pullback.runtime.devices.accelerators import name_of_the_processor as current_device  # noqa: F401
from pullback.runtime.devices.accelerators import nothing as synchronize  # noqa: F401
from pullback.runtime.devices.accelerators import one as device_count  # noqa: F401
from pullback.runtime.devices.accelerators import yes as is_available  # noqa: F401
