"""Compiled functions as LaTeX: what they return, and the intermediates that are used more than once.

    f(x, y) = t_{0}^{2} + \\sin{\\left(t_{0} \\right)}    where    t_{0} = x y
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..shared.lets import kinds
from ..shared.library import sympy_module


class Latex(str):
    """Text in LaTeX, which notebooks show as formulas."""

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self}$"


def to_latex(name: str, arguments: Sequence[str], made: Any) -> Latex:
    """One aligned block: the result of a call by name, then a line for each intermediate.

    `made` is what `sympy()` gives, in whatever containers; what has names for its parts shares them.
    """
    sympy = sympy_module()

    leaves: list[Any] = []
    structure = _taken(made, leaves)
    shared = {symbol: e for leaf in leaves if isinstance(leaf, kinds()) for symbol, e in leaf.bindings}
    leaves = [leaf.body if isinstance(leaf, kinds()) else leaf for leaf in leaves]
    head = rf"\operatorname{{{name}}}" if len(name) > 1 else name
    given = ", ".join(sympy.latex(sympy.Symbol(a)) for a in arguments)
    lines = [rf"{head.replace('_', chr(92) + '_')}\left({given}\right) &= {_written(structure, iter(leaves))}"]
    lines += [f"{sympy.latex(symbol)} &= {sympy.latex(e)}" for symbol, e in shared.items()]
    return Latex("\\begin{aligned}\n" + " \\\\\n".join(lines) + "\n\\end{aligned}")


def _taken(made: Any, leaves: list[Any]) -> Any:
    """The containers of a result, and its expressions in order."""
    if isinstance(made, dict):
        return {k: _taken(v, leaves) for k, v in made.items()}
    if isinstance(made, (list, tuple)):
        return [_taken(v, leaves) for v in made]
    if made is None:
        return None
    if not hasattr(type(made), "free_symbols"):
        return made  # no expression
    leaves.append(made)
    return ...


def _written(structure: Any, leaves: Any) -> str:
    sympy = sympy_module()

    if structure is ...:
        return _leaf(next(leaves))
    if isinstance(structure, dict):
        inner = ", ".join(rf"\text{{{k}}}: {_written(v, leaves)}" for k, v in structure.items())
        return rf"\left\{{{inner}\right\}}"
    if isinstance(structure, list):
        return rf"\left({', '.join(_written(v, leaves) for v in structure)}\right)"
    if structure is None:
        return r"\varnothing"
    return sympy.latex(structure)


def _leaf(e: Any) -> str:
    sympy = sympy_module()

    if _is_comprehension(e):
        names = ", ".join(sympy.latex(i) for i, *_ in e.limits)
        ranges = r",\ ".join(rf"{sympy.latex(i)} = {low}, \dots, {high}" for i, low, high in e.limits)
        return rf"\left[{sympy.latex(e.function)}\right]_{{{names}}}, \quad {ranges}"
    return sympy.latex(e)


def _is_comprehension(e: Any) -> bool:
    from sympy.tensor.array import ArrayComprehension

    return isinstance(e, ArrayComprehension)


__all__ = ["to_latex"]
