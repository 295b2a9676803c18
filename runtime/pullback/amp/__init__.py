"""Mixed precision, which is off, and scaled gradients; see pullback.runtime.devices.precision and .scaling."""

from pullback import _amp as _loaded  # noqa: F401
from pullback.runtime.devices.precision import (  # noqa: F401
    autocast,
    custom_bwd,
    custom_fwd,
    is_autocast_available,
)
from pullback.runtime.devices.scaling import GradScaler  # noqa: F401
from pullback.runtime.programs.refused import amp as __getattr__  # noqa: F401
