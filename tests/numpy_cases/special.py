"""Cases of SciPy's special ufuncs: each with numbers in its domain, those of whose parameters there is a derivative."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special as S

from tests.numpy_cases import Case, spread

Argument = tuple[float, float] | float
"""Between what bounds an argument is drawn, which is differentiated; or one that is not."""

U, R, P = (0.1, 0.9), (-1.9, 2.3), (0.3, 3.1)

UFUNCS: dict[str, tuple[Argument, ...]] = {
    # the gamma function
    "gammaln": (P,), "loggamma": (P,), "gamma": ((-1.9, 2.35),), "rgamma": ((-2.1, 2.3),), "psi": (P,), "digamma": (P,),
    "gammasgn": (R,), "beta": (P, P), "betaln": (P, P), "binom": ((2.2, 5.0), (-1.4, 3.2)), "poch": (P, P),
    # incomplete gamma and beta functions
    "gammainc": (P, P), "gammaincc": (P, P), "gammaincinv": (P, U), "gammainccinv": (P, U),
    "betainc": (P, P, U), "betaincc": (P, P, U), "betaincinv": (P, P, U), "betainccinv": (P, P, U),
    "btdtria": (U, P, U), "btdtrib": (P, U, U),
    # distributions
    "ndtr": (R,), "log_ndtr": (R,), "ndtri": (U,), "ndtri_exp": ((-3.1, -0.1),), "chdtr": (P, P), "chdtrc": (P, P),
    "chdtri": (P, U), "chdtriv": (U, P), "gdtr": (P, P, P), "gdtrc": (P, P, P), "gdtria": (U, P, P),
    "gdtrib": (P, U, P), "gdtrix": (P, P, U), "fdtr": (P, P, P), "fdtrc": (P, P, P),
    "fdtri": ((1.1, 3.1), (1.1, 3.1), (0.2, 0.8)),
    "fdtridfd": (P, (0.3, 0.55), P), "stdtr": ((1.1, 5.0), R), "stdtrit": ((1.1, 5.0), U),
    "stdtridf": ((0.82, 0.86), (1.25, 1.3)), "pdtr": (3.0, P), "pdtrc": (3.0, P), "pdtri": (3, U),
    "pdtrik": ((0.5, 0.9), (1.5, 3.0)),
    "bdtr": (3.0, 7, U), "bdtrc": (3.0, 7, U), "bdtri": (3.0, 7, U), "bdtrik": (U, (6.0, 9.0), (0.4, 0.6)),
    "bdtrin": ((1.0, 2.0), U, (0.4, 0.6)), "nbdtr": (3, 7, U), "nbdtrc": (3, 7, U), "nbdtri": (3, 7, U),
    "nbdtrik": ((0.4, 0.8), (6.0, 9.0), (0.4, 0.6)), "nbdtrin": ((1.0, 2.0), (0.3, 0.6), (0.4, 0.6)),
    "chndtr": (P, 3.0, P), "chndtrix": (U, 3.0, P), "chndtrinc": (P, 2.0, (0.1, 0.12)),
    "ncfdtr": (3.0, 4.0, P, P), "ncfdtri": (3.0, 4.0, P, U), "ncfdtrinc": (3.0, 4.0, (0.1, 0.3), (1.5, 3.0)),
    "nctdtr": (3.0, 0.5, P), "nctdtrit": (3.0, 0.5, (0.5, 0.9)), "tklmbda": ((-0.8, 0.8), (0.2, 0.6)),
    "kolmogorov": (P,), "kolmogi": (U,), "nrdtrimn": (U, P, R), "nrdtrisd": (R, (0.1, 0.4), R),
    # error functions
    "erf": (R,), "erfc": (R,), "erfcx": (R,), "erfinv": ((-0.9, 0.9),), "erfcinv": ((0.1, 1.9),), "erfi": (R,),
    "dawsn": (R,), "owens_t": (R, R), "voigt_profile": (R, P, P),
    # Bessel functions
    "j0": (P,), "j1": (P,), "y0": (P,), "y1": (P,), "i0": (R,), "i1": (R,), "i0e": (P,), "i1e": (P,), "k0": (P,),
    "k1": (P,), "k0e": (P,), "k1e": (P,), "jv": (1.5, P), "jn": (2, R), "jve": (1.5, P), "yv": (1.5, P),
    "yve": (0.5, P),
    "yn": (2, P), "kn": (2, P), "iv": (1.5, P), "ive": (1.5, P), "kv": (R, P), "kve": (R, P), "struve": (1.5, P),
    "modstruve": (0.5, P), "itstruve0": (P,), "itmodstruve0": (P,), "it2struve0": (P,), "itj0y0": (P,), "iti0k0": (P,),
    "it2j0y0": (P,), "it2i0k0": (P,), "itairy": (P,), "besselpoly": (P, 1.0, 2.0), "airy": (R,), "airye": (P,),
    "ber": (R,), "bei": (R,), "ker": (P,), "kei": (P,), "berp": (P,), "beip": (P,), "kerp": (P,), "keip": (P,),
    # functions of differential equations
    "pbdv": (1.5, R), "pbvv": (1.5, R), "pbwa": (0.7, R), "mathieu_cem": (2.0, 1.5, R), "mathieu_sem": (2.0, 1.5, R),
    "mathieu_modcem1": (2.0, 1.5, (0.3, 1.5)), "mathieu_modcem2": (2.0, 1.5, (0.3, 1.5)),
    "mathieu_modsem1": (2.0, 1.5, (0.3, 1.5)), "mathieu_modsem2": (2.0, 1.5, (0.3, 1.5)),
    "pro_ang1": (1.0, 2.0, 1.5, U), "obl_ang1": (1.0, 2.0, 1.5, U), "pro_rad1": (1.0, 2.0, 1.5, (1.2, 2.0)),
    "pro_rad2": (1.0, 2.0, 1.5, (1.2, 2.0)), "obl_rad1": (1.0, 2.0, 1.5, P),
    **{f"{kind}_{name}_cv": (1.0, 2.0, 1.5, float(getattr(S, f"{kind}_cv")(1, 2, 1.5)), bounds)
       for kind, name, bounds in (("pro", "ang1", U), ("obl", "ang1", U), ("pro", "rad1", (1.2, 2.0)),
                                  ("pro", "rad2", (1.2, 2.0)), ("obl", "rad1", P))},
    # elliptic and hypergeometric functions
    "ellipk": ((-1.9, 0.9),), "ellipkm1": (U,), "ellipe": ((-1.9, 0.9),), "ellipkinc": (R, (-1.9, 0.9)),
    "ellipeinc": (R, (-1.9, 0.9)), "ellipj": (R, U), "elliprc": (P, P), "elliprf": (P, P, P), "elliprd": (P, P, P),
    "elliprj": (P, P, P, P), "elliprg": (P, P, P), "agm": (P, P), "hyp0f1": (1.5, R), "hyp1f1": (0.7, 1.9, R),
    "hyp2f1": (0.7, 1.2, 2.1, (-1.9, 0.9)), "hyperu": (0.7, 1.9, P), "wright_bessel": (0.7, 1.2, P),
    "log_wright_bessel": (0.7, 1.2, P), "lpmv": (1.0, 2.5, U),
    # orthogonal polynomials
    **{f"eval_{name}": (4, R) for name in ("legendre", "chebyt", "chebyu", "chebyc", "chebys", "hermite")},
    **{f"eval_{name}": (4, R) for name in ("hermitenorm", "laguerre")},
    **{f"eval_{name}": (3, U) for name in ("sh_legendre", "sh_chebyt", "sh_chebyu")},
    "eval_gegenbauer": (4, 0.7, R), "eval_genlaguerre": (4, 0.7, R), "eval_jacobi": (4, 0.7, 1.2, R),
    "eval_sh_jacobi": (3, 2.7, 1.2, U),
    # integrals, logarithms, powers, losses, angles
    "expi": (P,), "exp1": (P,), "expn": (3, P), "sici": (P,), "shichi": (P,), "fresnel": (R,), "spence": (P,),
    "zetac": ((1.4, 5.0),), "rel_entr": (P, P), "kl_div": (P, P), "huber": (1.1, R), "pseudo_huber": (P, R),
    "exp10": (R,), "exp2": (R,), "expm1": (R,), "log1p": (P,), "cbrt": (P,), "radian": (R, R, R), "round": (R,),
    "boxcox": (P, R), "boxcox1p": (P, R), "inv_boxcox": (U, U), "inv_boxcox1p": (U, P), "exprel": (R,), "powm1": (P, R),
    "sindg": (R,), "cosdg": (R,), "tandg": (R,), "cotdg": (P,), "wrightomega": (R,), "cosm1": (R,), "entr": (P,),
    "smirnov": (3, U), "smirnovi": (3, U), "chndtridf": (2.0, 0.4, (0.3, 0.6)), "nctdtridf": (0.5, 0.4, (1.0, 1.5)),
    "nctdtrinc": (2.0, 0.4, (1.0, 1.5)), "ncfdtridfd": (3.0, 0.4, 0.5, (1.0, 1.5)), "mathieu_a": (2, P),
    "mathieu_b": (2, P), "pro_cv": (1, 2, P), "obl_cv": (1, 2, P),
    "expit": (R,), "logit": (U,), "log_expit": (R,), "xlogy": (R, P), "xlog1py": (R, P),
}  # fmt: skip

FLAT = {
    "gammasgn", "round",  # constant by steps
    "pro_rad2", "pro_rad2_cv", "ncfdtrinc",  # with jumps in SciPy's values that differences see
    "smirnov", "smirnovi", "chndtridf", "nctdtridf", "nctdtrinc", "ncfdtridfd", "mathieu_a", "mathieu_b", "pro_cv",
    "obl_cv",  # without a derivative in functions that SciPy has
}  # fmt: skip
"""Of which only values are compared."""

NOT_SINGLE = ("bdtr", "pro_", "obl_", "nctdtri", "ncfdtri", "chndtri", "mathieu")
"""SciPy's own do not come to an end in single precision, or warn."""

LOOSE = {"kv": 1e-11, "stdtridf": 1e-9}


def _drawn(bounds: tuple[float, float], seed: int) -> np.ndarray:
    return spread(5, low=bounds[0], high=bounds[1], seed=seed)


def _called(name: str, given: tuple[Argument, ...]) -> Callable[..., Any]:
    ufunc = getattr(S, name)
    count, places = 0, list[Any]()
    for each in given:
        places.append(count if isinstance(each, tuple) else [each])
        count += isinstance(each, tuple)

    def function(*traced: Any) -> Any:
        return ufunc(*[traced[k] if isinstance(k, int) else k[0] for k in places])

    return function


def _case(name: str, given: tuple[Argument, ...]) -> Case:
    args = tuple(_drawn(each, k) for k, each in enumerate(given) if isinstance(each, tuple))
    order = 0 if name in FLAT else 2
    f32 = not name.startswith(NOT_SINGLE)
    return Case(f"scipy.special.{name}", _called(name, given), args, order, f32, LOOSE.get(name, 1e-12))


CASES = [_case(name, given) for name, given in UFUNCS.items()]
