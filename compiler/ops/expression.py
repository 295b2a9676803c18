"""SymPy expressions read over any algebra: derived partials, exact numbers and graphs are all made this way.

An algebra `m` has the primitives as methods (`m.exp(x)`, `m.select(p, x, y)`) and terms with infix operators.
An expression is a graph whose shared parts are read once, in a loop: only memory limits its depth.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any, NamedTuple

from .factors import Common, Factors, by_common_factors

#: the largest integer power that is multiplied out
MULTIPLIED = 64


Signed = tuple[Any, bool]
"""A term, and whether it is taken negatively."""


class UnknownFunction(TypeError):
    """A part of an expression that no primitive can compute."""


class Plan(NamedTuple):
    """How to read an expression: its parts, and the term that their terms make; `key` tells plans apart.

    A part is an expression, or a plan where there is no expression for it.

    Without `join` the key has the one argument that the expression is. `again` says that the plan is for any terms of
    the arguments, not only for those that it was made with.
    """

    key: Any
    parts: Sequence[Any]
    join: Callable[..., Any] | None
    again: bool = False


class Reading(NamedTuple):
    """Expressions as steps: how each part is made, and of which earlier ones; then the steps that make the expressions.

    `again` is that of all plans.
    """

    steps: list[tuple[Plan, list[int]]]
    results: list[int]
    again: bool

    def terms(self, m: Any, env: Mapping[Any, Any]) -> list[Any]:
        """The terms of the expressions over an algebra, with arguments as in `env`."""
        made: list[Any] = []
        for plan, parts in self.steps:
            made.append(env[plan.key[0]] if plan.join is None else plan.join(m, *[made[k] for k in parts]))
        return [made[k] for k in self.results]


More = Callable[[Any, Mapping[Any, Any]], Plan | None]
"""(a part, the environment) -> how to read a part that is no elementary function of numbers, or None."""


def read(expr: Any, m: Any, env: Mapping[Any, Any], number: Callable[[Any], Any]) -> Any:
    """The term over `m` that a SymPy expression means, with symbols as in `env`.

    `number` makes a constant of a SymPy number.  Equal parts become one term, the same object or not.
    """
    return reading_of([expr], env, number).terms(m, env)[0]


def reading_of(
    exprs: Sequence[Any], env: Mapping[Any, Any], number: Callable[[Any], Any], more: More | None = None
) -> Reading:
    """How several expressions are read, which share their common parts; an UnknownFunction says what cannot be.

    `more` knows of further kinds of parts.
    """
    found: dict[int, int] = {}  # of an expression's id, the number of its equals
    equals: dict[Any, int] = {}
    steps: list[tuple[Plan, list[int]]] = []
    alive: list[Any] = []  # parts made on the way, so that their ids stay theirs
    stack: list[tuple[Any, Plan | None]] = [(e, None) for e in reversed(exprs)]
    while stack:
        e, plan = stack.pop()
        if id(e) in found:
            continue
        if plan is None:
            plan = e if isinstance(e, Plan) else _plan(e, env, number, more)
            alive.append(e)
            stack.append((e, plan))
            stack.extend([(p, None) for p in reversed(plan.parts) if id(p) not in found])
            continue
        parts = [found[id(p)] for p in plan.parts]
        number_ = equals.setdefault((plan.key, *parts), len(steps))
        if number_ == len(steps):
            steps.append((plan, parts))
        found[id(e)] = number_
    return Reading(steps, [found[id(e)] for e in exprs], all(plan.again for plan, _ in steps))


def _plan(e: Any, env: Mapping[Any, Any], number: Callable[[Any], Any], more: More | None) -> Plan:
    import sympy

    if e.is_Symbol and e in env:
        return Plan((e,), (), None, True)
    if more is not None and (e.is_Matrix or not (e.is_Mul or e.is_Pow or e.is_Number)):
        found = more(e, env)
        if found is not None:
            return found
    if e.is_Atom:
        return _atom(e, number, env)
    if e.is_Add:
        return _sum(e, env)
    if e.is_Mul:
        return _product_of(e.args)
    if e.is_Pow:
        return _power(e)
    name = e.func.__name__
    if name == "Piecewise":
        parts = [part for pair in e.args for part in pair.args]
        return Plan(name, parts, _piecewise, True)
    rule = FUNCTIONS.get(name)
    if rule is None or e.func is not getattr(sympy, name, None):
        raise UnknownFunction(_unknown(e))
    return Plan((name, len(e.args)), e.args, rule, True)


def _unknown(e: Any) -> str:
    name = e.func.__name__
    return (
        f"no primitive computes {name}; an expression may use numbers, + * **, Piecewise, relations, "
        f"{', '.join(sorted(n for n in FUNCTIONS if n[0].islower() or n in ('Abs', 'Max', 'Min')))}"
    )


def _atom(e: Any, number: Callable[[Any], Any], env: Mapping[Any, Any]) -> Plan:
    if e.is_Symbol:
        raise UnknownFunction(f"the symbol {e} is not among the arguments{_namesake(e, env)}")
    if e.is_Boolean:
        return Plan((bool(e), "truth"), (), lambda m: bool(e), True)
    if e.is_number and (e.is_extended_real or e.func.__name__ == "NaN"):
        return Plan((e, e.func), (), lambda m: number(e), True)
    name = "zoo, SymPy's complex infinity such as of 1/0," if str(e) == "zoo" else str(e)
    raise UnknownFunction(f"{name} is not a real number")


def _namesake(e: Any, env: Mapping[Any, Any]) -> str:
    """What an argument of the same name differs by."""
    alike = next((s for s in env if getattr(s, "is_Symbol", False) and s.name == e.name), None)
    if alike is None:
        return ""
    theirs, its = _assumed(alike), _assumed(e)
    if theirs == its:  # a Dummy or Wild is another one whenever it is made
        kinds = f"a {alike.func.__name__} of its own, and this one a {e.func.__name__}"
        return f": the argument of that name is {kinds}, which is never equal to another: pass it itself"
    return f": the argument of that name has the assumptions {theirs}, and this one {its}"


def _assumed(s: Any) -> str:
    given = getattr(s, "_assumptions_orig", s.assumptions0)
    return ", ".join([f"{name}={value}" for name, value in given.items()]) or "none"


def _sum(e: Any, env: Mapping[Any, Any]) -> Plan:
    """Terms without what several of them have in common, which is multiplied once."""
    minus, terms = [], []
    for term in e.args:
        first, *rest = term.args if term.is_Mul else (term,)
        scaled = bool(first.is_Rational and rest)
        minus.append(scaled and bool(first.is_negative))
        factors = (*rest, abs(first)) if scaled and abs(first) != 1 else (*rest,) if scaled else (first, *rest)
        terms.append(factors)
    return _sum_of(terms, minus, lambda factor: factor.is_Atom or factor in env, e.args)


def _sum_of(
    terms: Sequence[Factors], minus: Sequence[bool], is_plain: Callable[[Any], bool], whole: Sequence[Any] = ()
) -> Plan:
    """A sum of products, of which some are subtracted; `whole` are these as they stand, signs included.

    Sums are made pairwise, which keeps errors small.
    """
    parts, signs = [], []
    for node in by_common_factors(terms, is_plain):
        if isinstance(node, Common):
            inside = [minus[k] for k in node.numbers]
            every = all(inside)
            inner = _sum_of(node.left, [sign and not every for sign in inside], is_plain)
            # behind the symbols, whose products occur again, and before what is made of them
            first, last = ([f for f in node.factors if is_plain(f) is plain] for plain in (True, False))
            parts.append(_product_of([*first, inner, *last]))
            signs.append(every)
        else:
            parts.append(_one(terms[node], None if minus[node] or not whole else whole[node]))
            signs.append(minus[node])
    if len(parts) == 1 and not signs[0]:
        return parts[0]
    return Plan(("Add", tuple(signs)), parts, lambda m, *terms: pairwise(terms, signs), True)


def _one(factors: Factors, whole: Any) -> Any:
    """A product, which may be an expression as it stands."""
    if len(factors) == 1:
        return factors[0]
    return _product_of(factors) if whole is None else whole


def pairwise(terms: Sequence[Any], minus: Sequence[bool]) -> Any:
    """The sum of terms, of which some are subtracted, by halves."""
    signed = list(zip(terms, minus, strict=True))
    while len(signed) > 1:
        odd = signed[-1:] if len(signed) % 2 else []
        signed = [signed_sum(*pair) for pair in zip(signed[::2], signed[1::2], strict=False)] + odd
    term, negative = signed[0]
    return -term if negative else term


def signed_sum(a: Signed, b: Signed) -> Signed:
    """The sum of two terms, and whether it is to be taken negatively."""
    (x, x_minus), (y, y_minus) = a, b
    if x_minus == y_minus:
        return x + y, x_minus
    return (y - x if x_minus else x - y), False


def _product_of(factors: Sequence[Any]) -> Plan:
    """p * factors / (q * divisors), for a coefficient p/q; powers below zero divide."""
    p = q = 1
    parts, divides = [], []
    for f in factors:
        if isinstance(f, Plan):
            divides.append(False)
            parts.append(f)
            continue
        if f.is_Rational and abs(f.p) < 2**53 and f.q < 2**53:
            p, q = p * f.p, q * f.q
            continue
        below = f.is_Pow and f.exp.is_Rational and f.exp.is_negative
        divides.append(bool(below))
        parts.append(f.func(f.base, -f.exp) if below else f)

    def join(m: Any, *terms: Any) -> Any:
        above = [t for t, d in zip(terms, divides, strict=True) if not d]
        under = [t for t, d in zip(terms, divides, strict=True) if d]
        top = _times(above) if above else None
        if abs(p) != 1 or top is None:
            top = abs(p) if top is None else abs(p) * top
        bottom = [*([q] if q != 1 else []), *under]
        made = top / _times(bottom) if bottom else top
        return -made if p < 0 else made

    return Plan(("Mul", p, q, tuple(divides)), parts, join, True)


def _times(terms: Sequence[Any]) -> Any:
    return reduce(lambda a, b: a * b, terms)


def _power(e: Any) -> Plan:
    """Small integer and half-integer powers by products and square roots, the rest by pow."""
    base, exponent = e.args
    if base.func.__name__ == "Exp1":
        return Plan(("exp", 1), (exponent,), FUNCTIONS["exp"], True)
    if exponent.is_Rational and exponent.q <= 2 and abs(exponent.p) <= MULTIPLIED:
        p, q = int(exponent.p), int(exponent.q)
        return Plan(("Pow", p, q), (base,), lambda m, x: _multiplied(m, x, p, q), True)
    if base == 2:
        return Plan("exp2", (exponent,), lambda m, x: m.exp2(x), True)
    return Plan("Pow", (base, exponent), lambda m, x, y: m.pow(x, y), True)


def _multiplied(m: Any, x: Any, p: int, q: int) -> Any:
    whole, half = divmod(abs(p), q) if q == 2 else (abs(p), 0)
    made = m.sqrt(x) if half else None
    while whole:
        if whole & 1:
            made = x if made is None else x * made
        whole >>= 1
        x = x * x if whole else x
    if made is None:
        return 1
    return 1 / made if p < 0 else made


def _piecewise(m: Any, *parts: Any) -> Any:
    """The first value whose condition holds; NaN, as SymPy has it, where none does."""
    pairs = list(zip(parts[::2], parts[1::2], strict=True))
    made: Any = float("nan")
    for value, condition in reversed(pairs):
        if isinstance(condition, bool):
            made = value if condition else made
        else:
            made = m.select(condition, value, made)
    return made


def _heaviside(m: Any, x: Any, middle: Any = 0.5) -> Any:
    return m.select(m.gt(x, 0), 1.0, m.select(m.lt(x, 0), 0.0, m.select(m.eq(x, 0), middle, x)))


def _fold(name: str) -> Callable[..., Any]:
    return lambda m, *terms: reduce(getattr(m, name), terms)


#: by the name of SymPy's class, a formula over the primitives
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "exp": lambda m, x: m.exp(x),
    "log": lambda m, x: m.log(x),
    "sin": lambda m, x: m.sin(x),
    "cos": lambda m, x: m.cos(x),
    "tan": lambda m, x: m.tan(x),
    "cot": lambda m, x: m.cos(x) / m.sin(x),
    "sec": lambda m, x: 1 / m.cos(x),
    "csc": lambda m, x: 1 / m.sin(x),
    "asin": lambda m, x: m.arcsin(x),
    "acos": lambda m, x: m.arccos(x),
    "atan": lambda m, x: m.arctan(x),
    "atan2": lambda m, y, x: m.arctan2(y, x),
    "sinh": lambda m, x: m.sinh(x),
    "cosh": lambda m, x: m.cosh(x),
    "tanh": lambda m, x: m.tanh(x),
    "coth": lambda m, x: 1 / m.tanh(x),
    "sech": lambda m, x: 1 / m.cosh(x),
    "csch": lambda m, x: 1 / m.sinh(x),
    "asinh": lambda m, x: m.arcsinh(x),
    "acosh": lambda m, x: m.arccosh(x),
    "atanh": lambda m, x: m.arctanh(x),
    "erf": lambda m, x: m.erf(x),
    "Abs": lambda m, x: m.abs(x),
    "sign": lambda m, x: m.sign(x),
    "floor": lambda m, x: m.floor(x),
    "ceiling": lambda m, x: m.ceil(x),
    "frac": lambda m, x: x - m.floor(x),
    "Mod": lambda m, x, y: m.mod(x, y),
    "Heaviside": _heaviside,
    "Max": _fold("maximum"),
    "Min": _fold("minimum"),
    "Equality": lambda m, x, y: m.eq(x, y),
    "Unequality": lambda m, x, y: m.ne(x, y),
    "StrictLessThan": lambda m, x, y: m.lt(x, y),
    "LessThan": lambda m, x, y: m.le(x, y),
    "StrictGreaterThan": lambda m, x, y: m.gt(x, y),
    "GreaterThan": lambda m, x, y: m.ge(x, y),
    "And": _fold("and_"),
    "Or": _fold("or_"),
    "Xor": _fold("xor"),
    "Not": lambda m, p: m.not_(p),
}
