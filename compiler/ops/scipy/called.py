"""Ufuncs of SciPy's, called when a graph runs, with derivatives that are formulas in graph operations.

    TABLE["expi"] = one(lambda m, x, r: m.exp(x) / x)        %1: f64[3] = called %x {name="expi"}

A name stands for the ufunc in `scipy.special`, which is there, since the user has called one; it is never imported
from here. A row of `TABLE` tells the slopes by other functions of SciPy's names: those of the table, those in `NATIVE`,
which are formulas over primitives, and primitives. So every order of derivative follows.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...ir.graph import Value
from ..custom import refused
from ..elementwise import cast
from ..library import Library
from ..term import Term, Terms

Formula = Callable[..., Any]
Slopes = Callable[[Any, Sequence[Term], Sequence[Term]], Sequence[Sequence[Any]]]


class Row(NamedTuple):
    """What is known of a ufunc.

    arity    how many arguments it takes
    outputs  how many results it has
    slopes   (m, arguments, results) -> for each result its partials: terms, numbers, None where it is constant by
             steps, or UNKNOWN
    """

    arity: int
    outputs: int
    slopes: Slopes


UNKNOWN = "no formula"
"""A partial that exists and that nobody has written."""

TABLE: dict[str, Row] = {}
NATIVE: dict[str, Formula] = {}
"""Functions of SciPy's as formulas over primitives: (m, ...) -> the term."""


def many(*outputs: Sequence[Any]) -> Row:
    """A row of rules (m, arguments, results) -> partial, for each result a sequence of one for each argument."""

    def slopes(m: Any, xs: Sequence[Term], rs: Sequence[Term]) -> list[list[Any]]:
        return [[rule(m, *xs, *rs) if callable(rule) else rule for rule in rules] for rules in outputs]

    return Row(len(outputs[0]), len(outputs), slopes)


def one(*rules: Any) -> Row:
    """A row of rules for the one result."""
    return many(rules)


def same(expression: Formula) -> Row:
    """A row of what is equal to an expression, and has its slopes; SciPy's values have more digits, or are quicker."""
    return Row(_arity(expression), 1, lambda m, xs, rs: [slopes_of(m, expression, xs)])


def inverse(place: int, expression: Formula) -> Row:
    """A row of what solves expression(..., r, ...) = p for the argument at a place, where p is given in its stead."""

    def slopes(m: Any, xs: Sequence[Term], rs: Sequence[Term]) -> list[list[Any]]:
        found = slopes_of(m, expression, [*xs[:place], rs[0], *xs[place + 1 :]])
        steep: Any = found[place]
        return [[1.0 / steep if k == place else f and -(f / steep) for k, f in enumerate(found)]]

    return Row(_arity(expression), 1, slopes)


def _arity(expression: Formula) -> int:
    return expression.__code__.co_argcount - 1


class Functions(Terms):
    """Terms with the functions of `scipy.special` by name, before the primitives."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name in NATIVE:
            return lambda *args: NATIVE[name](self, *args)
        if name in TABLE:
            return lambda *args: self.call(name, *args)
        return super().__getattr__(name)

    def call(self, name: str, *args: Any) -> Any:
        """The ufunc of this name: a term, or as many as it has results; numbers are of the floats' type."""
        like = next(a.value.type for a in args if isinstance(a, Term) and a.value.type.is_float)
        values = [a.value if isinstance(a, Term) else self.number(float(a), like).value for a in args]
        made = [Term(self, v) for v in self.b.emit(called, *values, name=name)]
        return made[0] if len(made) == 1 else tuple(made)

    def real(self, x: Any, like: Term) -> Any:
        """A whole number as a float of the type of `like`."""
        of = like.value.type.dtype
        return x if x.value.type.dtype == of else Term(self, cast(self.b, x.value, dtype=of))

    def one(self, like: Term) -> Term:
        return self.number(1.0, like.value.type)


def slopes_of(m: Functions, expression: Formula, xs: Sequence[Term]) -> list[Term | None]:
    """The partials of an expression at the arguments `xs`, by a reverse sweep over what it emits."""
    m = Functions(m.b)  # which makes every operation anew
    own = [m(x.value) * 1.0 if x.value.type.is_float else x for x in xs]  # two arguments may be one value
    start = len(m.b.body)
    made = expression(m, *own)
    running: dict[Value, Term] = {made.value: m.one(made)}
    for op in reversed(m.b.body[start:]):
        given = [running.get(r) for r in op.results]
        if not any(given):
            continue
        for a, ct in zip(op.args, op.prim.pull(m.b, op, [g and g.value for g in given]), strict=True):
            if ct is not None:
                running[a] = running[a] + Term(m, ct) if a in running else Term(m, ct)
    return [running.get(x.value) for x in own]


def _of_scipy(name: str) -> Any:
    """A ufunc, or what is constant to derivatives: a method of a distribution in standard form, "norm._ppf"."""
    space = "scipy.stats" if "." in name else "scipy.special"
    module = sys.modules.get(space)
    if module is None:
        raise RuntimeError(f"{space}.{name} takes part in a function, but {space} is not imported")
    found: Any = module
    for part in name.split("."):
        found = getattr(found, part)
    return found if found is getattr(module, name, None) else _method(found)


def _method(of: Callable[..., Any]) -> Callable[..., Any]:
    """SciPy's methods of standard form count on arrays of one shape, some on rows; NaN where one finds nothing."""

    def method(*xs: np.ndarray) -> np.ndarray:
        rows = [*map(np.ravel, np.broadcast_arrays(*xs))]
        with np.errstate(all="ignore"):
            try:
                made = of(*rows)
            except (ValueError, RuntimeError):  # of shapes that are none, in what a condition leaves out
                made = [alone(*row) for row in zip(*rows, strict=True)]
            return np.asarray(made, float).reshape(np.shape(xs[0]))

    def alone(*row: Any) -> float:
        try:
            return float(of(*map(np.atleast_1d, row))[0])
        except (ValueError, RuntimeError):
            return math.nan

    return method


def _row(name: str, arity: int) -> Row:
    return Row(arity, 1, lambda m, xs, rs: [[None] * arity]) if "." in name else TABLE[name]


class Called(Library):
    """The results of a ufunc, element by element."""

    safe = 0.5

    def infer(self, types, attrs, regions):
        row = _row(attrs["name"], len(types))
        floats = [t for t in types if t.is_float]
        if len(types) != row.arity or not floats or {t.dtype for t in floats} != {floats[0].dtype}:
            raise TypeError(f"{attrs['name']} takes {row.arity} arguments, got {', '.join(map(str, types))}")
        return (floats[0],) * row.outputs

    def pull(self, b, op, cotangents):
        if all(ct is None for ct in cotangents):
            return [None] * len(op.args)
        m, name = Functions(b), op.attrs["name"]
        inputs, results = [m(a) for a in op.args], [m(r) for r in op.results]
        table = _row(name, len(inputs)).slopes(m, inputs, results)
        return [self._cotangent(m, name, k, inputs, cotangents, table) for k in range(len(inputs))]

    def _cotangent(self, m, name, k, xs, cotangents, table):
        """That of argument k."""
        x = xs[k]
        made = None
        for ct, partials in zip(cotangents, table, strict=True):
            if ct is None or partials[k] is None or not x.value.type.is_float:
                continue
            if partials[k] is UNKNOWN:
                text = f"the derivative of {name} with respect to its argument {k + 1} is not implemented: "
                text += "call it through pullback.external(f, result, differences=True)"
                return refused.of(m.b, x.value.type, text, [*cotangents, *[x.value for x in xs]])
            term = m(ct) * partials[k]
            made = term if made is None else made + term
        return made and made.value

    def masks(self, b, op, mask):
        return [mask if a.type.is_float else None for a in op.args]

    def samples(self, rng):
        return []


def _faddeeva(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    made = _of_scipy("wofz")(x + 1j * y)
    return made.real, made.imag


def _branch(number: int) -> Callable[..., np.ndarray]:
    """A branch of Lambert's function where it is real."""

    def lambertw(x: np.ndarray) -> np.ndarray:
        made = _of_scipy("lambertw")(x, number)
        return np.where(made.imag == 0, made.real, np.nan)

    return lambertw


REAL: dict[str, Callable[..., Any]] = {
    "faddeeva": _faddeeva, "hurwitz": lambda s, q: _of_scipy("zeta")(s, q), "lambertw": _branch(0),
    "lambertw_below": _branch(-1), "expn": lambda n, x: _of_scipy("expn")(np.trunc(n), x),
}
"""What is real in SciPy's functions of complex numbers, and orders without SciPy's warning that they are truncated."""


def _call(*args: np.ndarray, name: str) -> Any:
    return (REAL.get(name) or _of_scipy(name))(*args)


called = Called("called", lambda *types: types, _call, None, {"name": "word"}, samples=lambda rng: [])
called.arity = None

__all__ = ["NATIVE", "TABLE", "UNKNOWN", "Functions", "Row", "called", "inverse", "many", "one", "same", "slopes_of"]
