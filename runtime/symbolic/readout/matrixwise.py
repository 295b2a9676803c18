"""Graphs as matrix expressions: a graph goes in, its results come out in MatrixSymbols, whatever the sizes.

    to_matrices(graph of x @ A @ x)       DotProduct(A.T*x, x)
    to_matrices(its gradient by x)        A*x + A.T*x

A number is an expression, a vector a column, a matrix itself. What is the same everywhere stays a number as long as it
can. Straight-line graphs of arrays of up to two axes are read, and NoExpression is raised for others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ....compiler.ir.graph import Graph, Op, Value
from ....compiler.ir.types import Type
from ....compiler.ops import elementwise as E
from ....compiler.ops.contract import contract, split
from ....compiler.ops.elementwise import Elementwise
from ....compiler.ops.linalg import solutions
from ....compiler.ops.reduce import spread, sum_
from ....compiler.ops.scipy.special import Special
from ....compiler.ops.shape import pad, reshape, slice_, transpose
from ....compiler.ops.source import const
from ....compiler.passes.cleanup import expand
from ..shared.library import sympy_module
from .elements import Formulas, NoExpression
from .operations import number_of, static_shape, told


class Fill(NamedTuple):
    """One number at every place."""

    value: Any


class Flat(NamedTuple):
    """The elements of a matrix in one row after the other."""

    matrix: Any


def to_matrices(graph: Graph, symbols: Sequence[Any] = ()) -> list[Any]:
    """The results of a graph; parameters without a symbol get one of their name."""
    m = Formulas()

    def stays(prim: Any) -> bool:
        return prim in RULES or (isinstance(prim, Special) and m.knows(prim.name))

    graph = expand(graph, late=True, keep=stays)
    env: dict[Value, Any] = {p: _parameter(p, k, symbols) for k, p in enumerate(graph.params)}
    for op in _needed(graph):
        args = [env[a] for a in op.args]
        rule = RULES.get(op.prim)
        if rule is None and isinstance(op.prim, Elementwise | Special):
            rule = _elementwise
        if rule is None:
            raise NoExpression(f"sympy(matrices=True) cannot read {told(op)}: leave it out for elements")
        made = rule(m, op, args)
        env.update(zip(op.results, made if isinstance(made, list) else [made], strict=True))
    return [_shaped(env[r], r.type) for r in graph.results]


def _needed(graph: Graph) -> list[Op]:
    """The operations that the results are made of, without checks."""
    live, kept = set(graph.results), []
    for op in reversed(graph.body):
        if not live.isdisjoint(op.results):
            live.update(op.args)
            kept.append(op)
    return kept[::-1]


def _parameter(p: Value, k: int, symbols: Sequence[Any]) -> Any:
    sympy = sympy_module()

    if not p.type.shape:
        facts = {"real": True} if p.type.is_float else {"integer": True}
        return symbols[k] if k < len(symbols) else sympy.Symbol(p.hint or f"x{k}", **facts)
    return symbols[k] if k < len(symbols) else sympy.MatrixSymbol(p.hint or f"x{k}", *_size(p.type))


def _size(type: Type) -> tuple[int, int]:
    """The rows and columns of an array."""
    shape = static_shape(type)
    if not 1 <= len(shape) <= 2:
        raise NoExpression(f"sympy(matrices=True) reads numbers, vectors and matrices, and not {type}")
    return (shape[0], 1) if len(shape) == 1 else (shape[0], shape[1])


def _shaped(x: Any, type: Type) -> Any:
    """A value as an expression, with its elements written out as a matrix where they are alike."""
    sympy = sympy_module()

    if isinstance(x, Flat):
        raise NoExpression("sympy(matrices=True) cannot read a matrix as a vector: leave it out for elements")
    if not isinstance(x, Fill) or not type.shape:
        return x.value if isinstance(x, Fill) else x
    return sympy.ZeroMatrix(*_size(type)) if x.value == 0 else _multiple(x.value, sympy.OneMatrix(*_size(type)))


def _elementwise(m: Formulas, op: Op, args: list[Any]) -> Any:
    """By matrices where the operation is linear, and else element by element."""
    sympy = sympy_module()

    def formula(*xs: Any) -> Any:
        if isinstance(op.prim, Special):
            return getattr(m, op.prim.name)(*xs, **op.attrs)
        return op.prim.formula(m, *xs)  # type: ignore[attr-defined]

    if not op.results[0].type.shape:
        return formula(*args)
    if all(isinstance(x, Fill) for x in args):
        return Fill(formula(*[x.value for x in args]))
    found = _linear(op, args)
    if found is not None:
        return found
    varied = [x for x in args if not isinstance(x, Fill)]
    if len(set(varied)) != 1:
        raise NoExpression(f"sympy(matrices=True) cannot read {told(op)} of several arrays: leave it out for elements")
    d = sympy.Dummy("d", real=True)
    return varied[0].applyfunc(sympy.Lambda(d, formula(*[x.value if isinstance(x, Fill) else d for x in args])))


def _linear(op: Op, args: list[Any]) -> Any:
    """Sums, multiples and products of elements; None for what is none of them."""
    sympy = sympy_module()

    prim, types = op.prim, [a.type for a in op.args]
    if prim is E.neg:
        return -args[0]
    if prim is E.add or prim is E.sub:
        x, y = map(_shaped, args, types)
        return x + y if prim is E.add else x - y
    if prim is E.mul:
        x, y = args
        if isinstance(x, Fill) or isinstance(y, Fill):
            number, matrix = (x.value, y) if isinstance(x, Fill) else (y.value, x)
            return Fill(sympy.Integer(0)) if number == 0 else _multiple(number, matrix)
        return sympy.HadamardPower(x, 2) if x == y else sympy.HadamardProduct(x, y)
    if prim is E.div:
        x, y = args
        if isinstance(y, Fill):
            return _multiple(1 / y.value, x)
        below = sympy.HadamardPower(y, -1)
        return _multiple(x.value, below) if isinstance(x, Fill) else sympy.HadamardProduct(x, below)
    return None


def _multiple(number: Any, matrix: Any) -> Any:
    """A number times a matrix; SymPy takes a DotProduct for none that commutes, and a Trace for one."""
    sympy = sympy_module()

    return number.replace(sympy.DotProduct, lambda x, y: sympy.Trace(x.T * y)) * matrix


def _contract(m: Formulas, op: Op, args: list[Any]) -> Any:
    """Products of vectors and matrices."""
    sympy = sympy_module()

    left, right, batch = split(op.attrs)
    types = [a.type for a in op.args]
    if batch or any(t.rank > 2 for t in types):
        raise NoExpression(f"sympy(matrices=True) reads products of two matrices, and not {told(op)}")
    if not types[0].rank or not types[1].rank:  # a number times an array
        x, y = args
        number, other = (x, y) if not types[0].rank else (y, x)
        if not types[0].rank and not types[1].rank:
            return x * y
        return Fill(number * other.value) if isinstance(other, Fill) else _multiple(number, other)
    a, b = map(_shaped, args, types)
    if len(left) == 2:
        return sympy.Trace((a.T if tuple(left) == tuple(right) else a) * b)
    if not left:
        if types[0].rank + types[1].rank > 2:
            raise NoExpression("sympy(matrices=True) reads arrays of up to two axes")
        return a * b.T
    if types[0].rank == types[1].rank == 1:
        return sympy.DotProduct(a, b)
    first = a if (left[0] == 1 or types[0].rank == 1) else a.T
    second = b if (right[0] == 0) else b.T
    if types[0].rank == 1:  # a row times a matrix, as a column
        return (second.T * a).doit()
    return (first * second).doit()


def _sum(m: Formulas, op: Op, args: list[Any]) -> Any:
    sympy = sympy_module()

    (x,), (type,) = args, [a.type for a in op.args]
    axes, shape = op.attrs["axes"], static_shape(type)
    if isinstance(x, Fill):
        count = 1
        for a in axes:
            count *= shape[a]
        made = count * x.value
        return Fill(made) if op.results[0].type.shape else made
    x = _shaped(x, type)
    rows, columns = _size(type)
    if len(axes) == len(shape):
        if isinstance(x, sympy.matrices.expressions.diagonal.DiagonalOf):
            return sympy.Trace(x.arg)
        if isinstance(x, (sympy.HadamardPower, sympy.HadamardProduct)) and len(x.args) == 2:
            first, second = (x.base, x.base) if isinstance(x, sympy.HadamardPower) and x.exp == 2 else x.args
            if second.is_Matrix:
                return sympy.DotProduct(first, second) if len(shape) == 1 else sympy.Trace(first.T * second)
        if len(shape) == 1:
            return sympy.DotProduct(sympy.OneMatrix(rows, 1), x)
        return sympy.DotProduct(sympy.OneMatrix(rows, 1), x * sympy.OneMatrix(columns, 1))
    return x * sympy.OneMatrix(columns, 1) if axes[0] == 1 else x.T * sympy.OneMatrix(rows, 1)


def _spread(m: Formulas, op: Op, args: list[Any]) -> Any:
    sympy = sympy_module()

    (x,), type = args, op.results[0].type
    if not op.args[0].type.shape or isinstance(x, Fill):
        return Fill(x.value if isinstance(x, Fill) else x)
    rows, columns = _size(type)
    along = op.attrs["axes"][0]  # where the vector's axis goes
    return x * sympy.OneMatrix(1, columns) if along == 0 else sympy.OneMatrix(rows, 1) * x.T


def _reshape(m: Formulas, op: Op, args: list[Any]) -> Any:
    (x,), source, into = args, static_shape(op.args[0].type), static_shape(op.results[0].type)
    if isinstance(x, Fill):
        return x if into else x.value
    if not source:
        return Fill(x)
    if isinstance(x, Flat):
        if len(into) == 2 and x.matrix.shape == into:
            return x.matrix
        raise NoExpression(f"sympy(matrices=True) cannot read {told(op)}")
    if not into:
        return x[0, 0]
    old, new = _size(op.args[0].type), _size(op.results[0].type)
    if old == new:
        return x
    if old == new[::-1] and 1 in old:
        return x.T
    if len(source) == 2 and len(into) == 1:
        return Flat(x)
    raise NoExpression(f"sympy(matrices=True) cannot read {told(op)}")


def _slice(m: Formulas, op: Op, args: list[Any]) -> Any:
    """A diagonal, an element, or a block."""
    sympy = sympy_module()

    (x,), start, step, shape = args, op.attrs["start"], op.attrs["step"], op.attrs["shape"]
    if isinstance(x, Fill):
        return x
    if isinstance(x, Flat):
        n = x.matrix.shape[0]
        if x.matrix.is_square and (start, step, shape) == ((0,), (n + 1,), (n,)):
            return sympy.matrices.expressions.diagonal.DiagonalOf(x.matrix)
        raise NoExpression(f"sympy(matrices=True) cannot read {told(op)}")
    ends = [(a, a + (n - 1) * s + 1, s) for a, s, n in zip(start, step, shape, strict=True)]
    return sympy.MatrixSlice(x, ends[0], ends[1] if len(ends) == 2 else (0, 1, 1))


def _pad(m: Formulas, op: Op, args: list[Any]) -> Any:
    """The matrix of a diagonal."""
    sympy = sympy_module()

    (x,), start, step, shape = args, op.attrs["start"], op.attrs["step"], op.attrs["shape"]
    n = static_shape(op.args[0].type)
    if len(n) != 1 or (start, step, shape) != ((0,), (n[0] + 1,), (n[0] ** 2,)):
        raise NoExpression(f"sympy(matrices=True) cannot read {told(op)}")
    return Flat(x.value * sympy.Identity(n[0]) if isinstance(x, Fill) else sympy.DiagMatrix(x))


def _of_matrix(rule: Callable[..., Any]) -> Callable[..., Any]:
    return lambda m, op, args: rule(op, *map(_shaped, args, [a.type for a in op.args]))


def _solve(op: Op, a: Any, b: Any) -> Any:
    return (a.T if op.attrs["turned"] else a).I * b


def _logarithm(op: Op, a: Any) -> Any:
    sympy = sympy_module()
    value = sympy.Determinant(a)
    return [sympy.sign(value), sympy.log(sympy.Abs(value))]


def _cofactor(op: Op, a: Any) -> Any:
    return sympy_module().Determinant(a) * a.I.T


def _transposed(m: Formulas, op: Op, args: list[Any]) -> Any:
    (x,) = args
    return x if isinstance(x, Fill) or tuple(op.attrs["axes"]) != (1, 0) else x.T


def _constant(m: Formulas, op: Op, args: list[Any]) -> Any:
    value = number_of(op.attrs["value"])
    return Fill(value) if op.results[0].type.shape else value


RULES: dict[Any, Callable[..., Any]] = {
    const: _constant,
    contract: _contract,
    sum_: _sum,
    spread: _spread,
    reshape: _reshape,
    transpose: _transposed,
    slice_: _slice,
    pad: _pad,
    solutions.inverse: _of_matrix(lambda op, a: a.I),
    solutions.solve: _of_matrix(_solve),
    solutions.det: _of_matrix(lambda op, a: sympy_module().Determinant(a)),
    solutions.singular: _of_matrix(lambda op, a: sympy_module().Eq(sympy_module().Determinant(a), 0)),
    solutions.slogdet: _of_matrix(_logarithm),
    solutions.cofactor: _of_matrix(_cofactor),
}

__all__ = ["to_matrices"]
