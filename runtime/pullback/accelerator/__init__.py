"""None is there; see pullback.runtime.devices.accelerators."""

from pullback import _accelerator as _loaded  # noqa: F401
from pullback.runtime.devices.accelerators import inaccessible as current_device_index  # noqa: F401
from pullback.runtime.devices.accelerators import inaccessible as set_device_index  # noqa: F401
from pullback.runtime.devices.accelerators import inaccessible as synchronize  # noqa: F401
from pullback.runtime.devices.accelerators import no as is_available  # noqa: F401
from pullback.runtime.devices.accelerators import nothing as current_accelerator  # noqa: F401
from pullback.runtime.devices.accelerators import zero as device_count  # noqa: F401
