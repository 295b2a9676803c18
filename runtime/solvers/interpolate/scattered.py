"""Surfaces by scipy.interpolate of traced values, or at traced places: RBFInterpolator, griddata, RectBivariateSpline.

    RBFInterpolator(y, d)(x)     griddata(points, values, xi)     RectBivariateSpline(x, y, z).ev(a, b)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....compiler.frontend import region as R
from ....compiler.frontend.numpy.reductions import traced
from ....compiler.frontend.numpy.scipy.special.functions import given
from ....compiler.frontend.patched.patches import NOT_MINE
from ....compiler.frontend.patched.recoded import concrete, recode
from ...external import External
from ...rules import stop_gradient
from ..closed import vector
from .lattices import at_b_spline, made_b_spline

# ---- radial functions


def _apart(f: Any) -> Any:
    """A function of squared distances that is 0, and has no slope, where a place is a point itself."""
    return lambda q: np.where(q > 0.0, f(np.where(q > 0.0, q, 1.0)), 0.0)


KERNELS = {
    "linear": _apart(lambda q: -np.sqrt(q)), "thin_plate_spline": _apart(lambda q: 0.5 * q * np.log(q)),
    "cubic": _apart(lambda q: q * np.sqrt(q)), "quintic": _apart(lambda q: -q * q * np.sqrt(q)),
    "multiquadric": lambda q: -np.sqrt(q + 1.0), "inverse_multiquadric": lambda q: 1.0 / np.sqrt(q + 1.0),
    "inverse_quadratic": lambda q: 1.0 / (q + 1.0), "gaussian": lambda q: np.exp(-q),
}  # fmt: skip


def _radial(x: Any, y: Any, kernel: str, epsilon: Any) -> Any:
    away = epsilon * (x[:, None, :] - y)
    return KERNELS[kernel](np.sum(away * away, axis=-1))


def _monomials(x: Any, powers: Any) -> Any:
    columns = [np.prod(np.stack([x[:, k] ** int(p) for k, p in enumerate(row)]), axis=0) for row in powers]
    return np.stack(columns, axis=1) if columns else np.zeros((x.shape[0], 0))


def made_radial(
    self: Any, y: Any, d: Any, neighbors: Any = None, smoothing: Any = 0.0, kernel: str = "thin_plate_spline",
    epsilon: Any = None, degree: Any = None,
) -> None:  # fmt: skip
    """The weights of the points' functions and of the monomials beside them, which see none of the weights."""
    import scipy.interpolate

    if neighbors is not None:
        R.refuse("RBFInterpolator with neighbors on traced values", "leave neighbors out")
    y, d = vector(y), vector(d)
    unit = np.random.default_rng(0).random(y.shape)  # what SciPy's own checks, and the powers that it takes
    usual: Any = scipy.interpolate.RBFInterpolator
    like = usual(unit, unit[:, 0], None, 1.0, kernel, None if epsilon is None else 1.0, degree)
    n, powers, kernel = y.shape[0], np.asarray(like.powers), like.kernel
    if d.shape[0] != n:
        raise ValueError(f"Expected the first axis of `d` to have length {n}.")
    epsilon = 1.0 if epsilon is None else vector(epsilon)
    low, high = stop_gradient(np.min(y, axis=0)), stop_gradient(np.max(y, axis=0))
    shift, scale = (high + low) / 2.0, np.where(high > low, (high - low) / 2.0, 1.0)
    beside, m = _monomials((y - shift) / scale, powers), len(powers)
    extra = np.broadcast_to(vector(smoothing), (n,))[:, None] * np.eye(n)
    top = np.concatenate([_radial(y, y, kernel, epsilon) + extra, beside], axis=1)
    system = np.concatenate([top, np.concatenate([np.transpose(beside), np.zeros((m, m))], axis=1)])
    rows = np.reshape(d, (n, -1))
    weights = np.linalg.solve(system, np.concatenate([rows, np.zeros((m, rows.shape[1]))]))
    self.__dict__.update(
        y=y, d=rows, d_shape=tuple(d.shape[1:]), d_dtype=np.float64, neighbors=None, kernel=kernel, epsilon=epsilon,
        powers=powers, _shift=shift, _scale=scale, _coeffs=weights, smoothing=smoothing,
    )  # fmt: skip


def at_radial(self: Any, x: Any) -> Any:
    if self.neighbors is not None or self.d_dtype is complex or np.dtype(self.d_dtype).kind == "c":
        R.refuse("RBFInterpolator with neighbors, or of complex values, at traced places", "leave neighbors out")
    at, y = vector(x), vector(self.y)
    if at.ndim != 2 or at.shape[1] != y.shape[1]:
        raise ValueError(f"Expected the second axis of `x` to have length {y.shape[1]}, got the shape {at.shape}.")
    weights, n = vector(self._coeffs), y.shape[0]
    made = _radial(at, y, self.kernel, self.epsilon) @ weights[:n]
    made = made + _monomials((at - self._shift) / self._scale, np.asarray(self.powers)) @ weights[n:]
    return np.reshape(made, (at.shape[0], *self.d_shape))


# ---- triangles


def griddata(
    points: Any, values: Any, xi: Any, method: str = "linear", fill_value: Any = np.nan, rescale: bool = False
) -> Any:
    """In the simplex around a place its corners' values by barycentric coordinates; or the nearest point's value."""
    import scipy.spatial

    several = isinstance(points, tuple) or (concrete(points) and np.ndim(points) == 2 and np.shape(points)[1] > 1)
    if not several and concrete(points):
        return NOT_MINE  # numbers in a row: interp1d
    if not concrete(points) or method not in ("linear", "nearest") or rescale:
        fix = "give the points as numbers, with method='linear' or 'nearest'; or use RBFInterpolator"
        R.refuse(f"griddata of traced points, or with method={method!r} or rescale, on traced values", fix)
    known = np.stack(np.broadcast_arrays(*points), -1) if isinstance(points, tuple) else np.asarray(points, float)
    known, values = known.reshape(-1, known.shape[-1]), vector(values)
    at = np.stack(np.broadcast_arrays(*map(vector, xi)), -1) if isinstance(xi, tuple) else vector(xi)
    shape, flat = tuple(at.shape[:-1]), np.reshape(at, (-1, at.shape[-1]))
    rest = tuple(values.shape[1:])
    rows = np.reshape(values, (known.shape[0], -1))
    if method == "nearest":
        tree = scipy.spatial.KDTree(known)
        nearest = External(lambda x: tree.query(x)[1].astype(np.int64), f"i64[{flat.shape[0]}]", None, False, None)
        return np.reshape(rows[nearest(stop_gradient(flat))], (*shape, *rest))
    mesh = scipy.spatial.Delaunay(known)
    find = External(lambda x: mesh.find_simplex(x).astype(np.int64), f"i64[{flat.shape[0]}]", None, False, None)
    simplex = find(stop_gradient(flat))
    inside = np.maximum(simplex, 0)
    turn = traced(mesh.transform)[1][inside]
    first = np.sum(turn[:, :-1] * (flat - turn[:, -1])[:, None, :], axis=-1)
    share = np.concatenate([first, 1.0 - np.sum(first, axis=-1, keepdims=True)], axis=-1)
    corners = traced(mesh.simplices.astype(np.int64))[1][inside]
    made = np.sum(share[..., None] * rows[corners], axis=1)
    return np.reshape(np.where((simplex >= 0)[:, None], made, fill_value), (*shape, *rest))


# ---- products of splines


def made_rectangle(
    self: Any, x: Any, y: Any, z: Any, bbox: Any = (None,) * 4, kx: int = 3, ky: int = 3, s: Any = 0, maxit: int = 20
) -> None:
    """The coefficients are linear in the values: by what each axis' own spline makes of unit values."""
    import scipy.interpolate

    if not concrete([x, y, bbox]) or not concrete(s) or s:
        R.refuse("RectBivariateSpline of traced places, or that smooths, on traced values", "use known places, s=0")
    z, make = vector(z), scipy.interpolate.InterpolatedUnivariateSpline
    made = []
    for places, ends, k in ((x, list(bbox[:2]), kx), (y, list(bbox[2:]), ky)):
        n = len(places)
        units = [make(places, unit, None, ends, k)._eval_args for unit in np.eye(n)]
        made.append((units[0][0], np.stack([c[:n] for _, c, _ in units], axis=1)))
    (tx, left), (ty, right) = made
    if z.shape != (left.shape[1], right.shape[1]):
        raise ValueError(f"z has the shape {z.shape} for {left.shape[1]} places x and {right.shape[1]} places y")
    self.__dict__.update(fp=0.0, tck=(tx, ty, np.reshape(left @ z @ right.T, (-1,))), degrees=(kx, ky))


def at_rectangle(self: Any, x: Any, y: Any, dx: int = 0, dy: int = 0, grid: bool = True) -> Any:
    """FITPACK takes the nearest place within the rectangle of one that is beyond."""
    (tx, ty, c), (kx, ky) = self.tck[:3], self.degrees
    sizes = len(tx) - kx - 1, len(ty) - ky - 1
    at, to = vector(x), vector(y)
    table = np.reshape(vector(c), sizes)
    if grid:
        along = _spline(tx, table, kx, at, dx)
        return np.transpose(_spline(ty, np.transpose(along), ky, to, dy))
    at, to = np.broadcast_arrays(at, to)
    shape = at.shape
    along = _spline(tx, table, kx, np.reshape(at, (-1,)), dx)
    weights = _spline(ty, np.eye(sizes[1]), ky, np.reshape(to, (-1,)), dy)
    return np.reshape(np.sum(along * weights, axis=-1), shape)


def _spline(t: Any, c: Any, k: int, at: Any, nu: Any) -> Any:
    import scipy.interpolate

    spline = object.__new__(scipy.interpolate.BSpline)
    made_b_spline(spline, t, c, k)
    nu = given("scipy.interpolate.RectBivariateSpline", "dx and dy", nu)
    return at_b_spline(spline, np.clip(at, float(t[k]), float(t[-k - 1])), nu)


def at_pairs(self: Any, xi: Any, yi: Any, dx: int = 0, dy: int = 0) -> Any:
    return at_rectangle(self, xi, yi, dx, dy, False)


recode("scipy.interpolate", {
    "RBFInterpolator.__init__": made_radial, "RBFInterpolator.__call__": at_radial, "griddata": griddata,
    "RectBivariateSpline.__init__": made_rectangle, "BivariateSpline.__call__": at_rectangle,
    "BivariateSpline.ev": at_pairs, "RectBivariateSpline.__call__": at_rectangle,
})  # fmt: skip

__all__ = ["at_radial", "griddata"]
