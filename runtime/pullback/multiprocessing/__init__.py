"""Python's own, with what PyTorch's has besides; see pullback.runtime.programs.processes."""

# isort: off
from pullback import _multiprocessing as _loaded  # noqa: F401
from multiprocessing import *  # noqa: F403  # pyright: ignore[reportWildcardImportFromLibrary]
from multiprocessing import connection, pool, reduction  # noqa: F401
from pullback.runtime.programs.processes import *  # noqa: F403
from pullback.runtime.programs.refused import multiprocessing as __getattr__  # noqa: F401
