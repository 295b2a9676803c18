"""The functions that networks are made of."""

from pullback.runtime.nn.functional import *  # noqa: F403
