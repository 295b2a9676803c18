"""Probability distributions; see pullback.runtime.distributions."""

from pullback import _distributions as _loaded  # noqa: F401
from pullback.distributions import constraint_registry as constraint_registry
from pullback.distributions import constraints as constraints
from pullback.distributions import kl as kl
from pullback.distributions import transforms as transforms
from pullback.distributions import utils as utils
from pullback.runtime.distributions import *  # noqa: F403
from pullback.runtime.programs.refused import distributions as __getattr__  # noqa: F401
