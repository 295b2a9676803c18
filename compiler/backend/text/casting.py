"""Casts between all dtypes as LLVM text, total on all values: what `ops.casting` says in NumPy."""

from __future__ import annotations

from ...ir.types import CARRIER, FLOATING, HALVES
from .arithmetic import Arithmetic
from .registers import BITS, FLOATS, INTEGERS, Reg

SIGN, FINITE = 0x7FFFFFFF, 0x7F800000
"""The bits of an f32 but for its sign; the bits of infinity, above which there is NaN only."""


class Casting(Arithmetic):
    """Casts. Floats of 16 bits are integers in registers: processors have instructions for some of them only."""

    def cast(self, x: Reg, dtype: str) -> Reg:
        """x.astype(dtype): bools become 0 and 1, numbers are true unless 0, floats lose their
        fraction, and what no integer holds becomes the least one."""
        if x.dtype == dtype:
            return x
        if x.dtype == "u64" and dtype in FLOATING:
            return self.cast(self._convert("uitofp", x, dtype if dtype in FLOATS else "f64"), dtype)
        if x.dtype in CARRIER:
            return self.cast(self._carried(x), dtype)
        if dtype in HALVES:
            return self._half(x if x.dtype in FLOATS else self.cast(x, "f64"), dtype)
        if dtype == "u64" and x.dtype in FLOATS:
            return self._float_to_largest(x)
        if dtype in CARRIER:
            wide = self.cast(x, CARRIER[dtype])
            return self._convert("trunc", wide, dtype) if BITS[dtype] < BITS[wide.dtype] else wide._replace(dtype=dtype)
        if dtype == "bool":
            return self.ne(x, self.like(0, x))
        if x.dtype in FLOATS and dtype in INTEGERS:
            return self._float_to_integer(x, dtype)
        if x.dtype in FLOATS:
            return self._convert("fptrunc" if dtype == "f32" else "fpext", x, dtype)
        if dtype in FLOATS:
            return self._convert("uitofp" if x.dtype == "bool" else "sitofp", x, dtype)
        if x.dtype == "bool":
            return self._convert("zext", x, dtype)
        return self._convert("sext" if dtype == "i64" else "trunc", x, dtype)

    def _carried(self, x: Reg) -> Reg:
        """A number in the dtype that carries it; u64 has the bits of its carrier."""
        carrier = CARRIER[x.dtype]
        if x.dtype in HALVES:
            return self._single(x)
        if BITS[x.dtype] == BITS[carrier]:
            return x._replace(dtype=carrier)
        return self._convert("zext" if x.dtype.startswith("u") else "sext", x, carrier)

    def _float_to_largest(self, x: Reg) -> Reg:
        """u64 of a float: what i64 doesn't hold is that of the rest above 2**63, with the upper bit."""
        top = self.like(2.0**63, x)
        near = self._float_to_integer(x, "i64")
        far = self._float_to_integer(self.sub(x, top), "i64")
        far = self.xor(far, self.like(-(2**63), far))
        return self.select(self.lt(x, top), near, far)._replace(dtype="u64")

    def _float_to_integer(self, x: Reg, dtype: str) -> Reg:
        """LLVM's conversion is poison out of range, so such values become -2**(bits - 1) first.
        Between that and one less, f64 has values that i32 still holds when cut."""
        top = 2.0 ** (BITS[dtype] - 1)
        wide = x.dtype == "f64" and dtype == "i32"
        above = self.gt(x, self.like(-top - 1, x)) if wide else self.ge(x, self.like(-top, x))
        inside = self.and_(above, self.lt(x, self.like(top, x)))
        return self._convert("fptosi", self.select(inside, x, self.like(-top, x)), dtype)

    def _single(self, x: Reg) -> Reg:
        """f32 of a float of 16 bits.

        The exponent of an f16 is 112 less than that of the f32 with its bits shifted, for numbers below the normal ones
        as for others; what is 2**16 or more then was infinite or NaN.
        """
        bits = self._convert("zext", x, "i32")
        if x.dtype == "bf16":
            return self.unbits(self.shl(bits, self.like(16, bits)))
        magnitude = self.shl(self.and_(bits, self.like(0x7FFF, bits)), self.like(13, bits))
        plain = self.unbits(magnitude)
        scaled = self.mul(plain, self.like(2.0**112, plain))
        above = self.or_(magnitude, self.like(FINITE, bits))
        found = self.select(self.ge(scaled, self.like(2.0**16, scaled)), above, self.bits(scaled))
        sign = self.shl(self.and_(bits, self.like(0x8000, bits)), self.like(16, bits))
        return self.unbits(self.or_(found, sign))

    def _half(self, x: Reg, dtype: str) -> Reg:
        """The nearest float of 16 bits, the even one of two; bfloat16 is that of the nearest f32, as for others."""
        if x.dtype == "f64":
            x = self._odd_single(x) if dtype == "f16" else self.cast(x, "f32")
        bits = self.bits(x)
        magnitude = self.and_(bits, self.like(SIGN, bits))
        made = self._bfloat(magnitude) if dtype == "bf16" else self._binary16(magnitude)
        sign = self.and_(self.lshr(bits, self.like(16, bits)), self.like(0x8000, bits))
        return self._convert("trunc", self.or_(made, sign), dtype)

    def _bfloat(self, magnitude: Reg) -> Reg:
        found = self._rounded_off(magnitude, 16)
        nan = self.or_(self.lshr(magnitude, self.like(16, magnitude)), self.like(0x40, magnitude))
        return self.select(self.gt(magnitude, self.like(FINITE, magnitude)), nan, found)

    def _binary16(self, magnitude: Reg) -> Reg:
        """Below 2**-14 adding 1/2 rounds where f16 does; from 65520 on everything is infinite."""
        shift = self.like(13, magnitude)
        normal = self.sub(self._rounded_off(magnitude, 13), self.like(112 << 10, magnitude))
        normal = self.minimum(normal, self.like(0x7C00, magnitude))
        half = self.like(0.5, self.unbits(magnitude))
        small = self.sub(self.bits(self.add(self.unbits(magnitude), half)), self.bits(half))
        found = self.select(self.lt(magnitude, self.like(113 << 23, magnitude)), small, normal)
        payload = self.and_(self.lshr(magnitude, shift), self.like(0x1FF, magnitude))
        nan = self.or_(payload, self.like(0x7E00, magnitude))
        return self.select(self.gt(magnitude, self.like(FINITE, magnitude)), nan, found)

    def _rounded_off(self, magnitude: Reg, count: int) -> Reg:
        """Without the lower bits, to the nearest, the even one of two."""
        by = self.like(count, magnitude)
        last = self.and_(self.lshr(magnitude, by), self.like(1, magnitude))
        return self.lshr(self.add(magnitude, self.add(last, self.like((1 << count - 1) - 1, magnitude))), by)

    def _odd_single(self, x: Reg) -> Reg:
        """f32 of an f64; of what is between two the odd one, so that rounding once more rounds as if at once."""
        near = self._convert("fptrunc", x, "f32")
        back, bits = self._convert("fpext", near, "f64"), self.bits(near)
        even = self.eq(self.and_(bits, self.like(1, bits)), self.like(0, bits))
        apart = self.and_(self.or_(self.lt(back, x), self.gt(back, x)), even)
        apart = self.and_(apart, self.lt(self.abs(x), self.like(float("inf"), x)))
        below = self.lt(self.abs(back), self.abs(x))
        moved = self.select(below, self.add(bits, self.like(1, bits)), self.sub(bits, self.like(1, bits)))
        return self.unbits(self.select(apart, moved, bits))
