"""Special functions; see pullback.runtime.tensor.special."""

from pullback.runtime.tensor.special_functions import *  # noqa: F403
