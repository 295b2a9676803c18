"""Elementary functions as LLVM text: for f32 and f64, scalars and vectors, without branches.

    >>> w = Writer()
    >>> y = FUNCTIONS["tanh"](w, Reg("f64", 8, "%x"))

Errors are at most 2 units in the last place, denormal results included (4 for sech2, gauss,
sigmoid, softplus and pow); infinities, NaN and signed zeros are as in NumPy. A function and its
derivative write the same text for what they share, and the writer's numbering keeps it once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..text.registers import Reg, llvm_type
from ..text.writer import Writer
from .bases import cbrt, exp2, log2, log10
from .error import erf
from .exponential import exp, expm1, gauss, sech2, sigmoid, softplus, tanh
from .hyperbolic import cosh, sinh
from .inverse import arccos, arcsin, arctan, arctan2
from .logarithm import log, log1p
from .power import power
from .quick import QUICK, quick
from .trigonometric import cos, sin, tan

Function = Callable[..., Reg]


def by_f64(function: Function) -> Function:
    """A function of f64, and the same for f32, computed in f64."""

    def either(w: Writer, *args: Reg) -> Reg:
        if args[0].dtype == "f64":
            return function(w, *args)
        return w.cast(function(w, *(w.cast(each, "f64") for each in args)), "f32")

    return either


FUNCTIONS: dict[str, Function] = {
    "exp": exp,
    "expm1": expm1,
    "exp2": by_f64(exp2),
    "log": log,
    "log1p": log1p,
    "log2": by_f64(log2),
    "log10": by_f64(log10),
    "pow": power,
    "cbrt": by_f64(cbrt),
    "sin": sin,
    "cos": cos,
    "tan": by_f64(tan),
    "arcsin": by_f64(arcsin),
    "arccos": by_f64(arccos),
    "arctan": by_f64(arctan),
    "arctan2": by_f64(arctan2),
    "sinh": by_f64(sinh),
    "cosh": by_f64(cosh),
    "tanh": tanh,
    "sech2": sech2,
    "sigmoid": sigmoid,
    "softplus": softplus,
    "erf": erf,
    "gauss": gauss,
}

PAIRED: dict[str, Function] = {"sin": sin, "cos": cos}
"""Functions that share most of their work with another one of the same argument."""

BRANCHING = frozenset(("sin", "cos", "tan"))
"""Functions that look whether any lane is in need of a longer way."""


def applied(
    w: Writer,
    spelling: str,
    dtype: str,
    args: Sequence[Reg],
    often: bool,
    declared: dict[str, str],
    waits: bool = False,
    paired: bool = False,
) -> Reg:
    """An operation by its machine spelling; a function that is needed `often` is called, and declared once.

    Where a loop over numbers `waits` for it, a function goes a short way if its argument is an ordinary one. Sine and
    cosine of one argument are `paired`, and made from the same parts.
    """
    if spelling == "cast":
        return w.cast(args[0], dtype)
    if spelling not in FUNCTIONS:
        return getattr(w, spelling)(*args)
    if often:
        return _called(w, spelling, dtype, args, declared)
    if waits and spelling in QUICK:
        return quick(w, spelling, args[0], _alone)
    if paired:
        return PAIRED[spelling](w, args[0], paired=True)
    return _written(w, spelling, args)


def _written(w: Writer, spelling: str, args: Sequence[Reg]) -> Reg:
    """A function written out."""
    function = FUNCTIONS[spelling]
    if args[0].width > 1 or spelling in BRANCHING:
        return function(w, *args)
    return _alone(w, function, *args)


def _alone(w: Writer, function: Function, *args: Reg) -> Reg:
    """A function of single numbers, made in the first lane of a register.

    Steps on the bits of a float stay among the floats that way: a move to the integers and back takes as long as two
    additions, and a chain of exp and log in a loop is 6 % shorter without.
    """
    dtype = args[0].dtype
    width = {"f64": 2, "f32": 4}[dtype]
    vector = llvm_type(dtype, width)
    lanes = [w.value(dtype, width, f"insertelement {vector} poison, {a.typed}, i64 0") for a in args]
    return w.extract(function(w, *lanes), 0)


def _called(w: Writer, spelling: str, dtype: str, args: Sequence[Reg], declared: dict[str, str]) -> Reg:
    """A function of its own for what would otherwise be repeated many times."""
    kind = args[0]
    name = f"{spelling}_{kind.dtype}x{kind.width}"
    if name not in declared:
        inner = Writer(w.has_fma)
        made = _written(inner, spelling, [Reg(kind.dtype, kind.width, f"%x{k}") for k in range(len(args))])
        params = ", ".join(f"{a.type} %x{k}" for k, a in enumerate(args))
        head = f"define internal {made.type} @{name}({params}) nounwind {{\nentry:"
        declared |= inner.declarations
        declared[name] = "\n".join([head, *inner.lines, f"  ret {made.typed}", "}"])
    given = ", ".join(a.typed for a in args)
    return w.value(dtype, kind.width, f"call {kind.type} @{name}({given})")
