"""Special functions: gamma, error, Bessel and entropy functions, and the normal distribution."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .....compiler.ops.complex.pair import Pair
from .....compiler.ops.scipy.called import Functions
from ...face.required import check_tensors
from ...trace.fragments.fragments import RESULT, Operation
from ...value.core import Core, Tensor, apply
from ...value.given import real
from .arithmetic import mul
from .elementary import unary

lgamma = unary("lgamma", "LgammaBackward0", lambda m, x: m.lgamma(x))
digamma = unary("digamma", "DigammaBackward0", lambda m, x: m.polygamma(x, n=0))
erfc = unary("erfc", "ErfcBackward0", lambda m, x: m.erfc(x))
erfcx = unary("erfcx", "SpecialErfcxBackward0", lambda m, x: m.erfcx(x))
erfinv = unary("erfinv", "ErfinvBackward0", lambda m, x: m.erfinv(x), loose=RESULT)
ndtr = unary("ndtr", "MulBackward0", lambda m, x: 0.5 * m.erfc(x * -math.sqrt(0.5)))
ndtri = unary("ndtri", "SpecialNdtriBackward0", lambda m, x: m.ndtri(x))
log_ndtr = unary("log_ndtr", "SpecialLogNdtrBackward0", lambda m, x: m.log_ndtr(x))
entr = unary("entr", "SpecialEntrBackward0", lambda m, x: m.entr(x))
i0 = unary("i0", "I0Backward0", lambda m, x: m.i0(x))
i0e = unary("i0e", "SpecialI0EBackward0", lambda m, x: m.i0e(x), loose=RESULT)
i1 = unary("i1", "SpecialI1Backward0", lambda m, x: m.i1(x), loose=RESULT)
i1e = unary("i1e", "SpecialI1EBackward0", lambda m, x: m.i1e(x), loose=RESULT)
_airy_ai = unary("airy_ai", "SpecialAiryAiBackward0", lambda m, x: Functions(m.b).airy(x)[0])
bessel_j0 = unary("bessel_j0", "SpecialBesselJ0Backward0", lambda m, x: m.bessel_j0(x))
bessel_j1 = unary("bessel_j1", "SpecialBesselJ1Backward0", lambda m, x: m.bessel_j1(x))
bessel_y0 = unary("bessel_y0", "SpecialBesselY0Backward0", lambda m, x: m.bessel_y0(x))
bessel_y1 = unary("bessel_y1", "SpecialBesselY1Backward0", lambda m, x: m.bessel_y1(x))


modified_bessel_k0 = unary(
    "modified_bessel_k0", "SpecialModifiedBesselK0Backward0", lambda m, x: m.modified_bessel_k0(x)
)
modified_bessel_k1 = unary(
    "modified_bessel_k1", "SpecialModifiedBesselK1Backward0", lambda m, x: m.modified_bessel_k1(x)
)
scaled_modified_bessel_k0 = unary(
    "scaled_modified_bessel_k0", "SpecialScaledModifiedBesselK0Backward0", lambda m, x: m.scaled_modified_bessel_k0(x)
)
scaled_modified_bessel_k1 = unary(
    "scaled_modified_bessel_k1", "SpecialScaledModifiedBesselK1Backward0", lambda m, x: m.scaled_modified_bessel_k1(x)
)


def airy_ai(input: Tensor) -> Tensor:
    """Airy's function Ai, which is SciPy's."""
    import scipy.special  # noqa: F401 - as its functions are called where it is there

    return _airy_ai(input)


def _sinc(m: Any, x: Any) -> Any:
    if isinstance(x, Pair):
        z, nothing = x * math.pi, m.eq(x, 0)
        return m.select(nothing, 1.0, m.sin(z) / m.select(nothing, 1.0, z))
    return m.sinc(x * math.pi, n=0)


sinc = unary("sinc", "SincBackward0", _sinc)
spherical_bessel_j0 = unary(
    "spherical_bessel_j0", "SpecialSphericalBesselJ0Backward0", lambda m, x: _sinc(m, x * (1 / math.pi))
)

POLYGAMMA = Operation("polygamma", "PolygammaBackward0", lambda m, x, n: m.polygamma(x, n=n), "float")


def polygamma(n: int, input: Tensor) -> Tensor:
    """The n-th derivative of digamma, n at least 0."""
    if isinstance(n, Core) and isinstance(input, int):
        n, input = input, n  # as a method: x.polygamma(n)  # type: ignore[assignment]
    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")
    return apply(POLYGAMMA, (input,), (n.__index__(),))


def mvlgamma(input: Tensor, p: int) -> Tensor:
    """The logarithm of the multivariate gamma function of dimension p."""
    if p < 1:
        raise RuntimeError(f"mvlgamma: p has to be greater than or equal to 1, got {p}")
    return apply(MVLGAMMA, (input,), (p,))


def _mvlgamma(m: Any, x: Any, p: int) -> Any:
    made = p * (p - 1) / 4 * math.log(math.pi)
    for k in range(p):
        made = m.lgamma(x + -0.5 * k) + made
    return made


MVLGAMMA = Operation("mvlgamma", "MvlgammaBackward0", _mvlgamma, "float")

# ---- two arguments


def _pair(name: str, node: str, formula: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    """The function of two tensors, or of a number and a tensor, whose nodes are told apart by a number at their end."""
    operations = [Operation(name, f"{node}Backward{k}", formula, "float", True) for k in range(3)]

    def function(input: Any, other: Any) -> Any:
        first, second = isinstance(input, Core), isinstance(other, Core)
        if not (first or second):
            given = f"{type(input).__name__} and {type(other).__name__}"
            raise TypeError(f"{name}(): expected at least one Tensor, got {given}")
        return apply(operations[0 if first and second else 1 if second else 2], (input, other))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"`{name}` of each pair of elements; one of them may be a number."
    return function


xlogy = _pair("xlogy", "Xlogy", lambda m, x, y: m.xlogy(x, y))
xlog1py = _pair("xlog1py", "SpecialXlog1Py", lambda m, x, y: m.xlog1py(x, y))
zeta = _pair("zeta", "SpecialZeta", lambda m, x, y: m.zeta(x, y))


def _polynomials(family: str, shifted: bool = False) -> Callable[[Any, Any], Any]:
    """The polynomials of a family; shifted ones are of 2x - 1."""
    stem, last = family.rsplit("_", 1)
    name = f"{'shifted_' if shifted else ''}{stem}_polynomial_{last}"

    def formula(m: Any, x: Any, n: Any) -> Any:
        return m.polynomial(2.0 * x - 1.0 if shifted else x, n, family=family)

    both = _pair(name, f"Special{name.title().replace('_', '')}", formula)

    def polynomial(x: Any, n: Any) -> Any:
        return both(x, n)

    polynomial.__name__ = polynomial.__qualname__ = name
    polynomial.__doc__ = f"`{name}` of degree n at x, element by element; one of them may be a number."
    return polynomial


chebyshev_polynomial_t, chebyshev_polynomial_u = _polynomials("chebyshev_t"), _polynomials("chebyshev_u")
chebyshev_polynomial_v, chebyshev_polynomial_w = _polynomials("chebyshev_v"), _polynomials("chebyshev_w")
hermite_polynomial_h, hermite_polynomial_he = _polynomials("hermite_h"), _polynomials("hermite_he")
laguerre_polynomial_l, legendre_polynomial_p = _polynomials("laguerre_l"), _polynomials("legendre_p")
shifted_chebyshev_polynomial_t, shifted_chebyshev_polynomial_u, shifted_chebyshev_polynomial_v = (
    _polynomials(f"chebyshev_{k}", True) for k in "tuv"
)
shifted_chebyshev_polynomial_w = _polynomials("chebyshev_w", True)


def _tensors(name: str, node: str, formula: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    """The same of two tensors."""
    both = _pair(name, node, formula)

    def function(input: Tensor, other: Tensor) -> Tensor:
        check_tensors(name, input=input, other=other)
        return both(input, other)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"`{name}` of each pair of elements."
    return function


igamma = _tensors("igamma", "Igamma", lambda m, x, y: m.gammainc(x, y))
igammac = _tensors("igammac", "Igammac", lambda m, x, y: m.gammaincc(x, y))


def _logit(m: Any, x: Any) -> Any:
    return m.log(x / (1 - x))


def _logit_eps(m: Any, x: Any, eps: float) -> Any:
    inside = m.and_(m.ge(x, eps), m.le(x, 1 - eps))
    made = m.select(m.lt(x, eps), eps, m.select(m.gt(x, 1 - eps), 1 - eps, x))
    return m.select(inside, _logit(m, x), _logit(m, made))


def _logit_pull(m: Any, inputs: Any, results: Any, cts: Any) -> Any:
    (x,), (ct,) = inputs, cts
    inside = m.and_(m.ge(x, 0), m.le(x, 1))
    return [m.select(inside, ct / (x * (1 - x)), math.nan)]


LOGIT = Operation("logit", "LogitBackward0", _logit, pull=_logit_pull)
LOGIT_EPS = Operation("logit", "LogitBackward0", _logit_eps)


def logit(input: Tensor, eps: float | None = None) -> Tensor:
    """log(x / (1 - x)), where x is moved into eps .. 1 - eps if that is given."""
    input = as_float(input)
    return apply(LOGIT, (input,)) if eps is None else apply(LOGIT_EPS, (input,), (real(eps),))


def as_float(input: Tensor) -> Tensor:
    """The tensor, integers as floats."""
    return input if input._kind_of().is_float else mul(input, 1.0)
