"""Compiled functions as LaTeX: what they return, and the intermediates that are used more than once.

    f(x, y) = t_{0}^{2} + \\sin{\\left(t_{0} \\right)}    where    t_{0} = x y
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..shared.iterated import iterated
from ..shared.library import sympy_module
from ..shared.parts import found, parts_of


def to_latex(name: str, arguments: Sequence[str], made: Any, intermediates: bool) -> str:
    """One aligned block: the result of a call by name, then a line for each intermediate.

    `made` is what `sympy()` gives, in whatever containers; `intermediates` names parts that are used more than once.
    """
    sympy = sympy_module()

    leaves: list[Any] = []
    structure = _taken(made, leaves)
    shared: list[Any] = []
    if intermediates and leaves:
        shared, leaves = _shared(leaves)
    head = rf"\operatorname{{{name}}}" if len(name) > 1 else name
    given = ", ".join(sympy.latex(sympy.Symbol(a)) for a in arguments)
    lines = [rf"{head.replace('_', chr(92) + '_')}\left({given}\right) &= {_written(structure, iter(leaves))}"]
    lines += [f"{sympy.latex(symbol)} &= {sympy.latex(e)}" for symbol, e in shared]
    return "\\begin{aligned}\n" + " \\\\\n".join(lines) + "\n\\end{aligned}"


def _shared(leaves: list[Any]) -> tuple[list[Any], list[Any]]:
    """What is used more than once, by names, and the expressions by these; recurrences are named as they are."""
    sympy = sympy_module()

    bound = {x for e in leaves for part in found(e, sympy.Sum, sympy.Product, sympy.Lambda) for x in part.variables}
    loops = {x: sympy.Dummy(real=True) for e in leaves for x in found(e, iterated())}
    opaque = [e.xreplace(loops) for e in leaves]
    symbols = sympy.numbered_symbols("t_", real=True)
    shared, leaves = sympy.cse(opaque, symbols=symbols, order="none", ignore=bound)
    texts = [*[e for _, e in shared], *leaves]
    named = {}
    for x, name in loops.items():
        once = sum([e == name or sum([a == name for part in parts_of(e) for a in part.args]) for e in texts]) < 2
        named[name] = x if once or x.free_symbols & bound else next(symbols)
        if named[name] is not x:
            shared.append((named[name], x))
    return [(s, e.xreplace(named)) for s, e in shared], [e.xreplace(named) for e in leaves]


def _taken(made: Any, leaves: list[Any]) -> Any:
    """The containers of a result, and its expressions in order."""
    if isinstance(made, dict):
        return {k: _taken(v, leaves) for k, v in made.items()}
    if isinstance(made, (list, tuple)):
        return [_taken(v, leaves) for v in made]
    if made is None:
        return None
    if not hasattr(type(made), "free_symbols") or _is_comprehension(made):
        return made  # no expression that parts can be taken of
    leaves.append(made)
    return ...


def _written(structure: Any, leaves: Any) -> str:
    sympy = sympy_module()

    if structure is ...:
        return sympy.latex(next(leaves))
    if isinstance(structure, dict):
        inner = ", ".join(rf"\text{{{k}}}: {_written(v, leaves)}" for k, v in structure.items())
        return rf"\left\{{{inner}\right\}}"
    if isinstance(structure, list):
        return rf"\left({', '.join(_written(v, leaves) for v in structure)}\right)"
    if structure is None:
        return r"\varnothing"
    if _is_comprehension(structure):
        names = ", ".join(sympy.latex(i) for i, *_ in structure.limits)
        ranges = r",\ ".join(rf"{sympy.latex(i)} = {low}, \dots, {high}" for i, low, high in structure.limits)
        return rf"\left[{sympy.latex(structure.function)}\right]_{{{names}}}, \quad {ranges}"
    return sympy.latex(structure)


def _is_comprehension(e: Any) -> bool:
    from sympy.tensor.array import ArrayComprehension

    return isinstance(e, ArrayComprehension)


__all__ = ["to_latex"]
