"""Sequences of several lengths."""

from pullback.runtime.nn.sequences import *  # noqa: F403
