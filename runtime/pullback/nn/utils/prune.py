"""Pruned weights; see pullback.runtime.nn.pruning."""

from pullback.runtime.nn.pruning import *  # noqa: F403
from pullback.runtime.nn.pruning_methods import *  # noqa: F403
