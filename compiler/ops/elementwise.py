"""Elementwise primitives: each is one statement, and all else about it follows.

`formula` is the meaning over an algebra (SymPy's or a graph's), `numpy` the same in NumPy; the machine spells it
by its name.  A pullback is derived from the formula by SymPy and kept in `ops.partials`, or given here where the
derived form loses digits or leaves the domain; a test checks the given ones against the formula.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from ..ir.primitive import ALWAYS, NEVER, VECTORS, Primitive
from ..ir.types import CARRIER, COMPLEX, DTYPES, FLOATS, INTEGERS, STORED
from ..loops import Apply, Map
from .casting import astype
from .partials import PARTIALS
from .term import Terms

KINDS = {
    "float": FLOATS,
    "integer": INTEGERS,
    "number": FLOATS + INTEGERS,
    "bits": ("bool", *INTEGERS),
    "any": tuple(DTYPES),
}

#: intervals from which samples are drawn, away from kinks and singular points
DOMAINS = {
    "real": (-2.5, 2.5),
    "positive": (0.2, 3.0),
    "unit": (-0.9, 0.9),
    "between poles": (-1.2, 1.2),
    "above -1": (-0.8, 3.0),
}


LIGHT = 4  # what an element costs up to which it is light: a division

COSTS: dict[str, int] = {}
"""What elements of loops cost by their spelling, in additions, as elementwise primitives declare; others cost one."""
MEANINGS: dict[str, Callable[..., Any]] = {"select": np.where, "cast": lambda x: x}  # of whole numbers, in NumPy


class Elementwise(Primitive):
    """r = f(x, ...) element by element, all of one shape.

    kinds      which element kinds the arguments may have
    pulls      one rule (m, ct, *xs, r) -> cotangent per argument, None where there is none
    domain     where samples are drawn from
    bounded    the partials are finite even at NaN and infinity, so a masked cotangent needs no care
    safe       an argument at which the partials are finite, put in place of masked ones
    cost, light, again, exact, folds, family: see `Primitive`; by default the first tells the next two
    """

    arity: int = 0
    elementwise = True

    def __init__(
        self, name: str, formula: Callable[..., Any], numpy: Callable[..., Any], *,
        kinds: str = "float", result: str | None = None, pulls: Sequence[Callable[..., Any] | None] | None = None,
        domain: str = "real", bounded: bool = False, safe: float = 1.0, spelling: str | None = None,
        cost: int = 1, light: bool | None = None, again: int | None = None, exact: bool = False, folds: bool = False,
        family: str | None = None,
    ) -> None:
        super().__init__(name)
        self.cost, self.exact, self.folds, self.family = cost, exact, exact or folds, family
        self.light = cost <= LIGHT if light is None else light
        self.again = (ALWAYS if cost == 1 else NEVER) if again is None else again
        self.formula, self.numpy, self.result = formula, numpy, result
        self.kinds, self.pulls, self.domain = KINDS[kinds], pulls, domain
        self.bounded, self.safe, self.spelling = bounded, safe, spelling or name
        COSTS[self.spelling] = cost
        MEANINGS.setdefault(self.spelling, numpy)
        self.arity, self.derived = formula.__code__.co_argcount - 1, pulls is None

    def infer(self, types, attrs, regions):
        if len(types) != self.arity or attrs or types.count(types[0]) != self.arity:
            given = ", ".join(map(str, types))
            raise TypeError(f"{self.name} takes {self.arity} arguments of one type, got {given}")
        first = types[0]
        if CARRIER.get(first.dtype, first.dtype) not in self.kinds:
            raise TypeError(f"{self.name} takes {', '.join(self.kinds)}, got {first}")
        return (first.with_dtype(self.result) if self.result else first,)

    def evaluate(self, args, attrs, regions):
        return [self.numpy(*args)]

    def define(self, op, reads):
        dtype, spelling = op.results[0].type.dtype, self.spelling
        return Map(lambda index: Apply(spelling, tuple([r(index) for r in reads]), dtype))

    def pull(self, b, op, cotangents):
        (ct,) = cotangents
        if ct is None or not op.results[0].type.is_float:
            return [None] * self.arity
        m = Terms(b)
        c, xs, r = m(ct), [m(a) for a in op.args], m(op.results[0])
        out = []
        for rule in self.rules():
            made = rule(m, c, *xs, r) if rule else None
            out.append(made if made is None else made.value)
        return out

    def batch(self, m):
        return m.emit(self, *map(m.wide, range(len(m.args))))

    def masks(self, b, op, mask):
        return [mask] * self.arity

    def rules(self) -> Sequence[Callable[..., Any] | None]:
        """The pullback of each argument, given or derived."""
        if self.pulls is None:
            self.pulls = tuple(_times(p) for p in PARTIALS[self.name])
        return self.pulls

    def samples(self, rng):
        lo, hi = DOMAINS[self.domain]
        made = []
        for dtype in self.kinds:
            if dtype in FLOATS:
                args = [rng.uniform(lo, hi, (3, 5)) for _ in range(self.arity)]
            else:
                args = [rng.integers(1, 2 if dtype == "bool" else 9, (3, 5)) for _ in range(self.arity)]
                args[0] = args[0] * rng.choice([0, 1] if dtype == "bool" else [-1, 1], (3, 5))
            made.append(([a.astype(DTYPES[dtype]) for a in args], {}))
        return made


def _times(partial: Callable[..., Any]) -> Callable[..., Any]:
    """The rule ct * partial; a partial that is the number 1 or -1 costs no multiplication."""

    def rule(m, ct, *values):
        p = partial(m, *values)
        if isinstance(p, (int, float)) and abs(p) == 1:
            return ct if p == 1 else -ct
        return ct * p

    return rule


# ---- arithmetic

add = Elementwise("add", lambda m, x, y: x + y, np.add, kinds="number", bounded=True, exact=True)
sub = Elementwise("sub", lambda m, x, y: x - y, np.subtract, kinds="number", bounded=True, exact=True)
mul = Elementwise("mul", lambda m, x, y: x * y, np.multiply, kinds="number", exact=True)
div = Elementwise(
    "div", lambda m, x, y: x / y, np.divide,
    domain="positive", pulls=(lambda m, ct, x, y, r: ct / y, lambda m, ct, x, y, r: ct * -(r / y)),
    cost=4, again=VECTORS, exact=True,
)
neg = Elementwise("neg", lambda m, x: -x, np.negative, kinds="number", bounded=True, exact=True)

floordiv = Elementwise(
    "floordiv", lambda m, x, y: m.floor(x / y), np.floor_divide,
    kinds="number", domain="positive", pulls=(None, None), cost=8, folds=True,
)
mod = Elementwise(
    "mod", lambda m, x, y: x - m.floor(x / y) * y, np.remainder,
    kinds="number", domain="positive", cost=8, folds=True,
    pulls=(lambda m, ct, x, y, r: ct, lambda m, ct, x, y, r: -(ct * m.floordiv(x, y))),
)
floordiv.whole_again = mod.whole_again = ALWAYS


def _abs_x(m, ct, x, r):
    """The cotangent with the sign of x, 0 at 0 and NaN at NaN."""
    return m.select(m.gt(x, 0), ct, m.select(m.lt(x, 0), -ct, m.select(m.eq(x, 0), 0, x)))


abs_ = Elementwise("abs", lambda m, x: m.abs(x), np.abs, kinds="number", pulls=(_abs_x,), exact=True)
sign = Elementwise("sign", lambda m, x: m.sign(x), np.sign, kinds="number", pulls=(None,))


class Extremum(Elementwise):
    """The larger or the smaller of two: the loser's cotangent is exactly zero."""

    hides = True

    def masks(self, b, op, mask):
        m = Terms(b)
        x, y, live = m(op.args[0]), m(op.args[1]), m(mask)
        loses = m.lt if self is maximum else m.gt
        return [m.and_(live, m.not_(loses(x, y))).value, m.and_(live, m.not_(loses(y, x))).value]


def _extremum(worse: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The winner takes the cotangent; a tie splits it evenly, and where one is NaN both have all of it."""

    def toward(m, ct, mine, other):
        return m.select(getattr(m, worse)(mine, other), 0, m.select(m.eq(mine, other), 0.5 * ct, ct))

    return (lambda m, ct, x, y, r: toward(m, ct, x, y), lambda m, ct, x, y, r: toward(m, ct, y, x))


maximum = Extremum(
    "maximum", lambda m, x, y: m.maximum(x, y), np.maximum,
    kinds="number", pulls=_extremum("lt"), bounded=True, folds=True,
)
minimum = Extremum(
    "minimum", lambda m, x, y: m.minimum(x, y), np.minimum,
    kinds="number", pulls=_extremum("gt"), bounded=True, folds=True,
)


def _pow_x(m, ct, x, y, r):
    """y * x^(y-1), and 0 for y = 0, where x^0 is constant, though x^-1 be infinite or NaN."""
    steep = m.pow(x, y - 1)
    constant = m.and_(m.eq(y, 0), m.not_(m.lt(m.abs(steep), math.inf)))
    return ct * (y * m.select(constant, 1, steep))


def _pow_y(m, ct, x, y, r):
    """x^y * log x, with 0 at x = 0 for y >= 0 and at infinity for y < 0: its limit for y != 0."""
    zero = m.or_(m.and_(m.eq(x, 0), m.ge(y, 0)), m.and_(m.eq(x, math.inf), m.eq(r, 0)))
    return ct * (r * m.log(m.select(zero, 1, x)))


pow_ = Elementwise(
    "pow", lambda m, x, y: m.pow(x, y), np.power, domain="positive", pulls=(_pow_x, _pow_y), cost=40
)
# rounding takes twice as long as an addition until its result is there
floor = Elementwise("floor", lambda m, x: m.floor(x), np.floor, pulls=(None,), light=False, exact=True)
ceil = Elementwise("ceil", lambda m, x: m.ceil(x), np.ceil, pulls=(None,), light=False, exact=True)
rint = Elementwise("rint", lambda m, x: m.rint(x), np.rint, pulls=(None,), light=False, exact=True)
trunc = Elementwise("trunc", lambda m, x: m.trunc(x), np.trunc, pulls=(None,), light=False, exact=True)
sqrt = Elementwise(
    "sqrt", lambda m, x: m.sqrt(x), np.sqrt,
    domain="positive", pulls=(lambda m, ct, x, r: ct * (0.5 / r),), cost=5, again=VECTORS, exact=True,
)

# ---- comparisons and logic


def _compare(name: str, numpy: Callable[..., Any], kinds: str = "number") -> Elementwise:
    formula = lambda m, x, y: getattr(m, name)(x, y)  # noqa: E731 - a formula is a lambda here
    return Elementwise(name, formula, numpy, kinds=kinds, result="bool", pulls=(None, None), exact=True)


eq, ne = _compare("eq", np.equal, "any"), _compare("ne", np.not_equal, "any")
lt, le = _compare("lt", np.less), _compare("le", np.less_equal)
gt, ge = _compare("gt", np.greater), _compare("ge", np.greater_equal)


def _bits(name: str, numpy: Callable[..., Any], kinds: str = "bits", light: bool = True) -> Elementwise:
    formula = lambda m, x, y: getattr(m, name)(x, y)  # noqa: E731
    return Elementwise(name, formula, numpy, kinds=kinds, pulls=(None, None), light=light, exact=True)


and_, or_ = _bits("and_", np.bitwise_and), _bits("or_", np.bitwise_or)
# loops count and mix bits in long rows of these, which are worth doing for all rounds at once
xor = _bits("xor", np.bitwise_xor, light=False)
shl, shr = _bits("shl", np.left_shift, "integer", False), _bits("shr", np.right_shift, "integer", False)
shr.spelling = "ashr"
not_ = Elementwise("not_", lambda m, x: m.not_(x), np.invert, kinds="bits", pulls=(None,), exact=True)

for _each in (add, mul, eq, ne, and_, or_, xor):
    _each.commutes = True


class Select(Primitive):
    """a where p holds, else b.  The branch not taken gets a cotangent of exactly zero."""

    bounded = hides = chooses = exact = folds = True
    again = ALWAYS

    def infer(self, types, attrs, regions):
        if len(types) != 3 or attrs or types[1] != types[2] or types[0] != types[1].with_dtype("bool"):
            raise TypeError(
                f"select takes a bool and two values of one type and shape, got {', '.join(map(str, types))}"
            )
        return (types[1],)

    def evaluate(self, args, attrs, regions):
        return [np.where(*args)]

    def define(self, op, reads):
        p, a, b = reads
        dtype = op.results[0].type.dtype
        return Map(lambda i: Apply("select", (p(i), a(i), b(i)), dtype))

    def pull(self, b, op, cotangents):
        (ct,) = cotangents
        if ct is None:
            return [None, None, None]
        m = Terms(b)
        p, c = m(op.args[0]), m(ct)
        zero = m.number(0.0, ct.type)
        return [None, m.select(p, c, zero).value, m.select(p, zero, c).value]

    def masks(self, b, op, mask):
        m = Terms(b)
        p, live = m(op.args[0]), m(mask)
        return [None, m.and_(p, live).value, m.and_(m.not_(p), live).value]

    def batch(self, m):
        return m.emit(self, *map(m.wide, range(3)))

    def samples(self, rng):
        made = []
        for dtype in DTYPES:
            a, b = (rng.uniform(-2, 2, (3, 4)).astype(DTYPES[dtype]) for _ in range(2))
            made.append(([rng.random((3, 4)) < 0.5, a, b], {}))
        return made


select = Select("select")


class Cast(Primitive):
    """Another element kind, as astype; floats out of range give the least integer, carried ones its low bits."""

    arity = 1
    attributes: ClassVar = {"dtype": "word"}
    linear = light = exact = folds = True
    again = ALWAYS

    def infer(self, types, attrs, regions):
        if len(types) != 1 or attrs.get("dtype") not in STORED | COMPLEX:
            raise TypeError(f"cast takes one value and dtype=…, got {dict(attrs)}")
        return (types[0].with_dtype(attrs["dtype"]),)

    def evaluate(self, args, attrs, regions):
        (x,), dtype = args, attrs["dtype"]
        return [astype(x, dtype)]

    def define(self, op, reads):
        dtype = op.attrs["dtype"]
        return Map(lambda i: Apply("cast", (reads[0](i),), dtype))

    def pull(self, b, op, cotangents):
        (ct,), source = cotangents, op.args[0].type
        if ct is None or not source.is_float or not op.results[0].type.is_float:
            return [None]
        return b.emit(self, ct, dtype=source.dtype)

    def batch(self, m):
        return m.emit(self, m.args[0], **m.op.attrs)

    def samples(self, rng):
        x = np.array([-2.7, -0.5, 0.0, 1.2, 3.9])
        return [([x.astype(a)], {"dtype": b}) for a in DTYPES.values() for b in DTYPES]


cast = Cast("cast")
