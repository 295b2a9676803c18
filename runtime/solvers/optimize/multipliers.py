"""From a minimum within constraints, found on numbers, to the equations that hold there: Karush's, Kuhn's and Tucker's.

    least f(x), where low <= c(x) <= high     at the minimum   df/dx = sum of multipliers times dc/dx,
                                              and a row of c is at its side, or its multiplier is zero

Which rows are at a side is decided on numbers and held: as long as it stays, unknowns and multipliers are an implicit
function of everything else, with derivatives of every order. Rows that follow from others say nothing new and are left
out. A kink of f that the minimum is at is a row of this kind, too. Systems too large for elimination are multiplied by
their inverse on numbers, which is held: iterations for the derivative begin at their end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...linear import DENSE
from ...rules import stop_gradient
from ..closed import Closed, floats
from ..solution import solution
from .edges import Edges

NEAR = 1e-4
"""How far from a side, for the solution's size, a row may be that is at it: methods of little accuracy come so near."""

STEPS, FAR = 30, 0.3
"""Newton's steps at most, and how far from its beginning, for its size, the minimum may be that they lead to."""

NEW = 1e-9
"""How much of a row of length one must be new beside others."""


class Rows:
    """The function that is minimised and the rows that bound it, of n unknowns each."""

    def __init__(self, value: Closed, rows: Closed, n: int, smooth: bool = False) -> None:
        """`smooth` is a function whose cases, if its formula has some, meet without kinks."""
        self.value, self.rows, self.n = value, rows, n
        self.slope = value.gradient
        self.edges = None if smooth else Edges.of(self.slope, rising=True)
        self.kinks = self.edges.size if self.edges else 0
        self.size = rows.shapes[0][0] + self.kinks
        weighed = lambda x, w: np.sum(rows.traced([x], rows.outside)[0] * w)  # noqa: E731
        self.weighed = Closed(f"{rows.name}_multipliers", weighed, floats(n), floats(rows.shapes[0][0])).gradient
        self.functions = [value, self.slope, rows, self.weighed, *(self.edges.functions if self.edges else ())]
        self.large = n + self.size > DENSE
        self.functions.append(self._curved())

    def _curved(self) -> Closed:
        """Rows of the second derivatives of f less multipliers times c, as a function of x, multipliers and a row."""

        def along(x: Any, multipliers: Any, v: Any) -> Any:
            f = [each.on_traced for each in self.functions]
            return np.sum((f[1](x) - self.pull(f, x, multipliers)) * v)

        return Closed("curved", along, floats(self.n), floats(self.size), floats(self.n)).gradient

    def matrix(self, f: Sequence[Callable[..., Any]], x: Any) -> np.ndarray:
        """The derivatives of the rows of c, on numbers."""
        count = self.size - self.kinks
        return np.array([f[3](x, row) for row in np.eye(count)]).reshape(count, self.n)

    def at(self, f: Sequence[Callable[..., Any]], x: Any) -> Any:
        """The values of all rows: those of c, then the gaps of the kinks."""
        return np.concatenate([f[2](x), f[4](x)]) if self.edges else f[2](x)

    def pull(self, f: Sequence[Callable[..., Any]], x: Any, multipliers: Any) -> Any:
        """The sum of multipliers times derivatives."""
        count = self.size - self.kinks
        pull = f[3](x, multipliers[:count])
        return pull + f[6](x, multipliers[count:]) if self.edges else pull

    def found(
        self, f: Sequence[Callable[..., Any]], x: Any, low: Any, high: Any, full: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        """The multipliers at a minimum, and the side that each row is at: -1, 1 or 0 for none, on numbers."""
        matrix = self.matrix(f, x)
        sides, down, up = _sides(f[2](x), matrix, low, high, x)
        if self.edges:
            gaps, at, below, above = self.edges.kinks(f[1], f[4:7], x)
            matrix, sides = np.vstack([matrix, gaps]), np.concatenate([sides, at])
            down, up = np.concatenate([down, below]), np.concatenate([up, above])
        return _multipliers(matrix, f[1](x), sides, down, up, self.n if full else 0)

    def inverse(self, f: Sequence[Callable[..., Any]], x: Any, multipliers: Any, sides: Any) -> np.ndarray:
        """The inverse of the equations' Jacobian, on numbers; of identity where that is singular."""
        n, matrix = self.n, self.matrix(f, x)
        if self.edges:
            matrix = np.vstack([matrix, [f[6](x, row) for row in np.eye(self.kinks)]])
        at = sides != 0
        curved = np.array([f[-1](x, multipliers, v) for v in np.eye(n)])
        whole = np.block([[curved, -matrix.T], [np.where(at[:, None], matrix, 0.0), np.diag(1.0 * ~at)]])
        try:
            return np.linalg.inv(whole)
        except np.linalg.LinAlgError:
            return np.eye(len(whole))


def _sides(values: Any, matrix: Any, low: Any, high: Any, x: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The side that each row is near, and what its multiplier is between."""
    size = NEAR * (1.0 + np.abs(x).max(initial=0.0)) * np.maximum(np.linalg.norm(matrix, axis=1), 1e-300)
    at_low, at_high = np.abs(values - low) <= size, np.abs(high - values) <= size
    both = at_low & at_high
    nearer = np.where(values - low < high - values, -1.0, 1.0)
    sides = np.where(both, nearer, np.where(at_low, -1.0, np.where(at_high, 1.0, 0.0)))
    return sides, np.where(at_high, -np.inf, 0.0), np.where(at_low, np.inf, 0.0)


def _multipliers(
    matrix: np.ndarray, slope: np.ndarray, sides: np.ndarray, down: np.ndarray, up: np.ndarray, wanted: int
) -> tuple[np.ndarray, np.ndarray]:
    """Multipliers between `down` and `up` that make up the slope, and the sides of the rows that have one.

    With `wanted`, rows without one are added, for a vertex at which more than enough meet, until there are so many.
    """
    import scipy.optimize

    length = np.linalg.norm(matrix, axis=1)
    near = np.flatnonzero((sides != 0) & (length > 0))
    made = np.zeros(len(sides))
    if not near.size or not np.isfinite(slope).all():
        return made, np.zeros(len(sides))
    unit = matrix[near] / length[near, None]
    found: Any = scipy.optimize.lsq_linear(
        unit.T, slope, (down[near] * length[near], up[near] * length[near]), method="bvls", tol=1e-14
    )
    size = np.abs(found.x)
    held = np.isinf(down[near]) & np.isinf(up[near])
    tiny = 1e-8 * max(1.0, np.abs(slope).max())
    kink = np.isfinite(down[near]) & np.isfinite(up[near])
    inside = ~kink | ((found.x > down[near] * length[near] + tiny) & (found.x < up[near] * length[near] - tiny))
    chosen = list[int]()
    basis = np.zeros((0, matrix.shape[1]))
    for k in sorted(range(near.size), key=lambda k: (not held[k], -size[k])):
        takes = held[k] or (size[k] > tiny and inside[k])
        if not takes and len(chosen) >= wanted:
            continue
        row = unit[k] - basis.T @ (basis @ unit[k])
        row = row - basis.T @ (basis @ row)
        if np.linalg.norm(row) > NEW:
            basis = np.vstack([basis, row / np.linalg.norm(row)])
            chosen.append(k)
    picked = near[chosen]
    made[picked] = np.linalg.lstsq(matrix[picked].T, slope, rcond=None)[0]
    return made, np.where(np.isin(np.arange(len(sides)), picked), sides, 0.0)


def _equations(rows: Rows, f: Any, x: Any, multipliers: Any, sides: Any, low: Any, high: Any) -> tuple[Any, Any]:
    """What is zero at the minimum: for each unknown, and for each row."""
    here = rows.at(f, x)
    rest = np.where(sides < 0, here - low, np.where(sides > 0, here - high, multipliers))
    return f[1](x) - rows.pull(f, x, multipliers), rest


def _refined(rows: Rows, f: Any, x: Any, multipliers: Any, sides: Any, low: Any, high: Any) -> tuple[Any, Any, float]:
    """The minimum by Newton's steps from where a method has left it, and 1; NaN if they do not end nearby."""
    at = np.concatenate([x, multipliers])
    step, n = np.inf, rows.n
    for _ in range(STEPS):
        x, multipliers = at[:n], at[n:]
        rest = np.concatenate(_equations(rows, f, x, multipliers, sides, low, high))
        change = rows.inverse(f, x, multipliers, sides) @ rest
        before, step = step, np.abs(change[:n] / (1e-3 + np.abs(at[:n]))).max()
        if not np.isfinite(step) or (step < 1e-9 and step >= before):
            break
        at = at - change
    near = np.abs(at[:n] - x) <= FAR * (1e-3 + np.abs(x))
    return at[:n], at[n:], 1.0 if step < 1e-6 and near.all() else np.nan


def constrained(
    rows: Rows, start: Any, low: Any, high: Any, kinds: tuple[Any, ...], solve: Callable[..., Any], full: bool = False,
    refined: bool = False,
) -> tuple[Any, ...]:
    """The minimum that `solve(functions, start, low, high)` finds on numbers, the multipliers, and what else it tells.

    kinds     types of what `solve` returns beside x
    full      a minimum is at a vertex, as those of a linear program are
    refined   derivatives are of the minimum near by, for methods that stop early; x is the method's all the same
    """
    floor, n, size = np.zeros(rows.kinks), rows.n, rows.size

    def found(f: Any, x: Any, low: Any, high: Any) -> tuple[Any, ...]:
        x, *told = solve(f, x, low, high)
        multipliers, sides = rows.found(f, x, low, high, full)
        at, sure = x, 1.0
        if refined:
            at, multipliers, sure = _refined(rows, f, x, multipliers, sides, low, high)
        more = [rows.inverse(f, at, multipliers, sides)] if rows.large else []
        return (at, multipliers, *told, x, sides, np.float64(sure), *more)

    def equation(f: Any, made: Any, _: Any, low: Any, high: Any) -> tuple[Any, Any]:
        x, multipliers, (sides, sure, *inverse) = made[0], made[1], made[3 + len(kinds) :]
        low, high = (np.concatenate([side, floor]) for side in (low, high))
        first, rest = _equations(rows, f, x, multipliers, sides, low, high)
        if not rows.large:
            return sure * first, rest
        both = inverse[0] @ np.concatenate([sure * first, rest])
        return both[:n], both[n:]

    gives = (f"f64[{n}]", f"f64[{size}]", *kinds)
    held = (f"f64[{n}]", f"f64[{size}]", np.float64, *([f"f64[{n + size},{n + size}]"] if rows.large else []))
    x, *told, method = solution(
        rows.value.name, rows.functions, equation, [start, low, high], gives, found, held, shown=1
    )
    return (method + (x - stop_gradient(x)) if refined else x), *told


__all__ = ["Rows", "constrained"]
