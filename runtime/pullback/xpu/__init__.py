"""A device that is not there; see pullback.runtime.devices.accelerators."""

from pullback import _xpu as _loaded  # noqa: F401
from pullback.runtime.devices.accelerators import no as is_available  # noqa: F401
from pullback.runtime.devices.accelerators import nothing as empty_cache  # noqa: F401
from pullback.runtime.devices.accelerators import nothing as manual_seed  # noqa: F401
from pullback.runtime.devices.accelerators import nothing as manual_seed_all  # noqa: F401
from pullback.runtime.devices.accelerators import zero as device_count  # noqa: F401
