"""Cases of polynomials and series at traced numbers, and of polynomials with traced coefficients."""

from typing import Any

import numpy as np
from numpy import polynomial as series

from tests.numpy_cases import Case, spread

X = spread(3, low=-0.8, high=0.9)
Y = spread(2, 3, low=-0.7, high=0.6, seed=1)
C = spread(4, seed=2)
D = spread(3, 2, seed=3)
E = spread(2, 3, 2, seed=4)

FAMILIES: dict[str, Any] = {
    "polynomial.poly": series.Polynomial, "chebyshev.cheb": series.Chebyshev, "hermite.herm": series.Hermite,
    "hermite_e.herme": series.HermiteE, "laguerre.lag": series.Laguerre, "legendre.leg": series.Legendre,
}  # fmt: skip


def _family(name: str, kind: Any) -> list[Case]:
    module = getattr(series, name.partition(".")[0])
    known = [name.partition(".")[2] + each for each in ("val", "val2d", "val3d", "grid2d", "grid3d")]
    value, value2, value3, grid2, grid3 = (getattr(module, each) for each in known)
    of = f"np.polynomial.{name}"
    return [
        Case(f"{of}val", lambda x, c: [value(x, c), value(x, c[:1]), value(x, c[:2])], (Y, C)),
        Case(f"{of}val tensor", lambda x, c: [getattr(module, known[0])(x, c), value(x[0, :2], c, False)], (Y, D)),
        Case(f"{of}val of numbers", lambda x: value(x, [1, 2, 3]), (X,)),
        Case(f"{of}val at numbers", lambda c: value(0.25, c), (C,)),
        Case(f"{of}val2d", lambda x, c: value2(x, x * 0.5, c), (X, D)),
        Case(f"{of}val3d", lambda x, c: value3(x, x * 0.5, x + 0.1, c), (X, E)),
        Case(f"{of}grid2d", lambda x, y, c: grid2(x, y[0], c), (X, Y, D), 1),
        Case(f"{of}grid3d", lambda x, y, c: grid3(x, y[0], y[1], c), (X, Y, E), 1),
        Case(f"np.polynomial.{kind.__name__}", lambda x: kind([1.0, 2.0, 3.0], domain=[-1, 3])(x), (Y,), f32=False),
        Case(f"np.polynomial.{kind.__name__} of traced", lambda c: kind(c)(0.25), (C,), f32=False),
    ]


def _linear(name: str, kind: Any) -> list[Case]:
    space, short = name.split(".")
    derivative, integral, vander = (getattr(getattr(series, space), short + each) for each in ("der", "int", "vander"))
    of = f"np.polynomial.{space}.{short}"
    return [
        Case(f"{of}der", lambda c, d: [derivative(c), derivative(c, 2, 0.5), derivative(d, axis=1)], (C, D), f32=False),
        Case(f"{of}int", lambda c, d: [integral(c), integral(c, 2, [c[0], 1.0], 0.3, 2.0), integral(d, 1, axis=1)],
             (C, D), f32=False),
        Case(f"{of}vander", lambda x: [vander(x, 3), vander(x[0], 0)], (Y,), f32=False),
        Case(f"np.polynomial.{kind.__name__} derivative", lambda c: kind(c, [-1.0, 3.0]).deriv(2)(0.25), (C,),
             f32=False),
        Case(f"np.polynomial.{kind.__name__} integral", lambda c: kind(c, [0.0, 3.0]).integ(1, 0.5, 0.1)(0.25), (C,),
             f32=False),
    ]  # fmt: skip


CASES = [
    Case("np.polyval", lambda x, c: [np.polyval(c, x), np.polyval(c, 0.5), np.polyval(c, x[0])], (Y, C)),
    Case("np.polyval of numbers", lambda x: np.polyval([1.0, 2.0, 3.0], x), (Y,), f32=False),
    Case("np.poly1d", lambda x: np.poly1d([1.0, 2.0, 3.0])(x), (Y,), f32=False),
    Case("np.polyder", lambda c: [np.polyder(c), np.polyder(c, 2)], (C,), f32=False),
    Case("np.polyint", lambda c: [np.polyint(c), np.polyint(c, 2, [1.0, 2.0]), np.polyint(c, 2, 0.5)], (C,), f32=False),
    Case("np.polyadd", lambda c: [np.polyadd(c, c[:2]), np.polyadd(c[:2], c)], (C,)),
    Case("np.polysub", lambda c: [np.polysub(c, c[:2]), np.polysub([1.0, 2.0], c)], (C,), f32=False),
    Case("np.polymul", lambda c: [np.polymul(c, c[:2]), np.polymul([0.0, 1.0, 2.0], c)], (C,), f32=False),
    Case("np.polyfit", lambda x, y: np.polyfit(x, y, 2), (spread(6, seed=7), spread(6, seed=8)), f32=False, rtol=1e-11),
    Case("np.polyfit weights", lambda x, y, w: np.polyfit(x, y, 1, w=w), (spread(6, seed=7), spread(6, 2, seed=8),
         abs(spread(6, seed=9)) + 0.5), f32=False, rtol=1e-11),
    Case("np.polyfit full", lambda x, y: np.polyfit(x, y, 1, full=True)[:4], (spread(6, seed=7), spread(6, seed=8)),
         order=1, f32=False, rtol=1e-11),
    Case("np.poly", lambda c: np.poly(c), (C,)),
    *(case for name, kind in FAMILIES.items() for case in [*_family(name, kind), *_linear(name, kind)]),
]
