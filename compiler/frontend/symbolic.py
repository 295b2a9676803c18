"""SymPy expressions as functions that can be traced, and straight-line scalar graphs as SymPy expressions.

    from_sympy([x, y], x * sin(y))     a Python function of two arguments
    to_sympy(graph, [x, y])            its results as expressions

Symbols are known by what they are, never by their names: two symbols called x with other assumptions are two
arguments, and no name is ever made into source.
"""

from __future__ import annotations

import inspect
import keyword
import math
import re
from collections.abc import Callable, Iterable, Sequence
from numbers import Number
from typing import Any

import numpy as np

from ..ir.graph import Graph, Op, Value
from ..ir.types import NAMES, Type
from ..ops import reduce, shape
from ..ops.algebras import Floats, Symbols
from ..ops.control import call
from ..ops.elementwise import Elementwise, cast, select
from ..ops.expression import read_all
from ..ops.scipy.special import Special
from ..ops.source import const, number
from ..ops.term import Term, Terms
from ..passes.cleanup import expand
from .array import Array, find, here
from .promotion import common_shape, conform, result_dtype


def from_sympy(args: Any, expr: Any) -> Callable[..., Any]:
    """A function of one number or array for each symbol, element by element; what it returns is like `expr`.

    An expression gives a number or array, a list a list, a tuple a tuple, and a matrix of r rows and c columns an
    array of shape (r, c, ...).
    """
    symbols = _symbols(args)
    leaves: list[Any] = []
    make = _structure(expr, leaves, "expr")
    names = _names(symbols)

    def function(*given: Any) -> Any:
        traced = find(given) is not None
        return make(iter((_emitted if traced else _computed)(leaves, symbols, given)))

    _check_readable(leaves, symbols)
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    function.__signature__ = inspect.Signature([inspect.Parameter(n, kind) for n in names])  # type: ignore[attr-defined]
    function.__name__ = function.__qualname__ = "expression"
    function.__doc__ = f"A SymPy expression in {', '.join(map(str, symbols))}."
    function.symbols = tuple(symbols)  # type: ignore[attr-defined]
    return function


# ---- what is given


def _symbols(args: Any) -> list[Any]:
    import sympy

    given = list(args) if isinstance(args, Iterable) and not isinstance(args, str) else [args]
    for k, s in enumerate(given):
        if not isinstance(s, sympy.Symbol):
            raise TypeError(f"lambdify: argument {k} is {_told(s)}, expected a SymPy Symbol: sympy.Symbol('x')")
        if s in given[:k]:
            raise ValueError(f"lambdify: the symbol {s} stands twice among the arguments")
    return given


def _told(x: Any) -> str:
    return f"the string {x!r}" if isinstance(x, str) else f"{x!r:.60} of type {type(x).__name__}"


def _names(symbols: Sequence[Any]) -> list[str]:
    """An identifier for each symbol, its own name where that is one and not taken."""
    names: list[str] = []
    for k, s in enumerate(symbols):
        name = s.name if re.fullmatch(r"[A-Za-z_]\w*", s.name, re.ASCII) else f"x{k}"
        while name in names or keyword.iskeyword(name):
            name += "_"
        names.append(name)
    return names


def _structure(expr: Any, leaves: list[Any], path: str) -> Callable[[Any], Any]:
    """What makes a result of `expr`'s structure of its leaves' values; the leaves are appended."""
    import sympy

    if isinstance(expr, (list, tuple, sympy.Tuple)):
        kind = list if isinstance(expr, list) else tuple
        parts = [_structure(e, leaves, f"{path}[{k}]") for k, e in enumerate(expr)]
        return lambda values: kind([part(values) for part in parts])
    if isinstance(expr, (sympy.MatrixBase, sympy.NDimArray)):
        leaves.extend(sympy.flatten(expr) if isinstance(expr, sympy.MatrixBase) else sympy.flatten(expr.tolist()))
        size, count = tuple(map(int, expr.shape)), math.prod(map(int, expr.shape))
        return lambda values: _matrix([next(values) for _ in range(count)], size)
    if isinstance(expr, Number) and not isinstance(expr, complex):
        expr = sympy.sympify(expr)
    if not isinstance(expr, (sympy.Expr, sympy.logic.boolalg.Boolean)):
        fix = "build it from symbols: x = sympy.Symbol('x')"
        raise TypeError(f"lambdify: {path} is {_told(expr)}, expected a SymPy expression; {fix}")
    leaves.append(expr)
    return next


def _matrix(values: list[Any], size: tuple[int, ...]) -> Any:
    """Elements of one shape as an array with `size` in front."""
    if not values:
        return np.zeros(size)
    return np.reshape(np.stack(values), (*size, *np.shape(values[0])))


def _check_readable(leaves: Sequence[Any], symbols: Sequence[Any]) -> None:
    """Read once over nothing, so that what no graph can compute is refused here and now."""
    read_all(leaves, _Nothing(), dict.fromkeys(symbols, _Nothing()), lambda e: _Nothing())


class _Nothing:
    """An algebra and its only term: whatever is done with it gives it again."""

    def __getattr__(self, name: str) -> Any:
        return lambda *args: self

    def _self(self, *args: Any) -> _Nothing:
        return self

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __neg__ = _self


# ---- expressions to graphs


class _Scalars(Terms):
    """Terms of one type, which numbers take where no other term says so."""

    __slots__ = ("type",)

    def __init__(self, b: Any, type: Type) -> None:
        super().__init__(b)
        self.type = type

    def _alike(self, args: tuple[Any, ...]) -> list[Value]:
        if not any(isinstance(a, Term) for a in args):
            args = (self.number(float(args[0]), self.type), *args[1:])
        return super()._alike(args)


def _number(e: Any) -> float:
    """The float nearest to a real number of SymPy's."""
    try:
        return float(e)
    except OverflowError:
        return math.inf if e > 0 else -math.inf


def _emitted(leaves: Sequence[Any], symbols: Sequence[Any], given: Sequence[Any]) -> list[Any]:
    """The values of the expressions as operations of the function being traced."""
    now, size = here(*given), common_shape("lambdify", *given)
    dtype = result_dtype(*given)
    if dtype.kind != "f":
        dtype = np.dtype(np.float64)
    m = _Scalars(now.builder, Type(NAMES[dtype], size))
    env = {s: m(conform(now, x, dtype, size)) for s, x in zip(symbols, given, strict=True)}
    weak = all(not isinstance(x, (np.ndarray, np.generic)) and getattr(x, "weak", True) for x in given)
    made = []
    for term in read_all(leaves, m, env, _number):
        kind = m.type.with_dtype("bool") if isinstance(term, bool) else m.type
        value = term.value if isinstance(term, Term) else number(now.builder, term, kind)
        made.append(Array(now, value, weak and value.type.is_float))
    return made


def _computed(leaves: Sequence[Any], symbols: Sequence[Any], given: Sequence[Any]) -> list[Any]:
    """The values of the expressions, by NumPy."""
    floats = [np.asarray(x) if np.asarray(x).dtype.kind == "f" else np.asarray(x, float) for x in given]
    with np.errstate(all="ignore"):
        made = read_all(leaves, Floats(), dict(zip(symbols, np.broadcast_arrays(*floats), strict=True)), _number)
    size = np.broadcast_shapes(*(x.shape for x in floats))
    return [np.broadcast_to(x, size)[()] for x in made]


# ---- graphs to expressions


class NoExpression(TypeError):
    """A graph that is more than a straight line of scalar operations."""


def to_sympy(graph: Graph, symbols: Sequence[Any] = ()) -> list[Any]:
    """The results of a graph of scalars as SymPy expressions; parameters without a symbol get one of their name."""
    import sympy

    m = Symbols()
    graph = expand(graph, late=True, keep=lambda prim: isinstance(prim, Special) and m.knows(prim.name))
    env: dict[Value, Any] = {}
    for k, p in enumerate(graph.params):
        _check_scalar(p, f"argument {p.hint or k}")
        named = {"real": True} if p.type.is_float else {"integer": True}
        env[p] = symbols[k] if k < len(symbols) else sympy.Symbol(p.hint or f"x{k}", **named)
    _read_body(graph, env, m)
    return [env[r] for r in graph.results]


def _read_body(graph: Graph, env: dict[Value, Any], m: Symbols) -> None:
    for op in graph.body:
        for r in op.results:
            _check_scalar(r, op.prim.name + (f" at {op.where}" if op.where else ""))
        args = [env[a] for a in op.args]
        if op.prim is call:
            (region,) = op.regions
            inner = dict(zip(region.params, args, strict=True))
            _read_body(region, inner, m)
            env.update(zip(op.results, [inner[r] for r in region.results], strict=True))
        else:
            env[op.results[0]] = _read_op(op, args, m)


def _check_scalar(value: Value, what: str) -> None:
    if value.type.shape:
        raise NoExpression(f"sympy() reads functions of scalars; {what} is {value.type}")


def _read_op(op: Op, args: list[Any], m: Symbols) -> Any:
    if isinstance(op.prim, Elementwise):
        return op.prim.formula(m, *args)
    if isinstance(op.prim, Special):
        return getattr(m, op.prim.name)(*args, **op.attrs)
    if op.prim is select:
        return m.select(*args)
    if op.prim is const:
        return _constant(op.attrs["value"])
    if op.prim is cast and _keeps(op.args[0].type, op.results[0].type):
        return args[0]
    if op.prim in (reduce.spread, reduce.sum_, reduce.max_, reduce.min_, shape.reshape, shape.transpose):
        return args[0]
    raise NoExpression(f"sympy() cannot read {op.prim.name}" + (f" at {op.where}" if op.where else ""))


def _keeps(source: Type, result: Type) -> bool:
    """Whether a cast leaves the number what it is, but for rounding."""
    return result.is_float and source.dtype != "bool"


def _constant(value: Any) -> Any:
    """Whole numbers and short fractions are exact, others have the digits of a float."""
    import sympy

    if isinstance(value, bool):
        return sympy.true if value else sympy.false
    if abs(value) == np.finfo(np.float64).max:  # where floats end, but not numbers
        value = math.copysign(math.inf, value)
    if isinstance(value, int) or (math.isfinite(value) and value == int(value)):
        return sympy.Integer(int(value))
    if not math.isfinite(value):
        return sympy.nan if math.isnan(value) else sympy.oo if value > 0 else -sympy.oo
    p, q = value.as_integer_ratio()
    return sympy.Rational(p, q) if q <= 1024 else sympy.Float(value, 17)
