"""What distributions share; see pullback.runtime.distributions.utils."""

from pullback.runtime.distributions.utils import *  # noqa: F403
