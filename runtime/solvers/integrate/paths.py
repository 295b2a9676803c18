"""Paths of ordinary differential equations with traced parameters: scipy.integrate's solve_ivp and odeint.

A loop of the graph makes the steps of a Runge-Kutta pair (`pairs`) with SciPy's control of the error (Hairer, Norsett &
Wanner, Solving Ordinary Differential Equations I, II.4). It ends a step at each time that is asked for, where SciPy
interpolates, and where the equation jumps (`crossings`); so a value differs by less than the tolerance. A derivative is
that of the steps that were made: how long they are is a constant to it, but for what remains to a time that is traced.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ....compiler.frontend import region as R
from ....compiler.frontend.array import find
from ....compiler.frontend.numpy.scipy.special.functions import given
from ....compiler.frontend.patched.recoded import recode
from ...control import scan, while_loop
from ...rules import stop_gradient
from ..closed import Closed, floats, vector
from ..optimize.roots import tupled
from ..solution import Ends, Solved, default
from .crossings import Events
from .pairs import Pair, Rosenbrock

SAFETY, LEAST, MOST = 0.9, 0.2, 10.0
"""How the error makes the next step: SciPy's factors."""

EXPLICIT, STIFF = ("RK45", "RK23", "DOP853"), ("Radau", "BDF")


class Way:
    """The steps from a time to others, which lie behind each other."""

    def __init__(self, pair: Pair, end: Any, longest: Any, t0: Any) -> None:
        self.pair, self.longest, self.changes = pair, longest, pair.changes
        self.direction, self.interval = stop_gradient(np.sign(end - t0)), np.abs(end - t0)

    def begin(self, t0: Any, y0: Any, first: Any) -> tuple[Any, ...]:
        slope = self.pair.f(t0, y0)
        given = t0, y0, slope, self.interval, self.direction, self.longest
        h = self.pair.first(*given) if first is None else 0.0 * self.interval + first
        known = () if self.changes is None else self.changes.begin(t0, y0)
        count = np.int64(2 if first is None else 1)
        return t0, y0, slope, stop_gradient(h), np.bool_(False), np.bool_(True), count, known

    def attempt(self, state: Any) -> Any:
        """A trial step, which may be accepted."""
        goal, (t, y, slope, h, rejected, _, count, known) = state
        direction, changes = self.direction, self.changes
        least = 10.0 * np.abs(np.nextafter(stop_gradient(t), direction * np.inf) - stop_gradient(t))
        h = np.minimum(np.maximum(h, np.where(rejected, 0.0, least)), self.longest)
        rest = np.abs(goal - t)
        bound, tiny = (np.inf, 0.0) if changes is None else changes.longest(known, t, goal)
        tried = np.minimum(h, bound)
        last = tried >= rest
        made = direction * np.where(last, rest, tried)
        after, steep, error = self.pair.step(t, y, slope, made)
        moved, length = np.where(last, goal, t + made), np.abs(made)
        accepted, far = error < 1, np.bool_(False)
        if changes is not None:
            now, far, crossed = changes.judged(known, moved, after, stop_gradient(length) <= tiny)
            accepted = accepted & ~far | crossed
            step = t, y, moved, after, made
            after, steep, hit = changes.crossed(crossed, known, step, now, steep, self.interval)
            known = changes.kept(known, now, (t, moved, after, far, accepted, crossed, direction, hit))
            moved, after = (np.where(known.done, x, y) for x, y in zip(hit, (moved, after), strict=False))
        some = np.where(np.logical_and(error > 0, error < np.inf), error, 1.0)
        wanted = SAFETY * some**self.pair.exponent
        more = np.where(error > 0, np.minimum(np.where(rejected, 1.0, MOST), wanted), np.where(rejected, 1.0, MOST))
        less = np.where(error < np.inf, np.maximum(LEAST, wanted), LEAST)
        grown = np.where(last | (tried < h), np.maximum(h, length * more), length * more)
        next_h = stop_gradient(np.where(accepted, grown, np.where(far, h, length * less)))
        fine = np.logical_or(accepted | far, next_h >= least)
        return goal, (
            np.where(accepted, moved, t), np.where(accepted, after, y), np.where(accepted, steep, slope), next_h,
            np.where(far, rejected, np.logical_not(accepted)), fine, count + len(self.pair.a), known,
        )  # fmt: skip

    def unfinished(self, state: Any) -> Any:
        goal, (t, _, _, _, _, fine, _, known) = state
        going = fine if self.changes is None else np.logical_and(fine, np.logical_not(known.done))
        return np.logical_and(going, self.direction * (goal - t) > 0)

    def arrive(self, state: Any, goal: Any) -> Any:
        """The state at a time, and y."""
        _, state = while_loop(self.unfinished, self.attempt, (goal, state))
        _, y, *_, fine, _, known = state
        y = y if self.changes is None else self.changes.certain(known, y)
        return state, np.where(fine, y, np.nan)


def path(pair: Pair, t0: Any, y0: Any, times: Any, end: Any, first: Any, longest: Any) -> tuple[Any, tuple[Any, ...]]:
    """y at the times, one row each, NaN behind where it could not go on; the state at the end."""
    way = Way(pair, end, longest, t0)
    state, rows = scan(way.arrive, way.begin(t0, y0, first), times)
    return rows, state


def _slope(name: str, fun: Any, n: int, args: Any, vectorized: bool = False) -> Closed:
    """f(t, y) of the user's, traced once."""

    def called(t: Any, y: Any) -> Any:
        made = R.call(fun, t, y[:, None] if vectorized else y, *args)
        return np.ravel(vector(made)) if vectorized or not np.shape(vector(made)) else vector(made)

    closed = Closed(name, called, floats(), floats(n))
    if closed.shapes[0] != (n,):
        fix = f"let it return {n} numbers, a derivative for each of y0"
        R.unfit(f"{name}: the function returns an array of shape {closed.shapes[0]}", fix)
    return closed


def _tolerances(name: str, rtol: Any, atol: Any) -> tuple[Any, Any]:
    rtol, atol = given(name, "rtol", rtol), given(name, "atol", atol)
    return np.maximum(rtol, 100 * np.finfo(float).eps), np.asarray(atol, float)


def solve_ivp(
    fun: Any, t_span: Any, y0: Any, method: Any = "RK45", t_eval: Any = None, dense_output: bool = False,
    events: Any = None, vectorized: bool = False, args: Any = None, *, first_step: Any = None,
    max_step: Any = np.inf, rtol: Any = 1e-3, atol: Any = 1e-6, jac: Any = None, jac_sparsity: Any = None,
    lband: Any = None, uband: Any = None, min_step: Any = 0.0,
) -> Any:  # fmt: skip
    name = "scipy.integrate.solve_ivp"
    method = getattr(method, "__name__", method)
    if method == "LSODA":
        method = "DOP853"
    if method not in (*EXPLICIT, *STIFF):
        fix = f"use {', '.join((*EXPLICIT, *STIFF))} or LSODA"
        R.unfit(f"solve_ivp with method={method!r} on traced parameters", fix)
    y, times, args = vector(y0), vector([] if t_eval is None else t_eval), () if args is None else tupled(args)
    start, end = (vector(t) for t in t_span)
    if t_eval is not None and find([t_span, t_eval]) is None:
        _check_times(float(t_span[0]), float(t_span[1]), np.asarray(t_eval, float))
    f, watched = _slope("solve_ivp", fun, y.shape[0], args, vectorized), _events(events, y.shape[0], args)
    if t_eval is not None and watched is not None and np.any(watched.terminal):
        fix = "leave t_eval out, and read sol.t[-1] and sol.y[:, -1], or sol.t_events[0][0]"
        R.refuse("solve_ivp with t_eval and a terminal event on traced parameters: how many times come before it", fix)
    way = Rosenbrock if method in STIFF else Pair
    pair = way(method, f, *_tolerances(name, rtol, atol), watched)
    first, longest = given(name, "first_step", first_step), given(name, "max_step", max_step)
    along = lambda times: path(pair, start, y, times, end, first, longest)  # noqa: E731
    rows, (stopped, *_, fine, count, known) = along(times if t_eval is not None else end[None])
    status = np.where(fine, np.int64(0), np.int64(-1))
    made = Solved(nfev=count, njev=0, nlu=0, status=status, success=fine, t_events=None, y_events=None)
    if watched is not None and pair.changes is not None:
        certain = [pair.changes.certain(known, x) for x in known.hits[1:]]
        stopped = pair.changes.certain(known, stopped)
        hits = [[x[k] for x in certain] for k in range(len(watched.terminal))]
        made["t_events"] = [Ends("t_events", first, last) for first, last, *_ in hits]
        made["y_events"] = [Ends("y_events", first, last, True) for *_, first, last in hits]
        made["status"] = np.where(known.done, np.int64(1), status)
    sign = stop_gradient(np.sign(end - start))
    made["sol"] = along_any(lambda times: along(times)[0], sign) if dense_output else None
    if t_eval is not None:
        made.update(t=times, y=np.transpose(rows))
    else:
        made.update(t=Ends("t", start, np.where(fine, stopped, np.nan)), y=Ends("y", y, rows[0]))
    return made


def _check_times(start: float, end: float, times: np.ndarray) -> None:
    """Times lie between the ends, in order."""
    low, high = min(start, end), max(start, end)
    if np.any(times < low) or np.any(times > high):
        R.unfit("solve_ivp: values in `t_eval` are not within `t_span`", f"use times from {low:g} to {high:g}")
    if np.any(np.diff(times) * np.sign(end - start) <= 0):
        R.unfit("solve_ivp: values in `t_eval` are not properly sorted", "sort them in the direction of `t_span`")


def _events(events: Any, n: int, args: tuple[Any, ...]) -> Events | None:
    """SciPy's functions of t and y, with the attributes that they may have."""
    several = [] if events is None else [events] if callable(events) else list(events)
    if not several:
        return None
    one = lambda e, t, y: np.reshape(vector(R.call(e, t, y, *args)), ())  # noqa: E731
    f = Closed("events", lambda t, y: np.stack([one(e, t, y) for e in several]), floats(), floats(n))
    told = [[float(getattr(e, name, 0) or 0) for e in several] for name in ("direction", "terminal")]
    return Events(f, *map(np.array, told))


def along_any(along: Callable[[Any], Any], direction: Any) -> Callable[[Any], Any]:
    """The path at any times, by steps that end at each, of what is `along` those in order; SciPy interpolates."""

    def at(t: Any) -> Any:
        times = vector(t)
        if not times.ndim:
            return along(times[None])[0]
        order = np.argsort(stop_gradient(times) * direction, kind="stable")
        return np.transpose(along(times[order])[np.argsort(order, kind="stable")])

    return at


def odeint(
    func: Any, y0: Any, t: Any, args: Any = (), Dfun: Any = None, col_deriv: Any = 0, full_output: Any = 0,
    ml: Any = None, mu: Any = None, rtol: Any = None, atol: Any = None, tcrit: Any = None, h0: float = 0.0,
    hmax: float = 0.0, hmin: float = 0.0, ixpr: Any = 0, mxstep: int = 0, mxhnil: int = 0, mxordn: int = 12,
    mxords: int = 5, printmessg: Any = 0, tfirst: bool = False,
) -> Any:  # fmt: skip
    name = "scipy.integrate.odeint"
    if full_output:
        R.refuse("odeint with full_output on traced parameters", "leave it out, or use solve_ivp, which has success")
    default("odeint", tcrit=(tcrit, None))
    y, times = np.ravel(vector(y0)), vector(t)
    turned = func if tfirst else lambda t, y, *args: R.call(func, y, t, *args)
    f = _slope("odeint", turned, y.shape[0], tupled(args))
    usual = [1.49012e-8 if x is None else x for x in (rtol, atol)]
    pair = Pair("DOP853", f, *_tolerances(name, *usual))
    first, longest = given(name, "h0", h0) or None, given(name, "hmax", hmax) or np.inf
    return path(pair, times[0], y, times, times[-1], first, longest)[0]


recode("scipy.integrate", {"solve_ivp": solve_ivp, "odeint": odeint})

__all__ = ["along_any", "odeint", "path", "solve_ivp"]
