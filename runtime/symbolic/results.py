"""What a compiled expression returns: the leaves that are read, and what is made of their values.

    leaves, make = results_of({"a": x, "b": [y, Matrix([[x, 1]])]})

A list gives a list, a tuple a tuple, a dict a dict, and a matrix of r rows and c columns an array of shape (r, c, ...).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from numbers import Number
from typing import Any

import numpy as np

from ...compiler.backend.entries import specs
from ...compiler.frontend.complexes import Parts
from ...compiler.frontend.results import items_of
from .formulas.arguments import ArrayElement, told
from .readout.elements import NoExpression
from .shared.lets import joined, kinds, written_out
from .shared.library import sympy_module


def results_of(expr: Any) -> tuple[list[Any], list[str], Callable[[list[Any]], Any]]:
    """The expressions in order, where each stands, and what makes a result of their values."""
    leaves: list[Any] = []
    paths: list[str] = []
    make = _structure(expr, leaves, paths, "expr")
    return leaves, paths, lambda values: make(iter(values))


def _structure(expr: Any, leaves: list[Any], paths: list[str], path: str) -> Callable[[Iterator[Any]], Any]:
    sympy = sympy_module()

    expr = written_out(expr) if isinstance(expr, sympy.Basic) else expr
    if isinstance(expr, (list, tuple, sympy.Tuple)):
        kind = list if isinstance(expr, list) else tuple
        parts = [_structure(e, leaves, paths, f"{path}[{k}]") for k, e in enumerate(expr)]
        return lambda values: kind([part(values) for part in parts])
    if isinstance(expr, (dict, sympy.Dict)):
        keys = [str(k) if isinstance(k, sympy.Basic) else k for k in expr]
        parts = [_structure(e, leaves, paths, f"{path}[{k!r}]") for k, e in zip(keys, expr.values(), strict=True)]
        return lambda values: {k: part(values) for k, part in zip(keys, parts, strict=True)}
    if isinstance(expr, (sympy.MatrixBase, sympy.NDimArray)):
        size = tuple(map(int, expr.shape))
        flat = sympy.flatten(expr) if isinstance(expr, sympy.MatrixBase) else sympy.flatten(expr.tolist())
        leaves.extend(flat)
        paths.extend(f"{path}[{', '.join(map(str, index))}]" for index in np.ndindex(*size))
        return lambda values: stacked([next(values) for _ in flat], size)
    if isinstance(expr, Number):
        expr = sympy.sympify(expr)
    if not isinstance(expr, sympy.Basic) or isinstance(expr, (sympy.Set, sympy.Lambda)):
        raise TypeError(f"lambdify: {path} is {told(expr)}, expected a SymPy expression; {_instead(expr)}")
    leaves.append(expr)
    paths.append(path)
    return lambda values: element(next(values))


def _instead(expr: Any) -> str:
    """What to pass in place of what is no expression."""
    sympy = sympy_module()

    if isinstance(expr, np.ndarray):
        return "pass sympy.Array of it"
    if isinstance(expr, (set, frozenset, sympy.FiniteSet)):
        return "pass a list, which has an order"
    if isinstance(expr, sympy.Set):
        return "expr.contains(x) is a condition"
    if isinstance(expr, sympy.Lambda):
        return "call it with symbols"
    if hasattr(expr, "to_matrix"):
        return "pass its components, expr.to_matrix(frame)"
    return "build it from symbols: x = sympy.Symbol('x')"


def element(value: Any) -> Any:
    """A value that may be an element of an array."""
    return value.array[value.place] if isinstance(value, ArrayElement) else value


def stacked(values: list[Any], size: tuple[int, ...]) -> Any:
    """Elements of one shape as an array with `size` in front."""
    if not values:
        return np.zeros(size)
    if not any(isinstance(value, ArrayElement) for value in values):
        return np.reshape(np.stack(values), (*size, *np.shape(values[0])))
    pieces = list(_pieces(values))
    return np.reshape(np.concatenate(pieces) if len(pieces) > 1 else pieces[0], size)


def _pieces(values: list[Any]) -> Iterator[Any]:
    """Arrays that have the values one after the other: what stands together in an array stays together."""
    begin = 0
    while begin < len(values):
        first, end = values[begin], begin + 1
        if not isinstance(first, ArrayElement):
            yield np.reshape(first, (1,))
        else:
            at = first.place[0]
            while end < len(values) and _follows(values[end], first.array, at + end - begin):
                end += 1
            yield first.array if end - begin == len(first.array) else first.array[at : at + end - begin]
        begin = end


def _follows(value: Any, array: Any, place: int) -> bool:
    return isinstance(value, ArrayElement) and value.array is array and value.place == (place,)


def with_complex(result: Any) -> Any:
    """The structure of what a function returns, with complex numbers made of expressions: re + I im."""
    items = items_of(result)
    if items is None:
        return result
    made = tuple([with_complex(each) for each in items])
    if isinstance(result, specs.DictResult):
        return specs.DictResult(result.keys, made)
    if isinstance(result, specs.MadeResult):
        return specs.MadeResult(_joined if result.make is Parts else result.make, made)
    return type(result)(made)


def _joined(real: Any, imag: Any) -> Any:
    sympy = sympy_module()
    if not all(isinstance(e, (sympy.Expr, sympy.MatrixBase, sympy.NDimArray, *kinds())) for e in (real, imag)):
        raise NoExpression("sympy() cannot read large complex arrays: read np.real and np.imag of them")
    return joined(lambda re, im: re + sympy.I * im, real, imag)


__all__ = ["results_of", "stacked", "with_complex"]
