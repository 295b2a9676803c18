"""Special functions; see pullback.runtime.tensor.special."""

from pullback import _special as _loaded  # noqa: F401
from pullback.runtime.tensor.special_functions import *  # noqa: F403
