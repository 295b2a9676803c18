"""Averages of models; see pullback.runtime.optim.swa_utils."""

from pullback.runtime.optim.swa_utils import *  # noqa: F403
