"""A corpus over SymPy's functions: value, first and second derivative against 40 digits, in f64 within their condition.

Many expressions are compiled as one: with S(v) = f_1(v_1) + f_2(v_2) + ..., the gradient of S has every first
derivative, by reverse mode, and the gradient of its sum every second one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath as mp
import numpy as np
import pytest
import sympy as sp
from sympy import stats
from sympy.physics.hydrogen import R_nl
from sympy.physics.qho_1d import psi_n

import pullback

x = sp.Symbol("x", real=True)
k, n = sp.symbols("k n", integer=True)
t = sp.Symbol("t", real=True)
R = sp.Rational
density: Any = stats.density
cdf: Any = stats.cdf

INNER: list[Any] = [x, x / 2, x**2 / 3, sp.exp(-x), sp.sqrt(x), 1 / (1 + x)]

UNARY: list[Callable[[Any], Any]] = [
    sp.sin, sp.cos, sp.tan, sp.sec, sp.cot, sp.csc, sp.asin, sp.acos, sp.atan, sp.acot, sp.sinh, sp.cosh, sp.tanh,
    sp.coth, sp.sech, sp.csch, sp.asinh, sp.atanh, sp.acsch, sp.asech, sp.exp, sp.log, sp.sqrt, sp.cbrt, sp.sinc,
    sp.erf, sp.erfc, sp.erfi, sp.erfinv, sp.gamma, sp.loggamma, sp.digamma, sp.trigamma, sp.Ei, sp.Si, sp.Ci, sp.Shi,
    sp.Chi, sp.fresnels, sp.fresnelc, sp.airyai, sp.airybi, sp.elliptic_k, sp.elliptic_e, sp.LambertW, sp.factorial,
]  # fmt: skip

OTHERS: list[Any] = [
    sp.Abs(x - 3), sp.sign(x - 3) * x, sp.Max(x, x**2), sp.Min(x, 2 - x, x**3), sp.Heaviside(x) * x**2,
    sp.acosh(x + 2), sp.asec(x + 2), sp.acsc(x + 2), sp.acoth(x + 2), sp.atan2(x, 2), sp.atan2(2, x),
    sp.Piecewise((sp.log(x), x > 1), (x - 1, True)), sp.Piecewise((x**2, sp.And(x > 0, x < 1)), (sp.sin(x), True)),
    sp.Piecewise((x, sp.ITE(x > 1, x < 2, x > R(1, 10))), (0, True)), sp.Mod(7 * x, 3), sp.frac(5 * x), sp.Rem(x, 3),
    sp.floor(3 * x) * x, sp.ceiling(2 * x) + x**2, sp.real_root(x, 3), sp.SingularityFunction(x, R(1, 10), 2),
    x**x, x**sp.pi, 2**x, x ** R(7, 3), x**-5, (x + 1) ** 70 / sp.Integer(10) ** 20, sp.exp(x) ** 2, sp.log(x, 3),
    sp.polygamma(3, x), sp.beta(x, R(5, 2)), sp.binomial(x + 3, x), sp.rf(x, R(5, 2)), sp.ff(x + 3, R(3, 2)),
    sp.harmonic(x), sp.catalan(x), sp.fibonacci(x), sp.gamma(x) * sp.gamma(1 - x / 9),
    sp.lowergamma(R(5, 2), x), sp.uppergamma(R(5, 2), x), sp.lowergamma(x, R(3, 2)), sp.uppergamma(x, R(3, 2)),
    sp.betainc(2, 3, R(1, 10), x / 2), sp.zeta(x + 2), sp.zeta(3, x), sp.zeta(x + 2, x), sp.dirichlet_eta(x + 2),
    sp.erf2(x, 2 * x), sp.expint(1, x), sp.expint(3, x), sp.E1(x), sp.li(x + 2), sp.LambertW(-x / 5, -1),
    sp.besselj(0, x), sp.besselj(1, x), sp.besselj(2, x), sp.besselj(R(1, 2), x), sp.bessely(0, x), sp.bessely(1, x),
    sp.bessely(3, x), sp.besseli(0, x), sp.besseli(1, x), sp.besseli(R(5, 2), x), sp.besselk(0, x), sp.besselk(1, x),
    sp.besselk(R(5, 2), x), sp.elliptic_e(x, R(3, 10)), sp.elliptic_f(x, R(3, 10)), sp.elliptic_pi(R(1, 5), x / 3),
    sp.elliptic_pi(R(1, 5), x, R(3, 10)), sp.assoc_legendre(3, 1, x / 2), sp.legendre(6, x), sp.chebyshevt(5, x),
    sp.chebyshevu(4, x), sp.hermite(4, x), sp.laguerre(3, x), sp.assoc_laguerre(3, R(1, 2), x),
    sp.gegenbauer(3, R(1, 2), x), sp.jacobi(3, R(1, 2), R(3, 2), x), sp.jacobi(R(5, 2), R(1, 2), R(3, 2), x / 2),
    sp.chebyshevt(R(5, 2), x / 2), sp.hyper([1, 2], [3], x / 2), sp.hyper([R(3, 2)], [R(5, 2)], x),
    sp.hyper([], [R(5, 2)], x), sp.KroneckerDelta(sp.floor(x), 0) * x, sp.UnevaluatedExpr(x + 1) * x,
    sp.Sum(x**k / (k + 1), (k, 0, 10)), sp.Sum(x**k / sp.factorial(k), (k, 0, 60)), sp.Product(1 + x / k, (k, 1, 50)),
    sp.Sum(sp.sin(k * x) / k**2, (k, 1, 100)), sp.Product(x + k, (k, 1, 5)), sp.Sum(x, (k, 1, 10)),
    sp.Derivative(sp.sin(x) ** 2, x), sp.Derivative(sp.exp(x**2), (x, 3)), sp.Integral(sp.exp(-k * x), (k, 0, 2)),
    sp.Limit(sp.sin(k * x) / k, k, 0), sp.Subs(sp.sin(k) * x, k, x**2), sp.Matrix([[x, 1], [2, x**2]]).det(),
    sp.Matrix([[x, 1, 0], [2, x**2, 1], [x, 0, 3]]).inv()[0, 1], sp.diff(sp.exp(x * sp.sin(x)), x, 3),
    sp.integrate(x**3 * sp.exp(-x), x), sp.series(sp.exp(x), x, 0, 9).removeO(), sp.Catalan * x + sp.GoldenRatio,
    sp.jn(2, x), sp.yn(1, x), sp.airyaiprime(x), sp.airybiprime(x), sp.airyai(-x) ** 2, sp.bernoulli(4, x),
    sp.euler(3, x), sp.bell(4, x), sp.dirichlet_eta(x / 2), sp.zeta(x / 2), sp.polylog(-2, x / 3),
    sp.lerchphi(x / 3, 2, R(3, 2)), sp.bspline_basis(3, range(6), 1, 2 * x),
    sp.interpolating_spline(3, x, [0, 1, 2, 3, 4], [1, 3, 2, 5, 4]), sp.RootOf(t**5 - t + 1, 0) * x,
    sp.Matrix([[x, 1], [0, x**2]]).exp()[0, 1], sp.Matrix([x, x**2, 3]).norm(), sp.sinc(sp.pi * x),
    sp.Sum(sp.Sum(x ** (k * n) / sp.factorial(k + n), (k, 0, 5)), (n, 0, 4)), sp.real_root(x - 3, 3),
    sp.Sum(sp.Piecewise((x**k, k < 3), (sp.sin(k * x), True)), (k, 0, 40)), sp.exp(-1 / x**2),
    sp.Sum(sp.binomial(20, k) * x**k * (1 - x / 3) ** (20 - k), (k, 0, 12)), x ** R(1, 1000),
    sp.Product(1 - x**2 / (9 * k**2), (k, 1, 40)), sp.sqrt(1 + sp.sqrt(1 + sp.sqrt(x))), sp.acos(sp.cos(x)),
    sp.atan2(sp.sin(3 * x), sp.cos(3 * x)), sp.elliptic_pi(x / 3, R(1, 5)), sp.elliptic_f(R(1, 2), x / 2),
    sp.elliptic_e(R(1, 2), x / 2), sp.Derivative(sp.besselj(1, x), x), sp.Derivative(sp.gamma(x), x, 2),
    sp.Integral(sp.exp(-(t**2)), (t, 0, x)), sp.Integral(sp.sin(t) / t, (t, 0, x)), sp.lowergamma(2, x),
    sp.Piecewise((x**2, sp.Interval(0, 1).contains(x)), (x**3, True)), sp.Max(x, 1, sp.sin(x), x**3),
    density(stats.Gamma("g", 2, 3))(x), density(stats.StudentT("t", 5))(x),
    density(stats.VonMises("v", 0, 2))(x), density(stats.Levy("l", 0, 1))(x),
    cdf(stats.Normal("n", 1, 2))(x), cdf(stats.Gamma("c", 3, 2))(x), R_nl(3, 1, x, 2), psi_n(4, x, 1, 1),
]  # fmt: skip

POINTS = (0.7, 1.3)


def _known(e: Any) -> bool:
    """Whether the expression is a real number, smooth enough to be differentiated numerically, at both points."""
    try:
        values = [sp.N(e.subs(x, sp.Float(at, 30)), 15) for at in POINTS]
    except ValueError:  # of mpmath, outside of the domain
        return False
    return all(v.is_Float and abs(v) < 1e8 for v in values)


CORPUS: list[Any] = OTHERS + [
    e for f in UNARY for inner in INNER if (e := f(inner)).has(x) and _known(e)
]  # fmt: skip


def test_the_corpus_is_large() -> None:
    assert len({str(e) for e in CORPUS}) >= 300


def wanted(e: Any, at: float) -> list[Any]:
    """Value, first and second derivative to some 20 digits, by differences of 60."""
    done = e.doit() if e.has(sp.Sum, sp.Product, sp.Integral, sp.Limit, sp.Derivative, sp.Subs) else e
    if done.has(sp.Derivative):
        done = done.doit()
    with mp.workdps(60):
        try:
            f = sp.lambdify(x, done, "mpmath")
            f(mp.mpf(at))
        except Exception:
            f = lambda v: mp.mpmathify(sp.N(done.subs(x, sp.Float(mp.nstr(v, 70), 70)), 60))  # noqa: E731
        return [mp.re(mp.diff(f, mp.mpf(at), n, h=mp.mpf(10) ** -18)) if n else mp.re(f(mp.mpf(at))) for n in range(3)]


GROUP = 40


@pytest.mark.filterwarnings("ignore:floating point number truncated")
@pytest.mark.parametrize("start", range(0, len(CORPUS), GROUP))
def test_value_and_derivatives(start: int) -> None:
    group = CORPUS[start : start + GROUP]
    functions = [pullback.lambdify(x, e) for e in group]

    def total(v: Any) -> Any:
        return sum(f(v[n]) for n, f in enumerate(functions))

    values = pullback.jit(lambda v: np.stack([f(v[n]) for n, f in enumerate(functions)]))
    first = pullback.grad(total)
    second = pullback.grad(lambda v: np.sum(first(v)))
    for at in POINTS:
        v = np.full(len(group), at)
        got = np.stack([values(v), first(v), second(v)], axis=1)
        for e, row in zip(group, got, strict=True):
            want = wanted(e, at)
            scale = [max(abs(w), abs(want[0]) * mp.mpf("1e-2"), mp.mpf("1e-3")) for w in want]
            errors = [abs(g - w) / s for g, w, s in zip(row, want, scale, strict=True)]
            assert errors[0] < 2e-14, f"{e} at {at}: {row[0]}, expected {want[0]}"
            assert errors[1] < 2e-13, f"{e}' at {at}: {row[1]}, expected {want[1]}"
            assert errors[2] < 5e-12, f"{e}'' at {at}: {row[2]}, expected {want[2]}"
