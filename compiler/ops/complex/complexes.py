"""Complex values while a function is traced: made of two real ones, taken apart, and what moves or adds them.

    %z: c128[3] = complex %x, %y        %x: f64[3] = real %z        %y: f64[3] = imag %z

Every other function of complex numbers is a formula on their parts (`pairs`), so no derivative, no lane and no kernel
ever sees one: `passes.complexes` puts two real values in the place of each when the trace is finished. A primitive that
may stand on complex values until then says what becomes of it:

    on_pairs(m, op, args) -> results     over `pairs.Complex`; complex arguments and results are pairs, others values
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...ir.primitive import Primitive
from ...ir.types import PARTS
from .. import contract, convolve, custom, elementwise, index, memory, reduce, shape, source
from .pairs import Complex, Pair

WHOLE = {part: name for name, part in PARTS.items()}
"""The complex dtype whose parts have a dtype."""


def whole(re: Any, im: Any) -> np.ndarray:
    """The array of complex numbers with these parts, also infinite ones, which re + 1j * im would mix."""
    made = np.empty(np.shape(re), np.result_type(re.dtype, np.complex64))
    made.real, made.imag = re, im
    return made


class _OnlyTraced(Primitive):
    """An operation that no finished trace holds."""

    def samples(self, rng):
        return []


class Joined(_OnlyTraced):
    """x + iy."""

    arity = 2

    def infer(self, types, attrs, regions):
        x, y = types
        if x != y or x.dtype not in WHOLE:
            raise TypeError(f"complex takes two floats of one type, got {x} and {y}")
        return (x.with_dtype(WHOLE[x.dtype]),)

    def evaluate(self, args, attrs, regions):
        return [whole(*args)]

    def on_pairs(self, m, op, args):
        return [Pair(m, m.real(args[0]), m.real(args[1]))]


class Part(_OnlyTraced):
    """The real or the imaginary parts."""

    arity = 1

    def infer(self, types, attrs, regions):
        (z,) = types
        if not z.is_complex:
            raise TypeError(f"{self.name} takes a complex value, got {z}")
        return (z.with_dtype(PARTS[z.dtype]),)

    def evaluate(self, args, attrs, regions):
        return [getattr(args[0], self.name).copy()]

    def on_pairs(self, m, op, args):
        (z,) = args
        return [(z.re if self.name == "real" else z.im).value]


complex_, real, imag = Joined("complex"), Part("real"), Part("imag")


def by_parts(m: Complex, op: Any, args: Sequence[Any]) -> list[Any]:
    """What is linear in its complex arguments and shares all others, on the real and on the imaginary parts."""
    made = []
    for part in ("re", "im"):
        given = [getattr(a, part).value if isinstance(a, Pair) else a for a in args]
        made.append(m.b.emit(op.prim, *given, **op.attrs))
    return [Pair(m, m.real(x), m.real(y)) for x, y in zip(*made, strict=True)]


def _bilinear(m: Complex, op: Any, args: Sequence[Any]) -> list[Any]:
    """A product of arrays, of which each has four of their parts."""

    def product(x: Any, y: Any) -> Any:
        return m.real(m.b.emit(op.prim, x.value, y.value, **op.attrs)[0])

    x, y = args
    return [Pair(m, product(x.re, y.re) - product(x.im, y.im), product(x.re, y.im) + product(x.im, y.re))]


def _cast(m: Complex, op: Any, args: Sequence[Any]) -> list[Any]:
    """To complex numbers; of others only parts are cast."""
    (x,), part = args, PARTS[op.attrs["dtype"]]

    def converted(v: Any) -> Any:
        return m.real(v if v.type.dtype == part else elementwise.cast(m.b, v, dtype=part))

    if isinstance(x, Pair):
        return [Pair(m, converted(x.re.value), converted(x.im.value))]
    re = converted(x)
    return [Pair(m, re, m.real.number(0.0, re.value.type))]


def _const(m: Complex, op: Any, args: Sequence[Any]) -> list[Any]:
    type, value = op.attrs["type"], op.attrs["value"]
    part = type.with_dtype(PARTS[type.dtype])
    return [Pair(m, m.real.number(value.real, part), m.real.number(value.imag, part))]


source.const.on_pairs = _const  # type: ignore[method-assign]
elementwise.cast.on_pairs = _cast  # type: ignore[method-assign]
for _prim in (
    reduce.sum_, reduce.spread, elementwise.select, shape.reshape, shape.transpose, shape.slice_, shape.pad,
    shape.concatenate, index.take, index.scatter_add, memory.read, memory.update, memory.bump, custom.stop_gradient,
):  # fmt: skip
    _prim.on_pairs = by_parts  # type: ignore[method-assign]
for _prim in (contract.contract, convolve.correlate):
    _prim.on_pairs = _bilinear  # type: ignore[method-assign]

__all__ = ["WHOLE", "complex_", "imag", "real", "whole"]
