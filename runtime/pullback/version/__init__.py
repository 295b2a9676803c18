"""The release of PyTorch whose behaviour this follows; see pullback.runtime.programs.version."""

from pullback import _version as _loaded  # noqa: F401
from pullback.runtime.programs.version import *  # noqa: F403
from pullback.runtime.programs.version import __version__ as __version__
