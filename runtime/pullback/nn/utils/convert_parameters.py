"""Parameters as one vector, under their older path."""

from pullback.runtime.nn.vectors import *  # noqa: F403
