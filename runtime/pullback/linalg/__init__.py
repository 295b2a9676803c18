"""Linear algebra; see pullback.runtime.tensor.solving and pullback.runtime.tensor.factorings."""

from pullback.runtime.tensor.linalg_functions import *  # noqa: F403
