"""Operators that programs define; see pullback.runtime.operators.library."""

from pullback import _library as _loaded  # noqa: F401
from pullback.runtime.operators.checking import *  # noqa: F403
from pullback.runtime.operators.custom import *  # noqa: F403
from pullback.runtime.operators.inferring import *  # noqa: F403
from pullback.runtime.operators.library import *  # noqa: F403
from pullback.runtime.operators.library import scoped_library as _scoped_library  # noqa: F401
from pullback.runtime.programs.refused import library as __getattr__  # noqa: F401
