"""An expression or array with names for its parts as one object of SymPy's, which is legible where it is long.

    let([(t, x*y)], t**2 + sin(t))              t**2 + sin(t), where t = x*y
    let([(t, x*y)], Array([t, sin(t)]))[1]      sin(t), where t = x*y

Each name may stand in what is behind it. `doit()` writes all of them out; so does what computes with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

from .library import sympy_module
from .parts import found, parts_of

Bindings = Sequence[tuple[Any, Any]]
"""Pairs of a name and what it stands for; each name may stand in what is behind it."""


def let(bindings: Bindings, body: Any) -> Any:
    """The body with those of the bindings that it needs; the body itself if there are none."""
    needed = {*body.free_symbols}
    kept: list[tuple[Any, Any]] = []
    for name, value in reversed(bindings):
        if name in needed:
            kept.append((name, value))
            needed |= value.free_symbols
    number, array = kinds()
    return (array if getattr(body, "shape", ()) else number)(kept[::-1], body) if kept else body


def joined(function: Callable[..., Any], *parts: Any) -> Any:
    """What is made of several bodies, whose names, where they have the same, are for the same."""
    named = [isinstance(x, kinds()) for x in parts]
    bindings = {t: e for x, own in zip(parts, named, strict=True) if own for t, e in x.bindings}
    return let([*bindings.items()], function(*[x.body if own else x for x, own in zip(parts, named, strict=True)]))


def written_out(e: Any) -> Any:
    """An expression without such names in it."""
    made: dict[Any, Any] = {}
    for x in found(e, *kinds()):  # of which an inner one is in front of those that it is in
        made[x] = x.func(*[part.xreplace(made) for part in x.args]).doit()
    return e.xreplace(made) if made else e


class Named:
    """What both have: `bindings`, pairs of a name and what it stands for, and the `body` that they are for."""

    args: tuple[Any, ...]

    def __new__(cls, bindings: Any, body: Any) -> Any:
        sympy = sympy_module()
        pairs = sympy.Tuple(*[sympy.Tuple(*pair) for pair in bindings])
        return super().__new__(cls, pairs, body)  # type: ignore[call-arg]

    @property
    def bindings(self) -> list[tuple[Any, Any]]:
        return [tuple(pair) for pair in self.args[0]]

    @property
    def body(self) -> Any:
        return self.args[1]

    @property
    def bound_symbols(self) -> list[Any]:
        return [pair[0] for pair in self.args[0]]

    @property
    def free_symbols(self) -> set[Any]:
        inner = [self.body, *[value for _, value in self.bindings]]
        return set().union(*[e.free_symbols for e in inner]) - {*self.bound_symbols}

    def doit(self, **hints: Any) -> Any:
        """What it stands for, without names."""
        values: dict[Any, Any] = {}
        for name, value in self.bindings:
            values[name] = value.xreplace(values)
        made = self.body.xreplace(values)
        return made.doit(**hints) if hints else made

    def _eval_subs(self, old: Any, new: Any) -> Any:
        if old in self.bound_symbols:
            return self
        if {*self.bound_symbols} & getattr(new, "free_symbols", set()):  # which would be taken for a name here
            return self.doit()._subs(old, new)
        pairs = [(name, value._subs(old, new)) for name, value in self.bindings]
        return let(pairs, self.body._subs(old, new))

    def _sympystr(self, printer: Any) -> str:
        lines = [f"    {printer._print(name)} = {printer._print(value)}" for name, value in self.bindings]
        return "\n".join([f"{printer._print(self.body)}, where", *lines])

    def _latex(self, printer: Any) -> str:
        lines = [rf"{printer._print(name)} &= {printer._print(value)}" for name, value in self.bindings]
        return "\\begin{aligned}\n" + " \\\\\n".join([f"& {printer._print(self.body)}", *lines]) + "\n\\end{aligned}"

    def _pretty(self, printer: Any) -> Any:
        from sympy.printing.pretty.stringpict import prettyForm, stringPict

        equations = [sympy_module().Eq(*pair, evaluate=False) for pair in self.bindings]
        rows = [printer._print(each) for each in (self.body, *equations)]
        return prettyForm(*stringPict.stack(*rows))

    def _code(self, printer: Any) -> str:
        return printer._print(self.doit())

    _numpycode = _mpmathcode = _pythoncode = _ccode = _fcode = _code


@cache
def kinds() -> tuple[type, type]:
    """The classes of numbers and of arrays with names, made when SymPy is there."""
    sympy = sympy_module()

    class Let(Named, sympy.Expr):
        """A number with names for its parts."""

        precedence = 0  # whatever stands beside it puts it in brackets

        def _eval_is_real(self) -> Any:
            return True

        def _eval_evalf(self, prec: int) -> Any:
            values: dict[Any, Any] = {}
            for name, value in self.bindings:
                told = value.xreplace(values)
                values[name] = told._evalf(prec) if isinstance(told, sympy.Expr) else told  # conditions have names, too
            return self.body.xreplace(values)._evalf(prec)

        def _eval_derivative(self, s: Any) -> Any:
            return _derivative(self, s)

    class LetArray(Named, sympy.Basic):
        """An array or matrix with names for parts of its elements, of which each is an expression."""

        @property
        def shape(self) -> tuple[Any, ...]:
            return tuple(self.body.shape)

        def __getitem__(self, index: Any) -> Any:
            return let(self.bindings, self.body[index])

        def __len__(self) -> int:
            return len(self.body)

        def __iter__(self) -> Iterator[Any]:
            return (let(self.bindings, e) for e in self.body)

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_") or not hasattr(type(self.body), name):
                raise AttributeError(name)
            kind = type(self.body).__name__
            raise AttributeError(f"{name}: this array has names for its parts: doit() gives the {kind} without them")

    return Let, LetArray


def _derivative(e: Any, s: Any) -> Any:
    """The derivative, with names for those of what has a name."""
    sympy = sympy_module()
    moved: dict[Any, Any] = {}
    pairs: list[tuple[Any, Any]] = []
    taken = {x.name for x in parts_of(e) if isinstance(x, sympy.Symbol)}

    def slope(e: Any) -> Any:
        inner = [e.diff(t) * dt for t, dt in moved.items() if t in e.free_symbols]
        return sympy.Add(e.diff(s), *inner)

    for name, value in e.bindings:
        pairs.append((name, value))
        dx = slope(value) if isinstance(value, sympy.Expr) else sympy.S.Zero
        if dx.args and not dx.is_Number:
            called = f"d{name.name}"
            while called in taken:
                called = f"d{called}"
            taken.add(called)
            pairs.append((sympy.Symbol(called, real=True), dx))
            dx = pairs[-1][0]
        if dx != 0:
            moved[name] = dx
    return let(pairs, slope(e.body))


__all__ = ["joined", "kinds", "let", "written_out"]
