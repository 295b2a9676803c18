"""Paths of ordinary differential equations with traced parameters: scipy.integrate's solve_ivp and odeint.

A loop of the graph makes the steps of SciPy's explicit Runge-Kutta pairs, with its tables, its first step and its
control of the error (Hairer, Norsett & Wanner, Solving Ordinary Differential Equations I, II.4). It ends a step at each
time that is asked for, where SciPy interpolates; so a value differs by less than the tolerance. A derivative is that of
the steps that were made: how long they are is a constant to it, but for what remains to a time that is traced.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...compiler.frontend import region as R
from ...compiler.frontend.numpy.scipy.scipy_functions import given
from ...compiler.frontend.patched.recoded import recode
from ..control import scan, while_loop
from ..rules import stop_gradient
from .closed import Closed, floats, vector
from .crossings import Crossings
from .roots import tupled
from .solution import Solved, default

SAFETY, LEAST, MOST = 0.9, 0.2, 10.0
"""How the error makes the next step: SciPy's factors."""

EXPLICIT = ("RK45", "RK23", "DOP853")


def _norm(x: Any) -> Any:
    return np.sqrt(np.sum(x * x) / x.size)


class Pair:
    """An embedded Runge-Kutta pair of SciPy's for y' = f(t, y)."""

    def __init__(self, method: str, f: Closed, rtol: Any, atol: Any) -> None:
        import scipy.integrate

        table: Any = getattr(scipy.integrate, method)
        self.closed, self.rtol, self.atol = f, rtol, atol
        self.changes = Crossings.of(f)
        self.order, self.exponent = table.error_estimator_order, -1.0 / (table.error_estimator_order + 1)
        self.a, self.b, self.c = table.A[: table.n_stages], table.B, table.C[: table.n_stages]
        self.errors = (table.E5, table.E3) if method == "DOP853" else (table.E,)

    def f(self, t: Any, y: Any) -> Any:
        return self.closed.traced([t, y], self.closed.outside)[0]

    def step(self, t: Any, y: Any, slope: Any, h: Any) -> tuple[Any, Any, Any]:
        """y after a step, the slope there, and the error in units of the tolerance."""
        stages = [slope]
        for row, c in zip(self.a[1:], self.c[1:], strict=True):
            stages.append(self.f(t + float(c) * h, y + h * _sum(row, stages)))
        after = y + h * _sum(self.b, stages)
        stages.append(self.f(t + h, after))
        scale = self.atol + np.maximum(np.abs(y), np.abs(after)) * self.rtol
        first, *others = (_sum(e, stages) / scale for e in self.errors)
        length = np.abs(h)
        if not others:
            return after, stages[-1], stop_gradient(_norm(first) * length)
        fifth, third = np.sum(first * first), np.sum(others[0] * others[0])
        whole = (fifth + 0.01 * third) * first.size
        error = np.where(whole > 0, length * fifth / np.sqrt(np.where(whole > 0, whole, 1.0)), whole)
        return after, stages[-1], stop_gradient(error)

    def first(self, t: Any, y: Any, slope: Any, interval: Any, direction: Any, longest: Any) -> Any:
        """The length of the first step."""
        scale = self.atol + np.abs(y) * self.rtol
        size, speed = _norm(y / scale), _norm(slope / scale)
        small = np.logical_or(size < 1e-5, speed < 1e-5)
        h = np.minimum(np.where(small, 1e-6, 0.01 * size / np.where(speed > 0, speed, 1.0)), interval)
        h = np.where(h > 0, h, 1e-6)
        turn = _norm((self.f(t + h * direction, y + h * direction * slope) - slope) / scale) / h
        steep = np.maximum(speed, turn)
        guess = (0.01 / np.where(steep > 1e-15, steep, 1.0)) ** (1.0 / (self.order + 1))
        h1 = np.where(steep > 1e-15, guess, np.maximum(1e-6, h * 1e-3))
        return np.minimum(np.minimum(100.0 * h, h1), np.minimum(interval, longest))


def _sum(weights: Any, stages: list[Any]) -> Any:
    """A combination of the slopes; those of weight zero are left out."""
    terms = [float(w) * k for w, k in zip(weights, stages, strict=False) if w]
    return sum(terms[1:], terms[0]) if terms else 0.0 * stages[0]


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
            after, steep = changes.crossed(crossed, known, (t, y, moved, after, made), now, steep, self.interval)
            known = changes.kept(known, now, (t, moved, after, far, accepted, crossed, direction))
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
        goal, (t, _, _, _, _, fine, _, _) = state
        return np.logical_and(fine, self.direction * (goal - t) > 0)

    def arrive(self, state: Any, goal: Any) -> Any:
        """The state at a time, and y."""
        _, state = while_loop(self.unfinished, self.attempt, (goal, state))
        _, y, *_, fine, _, known = state
        y = y if self.changes is None else self.changes.certain(known, y)
        return state, np.where(fine, y, np.nan)


def path(pair: Pair, t0: Any, y0: Any, times: Any, end: Any, first: Any, longest: Any) -> tuple[Any, Any, Any]:
    """y at the times, one row each; NaN behind where it could not go on; whether it has, and how often f was called."""
    way = Way(pair, end, longest, t0)
    (*_, fine, count, _), rows = scan(way.arrive, way.begin(t0, y0, first), times)
    return rows, fine, count


def _slope(name: str, fun: Any, n: int, args: Any, vectorized: bool = False) -> Closed:
    """f(t, y) of the user's, traced once."""

    def called(t: Any, y: Any) -> Any:
        made = R.call(fun, t, y[:, None] if vectorized else y, *args)
        return np.ravel(vector(made)) if vectorized or not np.shape(vector(made)) else vector(made)

    closed = Closed(name, called, floats(), floats(n))
    if closed.shapes[0] != (n,):
        fix = f"let it return {n} numbers, a derivative for each of y0"
        R.refuse(f"{name}: the function returns an array of shape {closed.shapes[0]}", fix)
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
    default("solve_ivp", events=(events, None))
    if t_eval is None and not dense_output:
        fix = "give the times: t_eval=[t_span[1]] for sol.y[:, -1]; or dense_output=True, and read sol.sol(t)"
        R.refuse("solve_ivp without t_eval on traced parameters: how many steps it takes is not known", fix)
    if method == "LSODA":
        method = "DOP853"
    if method not in EXPLICIT:
        fix = f"use {', '.join(EXPLICIT)} or LSODA; for a stiff system, scan with steps that pullback.implicit solves"
        R.refuse(f"solve_ivp with method={getattr(method, '__name__', method)!r} on traced parameters", fix)
    y, times = vector(y0), vector([] if t_eval is None else t_eval)
    start, end = (vector(t) for t in t_span)
    f = _slope("solve_ivp", fun, y.shape[0], () if args is None else tupled(args), vectorized)
    pair = Pair(method, f, *_tolerances(name, rtol, atol))
    first, longest = given(name, "first_step", first_step), given(name, "max_step", max_step)
    along = lambda times: path(pair, start, y, times, end, first, longest)  # noqa: E731
    rows, fine, count = along(times if t_eval is not None else end[None])
    status = np.where(fine, np.int64(0), np.int64(-1))
    made = Solved(nfev=count, njev=0, nlu=0, status=status, success=fine, t_events=None, y_events=None)
    made["sol"] = _dense(along, stop_gradient(np.sign(end - start))) if dense_output else None
    if t_eval is not None:
        made.update(t=times, y=np.transpose(rows))
    return made


def _dense(along: Callable[[Any], Any], direction: Any) -> Callable[[Any], Any]:
    """The path at any times, by steps that end at each; SciPy interpolates between its own."""

    def at(t: Any) -> Any:
        times = vector(t)
        if not times.ndim:
            return along(times[None])[0][0]
        order = np.argsort(stop_gradient(times) * direction, kind="stable")
        rows = along(times[order])[0]
        return np.transpose(rows[np.argsort(order, kind="stable")])

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

__all__ = ["odeint", "solve_ivp"]
