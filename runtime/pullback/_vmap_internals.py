"""`vmap` under its older path."""

from pullback.runtime.programs.inner import one_vmap as _vmap  # noqa: F401
from pullback.runtime.programs.inner import one_vmap as vmap  # noqa: F401
