"""Pure instructions as LLVM text: the ones that mean in LLVM what they mean in NumPy.

A pure instruction is known by its text: writing it twice yields the same register. So functions
that need the same intermediate values share them without any LLVM pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from .registers import FLOATS, INTEGERS, Reg, literal

_FLOAT_NAMES = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv", "rem": "frem"}
_FLOAT_ORDER = {"eq": "oeq", "ne": "une", "lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge"}
_SIGNED_ORDER = {"eq": "eq", "ne": "ne", "lt": "slt", "le": "sle", "gt": "sgt", "ge": "sge"}
_UNSIGNED_ORDER = {"eq": "eq", "ne": "ne", "lt": "ult", "le": "ule", "gt": "ugt", "ge": "uge"}


_reg = tuple.__new__


class Instructions:
    """The pure instructions of a function under construction."""

    def __init__(self, fma: bool = True) -> None:
        self.has_fma = fma
        self.lines: list[str] = []
        self.declarations: dict[str, str] = {}
        self._values: dict[str, Reg] = {}
        self._recent: list[str] = []
        self._negated: dict[str, Reg] = {}
        self._count = 0

    # Numbering

    def fresh(self, dtype: str, width: int = 1) -> Reg:
        """A register that nothing has been assigned to yet."""
        self._count += 1
        return Reg(dtype, width, f"%t{self._count}")

    def value(self, dtype: str, width: int, right: str) -> Reg:
        """The register that holds what the pure instruction `right` computes."""
        known = self._values.get(right)
        if known is not None:
            return known
        self._count += 1
        name = f"%t{self._count}"
        self._values[right] = result = _reg(Reg, (dtype, width, name, None))  # as Reg(...) does, in half the time
        self._recent.append(right)
        self.lines.append(f"  {name} = {right}")
        return result

    def once(self, key: str, make: Callable[[], Reg]) -> Reg:
        """What `make` writes, or what it wrote for the same key where that is still visible."""
        known = self._values.get(key)
        if known is None:
            known = make()
            self._remember(key, known)
        return known

    def _remember(self, key: str, result: Reg) -> None:
        self._values[key] = result
        self._recent.append(key)

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Values first written inside are forgotten at the end, because they don't dominate it."""
        start = len(self._recent)
        try:
            yield
        finally:
            for key in self._recent[start:]:
                self._values.pop(key, None)
            del self._recent[start:]

    # Literals and plain arithmetic

    def number(self, value: bool | float, dtype: str, width: int = 1) -> Reg:
        """A literal."""
        return literal(value, dtype, width)

    def like(self, value: bool | float, model: Reg) -> Reg:
        """A literal with the dtype and width of `model`."""
        return literal(value, model.dtype, model.width)

    def add(self, a: Reg, b: Reg) -> Reg:
        if a.dtype == "bool":
            return self.or_(a, b)
        if a.dtype in INTEGERS:
            x, y = a.number, b.number
            if y == 0:
                return a
            if x == 0:
                return b
            if x is not None and y is not None and a.width == b.width == 1:
                return self.number(x + y, a.dtype)
        return self._binary("add", a, b)

    def sub(self, a: Reg, b: Reg) -> Reg:
        if a.dtype in INTEGERS and b.number == 0:
            return a
        return self._binary("sub", self._numeric(a, "sub"), b)

    def mul(self, a: Reg, b: Reg) -> Reg:
        if a.dtype == "bool":
            return self.and_(a, b)
        if a.dtype in INTEGERS:
            x, y = a.number, b.number
            if y == 1:
                return a
            if x == 1:
                return b
            if x is not None and y is not None and a.width == b.width == 1:
                return self.number(x * y, a.dtype)
        return self._binary("mul", a, b)

    def div(self, a: Reg, b: Reg) -> Reg:
        return self._binary("div", self._float(a, "div"), b)

    def neg(self, a: Reg) -> Reg:
        if a.dtype in INTEGERS:
            return self._binary("sub", self.like(0, a), a)
        positive = self._negated.get(self._float(a, "neg").text)
        if positive is not None:
            return positive
        result = self.value(a.dtype, a.width, f"fneg {a.typed}")
        self._negated[result.text] = a
        return result

    def fma(self, a: Reg, b: Reg, c: Reg) -> Reg:
        """a*b + c with one rounding; a library call where the CPU has no such instruction."""
        return self._intrinsic("fma", self._float(a, "fma"), b, c)

    def muladd(self, a: Reg, b: Reg, c: Reg) -> Reg:
        """a*b + c with one rounding or two, whichever the CPU does faster."""
        return self._intrinsic("fmuladd", self._float(a, "muladd"), b, c)

    def _binary(self, name: str, a: Reg, b: Reg) -> Reg:
        agree(name, a, b)
        if a.dtype in FLOATS:
            name = _FLOAT_NAMES[name]
        return self.value(a.dtype, a.width, f"{name} {a.typed}, {b.text}")

    def _intrinsic(self, name: str, *args: Reg, extra: str = "") -> Reg:
        first, kind = args[0], args[0].type
        for other in args[1:]:
            agree(name, first, other)
        operands = ", ".join([f"{kind} {arg.text}" for arg in args])
        text = f"call {kind} @llvm.{name}.{first.suffix}({operands}{extra})"
        return self.value(first.dtype, first.width, text)

    def _float(self, a: Reg, name: str) -> Reg:
        if a.dtype not in FLOATS:
            raise TypeError(f"{name}: operand is {a.type}, expected f32 or f64; cast it first")
        return a

    def _numeric(self, a: Reg, name: str) -> Reg:
        if a.dtype == "bool":
            raise TypeError(f"{name}: operand is bool, expected a number; cast it first")
        return a

    # Comparison and choice

    def eq(self, a: Reg, b: Reg) -> Reg:
        return self._compare("eq", a, b)

    def ne(self, a: Reg, b: Reg) -> Reg:
        return self._compare("ne", a, b)

    def lt(self, a: Reg, b: Reg) -> Reg:
        return self._compare("lt", a, b)

    def le(self, a: Reg, b: Reg) -> Reg:
        return self._compare("le", a, b)

    def gt(self, a: Reg, b: Reg) -> Reg:
        return self._compare("gt", a, b)

    def ge(self, a: Reg, b: Reg) -> Reg:
        return self._compare("ge", a, b)

    def isnan(self, a: Reg) -> Reg:
        return self.value("bool", a.width, f"fcmp uno {a.typed}, {self.like(0.0, a).text}")

    def _compare(self, name: str, a: Reg, b: Reg) -> Reg:
        agree(name, a, b)
        if a.dtype in FLOATS:
            relation = f"fcmp {_FLOAT_ORDER[name]}"
        else:
            order = _UNSIGNED_ORDER if a.dtype == "bool" else _SIGNED_ORDER
            relation = f"icmp {order[name]}"
        return self.value("bool", a.width, f"{relation} {a.typed}, {b.text}")

    def select(self, c: Reg, a: Reg, b: Reg) -> Reg:
        agree("select", a, b)
        chosen = c.number
        if chosen is not None:
            return a if chosen else b
        if a.text == b.text:
            return a
        return self.value(a.dtype, a.width, f"select {c.typed}, {a.typed}, {b.typed}")

    # Bits

    def and_(self, a: Reg, b: Reg) -> Reg:
        return self._bitwise("and", a, b)

    def or_(self, a: Reg, b: Reg) -> Reg:
        return self._bitwise("or", a, b)

    def xor(self, a: Reg, b: Reg) -> Reg:
        return self._bitwise("xor", a, b)

    def not_(self, a: Reg) -> Reg:
        return self._bitwise("xor", a, self.like(True if a.dtype == "bool" else -1, a))

    def _bitwise(self, name: str, a: Reg, b: Reg) -> Reg:
        if a.dtype in FLOATS:
            raise TypeError(f"{name}: operand is {a.type}, expected bool or integer; use bits()")
        return self._binary(name, a, b)


def agree(name: str, a: Reg, b: Reg) -> None:
    """LLVM's parser may end the process on operands that don't fit, so they never reach it."""
    if a.dtype != b.dtype or a.width != b.width:
        raise TypeError(f"{name}: operands are {a.type} and {b.type}, expected one type; cast or splat")
