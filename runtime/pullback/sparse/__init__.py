"""Functions of sparse Tensors; see pullback.runtime.sparse."""

from pullback import _sparse as _loaded  # noqa: F401
from pullback.runtime.programs.refused import sparse as __getattr__  # noqa: F401
from pullback.runtime.sparse.classes import *  # noqa: F403
from pullback.runtime.sparse.functions import *  # noqa: F403
