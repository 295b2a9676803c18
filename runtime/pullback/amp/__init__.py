"""Mixed precision, which is off; see pullback.runtime.devices.precision."""

from pullback import _amp as _loaded  # noqa: F401
from pullback.runtime.devices.precision import (  # noqa: F401
    GradScaler,
    autocast,
    custom_bwd,
    custom_fwd,
    is_autocast_available,
)
