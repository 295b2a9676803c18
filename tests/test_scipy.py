"""SciPy's functions on traced values: refusals, ends of supports, exact digits, and that SciPy is left as it was."""

import math
import sys
import threading
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.special
import scipy.stats
from scipy.special import logsumexp

from pullback.compiler.frontend.numpy.scipy.special.ufuncs import KNOWN
from pullback.compiler.frontend.numpy.ufuncs import RULES
from pullback.compiler.frontend.patched.recoded import recoded
from pullback.compiler.ir.primitive import REGISTRY
from pullback.compiler.ops.scipy.called import TABLE, UNKNOWN
from pullback.runtime.transforms import grad, jit, value_and_grad
from pullback.runtime.vmap import vmap
from tests.numpy_cases.special import UFUNCS

S: Any = scipy.special
stats: Any = scipy.stats
COMPLEX = {"hankel1", "hankel1e", "hankel2", "hankel2e", "kelvin", "wofz", "modfresnelm", "modfresnelp"}
"""Ufuncs whose results are complex."""

WITHOUT = {
    "smirnov", "smirnovi", "chndtridf", "nctdtridf", "nctdtrinc", "ncfdtridfd", "ncfdtridfn", "mathieu_a", "mathieu_b",
    "pro_cv", "obl_cv", "obl_rad2", "obl_rad2_cv",
}  # fmt: skip
"""Ufuncs whose values are known and none of whose derivatives."""

ALL = {name for name in dir(S) if isinstance(getattr(S, name), np.ufunc)}


def test_all_real_ufuncs_are_known() -> None:
    missing = {name for name in ALL - COMPLEX if getattr(S, name).__name__ not in RULES}
    assert not missing
    real = ALL - COMPLEX
    assert real - WITHOUT - set(UFUNCS) == set()  # each of these has a case with derivatives
    assert len(real - WITHOUT) >= 0.9 * len(real)
    for name in WITHOUT:
        row = TABLE[name]
        made = row.slopes(None, [None] * row.arity, [None] * row.outputs)  # type: ignore[list-item]
        assert all(partial is UNKNOWN or partial is None for partials in made for partial in partials)


def test_complex_ufuncs_are_refused() -> None:
    with pytest.raises(TypeError, match="not supported"):
        jit(lambda x: S.kelvin(x)[0])(1.5)
    assert "kelvin" not in KNOWN


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda v: S.jv(v, 1.2), "derivative of jv with respect to its argument 1"),
        (lambda a: S.hyp2f1(a, 1.2, 0.3, 0.4), "derivative of hyp2f1"),
        (lambda x: S.mathieu_a(2.0, x), "derivative of mathieu_a"),
        (lambda x: S.lambertw(x), "take the real part"),
        (lambda x: S.lambertw(x) * 2.0, "take the real part"),
        (lambda x: S.lambertw(x, 2).real, "the branch 2"),
        (lambda x: S.polygamma(x, 1.0), "traced n"),
        (lambda x: S.multigammaln(x, x), "traced d"),
        (lambda x: S.comb(x, 2, exact=True), "exact=True"),
        (lambda x: S.factorial(x, extend="complex"), "extend='complex'"),
        (lambda x: S.spherical_jn(np.array([1, 2]), x)[0], "several degrees"),
        (lambda x: stats.landau.logpdf(x), "known are alpha, anglit, arcsine"),
        (lambda x: stats.genhyperbolic.ppf(x, 0.5, 2.0, 1.0), "genhyperbolic.ppf"),
        (lambda x: stats.geninvgauss.logcdf(x, 2.0, 1.0), "geninvgauss.logcdf"),
        (lambda x: stats.exponweib.mean(x, 2.0), "exponweib.mean"),
        (lambda x: stats.skew(x, keepdims=True), "skew with keepdims"),
        (lambda x: stats.logser.cdf(3 * x, 0.5), "neither the largest number that there is nor k"),
        (lambda x: stats.poisson.expect(args=(x,)), "give lb and ub as numbers"),
        (lambda x: stats.boxcox(np.array([1.0, x])), "maximise stats.boxcox_llf"),
        (lambda x: stats.multivariate_normal.logpdf(x, allow_singular=True), "allow_singular"),
    ],
)
def test_refusals(function: Callable[..., Any], said: str) -> None:
    with pytest.raises(TypeError, match=said) as found:
        grad(function)(0.7)
    assert "test_scipy.py:" in str(found.value)  # the user's line


def test_functions_are_what_they_were_after_a_trace() -> None:
    code, method, x = logsumexp.__code__, stats.rv_continuous.logpdf.__code__, np.array([0.0, 1.0])
    want, seen = logsumexp(x), []
    with recoded(), recoded():
        assert logsumexp.__code__ is not code
        other = threading.Thread(target=lambda: seen.append(logsumexp(x, axis=0)))
        other.start()
        other.join()
        assert seen[0] == want == logsumexp(x)
        with pytest.raises(TypeError):
            logsumexp(x, nothing=1)  # type: ignore[call-arg]
    assert logsumexp.__code__ is code and stats.rv_continuous.logpdf.__code__ is method
    with pytest.raises(TypeError, match="nothing"):
        grad(lambda x: logsumexp(x, nothing=1))(x)  # type: ignore[call-arg]
    assert logsumexp.__code__ is code


def test_functions_in_branches_and_loops() -> None:
    def f(x: Any) -> Any:
        total: Any = 0.0
        for k in range(3):
            total = total + logsumexp(x * k)
        return total if total > 1.0 else stats.norm.cdf(total)

    x = np.array([0.3, 0.7])
    assert jit(f)(x) == pytest.approx(f(x), rel=1e-14)


def test_sums_of_exponentials_neither_overflow_nor_vanish() -> None:
    x = np.array([1000.0, 1000.5, -np.inf])
    value, slope = value_and_grad(logsumexp)(x)
    assert value == pytest.approx(logsumexp(x), rel=1e-15)
    np.testing.assert_allclose(slope, S.softmax(x), rtol=1e-12)
    low = np.array([-np.inf, -np.inf])
    assert jit(logsumexp)(low) == -np.inf


def test_outside_of_the_support_gradients_are_zero() -> None:
    x = np.array([-1.0, 0.5, 2.0])
    slope = grad(lambda x: np.sum(stats.expon.pdf(x) + stats.uniform.cdf(x)))(x)
    np.testing.assert_allclose(slope, [0.0, 1 - math.exp(-0.5), -math.exp(-2.0)], rtol=1e-14)
    shape = grad(lambda a: np.sum(stats.beta.pdf(x, a, 2.0)))(1.5)
    assert np.isfinite(shape)
    assert np.isnan(jit(lambda s: stats.norm.logpdf(0.3, 0.0, s))(-1.0))


def test_the_slope_in_degrees_of_freedom_at_zero() -> None:
    """Where t^2 has no slope, its own second derivatives are those of the density."""
    mixed = grad(lambda t: grad(lambda df: S.stdtr(df, t))(3.0))(0.0)
    h = 1e-5
    want = (stats.t.pdf(0.0, 3 + h) - stats.t.pdf(0.0, 3 - h)) / (2 * h)
    assert mixed == pytest.approx(want, rel=1e-6)


# ---- math


MATH: list[tuple[Callable[..., Any], tuple[float, ...]]] = [
    (math.gamma, (2.3,)), (math.gamma, (-1.4,)), (math.lgamma, (0.7,)), (math.erf, (0.4,)), (math.erfc, (0.4,)),
    (math.acosh, (1.6,)), (math.atanh, (0.4,)), (math.cbrt, (2.2,)), (math.exp2, (0.7,)), (math.copysign, (1.2, -0.5)),
    (math.fmod, (-5.3, 1.7)), (math.remainder, (5.3, 1.7)), (math.remainder, (-4.9, 1.7)), (math.log, (2.2, 3.1)),
    (math.hypot, (1.2, -0.3, 2.2)), (lambda x, y: math.dist([x, 1.0], (y, 3.0)), (0.4, 1.3)),
    (lambda x, y: math.fsum([x, 1e16, y, -1e16]), (0.4, 1.3)), (lambda x, y: math.prod([x, 2.0, y]), (0.4, 1.3)),
    (lambda x: math.modf(x)[0] + 2.0 * math.modf(x)[1], (-2.7,)),
]  # fmt: skip


@pytest.mark.parametrize(("function", "args"), MATH)
@pytest.mark.parametrize("branches", [False, True])
def test_functions_of_math(function: Callable[..., Any], args: tuple[float, ...], branches: bool) -> None:
    def f(*xs: Any) -> Any:
        if branches:
            for k in range(2):
                xs = (*xs[:-1], xs[-1] * (1.0 if k else 1.0 + 0.0 * k)) if xs[0] > -100.0 else xs
        return function(*xs)

    want, made = function(*args), jit(f)(*args)
    assert type(made) is float and made == pytest.approx(want, rel=1e-14)
    for k in range(len(args)):
        h = 1e-6
        up, down = ([a + s * h * (j == k) for j, a in enumerate(args)] for s in (1, -1))
        slope = grad(f, argnums=k)(*args)
        if function is not MATH[16][0]:  # whose differences are lost in its large terms
            assert slope == pytest.approx((function(*up) - function(*down)) / (2 * h), rel=1e-6, abs=1e-8)


@pytest.mark.parametrize(
    ("function", "x"),
    [
        (math.gamma, -2.0), (math.gamma, 180.0), (math.lgamma, -1.0), (math.acosh, 0.5), (math.atanh, 1.0),
        (lambda x: math.fmod(1.0, x), 0.0), (math.exp2, 1024.0),
    ],
)  # fmt: skip
def test_errors_of_math(function: Callable[..., Any], x: float) -> None:
    with pytest.raises((ValueError, OverflowError)) as wanted:
        function(x)
    with pytest.raises(wanted.type, match=str(wanted.value)[:17]):
        jit(lambda x: function(x))(x)


# ---- digits


def _exact(function: Callable[..., Any], *arrays: np.ndarray) -> np.ndarray:
    with mpmath.workdps(40):
        return np.array([float(function(*map(mpmath.mpf, map(float, each)))) for each in zip(*arrays, strict=True)])


def _evaluated(name: str, *arrays: np.ndarray, **attributes: int) -> np.ndarray:
    return REGISTRY[name].evaluate(list(arrays), attributes, ())[0]


def test_gamma_to_the_last_digits() -> None:
    rng = np.random.default_rng(1)
    x = np.concatenate([rng.uniform(0.5, 171.6, 300), -rng.uniform(0, 20, 200), 10.0 ** -rng.uniform(0, 300, 20)])
    want = _exact(mpmath.gamma, x)
    for made in (_evaluated("gamma", x), jit(S.gamma)(x)):
        assert np.max(np.abs(made - want) / np.spacing(np.abs(want))) <= 6
    ends = np.array([0.0, -0.0, -1.0, np.inf, -np.inf, 172.0])
    np.testing.assert_array_equal(jit(S.gamma)(ends), S.gamma(ends))


def test_incomplete_functions_of_wide_parameters() -> None:
    rng = np.random.default_rng(2)
    a = 10.0 ** rng.uniform(-2, 3, 500)
    x = a * 10.0 ** rng.uniform(-1, 0.6, 500)
    for upper, function in ((0, S.gammainc), (1, S.gammaincc)):
        want = function(a, x)
        made = _evaluated("gamma_moment", a, x, n=0, upper=upper)
        np.testing.assert_allclose(made[want > 1e-280], want[want > 1e-280], rtol=2e-12)
    a, b = (10.0 ** rng.uniform(-2, 2, 500) for _ in range(2))
    p = rng.uniform(0.01, 0.99, 500)
    want = S.betainc(a, b, p)
    made = _evaluated("beta_moment", a, b, p, i=0, j=0, upper=0)
    np.testing.assert_allclose(made[want > 1e-280], want[want > 1e-280], rtol=2e-12)


@pytest.mark.parametrize(("a", "x"), [(0.05, 0.3), (0.7, 2.5), (3.0, 1.0), (40.0, 55.0)])
def test_the_gamma_distribution_in_its_parameter(a: float, x: float) -> None:
    """Two derivatives, by mpmath's differences in many digits."""

    def function(q: Any) -> Any:
        return mpmath.gammainc(q, 0, x, regularized=True)

    with mpmath.workdps(50):
        h = mpmath.mpf(10) ** -12
        up, here, down = function(a + h), function(mpmath.mpf(a)), function(a - h)
        first, second = float((up - down) / (2 * h)), float((up - 2 * here + down) / h**2)
    slope = grad(lambda q: S.gammainc(q, x))
    assert slope(a) == pytest.approx(first, rel=1e-11)
    assert grad(slope)(a) == pytest.approx(second, rel=1e-9)


@pytest.mark.parametrize(("a", "b", "x"), [(0.3, 0.4, 0.6), (2.0, 3.5, 0.3), (30.0, 12.0, 0.8)])
def test_the_beta_distribution_in_its_parameters(a: float, b: float, x: float) -> None:
    with mpmath.workdps(50):
        h = mpmath.mpf(10) ** -12

        def f(p: Any, q: Any) -> Any:
            return mpmath.betainc(p, q, 0, x, regularized=True)

        in_a = float((f(a + h, b) - f(a - h, b)) / (2 * h))
        mixed = float((f(a + h, b + h) - f(a - h, b + h) - f(a + h, b - h) + f(a - h, b - h)) / (4 * h * h))
    slope = grad(lambda p, q: S.betainc(p, q, x))
    assert slope(a, b) == pytest.approx(in_a, rel=1e-11)
    assert grad(slope, argnums=1)(a, b) == pytest.approx(mixed, rel=1e-9)


def test_families_of_integrals() -> None:
    rng = np.random.default_rng(3)
    x, y, z, p = (10.0 ** rng.uniform(-2, 2, 300) for _ in range(4))
    none = dict.fromkeys("ijklt", 0)
    for name, given, factor, more in (
        ("elliprf", (x, y, z), 0.5, {}), ("elliprd", (x, y, z), 1.5, {"k": 1}),
        ("elliprj", (x, y, z, p), 1.5, {"l": 1}),
    ):
        made = factor * _evaluated("carlson", x, y, z, p, **{**none, **more})
        np.testing.assert_allclose(made, getattr(S, name)(*given), rtol=1e-13)
    phi, m = rng.uniform(-8, 8, 300), rng.uniform(-5, 1, 300)
    np.testing.assert_allclose(_evaluated("elliptic", phi, m, i=0, k=0), S.ellipkinc(phi, m), rtol=1e-13)
    v, x = rng.uniform(-10, 10, 300), 10.0 ** rng.uniform(-2, 2, 300)
    np.testing.assert_allclose(_evaluated("macdonald", v, x, n=0), S.kve(v, x), rtol=2e-12)
    s, q = rng.uniform(1.05, 20, 300), 10.0 ** rng.uniform(-2, 2, 300)
    np.testing.assert_allclose(_evaluated("zeta_logs", s, q, n=0), S.zeta(s, q), rtol=1e-13)


def test_slopes_of_zeta_below_zero() -> None:
    zeta: Any = lambda s: S.zetac(s)  # noqa: E731
    for s in (-171.5, -30.3, -4.0, -2.0, -0.1, 0.0, 0.4, 2.5):
        slope = grad(zeta)
        for order, function in ((1, slope), (2, grad(slope))):
            with mpmath.workdps(60):
                want = float(mpmath.diff(mpmath.zeta, s, order))
            np.testing.assert_allclose(function(s), want, rtol=2e-12)


def test_frames_of_exchanged_functions_can_be_read() -> None:
    """SciPy's wrappers close over names, and whoever reads those of their frames found no cells: a crash."""

    def watched(x: Any) -> Any:
        frame, exchanged = sys._getframe(), 0
        while frame is not None:
            exchanged += "dispatch" in dict(frame.f_locals)
            frame = frame.f_back
        assert exchanged
        return np.sum(x)

    x = np.array([1.0, 2.0, 4.5])
    made = grad(lambda x: stats.median_abs_deviation(x, center=lambda x, axis: watched(x) / x.shape[axis]))(x)
    assert np.isfinite(made).all()


@pytest.mark.filterwarnings("ignore")  # SciPy's of its integral
def test_quantiles_of_what_is_integrated_undo_it() -> None:
    there = lambda x, a: stats.norminvgauss.ppf(stats.norminvgauss.cdf(x, 2.0, a), 2.0, a)  # noqa: E731
    assert jit(there)(0.7, 0.5) == pytest.approx(0.7, rel=1e-7)
    assert grad(there)(0.7, 0.5) == pytest.approx(1.0, rel=1e-7)
    assert grad(there, argnums=1)(0.7, 0.5) == pytest.approx(0.0, abs=1e-7)
    np.testing.assert_allclose(vmap(there)(np.array([0.1, 0.7]), np.array([0.3, -0.4])), [0.1, 0.7], rtol=1e-6)
