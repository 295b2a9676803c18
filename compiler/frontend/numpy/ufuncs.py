"""NumPy's ufuncs on traced arrays: each a formula over primitives, in the dtypes that NumPy computes in.

SciPy's special ufuncs are known by name; SciPy itself is never imported.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...ops.elementwise import cast
from ...ops.scipy import inverses
from ...ops.term import Term, Terms
from ..array import FUNCTIONS, HOOKS, Array, here, implements, unknown
from ..errors import NeedsValues, TraceValueError, message
from ..operators import has_complex
from ..promotion import as_operand, common_shape, conform, kind, loop_here, peculiar, result_dtype
from ..tracing import user_line

LOG2 = math.log(2.0)
OF_REAL = frozenset({"hankel1", "hankel1e", "hankel2", "hankel2e", "wofz"})
"""Ufuncs of SciPy's that are complex where their arguments are real."""

RULES: dict[str, Callable[..., Any]] = {}
"""Name of a ufunc -> its formula over the algebra `m` and terms of one type: a term, or a tuple of several results."""


_SAME = "sin cos tan arcsin arccos arctan arctan2 sinh cosh tanh exp exp2 expm1 log log2 log10 log1p cbrt sqrt"
_SAME += " arcsinh arccosh arctanh hypot negative:neg rint erf expit:sigmoid subtract:sub"
_SAME += " true_divide:div divide:div floor_divide:floordiv remainder:mod sign power:pow float_power:pow"
_SAME += " equal:eq not_equal:ne"
_SAME += " bitwise_and:and_ bitwise_or:or_ bitwise_xor:xor left_shift:shl right_shift:shr invert:not_"
for _pair in _SAME.split():
    _name, _, _prim = _pair.partition(":")
    RULES[_name] = lambda m, *xs, prim=_prim or _name: getattr(m, prim)(*xs)


def rule(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def register(formula: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            RULES[name] = formula
        return formula

    return register


def _bool(x: Term) -> bool:
    return x.value.type.dtype == "bool"


def truth(m: Terms, x: Term) -> Term:
    return x if _bool(x) else m.ne(x, 0)


def _fixed(m: Terms, x: Term, value: bool) -> Term:
    """The same truth value in every element."""
    return m.number(value, x.value.type.with_dtype("bool"))


for _name, _on_numbers, _on_bools in (
    ("add", "add", "or_"),
    ("multiply", "mul", "and_"),
    ("maximum", "maximum", "or_"),
    ("minimum", "minimum", "and_"),
):
    RULES[_name] = lambda m, x, y, a=_on_numbers, b=_on_bools: getattr(m, b if _bool(x) else a)(x, y)

for _name, _on_numbers, _on_bools in (
    ("less", "lt", lambda m, x, y: m.and_(m.not_(x), y)),
    ("less_equal", "le", lambda m, x, y: m.or_(m.not_(x), y)),
    ("greater", "gt", lambda m, x, y: m.and_(x, m.not_(y))),
    ("greater_equal", "ge", lambda m, x, y: m.or_(x, m.not_(y))),
):
    RULES[_name] = lambda m, x, y, a=_on_numbers, b=_on_bools: b(m, x, y) if _bool(x) else getattr(m, a)(x, y)

for _name in ("floor", "ceil", "trunc"):
    RULES[_name] = lambda m, x, f=_name: getattr(m, f)(x) if x.value.type.is_float else x

for _name, _prim in (("logical_and", "and_"), ("logical_or", "or_"), ("logical_xor", "xor")):
    RULES[_name] = lambda m, x, y, p=_prim: getattr(m, p)(truth(m, x), truth(m, y))

rule("logical_not")(lambda m, x: m.not_(truth(m, x)))
rule("absolute", "fabs")(lambda m, x: x if _bool(x) else m.abs(x))
rule("positive", "conjugate")(lambda m, x: x)
rule("square")(lambda m, x: x * x)
rule("reciprocal")(lambda m, x: 1 / x if x.value.type.is_float else m.select(m.or_(m.eq(x, 1), m.eq(x, -1)), x, 0))
rule("deg2rad", "radians")(lambda m, x: x * (math.pi / 180))
rule("rad2deg", "degrees")(lambda m, x: x * (180 / math.pi))
rule("isnan")(lambda m, x: m.ne(x, x) if x.value.type.is_float else _fixed(m, x, False))
rule("heaviside")(lambda m, x, h: m.select(m.eq(x, 0), h, m.select(m.lt(x, 0), 0, m.select(m.gt(x, 0), 1, x))))


@rule("isinf")
def _isinf(m: Terms, x: Term) -> Term:
    return m.eq(m.abs(x), math.inf) if x.value.type.is_float else _fixed(m, x, False)


@rule("isfinite")
def _isfinite(m: Terms, x: Term) -> Term:
    return m.lt(m.abs(x), math.inf) if x.value.type.is_float else _fixed(m, x, True)


@rule("fmax")
def _fmax(m: Terms, x: Term, y: Term) -> Term:
    if _bool(x):
        return m.or_(x, y)
    return m.select(m.ne(x, x), y, m.select(m.ne(y, y), x, m.maximum(x, y)))


@rule("fmin")
def _fmin(m: Terms, x: Term, y: Term) -> Term:
    if _bool(x):
        return m.and_(x, y)
    return m.select(m.ne(x, x), y, m.select(m.ne(y, y), x, m.minimum(x, y)))


@rule("logaddexp")
def _logaddexp(m: Terms, x: Term, y: Term) -> Term:
    """The larger plus softplus(smaller - larger), smooth where they meet; equal infinities apart."""
    same = m.and_(m.eq(x, y), m.eq(m.abs(x), math.inf))
    first = m.gt(x, y)
    large, small = m.select(first, x, y), m.select(first, y, x)
    return m.select(same, x, large + m.softplus(m.select(same, 0.0, small) - m.select(same, 0.0, large)))


rule("logaddexp2")(lambda m, x, y: _logaddexp(m, x * LOG2, y * LOG2) * (1 / LOG2))


@rule("xlogy")
def _xlogy(m: Terms, x: Term, y: Term) -> Term:
    outside = m.or_(m.le(y, 0), m.eq(y, math.inf))
    return x * m.log(m.select(m.and_(m.eq(x, 0), outside), 1.0, y))


@rule("xlog1py")
def _xlog1py(m: Terms, x: Term, y: Term) -> Term:
    outside = m.or_(m.le(y, -1), m.eq(y, math.inf))
    return x * m.log1p(m.select(m.and_(m.eq(x, 0), outside), 0.0, y))


rule("logit")(lambda m, x: m.log(x) - m.log1p(-x))
rule("log_expit")(lambda m, x: -m.softplus(-x))
rule("entr")(lambda m, x: m.select(m.lt(x, 0), -math.inf, -_xlogy(m, x, x)))
rule("cosm1")(lambda m, x: -2 * (m.sin(0.5 * x) * m.sin(0.5 * x)))


def elementwise(ufunc: np.ufunc, *operands: Any, weak: bool = False) -> Any:
    """A ufunc on operands of which one is traced; a tuple, if it has several results."""
    operands = tuple(map(as_operand, operands))
    if has_complex(operands) or ufunc.__name__ in OF_REAL:
        return HOOKS["complex_ufunc"](ufunc, operands, weak)
    formula = RULES.get(ufunc.__name__)
    if formula is None:
        raise unknown(spelled(ufunc))
    now, dtypes = here(*operands), loop_here(ufunc, operands)
    shape = common_shape(ufunc.__name__, *operands)
    if ufunc in COMPARISONS:
        dtypes = _with_int(ufunc, operands, dtypes)
        if isinstance(dtypes, bool):
            return Array(now, conform(now, dtypes, np.dtype(bool), shape))
    m = Terms(now.builder)
    terms = [m(conform(now, x, d, shape)) for x, d in zip(operands, dtypes, strict=False)]
    now.builder.where = user_line()
    signed, halves = peculiar(dtypes[: len(terms)])
    if halves:
        if ufunc in (np.nextafter, np.spacing):
            raise unknown(spelled(ufunc), " of float16")
        formula = _rounded_once(formula)
    made: Any = _signed(m, formula, terms) if signed else formula(m, *terms)
    return tuple([Array(now, each.value) for each in made]) if isinstance(made, tuple) else Array(now, made.value, weak)


def _rounded_once(formula: Callable[..., Any]) -> Callable[..., Any]:
    """A formula of float16 computed in float32, and rounded at its end only, as NumPy does."""

    def of_halves(m: Terms, *terms: Term) -> Any:
        made = formula(m, *[_turned(x, "f16", "f32") for x in terms])
        if isinstance(made, tuple):
            return tuple([_turned(x, "f32", "f16") for x in made])
        return _turned(made, "f32", "f16")

    return of_halves


def _turned(x: Term, dtype: str, into: str) -> Term:
    return x.m(cast(x.m.b, x.value, dtype=into)) if x.value.type.dtype == dtype else x


COMPARISONS = {np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal}


def _with_int(ufunc: np.ufunc, operands: tuple[Any, ...], dtypes: tuple[Any, ...]) -> bool | tuple[Any, ...]:
    """The dtypes in which integers are compared with a Python int that theirs may not hold, as NumPy does.

    One of the call is compared as int64; a constant beyond the dtype is to all its numbers as to zero: then a bool.
    """
    k = next((k for k, x in enumerate(operands) if kind(x) is int), None)
    if k is None or dtypes[k].kind not in "iu":
        return dtypes
    x, info, whole = operands[k], np.iinfo(dtypes[k]), np.dtype(np.int64)
    if not isinstance(x, Array):
        return dtypes if info.min <= x <= info.max else bool(ufunc(0, x) if k else ufunc(x, 0))
    pair = [dtypes[k] if dtypes[k] == np.uint64 else whole] * 2
    pair[k] = whole
    return *pair, *dtypes[2:]


def _signed(m: Terms, formula: Callable[..., Any], terms: list[Term]) -> Term:
    """A comparison of i64 with u64, which have no dtype in common: what is negative is less than all."""
    k = next(k for k, t in enumerate(terms) if t.value.type.dtype == "i64")
    signed, kind = terms[k], terms[k].value.type
    below = formula(m, *[m.number(-1 if k == place else 0, kind) for place in (0, 1)])
    both = list(terms)
    both[k] = m(m.b.emit(cast, signed.value, dtype="u64")[0])
    return m.select(m.lt(signed, 0), below, formula(m, *both))


def spelled(ufunc: np.ufunc) -> str:
    """`np.spacing`, or the bare name of a ufunc that is not NumPy's."""
    name = ufunc.__name__
    return f"np.{name}" if getattr(np, name, None) is ufunc else f"the function {name}"


def power(x: Any, y: Any) -> Array:
    """x ** y: small whole exponents are multiplied out, as NumPy does for squares."""
    exponent = y if isinstance(y, (bool, int, float, np.bool, np.integer, np.floating)) else None
    dtype = loop_here(np.power, (x, y))[0]
    if dtype.kind == "c":
        return _complex_power(x, y, exponent, dtype)
    if dtype.kind in "iu":
        if isinstance(y, Array) and not y.shape and not y.weak and y.has_numbers():
            exponent = int(y.number("an exponent", ""))
        if exponent is None:
            fix = "make the base a float: x.astype(float)"
            raise NeedsValues(message("an integer to a traced integer power", user_line(), fix))
        if exponent < 0:
            raise ValueError("Integers to negative integer powers are not allowed.")
        now = here(x, y)
        return _multiplied(Array(now, conform(now, x, dtype, np.shape(x))), int(exponent))
    if exponent is None or not isinstance(x, Array):
        return elementwise(np.power, x, y)
    base = _cast(x, dtype)
    if exponent == 0.5:
        return elementwise(np.sqrt, base)
    if exponent == -1:
        return elementwise(np.reciprocal, base)
    if float(exponent).is_integer() and 0 <= exponent <= 4:
        return _multiplied(base, int(exponent))
    return elementwise(np.power, x, y)


def _complex_power(x: Any, y: Any, exponent: Any, dtype: np.dtype) -> Array:
    """Whole exponents below 100 are multiplied out, as NumPy does."""
    if exponent is None or not isinstance(x, Array) or not float(exponent).is_integer() or abs(exponent) >= 100:
        return elementwise(np.power, x, y)
    made = _multiplied(_cast(x, dtype), abs(int(exponent)))
    return elementwise(np.reciprocal, made) if exponent < 0 else made


def _cast(x: Any, dtype: np.dtype) -> Array:
    now = here(x)
    return Array(now, conform(now, x, dtype, x.shape))


def _multiplied(x: Array, exponent: int) -> Array:
    """x * x * ... by repeated squaring."""
    now = here(x)
    if exponent == 0:
        return Array(now, conform(now, 1, x.dtype, x.shape))
    made, square = None, x
    while True:
        if exponent & 1:
            made = square if made is None else elementwise(np.multiply, made, square)
        exponent >>= 1
        if not exponent:
            return made  # type: ignore[return-value]  # the highest bit is set
        square = elementwise(np.multiply, square, square)


@implements(np.where)
def where(condition: Any, x: Any = None, y: Any = None) -> Any:
    """Elements of x where the condition holds, else of y; what is not chosen gets no gradient."""
    if x is None and y is None:
        return FUNCTIONS[np.nonzero](condition)
    if x is None or y is None:
        raise TraceValueError(message("np.where is given one of x and y", user_line(), "give both, or neither"))
    c, x, y = map(as_operand, (condition, x, y))
    now, shape, dtype = here(c, x, y), common_shape("where", c, x, y), result_dtype(x, y)
    if isinstance(c, Array) and c.type.dtype != "bool":
        c = elementwise(np.not_equal, c, 0)
    elif not isinstance(c, Array) and np.asarray(c).dtype != np.bool:
        c = np.asarray(c) != 0
    m = Terms(now.builder)
    p, a, b = (m(conform(now, v, d, shape, wraps=True)) for v, d in ((c, np.dtype(bool)), (x, dtype), (y, dtype)))
    now.builder.where = user_line()
    return Array(now, m.select(p, a, b).value)


@implements(np.clip)
def clip(a: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None) -> Any:
    low, high = _bound(a, a_min if min is None else min, 0), _bound(a, a_max if max is None else max, 1)
    made = a if low is None else elementwise(np.maximum, a, low)
    made = made if high is None else elementwise(np.minimum, made, high)
    return elementwise(np.positive, a) if made is a else made


def _bound(a: Any, bound: Any, side: int) -> Any:
    """A bound that is no tighter than the dtype's own."""
    dtype = kind(as_operand(a))
    if bound is None or kind(as_operand(bound)) is not int or isinstance(dtype, type) or dtype.kind not in "iu":
        return bound
    own = int(np.iinfo(dtype).max if side else np.iinfo(dtype).min)
    if not isinstance(bound, Array):
        return min(bound, own) if side else max(bound, own)
    return elementwise(np.minimum if side else np.maximum, bound, own, weak=True) if abs(own) < 2**63 - 1 else bound


@implements(np.round, np.around)
def round_(a: Any, decimals: int = 0) -> Any:
    if a.dtype.kind != "f":
        if decimals < 0 or a.dtype.kind == "b":  # truth values become float16
            raise unknown("np.round", f" of {a.type} to decimals={decimals}")
        return FUNCTIONS[np.copy](a)
    if decimals == 0:
        return elementwise(np.rint, a)
    scale = 10.0 ** abs(decimals)
    up, down = (np.multiply, np.divide) if decimals > 0 else (np.divide, np.multiply)
    return elementwise(down, elementwise(np.rint, elementwise(up, a, scale)), scale)


@implements(np.nan_to_num)
def nan_to_num(x: Any, copy: bool = True, nan: float = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    if x.dtype.kind != "f":
        return FUNCTIONS[np.copy](x)
    info = np.finfo(x.dtype)
    x = where(elementwise(np.isnan, x), nan, x)
    x = where(elementwise(np.equal, x, math.inf), float(info.max) if posinf is None else posinf, x)
    return where(elementwise(np.equal, x, -math.inf), float(info.min) if neginf is None else neginf, x)


@implements(np.sinc)
def sinc(x: Any) -> Any:
    y = elementwise(np.multiply, x, math.pi)
    return Array(y.tracing, y.tracing.emit(inverses.sinc, y.value, n=0))


__all__ = ["RULES", "clip", "elementwise", "power", "rule", "spelled", "truth", "where"]
