"""Datasets and loaders; see pullback.runtime.utils.data."""

from pullback.runtime.utils.data import *  # noqa: F403
from pullback.utils.data import _utils, dataloader, dataset, distributed, sampler  # noqa: F401
