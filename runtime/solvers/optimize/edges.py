"""Roots at a jump and minima at a kink: from a solution on numbers to what holds there in place of the equation.

    brentq(lambda x: np.where(x < s, -1.0, 2.0), 0, 3)     is s, where the function is nowhere zero
    minimize(lambda x: np.abs(x - s) + 0.1 * x ** 2, 0.0)  is s, where the gradient is nowhere zero

The equation jumps over zero there, and says nothing of how the solution moves: the gap that changes its sign does
(`changes`). Along such edges gaps are zero, and across no gap the equation is, as with multipliers of constraints;
these are held, so second derivatives leave out how a curved edge turns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ..closed import Closed, floats
from ..integrate.changes import gaps

NEAR = 1e-3
"""How far a solution may be from an edge that it is taken to be at, for its size."""

STEPS = np.array([-2e-7, -1e-7, 1e-7, 2e-7])
"""From an edge, for the solution's size: where the equation is asked for on its sides."""

JUMPS = 30.0
"""How many times more the equation changes across an edge than beside it."""


class Edges:
    """The edges of an equation f(x) = 0 for n unknowns, or of the gradient of what is minimised."""

    def __init__(self, f: Closed, gap: Closed, n: int, rising: bool) -> None:
        self.f, self.gap, self.n, self.rising = f, gap, n, rising
        self.size = gap.shapes[0][0]
        shape = f.graph.params[0].type.static_shape()
        weighed = lambda x, w: np.sum(gap.traced([np.reshape(x, shape)], gap.outside)[0] * w)  # noqa: E731
        self.weighed = Closed(f"{f.name}_edge", weighed, floats(n), floats(self.size))
        self.functions = [gap, self.weighed, self.weighed.gradient]

    @classmethod
    def of(cls, f: Closed, rising: bool) -> Edges | None:
        """None for an equation of one formula; `rising` where it is the gradient at a minimum."""
        made = gaps(f.graph)
        n = int(np.prod(f.graph.params[0].type.static_shape(), dtype=int))
        return None if made is None else cls(f, f.with_graph(made[0]), n, rising)

    @property
    def gives(self) -> tuple[str, str, str]:
        """The types of what `found` returns: a projection, slopes of gaps, multipliers."""
        return f"f64[{self.n},{self.n}]", f"f64[{self.size},{self.n}]", f"f64[{self.size}]"

    def found(self, f: Callable[..., Any], edges: Sequence[Callable[..., Any]], x: Any) -> tuple[Any, Any, Any]:
        """The edges at a solution, on numbers; none leave the equation as it is."""
        rows = np.zeros((self.size, self.n))
        for k, row, sides in self._beside(f, edges, x):
            if self._jumps(sides):
                rows[k] = row
        if not rows.any():
            return np.eye(self.n), rows, np.zeros(self.size)
        inverse = np.linalg.pinv(rows)
        at = np.reshape(f(x), (-1,))
        return np.eye(self.n) - inverse @ rows, rows, -inverse.T @ at

    def _beside(
        self, f: Callable[..., Any], edges: Sequence[Callable[..., Any]], x: Any
    ) -> Iterator[tuple[Any, np.ndarray, np.ndarray]]:
        """Each gap near x, its slope, and the equation along that at two places before it and two behind."""
        gap, _, slope = edges
        shape = np.shape(x)
        x = np.reshape(np.asarray(x, float), (-1,))
        scale, here = 1.0 + np.abs(x).max(), gap(np.reshape(x, shape))
        for k in np.flatnonzero(np.isfinite(here)):
            row = slope(x, np.arange(self.size) == k)
            length = np.linalg.norm(row)
            if not length > 0 or abs(here[k]) > NEAR * scale * length:
                continue
            along = row / length
            on = x - here[k] / length * along
            on = on - gap(np.reshape(on, shape))[k] / length * along
            sides = [np.reshape(f(np.reshape(on + h * scale * along, shape)), (-1,)) @ along for h in STEPS]
            yield k, row, np.array(sides)

    def kinks(
        self, f: Callable[..., Any], edges: Sequence[Callable[..., Any]], x: Any
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """The slopes of gaps near x where a gradient jumps up, which those are, and what their multipliers lie between.

        A multiplier times the slope is what the gradient has too much on the side where x is.
        """
        rows, at, down, up = np.zeros((self.size, self.n)), *np.zeros((3, self.size))
        here = edges[0](x)
        for k, row, sides in self._beside(f, edges, x):
            before, across, behind = np.diff(sides)
            if across > JUMPS * max(abs(before), abs(behind)):
                jump = across / np.linalg.norm(row)
                rows[k], at[k] = row, 1.0
                down[k], up[k] = (0.0, jump) if here[k] >= 0 else (-jump, 0.0)
        return rows, at, down, up

    def _jumps(self, sides: np.ndarray) -> bool:
        """Whether values before and behind an edge, two each, are of a function that jumps over zero there."""
        before, across, behind = np.abs(np.diff(sides))
        over = sides[1] < 0 < sides[2] or (not self.rising and sides[1] > 0 > sides[2])
        return bool(over and across > JUMPS * max(before, behind))

    def equation(self, value: Any, edges: Sequence[Callable[..., Any]], x: Any, held: Sequence[Any]) -> Any:
        """Zero at the solution: the equation's `value` across no edge, and the gaps along these."""
        gap, _, slope = edges
        across, rows, multipliers = held
        flat, zero = np.reshape(x, (-1,)), gap(x)
        rest = np.reshape(value, (-1,)) + slope(flat, multipliers)
        return np.reshape(across @ rest + np.where(rows != 0, zero[:, None] * rows, 0.0).sum(axis=0), np.shape(value))


__all__ = ["Edges"]
