"""Special functions; see pullback.runtime.tensor.ops.elementwise.special."""

from pullback import _special as _loaded  # noqa: F401
from pullback.runtime.tensor.face.special_functions import *  # noqa: F403
