"""Collectives through which gradients flow; see pullback.runtime.programs.collectives."""

from pullback.runtime.programs.collectives import *  # noqa: F403
