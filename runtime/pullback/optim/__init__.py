"""Optimisers; see pullback.runtime.optim."""

from pullback import _optim as _loaded  # noqa: F401
from pullback.optim import lr_scheduler as lr_scheduler
from pullback.optim import swa_utils as swa_utils
from pullback.runtime.optim import *  # noqa: F403
from pullback.runtime.programs.refused import optim as __getattr__  # noqa: F401
