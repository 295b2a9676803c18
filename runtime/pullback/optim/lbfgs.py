"""LBFGS under its older path."""

from pullback.runtime.optim.inner import cubic_interpolate as _cubic_interpolate  # noqa: F401
from pullback.runtime.optim.inner import strong_wolfe as _strong_wolfe  # noqa: F401
from pullback.runtime.optim.lbfgs import LBFGS as LBFGS
