"""Networks; see pullback.runtime.nn."""

from pullback.runtime.nn import *  # noqa: F403
