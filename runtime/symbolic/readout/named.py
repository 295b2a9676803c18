"""Functions of SciPy's as SymPy's: the name and the arguments go in, what SymPy calls each result comes out.

    results_of("sici", 2, [x])         [Si(x), Ci(x)]
    results_of("owens_t", 1, [h, a])   [owens_t(h, a)]        of a name that SymPy does not have

A function without a name in SymPy stands there by SciPy's, undefined: `lambdify` computes it by `modules=`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..shared.library import sympy_module


def _over(top: str, bottom: str) -> Callable[..., Any]:
    """An incomplete gamma function over the whole one."""
    return lambda s, a, x: getattr(s, top)(a, x) / getattr(s, bottom)(a)


def _scaled(name: str, factor: Callable[..., Any]) -> Callable[..., Any]:
    return lambda s, v, x: factor(s, x) * getattr(s, name)(v, x)


def _alike(*names: str) -> dict[str, Callable[..., Any]]:
    """Functions that take the same arguments in both: 'SciPy's name=SymPy's'."""
    made = {}
    for each in names:
        theirs, _, ours = each.partition("=")
        made[theirs] = lambda s, *args, ours=ours: getattr(s, ours)(*args)
    return made


def _several(*names: str) -> Callable[..., Any]:
    return lambda s, *args: [getattr(s, name)(*args) for name in names]


NAMES: dict[str, Callable[..., Any]] = {
    **_alike(
        "jv=besselj", "yv=bessely", "iv=besseli", "kv=besselk", "yn=bessely", "kn=besselk", "spherical_jn=jn",
        "spherical_yn=yn", "beta=beta", "binom=binomial", "poch=RisingFactorial", "expi=Ei", "exp1=E1", "expn=expint",
        "erfi=erfi", "erfcinv=erfcinv", "ellipk=elliptic_k", "ellipe=elliptic_e", "ellipkinc=elliptic_f",
        "ellipeinc=elliptic_e", "lambertw=LambertW", "hurwitz=zeta", "eval_legendre=legendre",
        "eval_chebyt=chebyshevt", "eval_chebyu=chebyshevu", "eval_hermite=hermite", "eval_hermitenorm=hermite_prob",
        "eval_laguerre=laguerre", "eval_genlaguerre=assoc_laguerre", "eval_gegenbauer=gegenbauer",
        "eval_jacobi=jacobi",
    ),
    "lambertw_below": lambda s, x: s.LambertW(x, -1),
    "lpmv": lambda s, k, n, x: s.assoc_legendre(n, k, x),
    "gammainc": _over("lowergamma", "gamma"),
    "gammaincc": _over("uppergamma", "gamma"),
    "rgamma": lambda s, x: 1 / s.gamma(x),
    "betaln": lambda s, a, b: s.loggamma(a) + s.loggamma(b) - s.loggamma(a + b),
    "betainc": lambda s, a, b, x: s.betainc_regularized(a, b, 0, x),
    "betaincc": lambda s, a, b, x: s.betainc_regularized(a, b, x, 1),
    "zetac": lambda s, x: s.zeta(x) - 1,
    "spence": lambda s, z: s.polylog(2, 1 - z),
    "dawsn": lambda s, x: s.sqrt(s.pi) / 2 * s.exp(-(x**2)) * s.erfi(x),
    "exprel": lambda s, x: s.Piecewise(((s.exp(x) - 1) / x, s.Ne(x, 0)), (1, True)),
    "powm1": lambda s, x, y: x**y - 1,
    "ellipkm1": lambda s, p: s.elliptic_k(1 - p),
    "boxcox": lambda s, x, k: s.Piecewise(((x**k - 1) / k, s.Ne(k, 0)), (s.log(x), True)),
    "inv_boxcox": lambda s, y, k: s.Piecewise(((k * y + 1) ** (1 / k), s.Ne(k, 0)), (s.exp(y), True)),
    "ive": _scaled("besseli", lambda s, x: s.exp(-s.Abs(x))),
    "kve": _scaled("besselk", lambda s, x: s.exp(x)),
    "jve": _scaled("besselj", lambda s, x: 1),
    "yve": _scaled("bessely", lambda s, x: 1),
    "hyp2f1": lambda s, a, b, c, x: s.hyper([a, b], [c], x),
    "hyp1f1": lambda s, a, b, x: s.hyper([a], [b], x),
    "hyp0f1": lambda s, b, x: s.hyper([], [b], x),
    "sici": _several("Si", "Ci"),
    "shichi": _several("Shi", "Chi"),
    "fresnel": _several("fresnels", "fresnelc"),
    "airy": _several("airyai", "airyaiprime", "airybi", "airybiprime"),
}
"""By SciPy's name: (sympy, arguments) -> the expression, or one for each result."""


def results_of(name: str, count: int, args: Sequence[Any]) -> list[Any]:
    """What the results of a function of SciPy's are, which are so many."""
    sympy = sympy_module()

    found = NAMES.get(name)
    try:
        made = None if found is None else found(sympy, *args)
    except ValueError:  # outside of what SymPy has it for
        made = None
    if made is None:
        return [sympy.Function(name if count == 1 else f"{name}_{k}", real=True)(*args) for k in range(count)]
    return list(made) if isinstance(made, (list, tuple)) else [made]


__all__ = ["results_of"]
