"""Networks; see pullback.runtime.nn."""

from pullback import _nn as _loaded  # noqa: F401
from pullback.nn import attention as attention
from pullback.nn import grad as grad
from pullback.nn import modules as modules
from pullback.nn import parallel as parallel
from pullback.nn import parameter as parameter
from pullback.nn import utils as utils
from pullback.runtime.nn import *  # noqa: F403
from pullback.runtime.programs.refused import nn as __getattr__  # noqa: F401
