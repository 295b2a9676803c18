"""How many digits a function loses: its value and slopes against exact ones, and the part that is to blame.

    precision(lambda x: (1 - np.cos(x)) / x**2, 1e-6)

The formula is read out (`sympy()`), computed to 50 digits and more by mpmath at the floats as they are, and compared in
units in the last place. Parts are compared, too: one whose error is far above those of what it is made of loses digits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...compiler.ops.algebras import Numbers
from ...compiler.ops.expression import read
from ..compiled.tracebacks import boundary
from ..transforms import grad, jit
from .lambdified import lambdify
from .readout.elements import NoExpression
from .shared.library import sympy_module

DIGITS = (50, 80, 160)
"""The digits that parts are computed to: more where fewer do not settle twenty of them."""

PARTS = 2000
"""The most parts of a formula that are compared one by one."""

LOST = 16.0
"""A part is told of where its error is this many times that of its parts, and as many units in the last place."""


@dataclass(frozen=True)
class LostDigits:
    """A part of a formula that loses digits: its error, and the largest of those of its own parts, in ulps."""

    part: Any
    ulps: float
    before: float


@dataclass(frozen=True)
class Precision:
    """Errors in units in the last place.

    value    of the value
    slopes   of the derivative by each argument
    losses   the parts that lose digits, the worst first
    """

    value: float
    slopes: tuple[float, ...]
    losses: tuple[LostDigits, ...]

    def __str__(self) -> str:
        slopes = ", ".join(f"{s:.3g}" for s in self.slopes)
        lines = [f"value {self.value:.3g} ulp, derivatives {slopes} ulp"]
        lines += [f"  {loss.part}: {loss.ulps:.3g} ulp, of parts with {loss.before:.3g}" for loss in self.losses]
        return "\n".join(lines)

    __repr__ = __str__


@boundary
def precision(function: Any, *args: float) -> Precision:
    """The errors of a function of floats, and of its derivatives, at a point, in units in the last place.

    function   of floats, which returns one; compiled or not. Its formula is read out: NoExpression where there is none
    args       the floats, which are taken as they are: 0.1 is the float that is nearest to 0.1

    >>> made = precision(lambda x: (1 - np.cos(x)) / x**2, 1e-6)
    >>> made.value > 1e10, made.losses[0].part
    (True, 1 - cos(x))
    """
    compiled = function if hasattr(function, "sympy") else jit(function)
    for k, a in enumerate(args):
        if np.ndim(a) or not isinstance(a, (int, float, np.generic, np.ndarray)):
            raise TypeError(f"precision: argument {k} is a {type(a).__name__}, expected a float: call it for each")
    given = [float(a) for a in args]
    e = compiled.sympy(*given, intermediates=False)
    symbols = symbols_of(compiled, len(given))
    if not hasattr(e, "free_symbols") or not hasattr(e, "diff") or hasattr(e, "shape"):
        raise TypeError(f"precision: the function returns {type(e).__name__}, expected one float")
    return _precision(compiled, grad(function, argnums=tuple(range(len(given)))), e, symbols, given)


def symbols_of(compiled: Any, count: int) -> list[Any]:
    """The symbols of the arguments, as `sympy()` names them."""
    sympy = sympy_module()

    return list(compiled._symbols()) or [sympy.Symbol(n, real=True) for n in compiled.argument_names(count)]


def _precision(function: Any, slope: Any, e: Any, symbols: Sequence[Any], given: Sequence[float]) -> Precision:
    sympy = sympy_module()

    point = dict(zip(symbols, given, strict=True))
    value = ulps(float(function(*given)), exact(e, point))
    wanted = [exact(sympy.diff(e, s), point) for s in symbols]
    errors = tuple(ulps(float(got), want) for got, want in zip(slope(*given), wanted, strict=True))
    return Precision(value, errors, tuple(losses(e, symbols, point)))


def losses(e: Any, symbols: Sequence[Any], point: dict[Any, float]) -> list[LostDigits]:
    """The parts whose error is far above that of theirs, the worst first."""
    sympy = sympy_module()

    parts = list(dict.fromkeys(x for x in sympy.postorder_traversal(e) if isinstance(x, sympy.Expr) and x.args))
    if not 0 < len(parts) <= PARTS:
        return []
    got = lambdify(list(symbols), parts)(*[point[s] for s in symbols])
    errors = {part: ulps(float(v), exact(part, point)) for part, v in zip(parts, got, strict=True)}
    found = []
    for part, error in errors.items():
        before = max([errors.get(a, 0.0) for a in part.args], default=0.0)
        if error > LOST * max(before, 1.0):
            found.append(LostDigits(part, error, before))
    return sorted(found, key=lambda loss: -loss.ulps)


def exact(e: Any, point: dict[Any, float]) -> Any:
    """The value of an expression at floats, with so many digits that more would not change twenty of them."""
    from sympy.core.evalf import mp

    made: list[Any] = []
    for digits in DIGITS:
        with mp.workdps(digits):
            m = Numbers(mp)
            try:
                made.append(read(e, m, {s: mp.mpf(v) for s, v in point.items()}, m.number))
            except (TypeError, NotImplementedError, AttributeError):
                found = e.evalf(digits, subs=dict(point))
                if not found.is_Number:
                    raise NoExpression(f"precision() cannot compute {e}") from None
                made.append(mp.mpf(found))
            if len(made) > 1 and abs(made[-1] - made[-2]) <= abs(made[-1]) * mp.mpf(10) ** -20:
                break
    return made[-1]


def ulps(got: float, want: Any) -> float:
    """How far a float is from an exact number, in units of its last place."""
    near = float(want)
    if np.isnan(got) or np.isinf(got) or np.isinf(near):
        return 0.0 if got == near else float("inf")
    return float(abs(want - got) / np.spacing(abs(near)))


__all__ = ["LostDigits", "Precision", "precision"]
