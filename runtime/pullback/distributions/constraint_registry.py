"""How constraints are met; see pullback.runtime.distributions.constraint_registry."""

from pullback.runtime.distributions.constraint_registry import *  # noqa: F403
