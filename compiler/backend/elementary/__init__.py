"""Elementary functions as LLVM text: for f32 and f64, scalars and vectors, without branches.

    >>> w = Writer()
    >>> y = FUNCTIONS["tanh"](w, Reg("f64", 8, "%x"))

Errors are at most 2 units in the last place, denormal results included (4 for sech2, gauss,
sigmoid, softplus and pow); infinities, NaN and signed zeros are as in NumPy. A function and its
derivative write the same text for what they share, and the writer's numbering keeps it once.
"""

from __future__ import annotations

from collections.abc import Callable

from ..registers import Reg
from .error import erf
from .exponential import exp, expm1, gauss, sech2, sigmoid, softplus, tanh
from .logarithm import log, log1p
from .power import power
from .trigonometric import cos, sin

FUNCTIONS: dict[str, Callable[..., Reg]] = {
    "exp": exp,
    "expm1": expm1,
    "log": log,
    "log1p": log1p,
    "tanh": tanh,
    "sech2": sech2,
    "sigmoid": sigmoid,
    "softplus": softplus,
    "gauss": gauss,
    "erf": erf,
    "sin": sin,
    "cos": cos,
    "pow": power,
}
