"""How losses are reduced, as numbers; see pullback.runtime.nn.reductions."""

from pullback.runtime.nn.reductions import *  # noqa: F403
