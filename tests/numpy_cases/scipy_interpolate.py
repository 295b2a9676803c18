"""Cases of scipy.interpolate."""

from typing import Any

import numpy as np
from scipy import interpolate

from tests.numpy_cases import Case, spread

P: Any = interpolate
KNOTS, VALUES, ROWS = np.array([0.0, 0.4, 1.1, 1.5, 2.3, 3.0]), spread(6), spread(6, 2, seed=4)
PLACES = np.array([0.2, 2.9, 1.3, 0.7, 3.55, -0.3])
LOOP = np.array([0.3, 1.2, -0.4, 0.8, 0.1])
WITHIN = np.array([0.2, 2.9, 1.3, 0.7])


T = np.array([0.0, 0, 0, 0, 0.3, 0.6, 1, 1, 1, 1])
ON = np.array([0.13, 0.45, 0.82, 1.07, -0.04])
GRID, CELLS = (np.array([0.0, 0.2, 0.5, 1.0]), np.array([0.0, 0.3, 0.5, 0.6, 1.2])), spread(4, 5)
POINTS = np.array([[0.33, 0.41], [0.81, 0.12], [0.07, 1.13]])
BEYOND = np.array([[0.35, 0.44], [1.23, 0.14], [-0.11, 1.53]])


SCATTERED = spread(9, 2, low=0.0, high=2.0, seed=8)
AMONG, WEIGHTS = np.array([[0.9, 1.0], [1.1, 0.85]]), np.cos(np.arange(9.0))
RADIAL = [("linear", None), ("thin_plate_spline", None), ("cubic", None), ("quintic", None), ("multiquadric", 0.8),
          ("inverse_multiquadric", 0.8), ("inverse_quadratic", 0.7), ("gaussian", 1.1)]  # fmt: skip


def _grid(points: Any = GRID, **more: Any) -> Any:
    return lambda v, p: P.RegularGridInterpolator(points, v, **more)(p)


def _looped(y: Any, t: Any, n: int = 6) -> Any:
    return P.CubicSpline(KNOTS[:n], np.concatenate([y[: n - 1], y[:1]]), bc_type="periodic")(t)


def _case(of: str, function: Any, args: tuple[Any, ...]) -> Case:
    return Case(f"scipy.interpolate.{of}", function, args, f32=False)


TCK = P.splrep(KNOTS, VALUES)

CASES = [
    _case("CubicSpline", lambda y, t: P.CubicSpline(KNOTS, y)(t), (VALUES, PLACES)),
    _case("CubicSpline of knots", lambda x, y: P.CubicSpline(x, y)(1.3), (KNOTS, VALUES)),
    _case("CubicSpline at places", P.CubicSpline(KNOTS, VALUES), (PLACES,)),
    _case("CubicSpline slope", lambda y, t: P.CubicSpline(KNOTS, y)(t, 1), (VALUES, PLACES)),
    *[_case(f"CubicSpline {bc}", lambda y, t, bc=bc: P.CubicSpline(KNOTS, y, bc_type=bc)(t),
           (VALUES, PLACES)) for bc in ("natural", "clamped")],
    _case("CubicSpline ends", lambda y, a: P.CubicSpline(
        KNOTS, y, bc_type=((1, a[0]), (2, a[1])))(PLACES), (VALUES, spread(2))),
    *[_case(f"CubicSpline periodic {n}", lambda y, t, n=n: _looped(y, t, n), (LOOP, PLACES))
      for n in (3, 4, 5, 6)],
    *[_case(f"CubicSpline of {n}", lambda y, t, n=n: P.CubicSpline(KNOTS[:n], y)(t),
           (VALUES[:n].copy(), PLACES)) for n in (2, 3, 4)],
    _case("CubicSpline rows", lambda y, t: P.CubicSpline(KNOTS, y)(t), (ROWS, PLACES)),
    _case("CubicSpline axis", lambda y, t: P.CubicSpline(KNOTS, y.T, axis=1)(t.reshape(2, 3)),
         (ROWS, PLACES)),
    _case("CubicSpline within", lambda y: P.CubicSpline(KNOTS, y, extrapolate=False)(WITHIN),
         (VALUES,)),
    _case("CubicHermiteSpline", lambda y, s, t: P.CubicHermiteSpline(KNOTS, y, s)(t),
         (VALUES, spread(6, seed=9), PLACES)),
    _case("PchipInterpolator", lambda y, t: P.PchipInterpolator(KNOTS, y)(t), (VALUES, PLACES)),
    _case("PchipInterpolator rising", lambda y, t: P.PchipInterpolator(KNOTS, np.cumsum(y * y))(t),
         (VALUES, PLACES)),
    _case("Akima1DInterpolator", lambda y, t: P.Akima1DInterpolator(KNOTS, y)(t), (VALUES, WITHIN)),
    _case("Akima1DInterpolator makima",
         lambda y, t: P.Akima1DInterpolator(KNOTS, y, method="makima")(t), (VALUES, WITHIN)),
    _case("make_interp_spline", lambda y, t: P.make_interp_spline(KNOTS, y)(t), (VALUES, PLACES)),
    _case("make_interp_spline natural",
         lambda y, t: P.make_interp_spline(KNOTS, y, bc_type="natural")(t), (VALUES, PLACES)),
    _case("make_interp_spline linear", lambda y, t: P.make_interp_spline(KNOTS, y, 1)(t),
         (VALUES, PLACES)),
    *[_case(f"make_interp_spline of degree {k}", lambda y, t, k=k: P.make_interp_spline(KNOTS, y, k)(t),
            (VALUES, WITHIN + 0.03)) for k in (2, 4, 5)],
    _case("make_interp_spline rows", lambda y, t: P.make_interp_spline(KNOTS, y.T, 5, axis=1)(t), (ROWS, WITHIN)),
    _case("make_interp_spline clamped", lambda y, t: P.make_interp_spline(KNOTS, y, 3, bc_type="clamped")(t),
          (VALUES, WITHIN)),
    _case("make_interp_spline ends", lambda y, t: P.make_interp_spline(
        KNOTS, y, 3, bc_type=([(1, 0.4)], [(2, -0.3)]))(t, 1), (VALUES, WITHIN)),
    _case("make_interp_spline of knots", lambda x, y: P.make_interp_spline(x, y)(1.3), (KNOTS, VALUES)),
    *[_case(f"InterpolatedUnivariateSpline {k}", lambda y, t, k=k: P.InterpolatedUnivariateSpline(KNOTS, y, k=k)(t),
            (VALUES, WITHIN + 0.03)) for k in (1, 2, 3, 5)],
    *[_case(f"UnivariateSpline beyond {e}", lambda y, t, e=e: P.UnivariateSpline(KNOTS, y, s=0, ext=e)(t),
            (VALUES, PLACES)) for e in (0, 1, 3)],
    _case("UnivariateSpline slope", lambda y, t: P.UnivariateSpline(KNOTS, y, s=0)(t, 1), (VALUES, WITHIN)),
    _case("UnivariateSpline at places", P.UnivariateSpline(KNOTS, VALUES, s=0.5), (WITHIN,)),
    _case("splev", lambda y, t: P.splev(t, P.splrep(KNOTS, y), der=1), (VALUES, WITHIN)),
    _case("splev at places", lambda t: P.splev(t, TCK), (WITHIN,)),
    _case("BSpline", P.make_interp_spline(KNOTS, VALUES, 2), (PLACES + 0.02,)),
    _case("PPoly", P.PPoly(spread(3, 2), [0.0, 1.0, 2.5]), (PLACES,)),
    *[_case(f"BSpline of coefficients {nu}", lambda c, t, nu=nu: P.BSpline(T, c, 3)(t, nu), (VALUES, ON))
      for nu in range(3)],
    _case("BSpline of rows", lambda c, t: P.BSpline(T, c.T, 3, axis=1)(t), (ROWS, ON)),
    _case("BSpline periodic", lambda c, t: P.BSpline(T, c, 3, "periodic")(t), (VALUES, ON)),
    _case("CubicSpline derivative", lambda y, t: P.CubicSpline(KNOTS, y).derivative()(t), (VALUES, PLACES)),
    _case("CubicSpline antiderivative", lambda y, t: P.CubicSpline(KNOTS, y).antiderivative(2)(t), (VALUES, PLACES)),
    _case("CubicSpline integrate", lambda y, t: P.CubicSpline(KNOTS, y).integrate(t[0], t[1]), (ROWS, WITHIN)),
    _case("RegularGridInterpolator", _grid(), (CELLS, POINTS)),
    _case("RegularGridInterpolator rows", _grid(), (spread(4, 5, 2), POINTS)),
    _case("RegularGridInterpolator nearest", lambda v: _grid(method="nearest")(v, POINTS), (CELLS,)),
    _case("RegularGridInterpolator filled", _grid(bounds_error=False, fill_value=0.3), (CELLS, BEYOND)),
    _case("RegularGridInterpolator beyond", _grid(bounds_error=False, fill_value=None), (CELLS, BEYOND)),
    _case("RegularGridInterpolator at places", P.RegularGridInterpolator(GRID, CELLS), (POINTS,)),
    _case("interpn", lambda v, p: P.interpn(GRID, v, (p[:, 0], p[:, 1])), (CELLS, POINTS)),
    _case("interp1d", lambda y, t: P.interp1d(KNOTS, y)(t), (VALUES, WITHIN)),
    _case("interp1d at places", P.interp1d(KNOTS, VALUES), (WITHIN,)),
    _case("interp1d unsorted", lambda y, t: P.interp1d(KNOTS[::-1], y)(t), (VALUES, WITHIN)),
    _case("interp1d cubic", lambda y, t: P.interp1d(KNOTS, y, "cubic")(t), (VALUES, WITHIN)),
    _case("interp1d rows", lambda y, t: P.interp1d(KNOTS, y.T)(t), (ROWS, WITHIN)),
    _case("interp1d beyond",
         lambda y, t: P.interp1d(KNOTS, y, fill_value="extrapolate")(t), (VALUES, PLACES)),
    _case("interp1d filled", lambda y, t: P.interp1d(
        KNOTS, y, bounds_error=False, fill_value=(1.0, 2.0))(t), (VALUES, PLACES)),
    Case("scipy.interpolate.KroghInterpolator", lambda y, x: [
        interpolate.KroghInterpolator(np.arange(4.0), y, axis=1)(np.reshape(x, (1, -1))),
        interpolate.KroghInterpolator(np.arange(4.0), np.ones((2, 4)) * [1, 3, 2, 5], axis=1)(x),
    ], (spread(2, 4, seed=3), np.array([0.3, 2.0, 1.7])), f32=False),
    Case("scipy.interpolate.BarycentricInterpolator", lambda p, y, x: [
        interpolate.BarycentricInterpolator(np.cumsum(p**2 + 0.3), y)(x), interpolate.barycentric_interpolate(p, y, x),
        interpolate.krogh_interpolate(p, y, x)
    ], (spread(4, seed=3), spread(4, seed=4), np.array([0.3, 1.0])), f32=False),
    Case("scipy.interpolate.BarycentricInterpolator known", lambda x: [
        interpolate.BarycentricInterpolator(np.arange(4.0), [1.0, 3.0, 2.0, 5.0])(x)
    ], (np.array([0.3, 1.7]),), f32=False),
    *(Case(f"scipy.interpolate.RBFInterpolator {kernel}", lambda d, y, x, k=kernel, e=epsilon: [
        P.RBFInterpolator(y, d, kernel=k, epsilon=e, smoothing=0.1)(x), P.RBFInterpolator(SCATTERED, d[:, 0], kernel=k,
        epsilon=e)(x), P.RBFInterpolator(SCATTERED, WEIGHTS, kernel=k, epsilon=e, degree=2)(x)],
        (spread(9, 2, seed=7), SCATTERED, AMONG), f32=False, rtol=1e-9) for kernel, epsilon in RADIAL),
    Case("scipy.interpolate.griddata", lambda v, x: [
        P.griddata(SCATTERED, v, x), P.griddata(SCATTERED, v[:, 0], (x[:, 0], x[:, 1]), "nearest"),
        P.griddata((SCATTERED[:, 0], SCATTERED[:, 1]), WEIGHTS, x + 5.0, fill_value=1.5),
    ], (spread(9, 2, seed=7), AMONG), f32=False),
    Case("scipy.interpolate.RectBivariateSpline", lambda z, x, y: [
        P.RectBivariateSpline(np.arange(5.0), np.arange(4.0) ** 1.5, z)(np.sort(x), np.sort(y)),
        P.RectBivariateSpline(np.arange(5.0), np.arange(4.0), z, kx=2, ky=1).ev(x, y, dx=1),
        P.RectBivariateSpline(np.arange(5.0), np.arange(4.0), np.cos(CELLS.T))(x, 9.0 * y, grid=False),
    ], (CELLS.T, np.array([0.3, 1.7, 3.1]), np.array([0.6, 1.4, 2.2])), f32=False, rtol=1e-11),
]  # fmt: skip
