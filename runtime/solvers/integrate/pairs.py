"""Steps of embedded Runge-Kutta pairs: from a time, a state and a length to the state behind, and its error.

`Pair` has the explicit ones with SciPy's tables and first step. `Rosenbrock` is for stiff equations, in the place of
SciPy's Radau and BDF: RODAS, of order 4(3), which solves linear systems with the Jacobian of each step's begin (Hairer
& Wanner, Solving Ordinary Differential Equations II, IV.7 and VI.4) and so is a formula, with nothing to iterate.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...control import scan
from ...rules import stop_gradient
from ..closed import Closed, floats
from .crossings import Crossings, Events


def _norm(x: Any) -> Any:
    return np.sqrt(np.sum(x * x) / x.size)


class Pair:
    """An embedded Runge-Kutta pair of SciPy's for y' = f(t, y)."""

    def __init__(self, method: str, f: Closed, rtol: Any, atol: Any, events: Events | None = None) -> None:
        import scipy.integrate

        table: Any = getattr(scipy.integrate, method)
        self.closed, self.rtol, self.atol = f, rtol, atol
        self.changes = Crossings.of(f, events)
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


GAMMA = 0.25
"""What RODAS multiplies the Jacobian by; its other numbers are for stages that solve with I / (h GAMMA) - J."""

STAGES = (
    (), (1.544,), (0.9466785280815826, 0.2557011698983284),
    (3.314825187068521, 2.896124015972201, 0.9986419139977817),
    (1.221224509226641, 6.019134481288629, 12.53708332932087, -0.6878860361058950),
    (1.221224509226641, 6.019134481288629, 12.53708332932087, -0.6878860361058950, 1.0),
)  # fmt: skip
COUPLED = (
    (), (-5.6688,), (-2.430093356833875, -0.2063599157091915),
    (-0.1073529058151375, -9.594562251023355, -20.47028614809616),
    (7.496443313967647, -10.24680431464352, -33.99990352819905, 11.70890893206160),
    (8.083246795921522, -7.981132988064893, -31.52159432874371, 16.31930543123136, -6.058818238834054),
)  # fmt: skip
PLACES, RATES = (0.0, 0.386, 0.21, 0.63, 1.0, 1.0), (0.25, -0.1043, 0.1035, -0.0362, 0.0, 0.0)


class Rosenbrock(Pair):
    """RODAS for y' = f(t, y)."""

    def __init__(self, method: str, f: Closed, rtol: Any, atol: Any, events: Events | None = None) -> None:
        super().__init__("RK45", f, rtol, atol, events)
        self.order, self.exponent, self.a = 3, -0.25, STAGES
        (n,) = f.shapes[0]
        self.n, leaves = n, (floats(n), floats(), floats(n))
        weighed = lambda t, y, w: np.sum(f.traced([t, y], f.outside)[0] * w)  # noqa: E731
        self.along_y = Closed("slope", lambda y, t, w: weighed(t, y, w), *leaves).gradient
        self.along_t = Closed("slope", weighed, *(leaves[k] for k in (1, 0, 2))).gradient

    def slopes(self, t: Any, y: Any) -> tuple[Any, Any]:
        """The Jacobian for y, and the slope in t."""

        def row(none: Any, w: Any) -> Any:
            given = [y, t, w], [t, y, w]
            made = [g.traced(x, g.outside)[0] for g, x in zip((self.along_y, self.along_t), given, strict=True)]
            return none, tuple(made)

        return scan(row, None, np.eye(self.n))[1]

    def step(self, t: Any, y: Any, slope: Any, h: Any) -> tuple[Any, Any, Any]:
        jacobian, rate = self.slopes(t, y)
        inverse = np.linalg.inv(np.eye(self.n) / (h * GAMMA) - jacobian)
        made: list[Any] = []
        for a, c, place, d in zip(STAGES, COUPLED, PLACES, RATES, strict=True):
            at = y + _sum(a, made) if a else y
            value = self.f(t + place * h, at) if a else slope
            made.append(inverse @ (value + (_sum(c, made) / h if c else 0.0) + h * d * rate))
        after = at + made[-1]
        scale = self.atol + np.maximum(np.abs(y), np.abs(after)) * self.rtol
        return after, self.f(t + h, after), stop_gradient(_norm(made[-1] / scale))


__all__ = ["Pair", "Rosenbrock"]
