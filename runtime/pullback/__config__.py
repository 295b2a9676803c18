"""What this was built with, as text; see pullback.runtime.programs.version."""

from pullback.runtime.programs.version import parallel_info, show  # noqa: F401
