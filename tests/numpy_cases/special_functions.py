"""Cases of scipy.special's functions that are written in Python, imported as users do."""

from typing import Any

import numpy as np
from scipy import special
from scipy.special import logsumexp, softmax

from tests.numpy_cases import Case, spread

S: Any = special
X, P, U = spread(3, 4), spread(6, low=0.3, high=3.1), spread(6, low=0.1, high=0.9)
W = np.array([[2.0, -0.2, 0.0, 3.0]])

CASES = [
    Case("scipy.special.logsumexp", lambda x: logsumexp(x), (X,)),
    Case("scipy.special.logsumexp axis", lambda x: logsumexp(x, axis=1), (X,)),
    Case("scipy.special.logsumexp axes", lambda x: S.logsumexp(x, axis=(0, -1), keepdims=True), (X,)),
    Case("scipy.special.logsumexp b", lambda x, w: logsumexp(x, axis=0, b=w), (X, np.abs(W) + 0.1)),
    Case(
        "scipy.special.logsumexp return_sign",
        lambda x: logsumexp(x, axis=1, b=W, return_sign=True, keepdims=True)[0], (X,),
    ),
    Case("scipy.special.logsumexp signs", lambda x: logsumexp(x, b=-1.0, return_sign=True), (X,), 0),
    Case("scipy.special.softmax", lambda x: softmax(x), (X,)),
    Case("scipy.special.softmax axis", lambda x: softmax(x, axis=-1), (X,)),
    Case("scipy.special.log_softmax", lambda x: S.log_softmax(x, axis=0), (X,)),
    Case("scipy.special.multigammaln", lambda a: S.multigammaln(a, 3), (P + 1.0,)),
    Case("scipy.special.factorial", lambda n: S.factorial(n), (P,), f32=False),
    Case("scipy.special.comb", lambda n, k: S.comb(n, k), (P + 3.0, P)),
    Case("scipy.special.comb repetition", lambda n, k: S.comb(n, k, repetition=True), (P + 3.0, P)),
    Case("scipy.special.perm", lambda n, k: S.perm(n, k), (P + 3.0, P)),
    Case("scipy.special.polygamma", lambda x: S.polygamma(2, x), (P,), f32=False),
    Case("scipy.special.polygamma of order 0", lambda x: S.polygamma(0, x), (P,), f32=False, rtol=1e-11),
    Case("scipy.special.zeta", lambda x, q: S.zeta(x, q), (P + 1.2, P)),
    Case("scipy.special.zeta of Riemann", lambda x: S.zeta(x), (P + 1.2,)),
    Case("scipy.special.lambertw", lambda x: S.lambertw(x).real, (P,), f32=False),
    Case("scipy.special.lambertw below", lambda x: S.lambertw(x, -1).real, (-0.35 * U,), f32=False),
    Case("scipy.special.diric", lambda x: S.diric(x, 5), (spread(6),)),
    Case("scipy.special.diric even", lambda x: S.diric(x, 4), (spread(6, low=-9.0, high=9.5),)),
    Case("scipy.special.spherical_jn", lambda x: S.spherical_jn(2, x), (P,), f32=False),
    Case("scipy.special.spherical_jn of degree 0", lambda x: S.spherical_jn(0, x), (P,), f32=False),
    Case("scipy.special.spherical_yn", lambda x: S.spherical_yn(1, x, derivative=True), (P,), f32=False),
    Case("scipy.special.spherical_in", lambda x: S.spherical_in(3, x), (P,), f32=False),
    Case("scipy.special.spherical_kn", lambda x: S.spherical_kn(2, x), (P,), f32=False),
    Case("scipy.special.jvp", lambda x: S.jvp(1.5, x, 2), (P,)),
    Case("scipy.special.kvp", lambda x: S.kvp(1.5, x), (P,), rtol=1e-11),
    Case("scipy.special.assoc_laguerre", lambda x: S.assoc_laguerre(x, 3, 0.5), (P,)),
    *([Case("scipy.special.softplus", lambda x: S.softplus(x), (X,))] if hasattr(S, "softplus") else []),
]
