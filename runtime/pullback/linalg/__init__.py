"""Linear algebra; see pullback.runtime.tensor.ops.matrices."""

from pullback import _linalg as _loaded  # noqa: F401
from pullback.runtime.tensor.face.linalg_functions import *  # noqa: F403
