"""Parameters that are computed from others."""

from pullback.runtime.nn.parametrize import *  # noqa: F403
