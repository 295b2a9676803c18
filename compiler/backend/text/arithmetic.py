"""Arithmetic with NumPy's meaning where LLVM's differs: total on integers, no traps, no poison."""

from __future__ import annotations

from .instructions import Instructions, agree
from .registers import (
    BITS,
    FLOAT_OF,
    FLOATS,
    INTEGER_OF,
    INTEGERS,
    Reg,
    integer_value,
    llvm_type,
)


class Arithmetic(Instructions):
    """Division that rounds down, rounding, extremes and shifts."""

    # Division that rounds down

    def floordiv(self, a: Reg, b: Reg) -> Reg:
        """a // b as NumPy has it: x // 0 is 0 and INT_MIN // -1 is INT_MIN on integers."""
        if a.dtype in FLOATS:
            return self._float_floordiv(a, b)
        divisor = integer_value(b)
        if divisor and divisor > 0 and divisor & (divisor - 1) == 0:
            return self.ashr(a, self.like(divisor.bit_length() - 1, a))
        quotient, _ = self._floor_division(a, b)
        if divisor is None:
            zero = self.like(0, a)
            quotient = self.select(self.eq(b, zero), zero, quotient)
            return self.select(self.eq(b, self.like(-1, b)), self.neg(a), quotient)
        return {0: self.like(0, a), -1: self.neg(a)}.get(divisor, quotient)

    def mod(self, a: Reg, b: Reg) -> Reg:
        """a % b as NumPy has it: the sign is the divisor's, x % 0 is 0 on integers."""
        if a.dtype in FLOATS:
            return self._float_mod(a, b)
        divisor = integer_value(b)
        if divisor and divisor > 0 and divisor & (divisor - 1) == 0:
            return self.and_(a, self.like(divisor - 1, a))
        return self._floor_division(a, b)[1]

    def _floor_division(self, a: Reg, b: Reg) -> tuple[Reg, Reg]:
        """Quotient and remainder for every divisor but 0 and -1, for which it divides by 1:
        the machine's division traps on x / 0 and INT_MIN / -1."""
        agree("floordiv", self._numeric(a, "floordiv"), b)
        zero, one = self.like(0, a), self.like(1, a)
        divisor = integer_value(b)
        if divisor is None:
            unsafe = self.or_(self.eq(b, zero), self.eq(b, self.like(-1, b)))
            b = self.select(unsafe, one, b)
        elif divisor in (0, -1):
            b = one
        quotient = self._truncated_quotient(a, b)
        rest = self.sub(a, self.mul(quotient, b))
        opposite = self.lt(self.xor(rest, b), zero)
        fix = self.and_(self.ne(rest, zero), opposite)
        return (
            self.select(fix, self.sub(quotient, one), quotient),
            self.select(fix, self.add(rest, b), rest),
        )

    def _truncated_quotient(self, a: Reg, b: Reg) -> Reg:
        """The quotient of i32 vectors is exact in f64, which has vector instructions."""
        if a.dtype == "i32" and a.width > 1:
            return self._convert("fptosi", self.div(*[self._convert("sitofp", x, "f64") for x in (a, b)]), "i32")
        return self.value(a.dtype, a.width, f"sdiv {a.typed}, {b.text}")

    def _float_mod(self, a: Reg, b: Reg) -> Reg:
        """The steps of CPython's float_divmod, which NumPy follows bit by bit."""
        rest = self._binary("rem", a, b)
        zero = self.like(0.0, a)
        exact = self.eq(rest, zero)
        opposite = self.xor(self.lt(b, zero), self.lt(rest, zero))
        adjusted = self.select(opposite, self.add(rest, b), rest)
        return self.select(exact, self.copysign(zero, b), adjusted)

    def _float_floordiv(self, a: Reg, b: Reg) -> Reg:
        rest = self._binary("rem", a, b)
        zero, one = self.like(0.0, a), self.like(1.0, a)
        opposite = self.xor(self.lt(b, zero), self.lt(rest, zero))
        inexact = self.and_(self.ne(rest, zero), opposite)
        plain = self.div(a, b)
        quotient = self.div(self.sub(a, rest), b)
        quotient = self.select(inexact, self.sub(quotient, one), quotient)
        floor = self.floor(quotient)
        short = self.gt(self.sub(quotient, floor), self.like(0.5, a))
        snapped = self.select(short, self.add(floor, one), floor)
        signed = self.select(self.eq(quotient, zero), self.copysign(zero, plain), snapped)
        return self.select(self.eq(b, zero), plain, signed)

    # Rounding, sign, extremes

    def abs(self, a: Reg) -> Reg:
        if a.dtype in FLOATS:
            return self._intrinsic("fabs", self._negated.get(a.text, a))
        return a if a.dtype == "bool" else self._intrinsic("abs", a, extra=", i1 false")

    def floor(self, a: Reg) -> Reg:
        return self._rounded("floor", a)

    def ceil(self, a: Reg) -> Reg:
        return self._rounded("ceil", a)

    def trunc(self, a: Reg) -> Reg:
        return self._rounded("trunc", a)

    def rint(self, a: Reg) -> Reg:
        return self._rounded("rint", a)

    def _rounded(self, name: str, a: Reg) -> Reg:
        return self._intrinsic(name, a) if a.dtype in FLOATS else a

    def sqrt(self, a: Reg) -> Reg:
        return self._intrinsic("sqrt", self._float(a, "sqrt"))

    def sign(self, a: Reg) -> Reg:
        """-1, 0 or 1; NaN for NaN, and 0.0 for -0.0 as in NumPy."""
        zero, one = self.like(0, a), self.like(1, a)
        if a.dtype == "bool":
            return a
        negative = self.select(self.lt(a, zero), self.neg(one), zero)
        result = self.select(self.gt(a, zero), one, negative)
        return result if a.dtype in INTEGERS else self.select(self.isnan(a), a, result)

    def minimum(self, a: Reg, b: Reg) -> Reg:
        return self.and_(a, b) if a.dtype == "bool" else self._extreme(self.lt(a, b), a, b)

    def maximum(self, a: Reg, b: Reg) -> Reg:
        return self.or_(a, b) if a.dtype == "bool" else self._extreme(self.gt(a, b), a, b)

    def combine(self, kind: str, a: Reg, b: Reg) -> Reg:
        """One step of a sum, max or min."""
        return {"sum": self.add, "max": self.maximum, "min": self.minimum}[kind](a, b)

    def _extreme(self, first: Reg, a: Reg, b: Reg) -> Reg:
        """NumPy's choice: NaN if one is NaN, the second of two zeros. The inner selection is the
        machine's own minimum or maximum, which yields the second operand when one is NaN."""
        chosen = self.select(first, a, b)
        return chosen if a.dtype in INTEGERS else self.select(self.isnan(a), a, chosen)

    def copysign(self, a: Reg, b: Reg) -> Reg:
        return self._intrinsic("copysign", self._float(a, "copysign"), b)

    # Shifts and casts

    def shl(self, a: Reg, b: Reg) -> Reg:
        return self._shift("shl", a, b)

    def lshr(self, a: Reg, b: Reg) -> Reg:
        return self._shift("lshr", a, b)

    def ashr(self, a: Reg, b: Reg) -> Reg:
        return self._shift("ashr", a, b)

    def _shift(self, name: str, a: Reg, b: Reg) -> Reg:
        """A count that is negative or too large leaves 0, or the sign where `ashr` copies it."""
        agree(name, self._numeric(a, name), b)
        bits, count = BITS[a.dtype], integer_value(b)
        if count is not None and 0 <= count < bits:
            return self.value(a.dtype, a.width, f"{name} {a.typed}, {b.text}") if count else a
        inside = self.value("bool", a.width, f"icmp ult {b.typed}, {self.like(bits, b).text}")
        limit = self.like(bits - 1 if name == "ashr" else 0, b)
        safe = self.select(inside, b, limit)
        shifted = self.value(a.dtype, a.width, f"{name} {a.typed}, {safe.text}")
        return shifted if name == "ashr" else self.select(inside, shifted, self.like(0, a))

    def _convert(self, name: str, x: Reg, dtype: str) -> Reg:
        return self.value(dtype, x.width, f"{name} {x.typed} to {llvm_type(dtype, x.width)}")

    def bits(self, x: Reg) -> Reg:
        """The integer that has the bits of a float."""
        return self._convert("bitcast", x, INTEGER_OF[self._float(x, "bits").dtype])

    def unbits(self, x: Reg) -> Reg:
        """The float that has the bits of an integer."""
        return self._convert("bitcast", x, FLOAT_OF[self._numeric(x, "unbits").dtype])
