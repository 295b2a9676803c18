"""Divergences; see pullback.runtime.distributions.kl."""

from pullback.runtime.distributions.kl import *  # noqa: F403
