"""Comparisons for tests; see pullback.runtime.programs.comparing."""

from pullback import _testing as _loaded  # noqa: F401
from pullback.runtime.programs.comparing import assert_close as assert_close
from pullback.runtime.programs.made import *  # noqa: F403
from pullback.runtime.programs.refused import testing as __getattr__  # noqa: F401
