"""Dicts that do not keep their keys alive; see pullback.runtime.programs.inside.weak."""

from pullback.runtime.programs.inside.weak import *  # noqa: F403
