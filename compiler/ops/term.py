"""Formulas over graph values: infix operators that emit primitives.

Rules for derivatives are written once, as functions of an algebra `m` and its terms, for example
`lambda m, ct, x, r: ct * m.sech2(x)`.  Over `Terms(builder)` they emit operations; `ops.formula` reads the same
functions over SymPy's symbols.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..ir.graph import Builder, Value
from ..ir.primitive import REGISTRY
from ..ir.symint import real
from ..ir.types import FLOATING, Type


class Term:
    """A value with the operators of elementwise arithmetic; numbers take the type of the other side."""

    __slots__ = ("m", "value")

    def __init__(self, m: Terms, value: Value) -> None:
        self.m, self.value = m, value

    def __add__(self, other: Any) -> Term:
        return self.m.apply("add", self, other)

    def __sub__(self, other: Any) -> Term:
        return self.m.apply("sub", self, other)

    def __mul__(self, other: Any) -> Term:
        return self.m.apply("mul", self, other)

    def __truediv__(self, other: Any) -> Term:
        return self.m.apply("div", self, other)

    def __radd__(self, other: float) -> Term:
        return self.m.apply("add", other, self)

    def __rsub__(self, other: float) -> Term:
        return self.m.apply("sub", other, self)

    def __rmul__(self, other: float) -> Term:
        return self.m.apply("mul", other, self)

    def __rtruediv__(self, other: float) -> Term:
        return self.m.apply("div", other, self)

    def __neg__(self) -> Term:
        return Negative(self)


class Negative(Term):
    """What a term is with the other sign, for those who write the sign elsewhere."""

    __slots__ = ("of",)

    def __init__(self, of: Term) -> None:
        super().__init__(of.m, of.m.apply("neg", of).value)
        self.of = of


class Terms:
    """The algebra of a builder: `m.exp(x)` emits the primitive exp, `m.polygamma(x, n=1)` one with attributes.

    `m(value)` makes a term.
    """

    __slots__ = ("b",)

    def __init__(self, b: Builder) -> None:
        self.b = b

    def __call__(self, value: Value) -> Term:
        return Term(self, value)

    def number(self, value: float, type: Type) -> Term:
        """`value` in every element of an array of `type`."""
        return Term(self, self.b.emit(REGISTRY["const"], value=value, type=type)[0])

    def zeros(self, type: Type) -> Term:
        """The zero of its dtype in every element of an array of `type`."""
        return self.number(False if type.dtype == "bool" else 0.0 if type.is_float else 0, type)

    def select(self, p: Term, a: Any, b: Any) -> Term:
        if not isinstance(a, Term) and not isinstance(b, Term):
            a = self.number(float(a), p.value.type.with_dtype("f64"))
        made = self.b.emit(REGISTRY["select"], p.value, *self._alike((a, b)))
        return Term(self, made[0])

    def __getattr__(self, name: str) -> Callable[..., Term]:
        if name not in REGISTRY:
            raise AttributeError(f"there is no primitive {name!r}")
        return lambda *args, **attrs: self.apply(name, *args, **attrs)

    def apply(self, name: str, /, *args: Any, **attrs: Any) -> Term:
        """Emit the primitive `name`, its arguments terms or numbers."""
        return Term(self, self.b.emit(REGISTRY[name], *self._alike(args), **attrs)[0])

    def _alike(self, args: tuple[Any, ...]) -> list[Value]:
        """The values of terms, and of constants of the terms' type in place of numbers."""
        try:
            return [a.value for a in args]
        except AttributeError:
            type = next(a.value.type for a in args if isinstance(a, Term))
            return [a.value if isinstance(a, Term) else self._constant(a, type) for a in args]

    def _constant(self, number: float, type: Type) -> Value:
        return self.b.emit(REGISTRY["const"], value=_of_kind(number, type.dtype), type=type)[0]


class Sharing(Terms):
    """The algebra of a builder of straight code, in which equal operations are made once; `made` has them by what they
    are.
    """

    __slots__ = ()
    made: dict[tuple[Any, ...], Any]

    def apply(self, name: str, /, *args: Any, **attrs: Any) -> Term:
        if attrs:
            return super().apply(name, *args, **attrs)
        primitive, values = REGISTRY[name], self._alike(args)
        turned = primitive.commutes and id(values[1]) < id(values[0])
        key = (primitive, *(reversed(values) if turned else values))
        found = self.made.get(key)
        if found is None:
            found = self.made[key] = Term(self, self.b.emit(primitive, *values)[0])
        return found

    def _constant(self, number: float, type: Type) -> Value:
        key = str(number), type
        found = self.made.get(key)
        if found is None:
            found = self.made[key] = super()._constant(number, type)
        return found


def _of_kind(number: float, dtype: str) -> float:
    return real(number) if dtype in FLOATING and not isinstance(number, float) else number
