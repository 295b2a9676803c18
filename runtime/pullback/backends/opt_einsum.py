"""The order of products in `einsum`, which is chosen here without a library."""

from pullback.runtime.devices.accelerators import no as is_available  # noqa: F401
from pullback.runtime.devices.switches import ENABLED as enabled  # noqa: F401
from pullback.runtime.devices.switches import STRATEGY as strategy  # noqa: F401
