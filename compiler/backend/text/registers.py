"""What a value is in LLVM text: a `Reg` with dtype and width; the spelling of types and literals."""

from __future__ import annotations

import math
import struct
from functools import lru_cache
from typing import NamedTuple

from ...ir.types import HALVES

_CARRIED = {"u8": "i8", "i8": "i8", "i16": "i16", "u16": "i16", "u32": "i32", "u64": "i64", "f16": "i16", "bf16": "i16"}
_SCALARS = _CARRIED | {"bool": "i1", "i32": "i32", "i64": "i64", "f32": "float", "f64": "double", "ptr": "ptr"}
_SUFFIXES = _CARRIED | {"bool": "i1", "i32": "i32", "i64": "i64", "f32": "f32", "f64": "f64"}
_IN_MEMORY = _CARRIED | {"bool": "i8", "i32": "i32", "i64": "i64", "f32": "float", "f64": "double"}

BITS = {"bool": 1, "i32": 32, "i64": 64, "f32": 32, "f64": 64} | {d: int(t[1:]) for d, t in _CARRIED.items()}
BYTES = {dtype: max(bits // 8, 1) for dtype, bits in BITS.items()}
FLOATS = ("f32", "f64")
INTEGERS = ("i32", "i64")

_WHOLE = frozenset(("bool", *INTEGERS))

# The integer whose bits a float has, and back.
INTEGER_OF = {"f32": "i32", "f64": "i64"}
FLOAT_OF = {"i32": "f32", "i64": "f64"}


class Reg(NamedTuple):
    """One SSA value or literal: a scalar when `width` is 1, else a vector of `width` elements.

    `number` is what a literal stands for; None for every other value, and where that is a float of 16 bits.
    """

    dtype: str
    width: int
    text: str
    number: bool | int | float | None = None

    @property
    def type(self) -> str:
        """The LLVM type, e.g. `double` or `<8 x double>`."""
        return _SCALARS[self.dtype] if self.width == 1 else llvm_type(self.dtype, self.width)

    @property
    def suffix(self) -> str:
        """How an overloaded intrinsic spells the type, e.g. `f64` or `v8f64`."""
        return suffix(self.dtype, self.width)

    @property
    def typed(self) -> str:
        """The value as an operand of a call: type and text."""
        dtype, width, text, _ = self
        return f"{_SCALARS[dtype]} {text}" if width == 1 else f"{llvm_type(dtype, width)} {text}"


@lru_cache
def llvm_type(dtype: str, width: int = 1) -> str:
    """The LLVM type of a value in a register."""
    scalar = _SCALARS[dtype]
    return scalar if width == 1 else f"<{width} x {scalar}>"


@lru_cache
def memory_type(dtype: str, width: int = 1) -> str:
    """The LLVM type of a value in memory, where a bool takes a byte."""
    scalar = _IN_MEMORY[dtype]
    return scalar if width == 1 else f"<{width} x {scalar}>"


@lru_cache(1024)
def lanes(mask: tuple[int, ...], dtype: str = "i32") -> str:
    """Numbers, one for each lane, as LLVM spells them in a vector."""
    kind = _SCALARS[dtype]
    return f"<{', '.join([f'{kind} {lane}' for lane in mask])}>"


@lru_cache
def suffix(dtype: str, width: int = 1) -> str:
    """How an overloaded intrinsic spells the type."""
    return _SUFFIXES[dtype] if width == 1 else f"v{width}{_SUFFIXES[dtype]}"


def round_to_single(value: float) -> float:
    """The f32 nearest to `value`; too large values become infinite."""
    try:
        return struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)


def _half_bits(value: float, dtype: str) -> int:
    """The bits of the float of 16 bits that is nearest to one that f32 has."""
    value = round_to_single(value)
    if dtype == "f16":
        try:
            return struct.unpack("<H", struct.pack("<e", value))[0]
        except OverflowError:
            return 0x7C00 if value > 0 else 0xFC00
    bits = struct.unpack("<I", struct.pack("<f", value))[0]
    return bits >> 16 | 0x40 if value != value else bits + 0x7FFF + (bits >> 16 & 1) >> 16


def wrap(value: int, dtype: str) -> int:
    """The two's complement value that the low bits of `value` spell."""
    bits = BITS[dtype]
    return (int(value) + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)


def literal(value: bool | float, dtype: str, width: int = 1) -> Reg:
    """A constant. LLVM spells floats of both sizes by the bits of a double."""
    # The cache can't tell the two zeros of a float apart.
    return _literal(value, dtype, width) if value or dtype in _WHOLE else _literal.__wrapped__(value, dtype, width)


@lru_cache(4096)
def _literal(value: bool | float, dtype: str, width: int) -> Reg:
    number: bool | int | float | None = None
    if dtype == "bool":
        number, text = bool(value), "true" if value else "false"
    elif dtype in HALVES:
        text = str(_half_bits(float(value), dtype))
    elif dtype in INTEGERS or dtype in _CARRIED:
        number = wrap(int(value), dtype)
        text = str(number)
    else:
        number = float(value) if dtype == "f64" else round_to_single(float(value))
        text = f"0x{struct.unpack('<Q', struct.pack('<d', number))[0]:016X}"
    if width != 1:
        text = f"splat ({_SCALARS[dtype]} {text})"
    return Reg(dtype, width, text, number)


def integer_value(reg: Reg) -> int | None:
    """What the literal of an integer stands for."""
    return None if reg.number is None else int(reg.number)
