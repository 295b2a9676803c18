"""Graphs of Python objects, which are refused; see pullback.runtime.programs.reasons."""

from pullback import _fx as _loaded  # noqa: F401
from pullback.runtime.programs.inner import wrap  # noqa: F401
from pullback.runtime.programs.refused import fx as __getattr__  # noqa: F401
