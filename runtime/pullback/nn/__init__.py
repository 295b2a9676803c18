"""Networks; see pullback.runtime.nn."""

from pullback import _nn as _loaded  # noqa: F401
from pullback.nn import modules as modules
from pullback.nn import parameter as parameter
from pullback.nn import utils as utils
from pullback.runtime.nn import *  # noqa: F403
