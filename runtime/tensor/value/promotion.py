"""Which dtype and shape an operation on several tensors and numbers has.

Tensors with dimensions decide first, then tensors without, then Python's numbers; a lower rank matters only
where its kind (bool < integer < float) is the higher one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ....compiler.ir.graph import Builder, Value
from ....compiler.ir.types import FLOATING, HALVES, NAMES, STORED
from ....compiler.ops.elementwise import cast
from ....compiler.ops.reduce import spread
from ....compiler.ops.shape import reshape
from .cells import Kind
from .dtypes import COMPLEX, default_complex, get_default_dtype

ORDER = ("bool", "u8", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64", "c64", "c128")
Argument = Kind | type
"""The kind of a tensor, or the class of a Python number."""


NARROW = ("u8", "i8", "i16")
"""Integers for which operations compute in i32."""

UNSIGNED = ("u16", "u32", "u64")
"""Integers that operations keep, for which `passes.carried` puts wider ones in the end."""


def number_dtype(number: type) -> str:
    """The dtype that a Python number has by itself."""
    if number is float:
        return get_default_dtype().code
    if number is complex:
        return default_complex().code
    return "bool" if number is bool else "i64"


def own_dtype(number: type, arguments: Iterable[Argument]) -> str:
    """The dtype in which a number is read that goes among tensors as it is: one that loses nothing of theirs."""
    code = number_dtype(number)
    is_double = any(isinstance(a, Kind) and a.dtype in ("f64", "c128") for a in arguments)
    return {"f32": "f64", "c64": "c128"}.get(code, code) if is_double else code


def wider(a: str, b: str) -> str:
    """The smallest dtype that holds both."""
    if {a, b} == {"u8", "i8"}:
        return "i16"
    if {a, b} == {*HALVES}:
        return "f32"
    if a in UNSIGNED or b in UNSIGNED:
        return _wider_unsigned(a, b)
    widest = ORDER[max(ORDER.index(a), ORDER.index(b))]
    return "c128" if widest == "c64" and "f64" in (a, b) else widest


def _wider_unsigned(a: str, b: str) -> str:
    """NumPy's choice and the array API's, where PyTorch has none; integers that hold both are not always there."""
    floating = next((each for each in (a, b) if each in FLOATING or each in COMPLEX), None)
    found = floating or NAMES.get(np.promote_types(STORED[a], STORED[b]), "")
    if found in FLOATING and floating is None:
        raise RuntimeError(f"no integers hold those of {c_name(a)} and of {c_name(b)}: convert one of them with .to()")
    return found


def common_dtype(arguments: Iterable[Argument]) -> str:
    """The dtype in which an operation on these arguments is done."""
    ranks: list[str | None] = [None, None, None]
    for a in arguments:
        if isinstance(a, Kind):
            rank, dtype = (0 if a.shape else 1), a.dtype
        else:
            rank, dtype = 2, number_dtype(a)
        have = ranks[rank]
        ranks[rank] = dtype if have is None else wider(have, dtype)
    found = None
    for dtype in ranks:
        found = _combine(found, dtype)
    if found is None:
        raise TypeError("an operation needs at least one tensor or number")
    return found


def _combine(higher: str | None, lower: str | None) -> str | None:
    if higher is None or lower is None:
        return higher if lower is None else lower
    if higher in COMPLEX:
        return higher
    if higher in FLOATING:
        return higher if lower not in COMPLEX else "c128" if higher == "f64" else "c64"
    if lower in COMPLEX:
        return lower
    return wider(higher, lower) if higher == "bool" or lower in FLOATING else higher


def float_dtype(dtype: str) -> str:
    """`dtype` if it is a float's, else the default dtype."""
    return dtype if dtype in FLOATING or dtype in COMPLEX else get_default_dtype().code


def common_shape(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The shape to which all broadcast."""
    rank = max(map(len, shapes), default=0)
    shape = [1] * rank
    for s in shapes:
        for axis, n in enumerate(s, rank - len(s)):
            if n == shape[axis] or n == 1:
                continue
            if shape[axis] != 1:
                raise RuntimeError(
                    f"The size of tensor a ({shape[axis]}) must match the size of tensor b ({n})"
                    f" at non-singleton dimension {axis}"
                )
            shape[axis] = n
    return tuple(shape)


def widen(b: Builder, value: Value, shape: tuple[int, ...]) -> Value:
    """`value` broadcast to `shape` as NumPy broadcasts."""
    have = value.type.static_shape()
    if have == shape:
        return value
    lead = len(shape) - len(have)
    axes = tuple(a + lead for a, n in enumerate(have) if n == shape[a + lead])
    kept = tuple(shape[a] for a in axes)
    if kept != have:
        value = reshape(b, value, shape=kept)
    return value if kept == shape else spread(b, value, shape=shape, axes=axes)


def small_results(kinds: Sequence[Kind], dtype: str | None, attributes: tuple[Any, ...]) -> dict[str, str]:
    """What the results become that come out in a dtype in which smaller ones are computed: {"i32": "u8"}; often {}.

    It is the dtype among the attributes, or that in which all is computed, or that of the first argument that has one;
    the wider one itself where that is asked for.
    """
    made = {}
    for wide, small in COMPUTED.items():
        asked = [a for a in attributes if isinstance(a, str) and (a in small or a == wide)]
        found = [*asked, *([dtype] if dtype else [k.dtype for k in kinds])]
        chosen = next((d for d in found if d in small or d == wide), "")
        if chosen in small or (chosen and any(k.dtype in small for k in kinds)):
            made[wide] = chosen
    return made


COMPUTED = {"i32": NARROW, "f32": tuple(HALVES)}
"""In what smaller dtypes are computed, each operation by itself."""


def computed(dtype: str) -> str:
    """The dtype in which an operation on one computes."""
    return next((wide for wide, small in COMPUTED.items() if dtype in small), dtype)


def cast_to(b: Builder, value: Value, dtype: str) -> Value:
    """A value in a dtype."""
    return value if value.type.dtype == dtype else cast(b, value, dtype=dtype)


def as_computed(b: Builder, value: Value) -> Value:
    """A float of 16 bits in that which is computed for it; other values as they are."""
    return cast_to(b, value, computed(value.type.dtype)) if value.type.dtype in HALVES else value


def c_name(dtype: str) -> str:
    """What PyTorch's messages call a dtype: Float, Long."""
    return C_NAMES[dtype]


C_NAMES = {
    "bool": "Bool", "u8": "Byte", "i8": "Char", "i16": "Short", "i32": "Int", "i64": "Long", "f32": "Float",
    "f64": "Double", "c64": "ComplexFloat", "c128": "ComplexDouble", "u16": "UInt16", "u32": "UInt32", "u64": "UInt64",
    "f16": "Half", "bf16": "BFloat16",
}  # fmt: skip
