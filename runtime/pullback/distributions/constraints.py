"""What parameters and values must satisfy; see pullback.runtime.distributions.constraints."""

from pullback.runtime.distributions.constraints import *  # noqa: F403
from pullback.runtime.distributions.constraints import __all__ as __all__
