"""The arguments of a compiled expression: what SymPy's `lambdify` takes, and what of a call each symbol is.

    slots = slots_of([x, (y, theta(t)), MatrixSymbol("A", 2, 2)])     names: x, args1, A
    bind(slots, (1.0, (2.0, 3.0), np.eye(2)))                         [(x, 1.0), (y, 2.0), (theta(t), 3.0), (A, ...)]

Symbols are known by what they are: two symbols called x with other assumptions are two arguments. A string is the name
of the one symbol, matrix or indexed base of the expression that is called so, and no name is ever made into source.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from ..shared.library import sympy_module
from ..shared.parts import parts_of


@dataclass(frozen=True)
class ArgumentSlot:
    """One argument, or a part of one.

    form    "number", for what is computed with element by element; "array" for a matrix or an indexed base; "matrix"
            for an array whose elements are given one by one in `parts`; "list" for a sequence of `parts`
    key     what stands for it in the expression
    """

    form: str
    path: str
    key: Any = None
    parts: tuple[Any, ...] = ()
    shape: tuple[int, ...] = ()


def slots_of(args: Any, exprs: Sequence[Any] = ()) -> list[ArgumentSlot]:
    """A slot for each argument. TypeError for what is none, ValueError for one that stands twice.

    exprs    what is computed, in which names are looked for: "x, y" is two of them, as in SymPy
    """
    sympy = sympy_module()

    if isinstance(args, (set, frozenset)):
        raise TypeError(f"lambdify: args is {told(args)}, whose order is not known: pass a list")
    given = [name.strip() for name in args.split(",")] if isinstance(args, str) else args
    alone = isinstance(given, (bytes, sympy.MatrixBase, sympy.NDimArray)) or not isinstance(given, Iterable)
    named, given = _Named(exprs), [given] if alone or _is_key(given) else given
    slots = [_slot(each, f"argument {k}", named) for k, each in enumerate(given)]
    seen: set[Any] = set()
    for slot in slots:
        for key in keys_of(slot):
            if key in seen:
                raise ValueError(f"lambdify: the symbol {key} stands twice among the arguments")
            seen.add(key)
    return slots


class _Named:
    """Symbols, matrices and indexed bases of expressions by their names, which are looked for when one is asked."""

    def __init__(self, exprs: Sequence[Any]) -> None:
        self.exprs = exprs
        self.known: dict[str, list[Any]] | None = None

    def __call__(self, name: str, path: str) -> Any:
        sympy = sympy_module()

        if not name.isidentifier() or keyword.iskeyword(name):
            fix = "expected a SymPy Symbol, or its name: no string is evaluated"
            raise TypeError(f"lambdify: {path} is {told(name)}, {fix}")
        if self.known is None:
            self.known = {}
            labels = set()
            for each in reversed(parts_of(*self.exprs)):
                if isinstance(each, (sympy.IndexedBase, sympy.MatrixSymbol)) or _is_array_symbol(each):
                    labels.add(each.args[0])
                elif not each.is_Symbol or each in labels:
                    continue
                self.known.setdefault(str(getattr(each, "name", each)), []).append(each)
        found = self.known.get(name, [])
        if len(found) > 1:
            fix = f"and the expression has {len(found)} of that name: pass the symbol itself"
            raise ValueError(f"lambdify: {path} is {told(name)}, {fix}")
        return found[0] if found else sympy.Symbol(name)


def _slot(given: Any, path: str, named: _Named) -> ArgumentSlot:
    sympy = sympy_module()

    if isinstance(given, str):
        return _slot(named(given, path), path, named)
    if isinstance(given, (sympy.MatrixBase, sympy.NDimArray)):
        shape = tuple(map(int, given.shape))
        flat = sympy.flatten(given) if isinstance(given, sympy.MatrixBase) else sympy.flatten(given.tolist())
        parts = [_slot(e, f"{path}[{k}]", named) for k, e in enumerate(flat)]
        return ArgumentSlot("matrix", path, None, tuple(parts), shape)
    if isinstance(given, (sympy.MatrixSymbol, sympy.IndexedBase)) or _is_array_symbol(given):
        return ArgumentSlot("array", path, given)
    if _is_key(given):
        return ArgumentSlot("number", path, given)
    if isinstance(given, (list, tuple, sympy.Tuple)) and path.count("[") < 50:
        return ArgumentSlot("list", path, None, tuple([_slot(e, f"{path}[{k}]", named) for k, e in enumerate(given)]))
    fix = "sympy.Symbol('x'), f(t), Derivative(f(t), t), a MatrixSymbol, an IndexedBase, or lists and matrices of these"
    raise TypeError(f"lambdify: {path} is {told(given)}, expected a SymPy Symbol: {fix}")


def _is_key(given: Any) -> bool:
    """Whether it can stand for a number in an expression."""
    sympy = sympy_module()
    from sympy.core.function import AppliedUndef
    from sympy.matrices.expressions.matexpr import MatrixElement

    kinds = sympy.Symbol, sympy.Idx, sympy.Indexed, sympy.Derivative, AppliedUndef, MatrixElement
    coordinate = isinstance(given, sympy.AtomicExpr) and bool(getattr(given, "is_symbol", False))  # of sympy.vector
    return coordinate or isinstance(given, kinds)


def _is_array_symbol(given: Any) -> bool:
    from sympy.tensor.array.expressions import ArraySymbol

    return isinstance(given, ArraySymbol)


def told(x: Any) -> str:
    """An object as messages tell it."""
    if isinstance(x, str):
        return f"the string {x!r:.60}"
    try:
        return f"{x!r:.60} of type {type(x).__name__}"
    except Exception:  # of somebody's own class
        return f"an object of type {type(x).__name__}"


def keys_of(slot: ArgumentSlot) -> list[Any]:
    """What a slot and its parts stand for."""
    if slot.form in ("number", "array"):
        return [slot.key]
    return [key for part in slot.parts for key in keys_of(part)]


def sizes_of(slots: Sequence[ArgumentSlot]) -> list[Any]:
    """The symbols in the shapes of arrays, which a call gives values to."""
    found = [n for slot in slots if slot.form == "array" for n in getattr(slot.key, "shape", None) or ()]
    return [n for n in found if getattr(n, "is_Symbol", False)] + [n for s in slots for n in sizes_of(s.parts)]


def names_of(slots: Sequence[ArgumentSlot]) -> list[str]:
    """An identifier for each argument, its own name where that is one and not taken."""
    names: list[str] = []
    for k, slot in enumerate(slots):
        spelled = _spelled(slot.key) if slot.key is not None else f"args{k}"
        name = spelled if re.fullmatch(r"[A-Za-z_]\w*", spelled, re.ASCII) else f"x{k}"
        while name in names or keyword.iskeyword(name):
            name += "_"
        names.append(name)
    return names


def _spelled(key: Any) -> str:
    sympy = sympy_module()

    if isinstance(key, sympy.Derivative):
        order = sum(int(n) for _, n in key.variable_count) if key.variable_count else 1
        return f"d{order if order > 1 else ''}{_spelled(key.expr)}"
    return str(getattr(key, "name", getattr(getattr(key, "func", None), "__name__", "")))


class ArrayElement(NamedTuple):
    """The array that an argument is an element of, and its place there."""

    array: Any
    place: tuple[int, ...]


class Bound(NamedTuple):
    """A number or an array that a function is called with."""

    slot: ArgumentSlot
    value: Any
    source: ArrayElement | None


def bind(slots: Sequence[ArgumentSlot], given: Sequence[Any]) -> list[Bound]:
    """Of each number and array its slot and its value. ValueError and TypeError for a structure that is another."""
    made: list[Bound] = []
    for slot, value in zip(slots, given, strict=True):
        _bind(slot, value, None, made)
    return made


def _bind(slot: ArgumentSlot, value: Any, source: ArrayElement | None, made: list[Bound]) -> None:
    if slot.form == "array":
        value = _array(value)
        column = len(getattr(value, "shape", ())) == 1 and (getattr(slot.key, "shape", None) or ())[1:] == (1,)
        made.append(Bound(slot, value[:, None] if column else value, None))
    elif slot.form == "number":
        made.append(Bound(slot, _number(slot, value), source))
    else:
        whole, places = _parts(slot, value) if slot.form == "list" else _elements(slot, value)
        is_array = not isinstance(whole, (list, tuple))
        for part, place in zip(slot.parts, places, strict=True):
            if is_array:
                _bind(part, whole[place], ArrayElement(whole, place), made)
            else:
                _bind(part, whole[place[0]], None, made)


def _number(slot: ArgumentSlot, value: Any) -> Any:
    """What a number's argument is: lists are arrays, and exact numbers, SymPy's among them, the nearest floats."""
    sympy = sympy_module()

    if isinstance(value, (list, tuple)):
        return _array(value)
    if isinstance(value, sympy.Basic) and (free := value.free_symbols):
        named = ", ".join(sorted(map(str, free)))
        fix = "a compiled function computes in floats: put the expression into the formula, and its symbols among args"
        raise TypeError(f"{slot.path}, which is {slot.key}, is {told(value)}, in the symbols {named}: {fix}")
    if isinstance(value, sympy.Expr):
        return complex(value) if value.is_extended_real is False else float(value)
    if isinstance(value, (Fraction, Decimal)):
        return float(value)
    if value is None or isinstance(value, (dict, str, bytes, sympy.Basic)):
        raise TypeError(f"{slot.path}, which is {slot.key}, is {told(value)}: expected a number or array")
    return value


def _array(value: Any) -> Any:
    """Lists of numbers, which may be traced, as an array; other things as they are."""
    if not isinstance(value, (list, tuple)):
        return value
    return np.stack([_array(each) for each in value]) if len(value) else np.zeros(0)


def _parts(slot: ArgumentSlot, value: Any) -> tuple[Any, list[tuple[int, ...]]]:
    """A sequence, or an array with its first axis for one, and where its elements are."""
    if not isinstance(value, (list, tuple)) and not getattr(value, "shape", ()):
        raise TypeError(f"{slot.path} is {told(value)}, expected a sequence of {len(slot.parts)}")
    if len(value) != len(slot.parts):
        raise ValueError(f"{slot.path} has {len(value)} elements, expected {len(slot.parts)}")
    return value, [(k,) for k in range(len(value))]


def _elements(slot: ArgumentSlot, value: Any) -> tuple[Any, list[tuple[int, ...]]]:
    """An array whose first axes are a matrix's, and where its elements are; a vector's may be one axis."""
    if isinstance(value, (list, tuple)):
        value = _array(value)
    shape = tuple(getattr(value, "shape", ()))
    want = slot.shape
    if shape[: len(want)] != want:
        flat = tuple(n for n in want if n != 1)
        if len(want) != 2 or len(flat) > 1 or shape[: len(flat or (1,))] != (flat or (1,)):
            fix = "with further axes for arrays of matrices"
            raise ValueError(f"{slot.path} has shape {shape}, expected {want}, {fix}")
        return value, [(k,) for k in range(len(slot.parts))]
    return value, list(np.ndindex(*want))


__all__ = ["ArgumentSlot", "ArrayElement", "Bound", "bind", "keys_of", "names_of", "sizes_of", "slots_of", "told"]
