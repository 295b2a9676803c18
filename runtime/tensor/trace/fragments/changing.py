"""Numbers that change from call to call: the attributes of an operation that become inputs of its fragment.

An operation's formula takes its attributes as Python numbers, which become constants:

    huber_loss(x, y) {delta=0.53}        another delta is another fragment, another trace and another kernel

Where an attribute has been another float several times, the formula is read once more with a `Scalar` in its place, a
value of the graph that behaves as a number does: it takes the shape and dtype of what it meets. A formula that asks for
the number itself, as in `if p == 0`, cannot be read so, and keeps its constants.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from .....compiler.ir.graph import Builder, Value
from .....compiler.ir.types import Type
from .....compiler.ops.elementwise import cast
from .....compiler.ops.source import number
from .....compiler.ops.term import Term, Terms
from ...value.promotion import widen


class Asked(TypeError):
    """Raised where a formula asks for the number that an input stands for."""


class Scalar(Term):
    """A number that is an input, f64."""

    __slots__ = ()

    def _ask(self, *_: Any) -> NoReturn:
        raise Asked("the number is known when the code runs")

    __bool__ = __float__ = __int__ = __index__ = __hash__ = _ask  # type: ignore[assignment]
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __pow__ = __rpow__ = __abs__ = _ask  # type: ignore[assignment]


class ScalarTerms(Terms):
    """The algebra in which scalars take the type of the other side, as numbers do."""

    __slots__ = ()

    def apply(self, name: str, *args: Any) -> Term:
        made = super().apply(name, *args)
        return made if any(type(a) is Term for a in args) else Scalar(self, made.value)

    def number(self, value: Any, type: Type) -> Term:
        return Term(self, self._taken(value, type)) if isinstance(value, Term) else super().number(value, type)

    def select(self, p: Term, a: Any, b: Any) -> Term:
        if type(p) is not Term:
            raise Asked("a choice by a number that is an input")
        if isinstance(a, Term) and type(a) is not Term and type(b) is not Term:
            a = Term(self, widen(self.b, a.value, p.value.type.static_shape()))
        return super().select(p, a, b)

    def _alike(self, args: tuple[Any, ...]) -> list[Value]:
        type_ = next((a.value.type for a in args if type(a) is Term), None)
        if type_ is None:
            type_ = next(a.value.type for a in args if isinstance(a, Term))
        return [a.value if type(a) is Term else self._taken(a, type_) for a in args]

    def _taken(self, a: Any, type_: Type) -> Value:
        if not isinstance(a, Term):
            return number(self.b, a, type_)
        value = a.value
        if value.type.dtype != type_.dtype:
            if not (value.type.is_float and type_.is_float):
                raise Asked(f"a number that is an input among {type_.dtype}")
            value = cast(self.b, value, dtype=type_.dtype)
        return widen(self.b, value, type_.static_shape())


def refuse_numbers(count: int) -> None:
    if count:
        raise Asked("such formulas take their numbers as constants")


def with_scalars(b: Builder, attributes: tuple[Any, ...], values: Sequence[Value]) -> tuple[Terms, tuple[Any, ...]]:
    """The algebra and the attributes with which a formula is read: one that is the class float is the next value."""
    if not values:
        return Terms(b), attributes
    m, left = ScalarTerms(b), iter(values)
    return m, tuple([Scalar(m, next(left)) if a is float else a for a in attributes])


__all__ = ["Asked", "Scalar", "refuse_numbers", "with_scalars"]
