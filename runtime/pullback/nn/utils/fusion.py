"""Folded batch norms under their older path."""

from pullback.runtime.nn.fusion import *  # noqa: F403
