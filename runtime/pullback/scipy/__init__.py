"""SciPy's solvers with derivatives filled in; see pullback.runtime.interop.scipy_solvers."""

from pullback import _scipy as _loaded  # noqa: F401
from pullback.runtime.interop.scipy_solvers import least_squares as least_squares
from pullback.runtime.interop.scipy_solvers import minimize as minimize
from pullback.runtime.interop.scipy_solvers import root as root
from pullback.runtime.interop.scipy_solvers import solve_ivp as solve_ivp
