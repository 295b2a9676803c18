"""Datasets and loaders; see pullback.runtime.utils.data."""

from pullback.runtime.utils.data import *  # noqa: F403
