"""Models from the net, which are refused; see pullback.runtime.programs.reasons."""

from pullback import _hub as _loaded  # noqa: F401
from pullback.runtime.programs.inner import HASH_REGEX  # noqa: F401
from pullback.runtime.programs.refused import hub as __getattr__  # noqa: F401
