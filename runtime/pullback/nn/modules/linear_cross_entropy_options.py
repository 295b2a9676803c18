"""Options of a loss under their older path."""

from pullback.runtime.nn.functional.loss_options import *  # noqa: F403
