"""Linear systems within traced functions, whose solutions are differentiated exactly, to every order.

    system = System(region, unknowns)      the Jacobian J of the region's results for the parameters numbered `unknowns`
    system.solve(given, b, across=True)    w with transpose(J at given) w = b

The rule of a solution w of A(p) w = b is another system: transpose(A) u = ct, with cotangents u for b and those of
-u A(p) w for p. So no derivative passes through how a system is solved: one unknown by a division, few by elimination,
many by GMRES, with products that are made by the region's adjoint and never as a matrix.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..compiler.frontend import region as R
from ..compiler.frontend.array import Array, here
from ..compiler.frontend.promotion import conform, lift, positions
from ..compiler.frontend.region import Leaf, Region
from ..compiler.ops import memory
from .control import fori_loop, scan, while_loop
from .custom import Call, apply, transposed

DENSE = 64
"""Unknowns up to which the matrix is made, and eliminated."""

KRYLOV, RESTARTS = 40, 50
"""The dimension of GMRES' subspaces, and how many of them are tried."""


class System:
    """The Jacobian of a closed region's results for some of its parameters, as many and of the same shapes."""

    def __init__(self, region: Region, unknowns: Sequence[int], tolerance: float) -> None:
        self.region, self.unknowns, self.tolerance = region, list(unknowns), tolerance
        params = region.graph.params
        self.leaves = [Leaf(params[k].type, False) for k in unknowns]
        self.sizes = [int(np.prod(leaf.type.static_shape(), dtype=int)) for leaf in self.leaves]
        self.size = sum(self.sizes)
        self.owners = (object(), object())

    def pack(self, arrays: Sequence[Any]) -> Any:
        """Arrays like the unknowns as one vector."""
        return np.concatenate([np.reshape(x, (n,)) for x, n in zip(arrays, self.sizes, strict=True)])

    def unpack(self, vector: Any) -> list[Any]:
        """A vector as arrays like the unknowns."""
        ends = np.cumsum([0, *self.sizes])
        spans = zip(ends, ends[1:], self.leaves, strict=False)
        return [np.reshape(vector[a:b], leaf.type.static_shape()) for a, b, leaf in spans]

    def product(self, given: Sequence[Array], w: Any, across: bool) -> Any:
        """transpose(J) w if `across`, else J w: the transpose of that, which is linear in w."""
        if across:
            return self.pack(transposed(here(), self.region, self.unknowns, given, self.unpack(w))[0])
        leaves = [*map(R.leaf_of, given), R.leaf_of(w)]
        back = R.trace_region(here(), "transpose", leaves, lambda *all: [self.product(all[:-1], all[-1], True)])
        return transposed(here(), back, [len(given)], [*given, 0.0], [w])[0][0]

    def solve(self, given: Sequence[Array], b: Any, across: bool) -> Any:
        """w with transpose(J) w = b if `across`, else J w = b, where J is taken at `given`."""

        def value(*all: Array) -> Any:
            *at, b = all
            return _solution(lambda w: self.product(at, w, across), b, self.tolerance)

        name = "solve_across" if across else "solve_along"
        args = tuple([Array(here(), lift(here(), x)) for x in (*given, b)])
        return apply(here(), self.owners[across], name, value, self._rule(across), args)

    def _rule(self, across: bool) -> Any:
        def rule(call: Call, arrays: Sequence[Array], results: Sequence[Array], cts: Sequence[Any]) -> list[Any]:
            *at, _ = arrays
            u = self.solve(at, cts[0], not across)
            leaves = list(map(R.leaf_of, (*at, results[0])))
            made = R.trace_region(here(), "product", leaves, lambda *all: [self.product(all[:-1], all[-1], across)])
            floats = [k for k, x in enumerate(at) if x.value.type.is_float]
            return [*transposed(here(), made, floats, [*at, results[0]], [-u])[0], u]

        return rule


def _solution(operator: Callable[[Any], Any], b: Any, tolerance: float) -> Any:
    """w with operator(w) = b."""
    n, dtype = b.shape[0], b.dtype
    if n == 1:
        return b / operator(full((1,), 1.0, dtype))
    if n > DENSE:
        return gmres(operator, b, max(tolerance, 64 * float(np.finfo(dtype).eps)))
    _, columns = scan(lambda none, e: (none, operator(e)), None, identity(n, dtype))
    return eliminated(columns.T, b)


def eliminated(matrix: Any, b: Any) -> Any:
    """w with matrix w = b, by Gauss and Jordan with pivots from the column."""
    n, places = b.shape[0], positions(here(), b.shape, 0)

    def step(k: Any, work: Any) -> Any:
        column = read(work, k, 1)
        pivot = np.argmax(np.where(places < k, -1.0, np.abs(column)))
        row, other = read(work, pivot, 0), read(work, k, 0)
        row = row / read(row, k, 0)
        work = write(write(work, other, pivot, 0), row, k, 0)
        factors = np.where(places == k, 0.0, read(work, k, 1))
        return work - factors[:, None] * row

    work = np.concatenate([matrix, b[:, None]], axis=1)
    return fori_loop(0, n, step, work)[:, n]


def gmres(operator: Callable[[Any], Any], b: Any, tolerance: float) -> Any:
    """w with operator(w) = b within a relative residual (Saad & Schultz 1986); RuntimeError if it does not come."""
    size = min(b.shape[0], KRYLOV)
    goal = tolerance * _norm(b)

    def improved(state: Any) -> Any:
        w, residual = state
        w = w + _best(operator, residual, size)
        return w, b - operator(w)

    start = (full(b.shape, 0.0, b.dtype), b)
    return while_loop(lambda state: _norm(state[1]) > goal, improved, start, max_steps=RESTARTS)[0]


def _best(operator: Callable[[Any], Any], residual: Any, size: int) -> Any:
    """What makes the residual least in the space of its first products; zeros beyond the dimension of that."""
    n, dtype = residual.shape[0], residual.dtype
    length = _norm(residual)

    def step(k: Any, state: Any) -> Any:
        basis, made = state
        v = operator(read(basis, k, 0))
        h = full((size + 1,), 0.0, dtype)
        for _ in range(2):  # twice is enough (Giraud, Langou, Rozloznik & van den Eshof 2005)
            along = basis @ v
            v, h = v - along @ basis, h + along
        rest = _norm(v)
        basis = write(basis, np.where(rest > 0, v / np.where(rest > 0, rest, 1.0), 0.0), k + 1, 0)
        return basis, write(made, write(h, rest, k + 1, 0), k, 0)

    basis = write(full((size + 1, n), 0.0, dtype), residual / length, 0, 0)
    basis, made = fori_loop(0, size, step, (basis, full((size, size + 1), 0.0, dtype)))
    normal = made @ made.T
    empty = np.diagonal(normal) == 0
    normal = np.where(np.logical_and(empty[:, None], identity(size, np.dtype(bool))), 1.0, normal)
    factors = eliminated(normal, length * made[:, 0])
    return factors @ basis[:size]


def _norm(v: Any) -> Any:
    return np.sqrt(np.sum(v * v))


def full(shape: tuple[int, ...], value: float, dtype: np.dtype) -> Array:
    """A number in every element: a constant of the graph."""
    return Array(here(), conform(here(), value, dtype, shape))


def identity(n: int, dtype: np.dtype) -> Array:
    """The unit matrix."""
    rows, columns = (positions(here(), (n, n), axis) for axis in (0, 1))
    same: Any = rows == columns
    return same.astype(dtype)


def read(x: Any, k: Any, axis: int) -> Array:
    """x[k], or x[:, k]: k is inside."""
    now = here()
    made = now.emit(memory.read, lift(now, x), lift(now, k), axes=(axis,), widths=(memory.DROPPED,))
    return Array(now, made)


def write(x: Any, part: Any, k: Any, axis: int) -> Array:
    """A copy of x with that part in place of its own."""
    now, whole = here(), lift(here(), x)
    shape = whole.type.shape
    own = conform(now, part, whole.type.numpy, (*shape[:axis], *shape[axis + 1 :]))
    return Array(now, now.emit(memory.update, whole, own, lift(now, k), axes=(axis,), widths=(memory.DROPPED,)))


__all__ = ["System"]
