"""Nested containers as lists of their leaves; see pullback.runtime.programs.pytrees."""

from pullback.runtime.programs.pytrees import *  # noqa: F403
