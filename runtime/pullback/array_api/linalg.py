"""Linear algebra by the array API standard; see pullback.runtime.array_api.matrices."""

from pullback import _array_api as _loaded  # noqa: F401
from pullback.runtime.array_api.matrices import *  # noqa: F403
