"""np.polynomial's series of traced coefficients: sums, products, quotients, roots and other bases, to second order.

What has as many coefficients as are not zero at the end is compared here; all else is among `numpy_cases`.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy import polynomial as P

from pullback.runtime.check import check
from pullback.runtime.transforms import grad, jit

C, D = np.array([0.7, 1.2, -0.4, 0.9]), np.array([0.3, -1.1])
KINDS: list[Any] = [P.Polynomial, P.Chebyshev, P.Legendre, P.Hermite, P.HermiteE, P.Laguerre]
ALGEBRA: dict[str, Callable[..., Any]] = {
    "sum": lambda p, q: (p + q).coef, "difference": lambda p, q: (q - p).coef,
    "with numbers": lambda p, q: (1.0 - p).coef,
    "product": lambda p, q: (p * q).coef, "power": lambda p, q: (p**2).coef, "inserted": lambda p, q: p(q(0.3)),
    "roots": lambda p, q: np.stack([np.real(p.roots()), np.imag(p.roots())]), "root": lambda p, q: np.real(q.roots()),
    "ordinary": lambda p, q: p.convert(kind=P.Polynomial).coef, "and back": lambda p, q: q.convert(kind=type(p)).coef,
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("what", ALGEBRA)
def test_series(kind: Any, what: str) -> None:
    def f(c: Any, d: Any) -> Any:
        return ALGEBRA[what](kind(c), kind(d))

    np.testing.assert_allclose(jit(f)(C, D), f(C, D), rtol=1e-11, atol=1e-13)
    check(f, C, D, order=2, elements=0)


DIVIDED: list[Callable[..., Any]] = [
    lambda c, d: (P.Polynomial(c) // P.Polynomial(d)).coef, lambda c, d: (P.Polynomial(c) % P.Polynomial(d)).coef,
    lambda c, d: (P.Polynomial(d) // P.Polynomial(c)).coef, lambda c, d: (P.Polynomial(d) % P.Polynomial(c)).coef,
    lambda c, d: np.concatenate(P.polynomial.polydiv(c, d[:1])), lambda c, d: P.polynomial.polycompanion(c),
    lambda c, d: P.polynomial.polydiv([1.0, 2.0, 3.0], d)[0], lambda c, d: (P.Polynomial(c)(P.Polynomial(d))).coef,
    lambda c, d: P.Polynomial.fit([0.0, 1.0, 2.0, 3.0], c, 2).convert().coef,
    lambda c, d: P.polynomial.polyroots(c[:2]),
    lambda c, d: P.Chebyshev.fromroots(d).coef, lambda c, d: P.legendre.legcompanion(c),
]  # fmt: skip


@pytest.mark.parametrize("f", DIVIDED)
def test_quotients_and_fits(f: Callable[..., Any]) -> None:
    np.testing.assert_allclose(jit(f)(C, D), f(C, D), rtol=1e-11, atol=1e-13)
    check(f, C, D, order=2, elements=0)


def test_refusals_of_series() -> None:
    with pytest.raises(ZeroDivisionError):
        jit(lambda c, d: (P.Polynomial(c) // P.Polynomial(0 * d)).coef)(C, D)
    with pytest.raises(TypeError, match="polyder with a traced scl"):
        grad(lambda c: P.polynomial.polyder(c, 1, c[0])[0])(C)
    with pytest.raises(ValueError, match="Too many integration constants"):
        grad(lambda c: P.polynomial.polyint(c, 1, [1.0, 2.0])[0])(C)
