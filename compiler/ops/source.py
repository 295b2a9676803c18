"""Values made from nothing: constants and counting."""

from __future__ import annotations

from math import trunc
from typing import ClassVar

import numpy as np

from ..ir.primitive import ALWAYS, Primitive
from ..ir.symint import real, whole
from ..ir.types import Type
from ..loops import Affine, Map, Number, Position


class Const(Primitive):
    """One number in every element: `const {type=f64[3], value=0.5}`."""

    arity = 0
    attributes: ClassVar = {"type": "type", "value": "number"}
    exact = True
    again = ALWAYS

    def infer(self, types, attrs, regions):
        type, value = attrs.get("type"), attrs.get("value")
        if type is not None and type.is_complex and isinstance(value, complex):
            return (type,)
        wanted = float if type is not None and type.is_float else int
        if types or not isinstance(type, Type) or not isinstance(value, wanted):
            raise TypeError(f"const wants type=… and a value of that kind, got {dict(attrs)}")
        if (type.dtype == "bool") != isinstance(value, bool):
            raise TypeError(f"a const of {type} cannot be {value!r}")
        if type.dtype in ("i32", "i64") and not _fits(trunc(value), type):
            raise TypeError(f"{value} does not fit {type.dtype}")
        return (type,)

    def evaluate(self, args, attrs, regions):
        return [np.full(attrs["type"].shape, attrs["value"], attrs["type"].numpy)]

    def define(self, op, reads):
        number = Number(op.attrs["value"], op.results[0].type.dtype)
        return Map(lambda index: number, view=True)

    def pull(self, b, op, cotangents):
        return []

    def samples(self, rng):
        types = [("f64", 0.25), ("f32", -1.5), ("i64", 7), ("i32", -3), ("bool", True)]
        return [([], {"type": Type(d, (2, 3)), "value": v}) for d, v in types]


class Iota(Primitive):
    """The index along `axis`: `iota {axis=0, type=i64[4]}` is 0, 1, 2, 3."""

    arity = 0
    attributes: ClassVar = {"type": "type", "axis": "axis"}
    exact = True
    again = ALWAYS

    def infer(self, types, attrs, regions):
        type = attrs["type"]
        if types or type.dtype != "i64" or not 0 <= attrs["axis"] < type.rank:
            raise TypeError(f"iota wants an i64 type and one of its axes, got {dict(attrs)}")
        return (type,)

    def evaluate(self, args, attrs, regions):
        shape, axis = attrs["type"].shape, attrs["axis"]
        wide = [1] * len(shape)
        wide[axis] = shape[axis]
        return [np.broadcast_to(np.arange(shape[axis]).reshape(wide), shape).copy()]

    def define(self, op, reads):
        axis = op.attrs["axis"]

        def value(index):
            i = index[axis]
            return Position(i) if isinstance(i, Affine) else i

        return Map(value, view=True)

    def pull(self, b, op, cotangents):
        return []

    def samples(self, rng):
        return [([], {"type": Type("i64", (3, 4)), "axis": a}) for a in (0, 1)]


class Basis(Iota):
    """An iota that numbers the vectors of a basis: `passes/preaccumulate.py` looks for what depends on it."""


class Dimension(Primitive):
    """A size as a number: `dimension {size=n}` is n."""

    arity = 0
    attributes: ClassVar = {"size": "dimension"}
    again = ALWAYS

    def infer(self, types, attrs, regions):
        if types:
            raise TypeError(f"dimension takes no arguments, got {list(types)}")
        return (Type("i64"),)

    def evaluate(self, args, attrs, regions):
        return [np.int64(attrs["size"])]

    def define(self, op, reads):
        number = Number(op.attrs["size"], "i64")
        return Map(lambda index: number, view=True)

    def pull(self, b, op, cotangents):
        return []

    def at_sizes(self, attrs):
        if not isinstance(attrs["size"], int):
            return self, attrs
        return const, {"type": Type("i64"), "value": attrs["size"]}

    def samples(self, rng):
        return [([], {"size": 7})]


def _fits(value: int, type: Type) -> bool:
    info = np.iinfo(type.numpy)
    return int(info.min) <= value <= int(info.max)


const, iota, basis, dimension = Const("const"), Iota("iota"), Basis("basis"), Dimension("dimension")


def number(b, value, type):
    """Emit the constant `value` (a number of any kind) in every element of `type`."""
    kind = real if type.is_float else complex if type.is_complex else bool if type.dtype == "bool" else whole
    return b.emit(const, value=kind(value), type=type)[0]


def measure(b, size):
    """Emit the size as an i64 scalar: a constant where it is a number."""
    if isinstance(size, int):
        return number(b, size, Type("i64"))
    return b.emit(dimension, size=size)[0]


__all__ = ["basis", "const", "dimension", "iota", "measure", "number"]
