"""Networks; see pullback.runtime.nn."""

from pullback.nn import modules as modules
from pullback.nn import parameter as parameter
from pullback.nn import utils as utils
from pullback.runtime.nn import *  # noqa: F403
