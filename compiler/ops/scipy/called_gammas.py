"""Slopes of SciPy's gamma, beta and error functions, and of its distribution functions and their inverses.

Formulas: NIST Digital Library of Mathematical Functions, chapters 5, 7 and 8. What solves an equation of a distribution
function has the slopes that the equation gives.
"""

from __future__ import annotations

import math
from typing import Any

from .called import NATIVE, TABLE, UNKNOWN, inverse, many, one, same

ROOT_PI, ROOT_2 = math.sqrt(math.pi), math.sqrt(2.0)

# ---- the gamma function


def _psi(m: Any, x: Any) -> Any:
    return m.polygamma(x, n=0)


def _rgamma_slope(m: Any, x: Any, r: Any) -> Any:
    """-psi(x) / gamma(x); left of 1/2 by the reflection, where psi has poles and this has none."""
    low = m.lt(x, 0.5)
    y = m.select(low, 1.0 - x, 1.0)
    turned = m.gamma(y) * (m.cos(math.pi * x) - _psi(m, y) * m.sin(math.pi * x) * (1 / math.pi))
    return m.select(low, turned, -(r * _psi(m, m.select(low, 1.0, x))))


def _log_gamma(m: Any, x: Any) -> Any:
    return m.select(m.lt(x, 0.0), math.nan, m.lgamma(x))


NATIVE.update(
    gammaln=lambda m, x: m.lgamma(x), loggamma=_log_gamma, psi=_psi, digamma=_psi,
    gammasgn=lambda m, x: m.select(
        m.ge(x, 0.0), m.select(m.lt(1.0 / x, 0.0), -m.one(x), 1.0),
        m.select(m.eq(x, m.floor(x)), math.nan, 1.0 - 2.0 * m.mod(m.floor(x), 2.0)),
    ),
)  # fmt: skip


def _beta_slope(m: Any, a: Any, b: Any) -> Any:
    return _psi(m, a) - _psi(m, a + b)


def _binomial(m: Any, n: Any, k: Any) -> Any:
    """In reciprocals of gamma functions, which have no poles."""
    return m.gamma(n + 1.0) * m.rgamma(k + 1.0) * m.rgamma(n - k + 1.0)


def _binomial_slopes(m: Any, n: Any, k: Any, r: Any, place: int) -> Any:
    """By psi inside, where gamma functions may overflow; elsewhere by reciprocals of them."""
    inside = m.and_(m.gt(k, -0.9), m.gt(n - k, -0.9))
    at_n, at_k = m.select(inside, n, 2.0), m.select(inside, k, 1.0)
    rest = _psi(m, at_n - at_k + 1.0)
    near = (_psi(m, at_n + 1.0) - rest, rest - _psi(m, at_k + 1.0))[place]
    n, k = m.select(inside, 0.3, n), m.select(inside, 0.2, k)
    top, low, up = m.gamma(n + 1.0), m.rgamma(k + 1.0), m.rgamma(n - k + 1.0)
    at_low, at_up = _rgamma_slope(m, k + 1.0, low), _rgamma_slope(m, n - k + 1.0, up)
    far = (top * low * (_psi(m, n + 1.0) * up + at_up), top * (at_low * up - low * at_up))[place]
    return m.select(inside, r * near, far)


TABLE.update(
    rgamma=one(_rgamma_slope),
    beta=one(lambda m, a, b, r: r * _beta_slope(m, a, b), lambda m, a, b, r: r * _beta_slope(m, b, a)),
    betaln=one(lambda m, a, b, r: _beta_slope(m, a, b), lambda m, a, b, r: _beta_slope(m, b, a)),
    binom=one(
        lambda m, n, k, r: _binomial_slopes(m, n, k, r, 0), lambda m, n, k, r: _binomial_slopes(m, n, k, r, 1)
    ),
    poch=one(lambda m, z, n, r: r * (_psi(m, z + n) - _psi(m, z)), lambda m, z, n, r: r * _psi(m, z + n)),
)  # fmt: skip

# ---- incomplete gamma and beta functions


def _gamma_density(m: Any, a: Any, x: Any) -> Any:
    return m.exp(m.xlogy(a - 1.0, x) - x - m.gammaln(a))


def _beta_density(m: Any, a: Any, b: Any, x: Any) -> Any:
    return m.exp(m.xlogy(a - 1.0, x) + m.xlog1py(b - 1.0, -x) - m.betaln(a, b))


def _beta_row(upper: int) -> Any:
    sign = -1.0 if upper else 1.0
    return one(
        lambda m, a, b, x, r: m.beta_moment(a, b, x, i=1, j=0, upper=upper),
        lambda m, a, b, x, r: m.beta_moment(a, b, x, i=0, j=1, upper=upper),
        lambda m, a, b, x, r: sign * _beta_density(m, a, b, x),
    )


TABLE.update(
    gammainc=one(
        lambda m, a, x, r: m.gamma_moment(a, x, n=1, upper=0), lambda m, a, x, r: _gamma_density(m, a, x)
    ),
    gammaincc=one(
        lambda m, a, x, r: m.gamma_moment(a, x, n=1, upper=1), lambda m, a, x, r: -_gamma_density(m, a, x)
    ),
    gammaincinv=inverse(1, lambda m, a, x: m.gammainc(a, x)),
    gammainccinv=inverse(1, lambda m, a, x: m.gammaincc(a, x)),
    betainc=_beta_row(0),
    betaincc=_beta_row(1),
    betaincinv=inverse(2, lambda m, a, b, x: m.betainc(a, b, x)),
    betainccinv=inverse(2, lambda m, a, b, x: m.betaincc(a, b, x)),
    btdtria=inverse(0, lambda m, a, b, x: m.betainc(a, b, x)),
    btdtrib=inverse(1, lambda m, a, b, x: m.betainc(a, b, x)),
)  # fmt: skip

# ---- distributions


def _student_df(m: Any, df: Any, t: Any, r: Any) -> Any:
    """Of 1 - I(df/2, 1/2; df / (df + t^2)) / 2: by its first parameter and by its argument."""
    t = t + m.select(m.eq(t, 0.0), 1e-18 * m.one(t), 0.0)  # the sum, so that the slope at zero is seen
    square = t * t
    moment = m.beta_moment(0.5 * m.one(t), 0.5 * df, square / (df + square), i=0, j=1, upper=1)
    return m.sign(t) * -0.25 * moment - t * _student_density(m, df, t) / (2.0 * df)


def _student_density(m: Any, df: Any, t: Any) -> Any:
    log = -0.5 * (df + 1.0) * m.log1p(t * t / df) - m.betaln(0.5 * df, 0.5 * m.one(df))
    return m.exp(log) / m.sqrt(df)


def _wide_binomial(m: Any, k: Any, n: Any, p: Any) -> Any:
    """The distribution function for any real number of successes and trials."""
    return m.betainc(n - k, k + 1.0, 1.0 - p)


def _binomial_p(sign: float) -> Any:
    def slope(m: Any, k: Any, n: Any, p: Any, r: Any) -> Any:
        k, n = m.floor(k), m.real(n, p)
        inside = m.and_(m.ge(k, 0.0), m.lt(k, n))
        a, b = m.select(inside, n - k, 1.0), m.select(inside, k + 1.0, 1.0)
        return m.select(inside, sign * _beta_density(m, a, b, 1.0 - p), 0.0)

    return slope


def _failures_p(sign: float) -> Any:
    return lambda m, k, n, p, r: sign * _beta_density(m, m.real(n, p), m.real(k, p) + 1.0, p)


def _noncentral_chi_density(m: Any, x: Any, df: Any, nc: Any) -> Any:
    half = 0.5 * df
    return 0.5 * m.exp(m.xlogy(half - 1.0, 0.5 * x) - 0.5 * (x + nc) - m.gammaln(half)) * m.hyp0f1(half, 0.25 * nc * x)


def _noncentral_f_density(m: Any, n: Any, d: Any, nc: Any, f: Any) -> Any:
    """The central one times exp(-nc/2) and Kummer's function."""
    a, b, whole = 0.5 * n, 0.5 * d, d + n * f
    log = m.xlogy(a - 1.0, n * f / whole) + b * m.log(d / whole) - m.betaln(a, b)
    return m.exp(log - 0.5 * nc) * m.hyp1f1(a + b, a, 0.5 * nc * n * f / whole) * n / whole


def _noncentral_t(m: Any, df: Any, nc: Any, t: Any, r: Any) -> Any:
    """Its density by two of Kummer's functions."""
    far = df + t * t
    z, half = 0.5 * nc * nc * t * t / far, m.one(t) * 0.5
    log = 0.5 * df * m.log(df / far) + m.gammaln(df + 1.0) - 0.5 * nc * nc - math.log(2.0) * df - m.gammaln(0.5 * df)
    odd = ROOT_2 * nc * t / far * m.exp(log - m.gammaln(0.5 * (df + 1.0))) * m.hyp1f1(0.5 * df + 1.0, 3.0 * half, z)
    even = m.exp(log - m.gammaln(0.5 * df + 1.0)) / m.sqrt(far) * m.hyp1f1(0.5 * (df + 1.0), half, z)
    return odd + even


NATIVE.update(
    dawsn=lambda m, x: m.dawson(x, n=0),
    ndtr=lambda m, x: 0.5 * m.erfc(x * -(1 / ROOT_2)),
    chdtr=lambda m, v, x: m.gammainc(0.5 * v, 0.5 * x), chdtrc=lambda m, v, x: m.gammaincc(0.5 * v, 0.5 * x),
    gdtr=lambda m, a, b, x: m.gammainc(b, a * x), gdtrc=lambda m, a, b, x: m.gammaincc(b, a * x),
    fdtr=lambda m, a, b, x: m.betainc(0.5 * a, 0.5 * b, a * x / (b + a * x)),
    fdtrc=lambda m, a, b, x: m.betainc(0.5 * b, 0.5 * a, b / (b + a * x)),
    nrdtrimn=lambda m, p, sd, x: x - sd * m.ndtri(p), nrdtrisd=lambda m, mean, p, x: (x - mean) / m.ndtri(p),
)  # fmt: skip
_POISSON = lambda m, k, mean: m.gammaincc(k + 1.0, mean)  # noqa: E731 - for any real k
TABLE.update(
    pdtr=one(None, lambda m, k, mean, r: -_gamma_density(m, m.floor(k) + 1.0, mean)),
    pdtrc=one(None, lambda m, k, mean, r: _gamma_density(m, m.floor(k) + 1.0, mean)),
    pdtri=inverse(1, lambda m, k, mean: m.gammaincc(m.floor(m.real(k, mean)) + 1.0, mean)),
    pdtrik=inverse(0, _POISSON),
    bdtr=one(None, None, _binomial_p(-1.0)), bdtrc=one(None, None, _binomial_p(1.0)),
    bdtri=inverse(2, lambda m, k, n, p: _wide_binomial(m, m.floor(k), m.floor(m.real(n, p)), p)),
    bdtrik=inverse(0, _wide_binomial), bdtrin=inverse(1, _wide_binomial),
    nbdtr=one(None, None, _failures_p(1.0)), nbdtrc=one(None, None, _failures_p(-1.0)),
    nbdtri=inverse(2, lambda m, k, n, p: m.betainc(m.floor(m.real(n, p)), m.floor(m.real(k, p)) + 1.0, p)),
    nbdtrik=inverse(0, lambda m, k, n, p: m.betainc(n, k + 1.0, p)),
    nbdtrin=inverse(1, lambda m, k, n, p: m.betainc(n, k + 1.0, p)),
    chdtri=inverse(1, lambda m, v, x: m.chdtrc(v, x)), chdtriv=inverse(0, lambda m, v, x: m.chdtr(v, x)),
    fdtri=inverse(2, lambda m, a, b, x: m.fdtr(a, b, x)), fdtridfd=inverse(1, lambda m, a, b, x: m.fdtr(a, b, x)),
    gdtria=inverse(0, lambda m, a, b, x: m.gdtr(a, b, x)), gdtrib=inverse(1, lambda m, a, b, x: m.gdtr(a, b, x)),
    gdtrix=inverse(2, lambda m, a, b, x: m.gdtr(a, b, x)),
    stdtr=one(_student_df, lambda m, df, t, r: _student_density(m, df, t)),
    stdtridf=inverse(0, lambda m, df, t: m.stdtr(df, t)), stdtrit=inverse(1, lambda m, df, t: m.stdtr(df, t)),
    chndtr=one(
        lambda m, x, df, nc, r: _noncentral_chi_density(m, x, df, nc), UNKNOWN,
        lambda m, x, df, nc, r: 0.5 * (m.chndtr(x, df + 2.0, nc) - r),
    ),
    chndtrix=inverse(0, lambda m, x, df, nc: m.chndtr(x, df, nc)),
    chndtrinc=inverse(2, lambda m, x, df, nc: m.chndtr(x, df, nc)),
    ncfdtr=one(
        UNKNOWN, UNKNOWN, lambda m, n, d, nc, f, r: 0.5 * (m.ncfdtr(n + 2.0, d, nc, f * n / (n + 2.0)) - r),
        lambda m, n, d, nc, f, r: _noncentral_f_density(m, n, d, nc, f),
    ),
    ncfdtri=inverse(3, lambda m, n, d, nc, f: m.ncfdtr(n, d, nc, f)),
    ncfdtrinc=inverse(2, lambda m, n, d, nc, f: m.ncfdtr(n, d, nc, f)),
    nctdtr=one(UNKNOWN, UNKNOWN, _noncentral_t),
    nctdtrit=inverse(2, lambda m, df, nc, t: m.nctdtr(df, nc, t)),
    tklmbda=inverse(0, lambda m, p, shape: m.boxcox(p, shape) - m.boxcox(1.0 - p, shape)),
    smirnov=one(None, UNKNOWN), smirnovi=one(None, UNKNOWN),
    chndtridf=one(*[UNKNOWN] * 3), nctdtridf=one(*[UNKNOWN] * 3), nctdtrinc=one(*[UNKNOWN] * 3),
    ncfdtridfd=one(*[UNKNOWN] * 4), ncfdtridfn=one(*[UNKNOWN] * 4),
)  # fmt: skip


def _kolmogorov(m: Any, x: Any) -> Any:
    """Its two series, of which each has few terms on its side of 1."""
    low = m.lt(x, 1.0)
    large, small = m.select(low, 2.0, x), m.select(low, x, 0.5)
    far = sum((2.0 * (-1) ** (k - 1) * m.exp(-2.0 * k * k * (large * large)) for k in range(2, 6)),
              2.0 * m.exp(-2.0 * (large * large)))  # fmt: skip
    turn = math.pi**2 / 8
    near = sum((m.exp(-turn * k * k / (small * small)) for k in (3, 5, 7)), m.exp(-turn / (small * small)))
    return m.select(low, 1.0 - math.sqrt(2 * math.pi) * near / small, far)


def _kolmogorov_slope(m: Any, x: Any, r: Any) -> Any:
    low = m.lt(x, 1.0)
    large, small = m.select(low, 2.0, x), m.select(low, x, 0.5)
    far = sum((8.0 * (-1) ** k * k * k * large * m.exp(-2.0 * k * k * (large * large)) for k in range(2, 6)),
              -8.0 * large * m.exp(-2.0 * (large * large)))  # fmt: skip
    turn, square = math.pi**2 / 8, small * small
    terms = [m.exp(-turn * k * k / square) * (2 * turn * k * k / square - 1.0) for k in (1, 3, 5, 7)]
    near = -math.sqrt(2 * math.pi) * (terms[0] + terms[1] + terms[2] + terms[3]) / square
    return m.select(low, near, far)


TABLE.update(
    kolmogorov=one(_kolmogorov_slope),
    kolmogi=one(lambda m, p, r: 1.0 / _kolmogorov_slope(m, r, p)),
)

# ---- error functions


def _error(m: Any, x: Any) -> Any:
    return 2 / ROOT_PI * m.exp(-(x * x))


TABLE.update(
    erfcinv=one(lambda m, p, r: -0.5 * ROOT_PI * m.exp(r * r)),
    ndtri_exp=one(lambda m, y, r: math.sqrt(2 * math.pi) * m.exp(y + 0.5 * (r * r))),
    owens_t=one(
        lambda m, h, a, r: m.exp(-0.5 * (h * h)) * m.erf(a * h * (1 / ROOT_2)) * (-0.5 / math.sqrt(2 * math.pi)),
        lambda m, h, a, r: m.exp(-0.5 * (h * h) * (1.0 + a * a)) / (2 * math.pi * (1.0 + a * a)),
    ),
)  # fmt: skip


def _faddeeva(place: int) -> Any:
    """w' = -2 z w + 2 i / sqrt(pi), in real and imaginary parts."""
    def slope(m: Any, x: Any, y: Any, u: Any, v: Any) -> Any:
        return (-2.0 * (x * u - y * v), 2.0 * (x * v + y * u) - 2 / ROOT_PI, 2 / ROOT_PI - 2.0 * (x * v + y * u))[place]

    return slope


TABLE.update(
    faddeeva=many((_faddeeva(0), _faddeeva(1)), (_faddeeva(2), _faddeeva(0))),
    voigt_profile=same(
        lambda m, x, sigma, gamma: m.faddeeva(x / (sigma * ROOT_2), gamma / (sigma * ROOT_2))[0]
        / (sigma * math.sqrt(2 * math.pi))
    ),
)
