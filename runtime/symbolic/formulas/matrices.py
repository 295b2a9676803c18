"""Matrix expressions as operations on whole arrays, which may have further axes in front.

A product with an inverse in it solves a system; no inverse is made but where one stands alone. Elements, traces and
determinants are numbers, and are read on as such.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from string import ascii_lowercase, ascii_uppercase
from typing import Any

import numpy as np

from ....compiler.frontend.array import here
from ....compiler.frontend.promotion import positions
from ....compiler.ops.expression import Plan, UnknownFunction
from ..shared.library import sympy_module
from .sums import outer_keys, size_of, whole


def rules() -> dict[type, Any]:
    sympy = sympy_module()
    from sympy.codegen.matrix_nodes import MatrixSolve
    from sympy.matrices import expressions as E
    from sympy.matrices.expressions.applyfunc import ElementwiseApplyFunction
    from sympy.matrices.expressions.matexpr import MatrixElement
    from sympy.tensor.array import ArrayComprehension
    from sympy.tensor.array import expressions as A

    made: dict[type, Any] = {
        E.MatrixSymbol: _unknown, E.MatMul: _product, E.MatrixSlice: _slice, E.BlockMatrix: _blocks,
        E.BlockDiagMatrix: _blocks,
        E.FunctionMatrix: _by_index, ArrayComprehension: _by_index, MatrixElement: _element,
        ElementwiseApplyFunction: _by_element, E.Identity: _constant, E.ZeroMatrix: _constant,
        E.OneMatrix: _constant, A.ZeroArray: _constant, A.OneArray: _constant, A.ArraySymbol: _unknown,
        A.ArrayElement: _array_element, A.ArrayContraction: _contraction, A.PermuteDims: _permuted,
        A.ArrayTensorProduct: _outer, A.ArrayDiagonal: _diagonal, A.Reshape: _reshaped,
        A.ArrayElementwiseApplyFunc: _by_element,
        sympy.ImmutableDenseMatrix: _explicit, sympy.ImmutableSparseMatrix: _explicit,
        E.MatPow: _power, E.DotProduct: _dot, MatrixSolve: _solved, E.MatrixPermute: _reordered,
        E.PermutationMatrix: lambda reader, e, env: _explicit(reader, e.as_explicit(), env),
    }  # fmt: skip
    return made | {getattr(E, name, None) or getattr(A, name): _simple for name in SIMPLE}


def _arrays(m: Any, terms: Any) -> list[Any]:
    return [m.array(t) for t in terms]


def _transposed(x: Any) -> Any:
    return np.swapaxes(x, -1, -2)


def _diagonal_matrix(m: Any, x: Any) -> Any:
    """Of a vector, or of the diagonal of a matrix."""
    column = x.shape[-1] == 1
    flat = x[..., :, 0] if column else x[..., 0, :] if x.shape[-2] == 1 else np.diagonal(x, axis1=-2, axis2=-1)
    return np.eye(flat.shape[-1]) * flat[..., None, :]


SIMPLE: dict[str, Callable[..., Any]] = {
    "MatAdd": lambda m, *xs: reduce(np.add, xs),
    "Transpose": lambda m, x: _transposed(x),
    "Adjoint": lambda m, x: np.conj(_transposed(x)),
    "Inverse": lambda m, x, *_: np.linalg.inv(x),
    "Determinant": lambda m, x: m.term(np.linalg.det(x)),
    "Trace": lambda m, x: m.term(np.trace(x, axis1=-2, axis2=-1)),
    "HadamardProduct": lambda m, *xs: reduce(np.multiply, [_raised(m, x) for x in xs]),
    "HadamardPower": lambda m, x, y: np.power(_raised(m, x), _raised(m, y)),
    "KroneckerProduct": lambda m, *xs: reduce(np.kron, xs),
    "DiagMatrix": _diagonal_matrix,
    "DiagonalMatrix": _diagonal_matrix,
    "DiagonalOf": lambda m, x: np.diagonal(x, axis1=-2, axis2=-1)[..., :, None],
    "ArrayAdd": lambda m, *xs: reduce(np.add, xs),
}
"""By the name of SymPy's class, what makes the array of the arrays of its parts."""


def _raised(m: Any, x: Any) -> Any:
    """A number of each element of a batch beside matrices."""
    return x[..., None, None] if m.batch and np.shape(x) == m.batch else x


def _simple(reader: Any, e: Any, env: Mapping[Any, Any]) -> Plan:
    name = type(e).__name__
    parts = e.args[:1] if name == "Inverse" else e.args
    return Plan(name, parts, lambda m, *terms: SIMPLE[name](m, *_arrays(m, terms)))


def _unknown(reader: Any, e: Any, env: Mapping[Any, Any]) -> Plan:
    if e in env:
        return Plan((e,), (), lambda m: env[e])
    raise UnknownFunction(f"the matrix {e} is not among the arguments")


def _constant(reader: Any, e: Any, env: Mapping[Any, Any]) -> Plan:
    name = type(e).__name__

    def join(m: Any) -> Any:
        shape = [size_of(m, n) for n in e.shape]
        return np.eye(shape[0]) if name == "Identity" else np.ones(shape) if name.startswith("One") else np.zeros(shape)

    return Plan((name, e.shape), (), join)


def _product(reader: Any, e: Any, env: Mapping[Any, Any]) -> Plan:
    """From the right where that is narrower than the left; with an inverse, by solving."""
    from sympy.matrices.expressions import Inverse

    factors = [a for a in e.args if a.is_Matrix]
    numbers = [a for a in e.args if not a.is_Matrix]
    inverts = [isinstance(a, Inverse) for a in factors]
    parts = [a.arg if inverted else a for a, inverted in zip(factors, inverts, strict=True)]

    def join(m: Any, *terms: Any) -> Any:
        arrays = _arrays(m, terms[: len(parts)])
        made = _multiplied(arrays, inverts)
        for t in terms[len(parts) :]:
            made = made * _raised(m, m.array(t))
        return made

    return Plan(("MatMul", tuple(inverts), len(numbers)), (*parts, *numbers), join)


def _multiplied(arrays: list[Any], inverts: list[bool]) -> Any:
    if arrays[0].shape[-2] < arrays[-1].shape[-1]:  # a row in front: the transposed product from the right
        made = _multiplied([_transposed(a) for a in reversed(arrays)], inverts[::-1])
        return _transposed(made)
    made = np.linalg.inv(arrays[-1]) if inverts[-1] else arrays[-1]
    for a, inverted in zip(reversed(arrays[:-1]), reversed(inverts[:-1]), strict=True):
        made = np.linalg.solve(a, made) if inverted else a @ made
    return made


def _power(reader: Any, e: Any, env: Mapping[Any, Any]) -> Plan:
    if not e.exp.is_Integer:
        raise UnknownFunction(f"{e}: a matrix is raised to whole powers only")
    n = int(e.exp)
    return Plan(("MatPow", n), (e.base,), lambda m, x: np.linalg.matrix_power(m.array(x), n))


def _dot(reader: Any, e: Any, env: Mapping[Any, Any]) -> Plan:
    """Of two vectors, each a row or a column."""

    def join(m: Any, *terms: Any) -> Any:
        both = zip(_arrays(m, terms), shapes, strict=True)
        x, y = [a[..., 0, :] if shape[0] == 1 else a[..., :, 0] for a, shape in both]
        return m.term(np.sum(x * y, axis=-1))

    shapes = [a.shape for a in e.args]
    return Plan(("DotProduct", *shapes), e.args, join)


def _solved(reader: Any, e: Any, env: Mapping[Any, Any]) -> Plan:
    return Plan("MatrixSolve", (e.matrix, e.vector), lambda m, *terms: np.linalg.solve(*_arrays(m, terms)))


def _explicit(reader: Any, e: Any, env: Mapping[Any, Any]) -> Plan:
    """Elements one by one, put together behind the axes of a batch."""
    rows, columns = map(int, e.shape)

    def join(m: Any, *terms: Any) -> Any:
        if not terms:
            return np.zeros((rows, columns))
        flat = np.stack([m.array(m.term(t)) for t in terms], axis=-1)
        return np.reshape(flat, (*m.batch, rows, columns))

    return Plan(("Matrix", rows, columns), tuple(e.flat()), join)


def _reordered(reader: Any, e: Any, env: Mapping[Any, Any]) -> Plan:
    """Rows or columns in the order of a permutation, which may leave out that the last ones stay."""
    inner, permutation, axis = e.args[0], e.args[1], int(e.args[2])
    order = [int(permutation.apply(k)) for k in range(int(inner.shape[axis]))]
    return Plan(("permuted", *order, axis), (inner,), lambda m, x: np.take(m.array(x), order, axis=axis - 2))


def _element(reader: Any, e: Any, env: Mapping[Any, Any]) -> Plan:
    if e in env:
        return Plan((e,), (), lambda m: env[e])
    return _chosen(e.parent, e.indices)


def _array_element(reader: Any, e: Any, env: Mapping[Any, Any]) -> Plan:
    return _chosen(e.name, e.indices)


def _chosen(parent: Any, indices: Any) -> Plan:
    places = [int(i) if i.is_Integer else None for i in indices]

    def join(m: Any, x: Any, *terms: Any) -> Any:
        computed = iter(terms)
        at = [whole(m.array(next(computed))) if p is None else p for p in places]
        x = m.array(x)
        return m.term(x[(..., *at)] if np.ndim(x) > len(at) else x[tuple(at)])

    computed = [i for i, p in zip(indices, places, strict=True) if p is None]
    return Plan(("element", tuple(places)), (parent, *computed), join)


def _slice(reader: Any, e: Any, env: Mapping[Any, Any]) -> Plan:
    def join(m: Any, x: Any) -> Any:
        rows, columns = (slice(*[size_of(m, n) for n in each]) for each in (e.rowslice, e.colslice))
        return m.array(x)[..., rows, columns]

    return Plan(("slice", e.rowslice, e.colslice), (e.parent,), join)


def _blocks(reader: Any, e: Any, env: Mapping[Any, Any]) -> Plan:
    rows, columns = e.blockshape

    def join(m: Any, *terms: Any) -> Any:
        arrays = _arrays(m, terms)
        lines = [np.concatenate(arrays[k * columns : (k + 1) * columns], axis=-1) for k in range(rows)]
        return np.concatenate(lines, axis=-2)

    return Plan(("blocks", rows, columns), [e.blocks[i, j] for i in range(rows) for j in range(columns)], join)


# ---- array expressions: the axes of a batch stand in front of those that SymPy counts


def _rank(e: Any) -> int:
    """How many axes an array expression has; 0 of a number."""
    from sympy.tensor.array.expressions.array_expressions import get_rank

    return int(get_rank(e))


def _outer(reader: Any, e: Any, env: Mapping[Any, Any]) -> Plan:
    """Each element by each: 1 x ... x 1 on the other's axes."""
    ranks = tuple(map(_rank, e.args))

    def join(m: Any, *terms: Any) -> Any:
        made, before = None, 0
        for x, rank in zip(_arrays(m, terms), ranks, strict=True):
            batch = (slice(None),) * (np.ndim(x) - rank)
            x = x[(*batch, *(None,) * before, Ellipsis)] if before else x
            made = x if made is None else made[(Ellipsis, *(None,) * rank)] * x
            before += rank
        return made

    return Plan(("outer", ranks), e.args, join)


def _contraction(reader: Any, e: Any, env: Mapping[Any, Any]) -> Plan:
    return _along(e, tuple(tuple(map(int, each)) for each in e.contraction_indices), False)


def _diagonal(reader: Any, e: Any, env: Mapping[Any, Any]) -> Plan:
    return _along(e, tuple(tuple(map(int, each)) for each in e.diagonal_indices), True)


def _along(e: Any, groups: tuple[tuple[int, ...], ...], kept: bool) -> Plan:
    """The elements whose indices of each group are equal: with an axis for each group behind the others, or summed."""
    rank = _rank(e.expr)
    if rank > len(ascii_lowercase):
        most = len(ascii_lowercase)
        raise UnknownFunction(f"{type(e).__name__} of an array of {rank} axes: at most {most} are computed")
    names = list(ascii_lowercase[:rank])
    for group in groups:
        for axis in group:
            names[axis] = names[group[0]]
    grouped = [axis for group in groups for axis in group]
    rest = [names[k] for k in range(rank) if k not in grouped] + [names[group[0]] for group in groups if kept]

    def join(m: Any, x: Any) -> Any:
        batch = ascii_uppercase[: np.ndim(x := m.array(x)) - rank]
        return np.einsum(f"{batch}{''.join(names)}->{batch}{''.join(rest)}", x)

    return Plan(("along", groups, kept), (e.expr,), join)


def _permuted(reader: Any, e: Any, env: Mapping[Any, Any]) -> Plan:
    axes = tuple(e.permutation.array_form)

    def join(m: Any, x: Any) -> Any:
        batch = np.ndim(x := m.array(x)) - len(axes)
        return np.transpose(x, (*range(batch), *(batch + axis for axis in axes)))

    return Plan(("permuted", axes), (e.expr,), join)


def _reshaped(reader: Any, e: Any, env: Mapping[Any, Any]) -> Plan:
    rank = _rank(e.expr)

    def join(m: Any, x: Any) -> Any:
        batch = np.shape(x := m.array(x))
        return np.reshape(x, (*batch[: len(batch) - rank], *[size_of(m, n) for n in e.shape]))

    return Plan(("reshaped", e.shape), (e.expr,), join)


# ---- elements by a formula


def _by_element(reader: Any, e: Any, env: Mapping[Any, Any]) -> Plan:
    """A function of one number at each element."""
    (variable,), body = e.function.variables, e.function.expr
    keys = outer_keys(body, env, (variable,))
    reader.check([body], [*keys, variable])

    def join(m: Any, x: Any, *terms: Any) -> Any:
        x = m.array(x)
        inner = m.like(m.now, np.shape(x))
        found = {k: inner.term(_raised(m, m.array(t))) for k, t in zip(keys, terms, strict=True)}
        return inner.array(reader.read([body], inner, {**found, variable: inner.term(x)})[0])

    return Plan(("by element", e.function), (e.expr, *keys), join)


def _by_index(reader: Any, e: Any, env: Mapping[Any, Any]) -> Plan:
    """A formula of the indices at each element: FunctionMatrix and ArrayComprehension."""
    sympy = sympy_module()
    from sympy.tensor.array import ArrayComprehension

    if isinstance(e, ArrayComprehension):
        body, limits = e.function, [(i, low, high - low + 1) for i, low, high in e.limits]
    else:
        body, shape = e.lamda.expr, e.shape
        limits = [(i, sympy.Integer(0), n) for i, n in zip(e.lamda.variables, shape, strict=True)]
    variables = [i for i, _, _ in limits]
    keys = outer_keys(body, env, variables)
    reader.check([body], [*keys, *variables])

    def join(m: Any, *terms: Any) -> Any:
        now = here()
        shape = tuple(size_of(m, n) for _, _, n in limits)
        inner = m.like(now, (*m.batch, *shape))
        wide = tuple([None] * len(shape))
        found: dict[Any, Any] = {}
        for k, t in zip(keys, terms, strict=True):
            x = m.array(t)
            numeric = not getattr(k, "is_Matrix", False) and not isinstance(k, sympy.IndexedBase)
            found[k] = inner.term(x[(..., *wide)] if m.batch and np.shape(x) == m.batch else x) if numeric else x
        for axis, (i, low, _) in enumerate(limits):
            at = positions(now, shape, axis).astype(np.float64) + size_of(m, low)
            found[i] = inner.term(at)
        return inner.array(inner.term(reader.read([body], inner, found)[0]))

    return Plan(("by index", e), keys, join)


__all__ = ["rules"]
