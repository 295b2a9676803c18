"""Reductions and normalisations under a mask; see pullback.runtime.tensor.face.masked_functions."""

from pullback import _masked as _loaded  # noqa: F401
from pullback.runtime.programs.refused import masked as __getattr__  # noqa: F401
from pullback.runtime.tensor.face.masked_functions import *  # noqa: F403
