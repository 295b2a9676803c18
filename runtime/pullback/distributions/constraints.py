"""What parameters and values must satisfy; see pullback.runtime.distributions.constraints."""

from pullback.runtime.distributions.constraints import *  # noqa: F403
