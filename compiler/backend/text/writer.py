"""The text of one LLVM function under construction: values, memory, blocks.

`Instructions` has what LLVM means as NumPy does, `Arithmetic` and `Casting` what takes several
instructions, and `Writer` adds all that has an order: loads, stores, calls and the blocks of the control flow.
"""

from __future__ import annotations

from collections.abc import Sequence

from .casting import Casting
from .registers import BYTES, Reg, lanes, llvm_type, memory_type, suffix


class Writer(Casting):
    """The body of one LLVM function; `lines` is its text so far, `declarations` what the module
    must declare or define for it. No pass improves the text: what is written is what runs."""

    def __init__(self, fma: bool = True) -> None:
        super().__init__(fma)
        self.block = "entry"
        self._labels = 0
        self._phis: dict[str, tuple[list[str], int]] = {}

    # Vectors

    def splat(self, x: Reg, width: int) -> Reg:
        """A vector with a scalar in every lane."""
        if width == x.width:
            return x
        constant = x.number
        if constant is not None:
            return self.number(constant, x.dtype, width)
        vector = llvm_type(x.dtype, width)
        first = self.value(x.dtype, width, f"insertelement {vector} poison, {x.typed}, i64 0")
        mask = f"<{width} x i32> zeroinitializer"
        text = f"shufflevector {first.typed}, {vector} poison, {mask}"
        return self.value(x.dtype, width, text)

    def extract(self, x: Reg, lane: int | Reg) -> Reg:
        """One lane as a scalar; a scalar is its own only lane."""
        if x.width == 1:
            return x
        index = lane.typed if isinstance(lane, Reg) else f"i64 {lane}"
        return self.value(x.dtype, 1, f"extractelement {x.typed}, {index}")

    def insert(self, x: Reg, value: Reg, lane: int | Reg) -> Reg:
        """A copy of a vector with one lane replaced by a scalar."""
        if x.width == 1:
            return value
        index = lane.typed if isinstance(lane, Reg) else f"i64 {lane}"
        return self.value(x.dtype, x.width, f"insertelement {x.typed}, {value.typed}, {index}")

    def shuffle(self, a: Reg, b: Reg, mask: Sequence[int]) -> Reg:
        """The lanes that `mask` numbers, counting through `a` and then `b`."""
        if a.width == 1:
            raise TypeError(f"shuffle: operand is {a.type}, expected a vector; splat it first")
        if len(mask) == 1:
            lane = mask[0]
            return self.extract(a, lane) if lane < a.width else self.extract(b, lane - a.width)
        text = f"shufflevector {a.typed}, {b.typed}, <{len(mask)} x i32> {lanes(tuple(mask))}"
        return self.value(a.dtype, len(mask), text)

    def any(self, c: Reg) -> Reg:
        """Whether some lane is true."""
        return self._reduce("or", c)

    def all(self, c: Reg) -> Reg:
        """Whether every lane is true."""
        return self._reduce("and", c)

    def _reduce(self, name: str, c: Reg) -> Reg:
        if c.width == 1:
            return c
        return self.value("bool", 1, f"call i1 @llvm.vector.reduce.{name}.{c.suffix}({c.typed})")

    # Memory

    def gep(self, ptr: str, dtype: str, index: int | Reg) -> str:
        """The address of element `index` of an array at `ptr`."""
        if isinstance(index, Reg) and index.number is None:
            offset = index.typed
        else:
            index = int(index.number) if isinstance(index, Reg) and index.number is not None else index
            if isinstance(index, int) and index == 0:
                return ptr
            offset = f"i64 {index}"
        return self.value("i64", 1, f"getelementptr {memory_type(dtype)}, ptr {ptr}, {offset}").text

    def load(
        self,
        ptr: str,
        dtype: str,
        width: int = 1,
        mask: Reg | None = None,
        align: int | None = None,
    ) -> Reg:
        """Consecutive elements at `ptr`; lanes that the mask excludes are not touched and are 0."""
        stored = memory_type(dtype, width)
        align = align or BYTES[dtype]
        if mask is None or mask.number is True:
            text = self._line(f"load {stored}, ptr {ptr}, align {align}")
        elif width == 1:
            text = self._masked_scalar_load(ptr, stored, mask, align)
        else:
            name = f"@llvm.masked.load.{_memory_suffix(dtype, width)}.p0"
            operands = f"ptr align {align} {ptr}, {mask.typed}, {stored} zeroinitializer"
            text = self._line(f"call {stored} {name}({operands})")
        return self._from_memory(text, dtype, width)

    def store(self, ptr: str, value: Reg, mask: Reg | None = None, align: int | None = None) -> None:
        """Write consecutive elements at `ptr`, where the mask says so."""
        stored = memory_type(value.dtype, value.width)
        align = align or BYTES[value.dtype]
        text = self._to_memory(value)
        if mask is None or mask.number is True:
            self.lines.append(f"  store {stored} {text}, ptr {ptr}, align {align}")
        elif value.width == 1:
            self._masked_scalar_store(ptr, f"{stored} {text}", mask, align)
        else:
            name = f"@llvm.masked.store.{_memory_suffix(value.dtype, value.width)}.p0"
            operands = f"{stored} {text}, ptr align {align} {ptr}, {mask.typed}"
            self.lines.append(f"  call void {name}({operands})")

    def gather(self, base: str, index: Reg, mask: Reg | None = None, dtype: str = "f64") -> Reg:
        """The elements of the array at `base` that `index` numbers; excluded lanes are 0."""
        if index.width == 1:
            return self.load(self.gep(base, dtype, index), dtype, 1, mask)
        width, stored = index.width, memory_type(dtype, index.width)
        pointers = self._line(f"getelementptr {memory_type(dtype)}, ptr {base}, {index.typed}")
        mask = mask or self.number(True, "bool", width)
        name = f"@llvm.masked.gather.{_memory_suffix(dtype, width)}.v{width}p0"
        operands = f"<{width} x ptr> align {BYTES[dtype]} {pointers}, {mask.typed}, {stored} zeroinitializer"
        return self._from_memory(self._line(f"call {stored} {name}({operands})"), dtype, width)

    def _masked_scalar_load(self, ptr: str, stored: str, mask: Reg, align: int) -> str:
        """A branch around the load."""
        load, done = self.label("load"), self.label("loaded")
        before = self.block
        self.cbr(mask, load, done)
        self.start(load)
        text = self._line(f"load {stored}, ptr {ptr}, align {align}")
        self.br(done)
        self.start(done)
        zero = "0.0" if stored in ("float", "double") else "0"
        return self._line(f"phi {stored} [{text}, %{load}], [{zero}, %{before}]")

    def _masked_scalar_store(self, ptr: str, operand: str, mask: Reg, align: int) -> None:
        """A branch around the store."""
        store, done = self.label("store"), self.label("stored")
        self.cbr(mask, store, done)
        self.start(store)
        self.lines.append(f"  store {operand}, ptr {ptr}, align {align}")
        self.br(done)
        self.start(done)

    def _from_memory(self, text: str, dtype: str, width: int) -> Reg:
        """A byte that is not 0 is true."""
        if dtype != "bool":
            return Reg(dtype, width, text)
        zero = "0" if width == 1 else "zeroinitializer"
        return self.value("bool", width, f"icmp ne {memory_type(dtype, width)} {text}, {zero}")

    def _to_memory(self, value: Reg) -> str:
        if value.dtype != "bool":
            return value.text
        stored = memory_type("bool", value.width)
        return self.value("i32", value.width, f"zext {value.typed} to {stored}").text

    def _line(self, right: str) -> str:
        """An instruction that is written each time, because it has an effect or depends on one."""
        name = self.fresh("i64").text
        self.lines.append(f"  {name} = {right}")
        return name

    # Calls and blocks

    def call(
        self,
        name: str,
        result: str,
        args: Sequence[tuple[str, str]],
        declaration: str | None = None,
    ) -> str:
        """Call a function; the text of its result, empty for `void`."""
        if declaration is not None:
            self.declarations[name] = declaration
        text = f"call {result} @{name}({', '.join(f'{kind} {arg}' for kind, arg in args)})"
        if result != "void":
            return self._line(text)
        self.lines.append(f"  {text}")
        return ""

    def label(self, name: str) -> str:
        """A label not used before."""
        self._labels += 1
        return f"{name}{self._labels}"

    def start(self, label: str) -> None:
        """Begin a block."""
        self.lines.append(f"{label}:")
        self.block = label

    def br(self, label: str) -> None:
        """End the block with a jump."""
        self.lines.append(f"  br label %{label}")

    def cbr(self, cond: Reg, yes: str, no: str) -> None:
        """End the block with a choice."""
        self.lines.append(f"  br {cond.typed}, label %{yes}, label %{no}")

    def phi(self, dtype: str, width: int, incoming: Sequence[tuple[Reg, str]]) -> Reg:
        """The value that came with the edge taken; `incoming` adds edges that are written later."""
        result = self.fresh(dtype, width)
        pairs = ", ".join(f"[{value.text}, %{label}]" for value, label in incoming)
        self._phis[result.text] = self.lines, len(self.lines)
        self.lines.append(f"  {result.text} = phi {result.type} {pairs}")
        return result

    def incoming(self, phi: Reg, value: Reg, label: str) -> None:
        """Add an edge to a phi, for a loop's value that is known only at the loop's end."""
        lines, at = self._phis[phi.text]
        comma = ", " if lines[at].endswith("]") else ""
        lines[at] += f"{comma}[{value.text}, %{label}]"


def _memory_suffix(dtype: str, width: int) -> str:
    return f"v{width}i8" if dtype == "bool" else suffix(dtype, width)
