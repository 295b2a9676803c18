"""Clipping under its older path."""

from pullback.runtime.nn.clip import *  # noqa: F403
