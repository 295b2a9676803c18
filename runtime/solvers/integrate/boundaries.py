"""Boundary value problems of scipy.integrate with traced parameters: solve_bvp.

SciPy finds the path on numbers, on a mesh that it makes finer as it goes. The state at its begin, with the unknown
parameters, is then a root: of what the boundary conditions say of that state and of the one that a path (`paths`) from
it comes to. So the equation of the root has the derivatives, and values are nearer than SciPy's tolerance.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....compiler.frontend import region as R
from ....compiler.frontend.array import here, value_of
from ....compiler.frontend.numpy.scipy.special.functions import given
from ....compiler.frontend.patched.recoded import recode
from ....compiler.ops.require import require
from ...external import External
from ...rules import stop_gradient
from ..closed import Closed, floats, vector
from ..optimize.roots import fsolve
from ..solution import Ends, Solved, default
from .pairs import Pair
from .paths import along_any, path

RTOL, ATOL, MET = 1e-10, 1e-12, 1e-6
"""The tolerances of paths, and how far from the boundary conditions they may end, for the size of the states."""


def _guess(f: Closed, ends: Closed, n: int, told: dict[str, Any], kept: tuple[Any, ...]) -> Any:
    """SciPy's state at the begin, and its parameters; traced values are constants to it."""
    import scipy.integrate

    def found(*numbers: Any) -> Any:
        x, y, p, *outside = numbers
        run, meet = f.held(outside[: len(f.outside)]), ends.held(outside[len(f.outside) :])
        free = p if len(kept) > 2 else p[:0]

        def rates(x: Any, y: Any, p: Any = free) -> Any:
            return np.stack([run(t, np.concatenate([row, p]))[0] for t, row in zip(x, y.T, strict=True)], axis=1)

        def meets(a: Any, b: Any, p: Any = free) -> Any:
            return meet(b, np.concatenate([a, p]))[0]

        made: Any = scipy.integrate.solve_bvp(rates, meets, x, y, p if free.size else None, **told)
        state = np.concatenate([made.y[:, 0], made.p if free.size else free])
        return state, bool(made.success), int(made.niter), int(made.status)

    found.__name__ = "solve_bvp"
    x, y, *p = kept
    size = n + (p[0].shape[0] if p else 0)
    frozen = [stop_gradient(each) for each in (x, y, *(p or [np.zeros(1)]), *f.outside, *ends.outside)]
    return External(found, (f"f64[{size}]", bool, int, int), None, False, None)(*frozen)


def solve_bvp(
    fun: Any, bc: Any, x: Any, y: Any, p: Any = None, S: Any = None, fun_jac: Any = None, bc_jac: Any = None,
    tol: float = 1e-3, max_nodes: int = 1000, verbose: int = 0, bc_tol: Any = None,
) -> Any:  # fmt: skip
    default("solve_bvp", S=(S, None), verbose=(verbose, 0))
    options = {"tol": tol, "max_nodes": max_nodes, "bc_tol": bc_tol}
    told = {name: given("scipy.integrate.solve_bvp", name, each) for name, each in options.items()}
    kept = (vector(x), vector(y), *(() if p is None else (vector(p),)))
    n, size = kept[1].shape[0], kept[1].shape[0] + (0 if p is None else kept[2].shape[0])
    more = lambda z: () if p is None else (z[n:],)  # noqa: E731

    def rate(t: Any, z: Any) -> Any:
        return np.reshape(vector(R.call(fun, np.reshape(t, (1,)), z[:n, None], *more(z))), (-1,))

    f = Closed("solve_bvp", rate, floats(), floats(size))
    ends = Closed("solve_bvp_bc", lambda b, z: vector(R.call(bc, z[:n], b, *more(z))), floats(n), floats(size))
    for name, closed, count in (("fun", f, n), ("bc", ends, size)):
        if closed.shapes[0] != (count,):
            R.unfit(f"solve_bvp: {name} returns an array of shape {closed.shapes[0]}", f"return {count} numbers")
    start, success, niter, status = _guess(f, ends, n, told, kept)
    first, last = kept[0][0], kept[0][-1]

    def along(z: Any, times: Any) -> Any:
        own = lambda t, y: f.traced([t, np.concatenate([y, z[n:]])], f.outside)[0]  # noqa: E731
        pair = Pair("DOP853", Closed("solve_bvp", own, floats(), floats(n)), RTOL, ATOL)
        return path(pair, first, z[:n], times, last, None, np.inf)[0]

    met = lambda z: ends.traced([along(z, last[None])[0], z], ends.outside)[0]  # noqa: E731
    z = fsolve(met, stop_gradient(start), xtol=1e-12)
    far = np.max(np.abs(stop_gradient(met(z)))) <= MET * (1.0 + np.max(np.abs(stop_gradient(z))))
    text = "solve_bvp: paths from the begin do not come to the end, so it has no derivative: make the range shorter"
    here().emit(require, value_of(here(), far), error="RuntimeError", text=text)
    begin, end = z[:n], along(z, last[None])[0]
    return Solved(
        sol=along_any(lambda times: along(z, times), 1.0), p=None if p is None else z[n:], success=success,
        niter=niter, status=status, x=Ends("x", first, last), y=Ends("y", begin, end),
    )  # fmt: skip


recode("scipy.integrate", {"solve_bvp": solve_bvp})

__all__ = ["solve_bvp"]
