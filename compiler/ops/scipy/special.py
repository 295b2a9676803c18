"""Special functions, each one formula over simpler operations with a pullback in terms of its family.

    entr = Special("entr", _entr, [lambda m, ct, x, r: ct * -(1.0 + m.log(x))])

A formula is written once and computes in f64 whatever the argument. Over NumPy's arrays it is the reference; for native
code `expand` writes it out, when nothing will be differentiated any more. So no approximation is ever differentiated,
and every order of derivative is as exact as the functions are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...ir.graph import Builder, Value
from ...ir.primitive import REGISTRY, Primitive
from ..elementwise import cast
from ..term import Terms
from . import special_tables as T

Rule = Callable[..., Any]


class Arrays:
    """The algebra of NumPy's arrays."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return np.where if name == "select" else getattr(REGISTRY[name], "numpy")  # noqa: B009 - of Elementwise


class Special(Primitive):
    """f(x, ...) element by element.

    formula   (m, *xs, **attributes) -> the result, in f64
    pulls     a rule (m, ct, *xs, r, **attributes) -> cotangent for each argument, None where there is no slope
    safe      an argument at which the slopes are finite, put in place of masked ones
    """

    bounded = False
    elementwise = True

    def __init__(
        self,
        name: str,
        formula: Rule,
        pulls: Sequence[Rule | None],
        attributes: Mapping[str, str] | None = None,
        safe: float = 1.0,
    ) -> None:
        super().__init__(name)
        self.formula, self.pulls, self.arity, self.safe = formula, pulls, len(pulls), safe
        self.attributes = attributes or {}  # type: ignore[misc]

    def infer(self, types, attrs, regions):
        if not types[0].is_float or types.count(types[0]) != len(types):
            raise TypeError(f"{self.name} takes floats of one type, got {', '.join(map(str, types))}")
        return (types[0],)

    def evaluate(self, args, attrs, regions):
        with np.errstate(all="ignore"):
            made = self.formula(Arrays(), *(np.asarray(a, np.float64) for a in args), **attrs)
            return [np.asarray(made, args[0].dtype)]

    def numpy(self, *args):
        """The value for NumPy's arrays."""
        return self.evaluate([np.asarray(a) for a in args], {}, ())[0]

    def expand(self, b, op, args):
        m, dtype = Terms(b), args[0].type.dtype
        made = self.formula(m, *(m(_converted(b, a, "f64")) for a in args), **op.attrs)
        return (_converted(b, made.value, dtype),)

    def pull(self, b, op, cotangents):
        (ct,) = cotangents
        if ct is None:
            return [None] * len(op.args)
        m = Terms(b)
        given = [m(v) for v in (ct, *op.args, op.results[0])]
        return [rule and rule(m, *given, **op.attrs).value for rule in self.pulls]

    def batch(self, m):
        return m.emit(self, *map(m.wide, range(len(m.args))), **m.op.attrs)

    def masks(self, b, op, mask):
        return [mask] * len(op.args)

    def samples(self, rng):
        """Somewhat above what is `safe`; tests/test_special.py goes through the whole range."""
        attributes = [dict.fromkeys(self.attributes, n) for n in ((0, 1, 2) if self.attributes else (0,))]
        sizes = ((), (5,), (2, 33))

        def drawn(size: tuple[int, ...], kind: str) -> list[np.ndarray]:
            return [np.asarray(self.safe + rng.uniform(0.1, 0.3, size), kind) for _ in self.pulls]

        return [(drawn(size, kind), each) for each in attributes for size in sizes for kind in ("f8", "f4")]


def _converted(b: Builder, value: Value, dtype: str) -> Value:
    return value if value.type.dtype == dtype else cast(b, value, dtype=dtype)


def series(table: Sequence[float], t: Any) -> Any:
    """The sum of c[k] T_k(t), by Clenshaw's recurrence."""
    twice, after, here = 2.0 * t, 0.0, table[-1]
    for c in reversed(table[1:-1]):
        here, after = twice * here + (c - after), here
    return t * here + (table[0] - after)


def within(table: Sequence[float], x: Any, low: float, high: float) -> Any:
    """A table's function of x, which lies between low and high."""
    return series(table, x * (2 / (high - low)) - (high + low) / (high - low))


def powers(m: Any, table: Sequence[float], x: Any) -> Any:
    """The sum of c[k] x**k, by Horner's scheme: half the work of `series`, where the terms do not cancel."""
    made: Any = table[-1]
    for c in reversed(table[:-1]):
        made = m.muladd(x, made, c)
    return made


# ---- error functions and the normal distribution


def _erfcx(m: Any, x: Any) -> Any:
    """Shepherd and Laframboise, Math. Comp. 36 (1981); exp(x*x) is the inverse of `gauss`, which has its digits."""
    y = m.abs(x)
    made = series(T.ERFCX, 1.0 - 7.5 / (y + 3.75)) / (1.0 + 2.0 * y)
    return m.select(m.lt(x, 0.0), 2.0 / m.gauss(x) - made, made)


def _erfc(m: Any, x: Any) -> Any:
    y = m.abs(x)
    far = m.gauss(x) * series(T.ERFCX, 1.0 - 7.5 / (y + 3.75)) / (1.0 + 2.0 * y)
    return m.select(m.lt(x, 0.5), m.select(m.lt(x, -0.5), 2.0 - far, 1.0 - m.erf(x)), far)


def _tail(m: Any, u: Any) -> Any:
    """-ndtri(u), for u up to 0.075."""
    r = m.sqrt(-m.log(u))
    near, far = within(T.TAIL, r, 1.6, 5.0), within(T.FAR_TAIL, 1.0 / r, 1 / 28, 1 / 5)
    return r * m.select(m.lt(r, 5.0), near, far)


def _quantile(m: Any, q: Any, u: Any) -> Any:
    """ndtri(1/2 + q), where u = 1/2 - |q| has digits of its own."""
    middle = q * within(T.NORMAL, q * q, 0.0, 0.425**2)
    end = m.select(m.eq(u, 0.0), math.inf, _tail(m, u))
    return m.select(m.le(m.abs(q), 0.425), middle, m.select(m.lt(q, 0.0), -end, end))


def _ndtri(m: Any, p: Any) -> Any:
    return _quantile(m, p - 0.5, m.minimum(p, 1.0 - p))


def _erfinv(m: Any, y: Any) -> Any:
    return _quantile(m, 0.5 * y, 0.5 * (1.0 - m.abs(y))) * math.sqrt(0.5)


def _log_ndtr(m: Any, x: Any) -> Any:
    """The logarithm of the normal distribution function, whose far tail is told by `erfcx`."""
    low = m.log(0.5 * _erfcx(m, m.minimum(x, 0.0) * -math.sqrt(0.5))) - 0.5 * x * x
    return m.select(m.lt(x, -1.0), low, m.log1p(-0.5 * _erfc(m, x * math.sqrt(0.5))))


erfc = Special("erfc", _erfc, [lambda m, ct, x, r: ct * (-2 / math.sqrt(math.pi) * m.gauss(x))])
erfcx = Special("erfcx", _erfcx, [lambda m, ct, x, r: ct * m.erfcx_derivative(x, n=1)])
erfinv = Special("erfinv", _erfinv, [lambda m, ct, y, r: ct * (math.sqrt(math.pi) / 2 / m.gauss(r))], safe=0.5)
ndtri = Special(
    "ndtri", _ndtri, [lambda m, ct, p, r: ct * (math.sqrt(2 * math.pi) / m.gauss(r * math.sqrt(0.5)))], safe=0.5
)
log_ndtr = Special(
    "log_ndtr", _log_ndtr,
    [lambda m, ct, x, r: ct * (math.sqrt(2 / math.pi) / m.erfcx(x * -math.sqrt(0.5)))],
)  # fmt: skip

# ---- products with logarithms, which are zero where the first factor is


def _xlogy(m: Any, x: Any, y: Any) -> Any:
    return m.select(m.ne(y, y), math.nan + y, m.select(m.eq(x, 0.0), 0.0, x * m.log(y)))


def _xlog1py(m: Any, x: Any, y: Any) -> Any:
    return m.select(m.ne(y, y), math.nan + y, m.select(m.eq(x, 0.0), 0.0, x * m.log1p(y)))


def _entr(m: Any, x: Any) -> Any:
    inside = m.select(m.eq(x, 0.0), 0.0, -x * m.log(m.abs(x)))
    return m.select(m.lt(x, 0.0), -math.inf, inside)


def _away(m: Any, slope: Any, x: Any, y: Any, end: float) -> Any:
    """The slope, but zero where x is and the logarithm has none."""
    return m.select(m.and_(m.eq(x, 0.0), m.le(y, end)), 0.0, slope)


xlogy = Special(
    "xlogy", _xlogy,
    [lambda m, ct, x, y, r: _away(m, m.xlogy(ct, y), x, y, 0.0), lambda m, ct, x, y, r: ct * x / y],
)  # fmt: skip
xlog1py = Special(
    "xlog1py", _xlog1py,
    [lambda m, ct, x, y, r: _away(m, m.xlog1py(ct, y), x, y, -1.0), lambda m, ct, x, y, r: ct * x / (y + 1.0)],
)  # fmt: skip
entr = Special("entr", _entr, [lambda m, ct, x, r: ct * -(1.0 + m.log(x))])

__all__ = ["Arrays", "Special", "powers", "series", "within"]
