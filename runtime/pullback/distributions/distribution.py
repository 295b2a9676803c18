"""What every distribution has; see pullback.runtime.distributions.distribution."""

from pullback.runtime.distributions.distribution import *  # noqa: F403
