"""Linear algebra; see pullback.runtime.tensor.solving and pullback.runtime.tensor.factorings."""

from pullback import _linalg as _loaded  # noqa: F401
from pullback.runtime.tensor.linalg_functions import *  # noqa: F403
