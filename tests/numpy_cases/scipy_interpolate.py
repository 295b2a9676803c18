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


def _looped(y: Any, t: Any, n: int = 6) -> Any:
    return P.CubicSpline(KNOTS[:n], np.concatenate([y[: n - 1], y[:1]]), bc_type="periodic")(t)


def _case(of: str, function: Any, args: tuple[Any, ...]) -> Case:
    return Case(f"scipy.interpolate.{of}", function, args, f32=False)


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
    _case("BSpline", P.make_interp_spline(KNOTS, VALUES, 2), (PLACES + 0.02,)),
    _case("PPoly", P.PPoly(spread(3, 2), [0.0, 1.0, 2.5]), (PLACES,)),
    _case("interp1d", lambda y, t: P.interp1d(KNOTS, y)(t), (VALUES, WITHIN)),
    _case("interp1d at places", P.interp1d(KNOTS, VALUES), (WITHIN,)),
    _case("interp1d unsorted", lambda y, t: P.interp1d(KNOTS[::-1], y)(t), (VALUES, WITHIN)),
    _case("interp1d cubic", lambda y, t: P.interp1d(KNOTS, y, "cubic")(t), (VALUES, WITHIN)),
    _case("interp1d rows", lambda y, t: P.interp1d(KNOTS, y.T)(t), (ROWS, WITHIN)),
    _case("interp1d beyond",
         lambda y, t: P.interp1d(KNOTS, y, fill_value="extrapolate")(t), (VALUES, PLACES)),
    _case("interp1d filled", lambda y, t: P.interp1d(
        KNOTS, y, bounds_error=False, fill_value=(1.0, 2.0))(t), (VALUES, PLACES)),
]  # fmt: skip
