"""Files by PyTorch's name; see pullback.runtime.utils.files and safe_globals."""

from pullback import _serialization as _loaded  # noqa: F401
from pullback.runtime.programs.refused import serialization as __getattr__  # noqa: F401
from pullback.runtime.utils.files import load, save  # noqa: F401
from pullback.runtime.utils.safe_globals import *  # noqa: F403
