"""The special functions under the names that PyTorch gives them, taking `out`."""

from __future__ import annotations

from ..calls.recording import record_functions
from ..ops.elementwise import elementary as E
from ..ops.elementwise import pointwise as P
from ..ops.elementwise import softmax as M
from ..ops.elementwise import special as F
from .results import written

digamma, erf, erfc, erfcx, erfinv = written(F.digamma, E.erf, F.erfc, F.erfcx, F.erfinv)
lgamma, polygamma, multigammaln = written(F.lgamma, F.polygamma, F.mvlgamma)
exp2, expm1, log1p, expit, logit, sinc = written(E.exp2, E.expm1, E.log1p, E.sigmoid, F.logit, F.sinc)
ndtr, ndtri, log_ndtr, entr = written(F.ndtr, F.ndtri, F.log_ndtr, F.entr)
i0, i0e, i1, i1e = written(F.i0, F.i0e, F.i1, F.i1e)
airy_ai, bessel_j0, bessel_j1, bessel_y0, bessel_y1 = written(
    F.airy_ai, F.bessel_j0, F.bessel_j1, F.bessel_y0, F.bessel_y1
)
(spherical_bessel_j0,) = written(F.spherical_bessel_j0)
xlogy, xlog1py, zeta, gammainc, gammaincc = written(F.xlogy, F.xlog1py, F.zeta, F.igamma, F.igammac)
modified_bessel_k0, modified_bessel_k1 = written(F.modified_bessel_k0, F.modified_bessel_k1)
(scaled_modified_bessel_k0,) = written(F.scaled_modified_bessel_k0)
(scaled_modified_bessel_k1,) = written(F.scaled_modified_bessel_k1)
(chebyshev_polynomial_t,) = written(F.chebyshev_polynomial_t)
(chebyshev_polynomial_u,) = written(F.chebyshev_polynomial_u)
(chebyshev_polynomial_v,) = written(F.chebyshev_polynomial_v)
(chebyshev_polynomial_w,) = written(F.chebyshev_polynomial_w)
(shifted_chebyshev_polynomial_t,) = written(F.shifted_chebyshev_polynomial_t)
(shifted_chebyshev_polynomial_u,) = written(F.shifted_chebyshev_polynomial_u)
(shifted_chebyshev_polynomial_v,) = written(F.shifted_chebyshev_polynomial_v)
(shifted_chebyshev_polynomial_w,) = written(F.shifted_chebyshev_polynomial_w)
hermite_polynomial_h, hermite_polynomial_he = written(F.hermite_polynomial_h, F.hermite_polynomial_he)
laguerre_polynomial_l, legendre_polynomial_p = written(F.laguerre_polynomial_l, F.legendre_polynomial_p)
(round,) = written(P.round_)
softmax, log_softmax = M.softmax, M.log_softmax
(logsumexp,) = written(M.logsumexp)

gammaln, psi, igamma, igammac, mvlgamma = lgamma, digamma, gammainc, gammaincc, multigammaln
modified_bessel_i0, modified_bessel_i1 = i0, i1

record_functions(globals())

__all__ = [
    "airy_ai", "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "chebyshev_polynomial_t", "chebyshev_polynomial_u",
    "chebyshev_polynomial_v", "chebyshev_polynomial_w", "digamma", "entr", "erf", "erfc", "erfcx", "erfinv", "exp2",
    "expit", "expm1", "gammainc", "gammaincc", "gammaln", "hermite_polynomial_h", "hermite_polynomial_he", "i0",
    "i0e", "i1", "i1e", "laguerre_polynomial_l", "legendre_polynomial_p", "log1p", "log_ndtr", "log_softmax",
    "logit", "logsumexp", "modified_bessel_i0", "modified_bessel_i1", "modified_bessel_k0", "modified_bessel_k1",
    "multigammaln", "ndtr", "ndtri", "polygamma", "psi", "round", "scaled_modified_bessel_k0",
    "scaled_modified_bessel_k1", "shifted_chebyshev_polynomial_t", "shifted_chebyshev_polynomial_u",
    "shifted_chebyshev_polynomial_v", "shifted_chebyshev_polynomial_w", "sinc", "softmax", "spherical_bessel_j0",
    "xlog1py", "xlogy", "zeta",
]  # fmt: skip
