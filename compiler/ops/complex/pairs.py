"""The algebra of complex values as pairs of real terms, and how the graph holds them.

A formula of an operation, such as `lambda m, x: 1 / m.sqrt(x)`, is read over `Complex` as it is read over `Terms`. So
its pullback is that of real graphs, by which the gradient of a real number with respect to x + iy is its derivative
along x plus i times its derivative along y.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...ir.graph import Value
from ...ir.types import Type
from ..shape import concatenate, reshape, slice_
from ..term import Term, Terms
from .pair import Pair, Shown
from .pair_formulas import FORMULAS, angle


class Complex:
    """The algebra of pairs: `m.exp(z)`.  What it has not is not implemented for complex numbers."""

    def __init__(self, real: Terms) -> None:
        self.real, self.b = real, real.b

    def __call__(self, value: Any) -> Any:
        return self.real(value)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        real, formula = getattr(self.real, name), FORMULAS.get(name)

        def function(*args: Any, **attributes: Any) -> Any:
            if not any(isinstance(a, Pair) for a in args):
                return real(*args, **attributes)
            if formula is None:
                raise NotImplementedError(f"{name} of complex numbers")
            return formula(self, *args, **attributes)

        return function

    def pair(self, value: Any, like: Pair | None = None) -> Pair:
        """A real term, or a number like another pair, as a pair."""
        if isinstance(value, Pair):
            return value
        if isinstance(value, Term):
            return Pair(self, value, self.real.number(0.0, value.value.type))
        assert like is not None
        type, z = like.re.value.type, complex(value)
        return Pair(self, self.real.number(z.real, type), self.real.number(z.imag, type))

    def number(self, value: Any, type: Type) -> Any:
        made = self.real.number(value, type)
        return self.pair(made) if type.is_float else made

    def select(self, p: Any, a: Any, b: Any) -> Any:
        if not isinstance(a, Pair) and not isinstance(b, Pair):
            return self.real.select(p, a, b)
        like = a if isinstance(a, Pair) else b
        a, b = self.pair(a, like), self.pair(b, like)
        return Pair(self, self.real.select(p, a.re, b.re), self.real.select(p, a.im, b.im))

    def both(self, x: Any, y: Any) -> tuple[Pair, Pair]:
        """Two arguments, of which one may be a number, as pairs."""
        like = x if isinstance(x, Pair) else y
        return self.pair(x, like), self.pair(y, like)


# ---- between pairs and what the graph holds


def split(m: Complex, value: Value) -> Pair:
    """The parts of a value whose last axis has two."""
    *shape, _ = value.type.static_shape()
    step = (1,) * (len(shape) + 1)
    parts = []
    for k in range(2):
        part = slice_(m.b, value, start=(*[0] * len(shape), k), step=step, shape=(*shape, 1))
        parts.append(m.real(reshape(m.b, part, shape=tuple(shape))))
    return Pair(m, parts[0], parts[1], value)


def joined(pair: Pair) -> Value:
    """The value whose last axis holds both parts."""
    if pair.whole is not None:
        return pair.whole
    b, shape = pair.m.b, pair.re.value.type.static_shape()
    parts = [reshape(b, v.value, shape=(*shape, 1)) for v in (pair.re, pair.im)]
    return concatenate(b, *parts, axis=len(shape))


__all__ = ["Complex", "Pair", "Shown", "angle", "joined", "split"]
