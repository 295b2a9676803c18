"""The LLVM text of one native entry under construction.

Names of the interpreter are prefixed with the entry's, so that several entries and their kernels
fit in one module; their addresses are bound when the module is linked.
"""

from __future__ import annotations

from ..python_abi import REFERENCES, TYPE, symbol
from . import native_text

MISS, UNDO, LEAVE = "miss", "undo", "leave"  # the blocks every entry ends with


class EntryWriter:
    """Lines, stack slots and external names of an entry, and the edges into its shared blocks."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.block = "entry"
        self.frame: list[str] = []
        self.lines: list[str] = []
        self.constants: dict[tuple[int, ...], str] = {}
        self.declarations: dict[str, str] = {}
        self.symbols: dict[str, int] = {}
        self.keep: list[object] = []
        self.undo_edges: list[tuple[int, str]] = []  # how many held references, from which block
        self._count = 0

    def do(self, line: str) -> None:
        """Add an instruction that has no value."""
        self.lines.append(f"  {line}")

    def value(self, expression: str) -> str:
        """Add an instruction and name its value."""
        self._count += 1
        self.lines.append(f"  %v{self._count} = {expression}")
        return f"%v{self._count}"

    def slot(self, llvm_type: str) -> str:
        """A place in the stack frame."""
        name = f"%s{len(self.frame)}"
        self.frame.append(f"  {name} = alloca {llvm_type}, align 8")
        return name

    def at(self, pointer: str, offset: int) -> str:
        """A pointer some bytes further on."""
        return self.value(f"getelementptr i8, ptr {pointer}, i64 {offset}") if offset else pointer

    def field(self, pointer: str, offset: int, llvm_type: str = "ptr") -> str:
        """What is stored some bytes after a pointer."""
        return self.value(f"load {llvm_type}, ptr {self.at(pointer, offset)}")

    def store(self, typed_value: str, pointer: str, offset: int = 0) -> None:
        """Store a value some bytes after a pointer."""
        self.do(f"store {typed_value}, ptr {self.at(pointer, offset)}, align 8")

    def external(self, name: str, address: int) -> str:
        """A name for an address that is known when the module is linked."""
        full = f"{self.name}.{name}"
        self.symbols[full] = address
        self.declarations.setdefault(full, f"@{full} = external global i8")
        return f"@{full}"

    def symbol(self, name: str) -> str:
        """A name for a type object of the C interface."""
        return self.external(name, symbol(name))

    def object(self, value: object, hint: str) -> str:
        """A name for the address of an object that lives as long as the entry."""
        self.keep.append(value)
        return self.external(f"{hint}{len(self.keep)}", id(value))

    def shape(self, sizes: tuple[int, ...]) -> str:
        """A name for an array of sizes in memory."""
        name = f"{self.name}.shape{'x'.join(map(str, sizes))}"
        words = ", ".join(f"i64 {size}" for size in sizes)
        if not sizes:
            return "null"
        self.constants[sizes] = f"@{name} = private constant [{len(sizes)} x i64] [{words}]"
        return f"@{name}"

    def call(self, result: str, function: str, *typed_args: str) -> str:
        """Call a function of the C interface by its name; the name of its value, or nothing."""
        return self._call(result, function, symbol(function), typed_args)

    def help(self, result: str, function: str, *typed_args: str, tail: bool = False) -> str:
        """Call one of the functions of `help_text`."""
        return self._call(result, function, native_text.address(function), typed_args, tail)

    def call_at(self, address: int, result: str, function: str, *typed_args: str) -> str:
        """Call a function of ours at an address."""
        return self._call(result, function, address, typed_args)

    def _call(self, result: str, function: str, address: int, typed_args: tuple[str, ...],
              tail: bool = False) -> str:
        full = f"{self.name}.{function}"
        self.symbols[full] = address
        types = ", ".join(argument.split()[0] for argument in typed_args)
        self.declarations.setdefault(full, f"declare {result} @{full}({types})")
        kind = "musttail call" if tail else "call"
        text = f"{kind} {result} @{full}({', '.join(typed_args)})"
        if result == "void":
            self.do(text)
            return ""
        return self.value(text)

    def start(self, block: str) -> None:
        """Begin a block."""
        self.block = block
        self.lines.append(f"{block}:")

    def go_on_if(self, condition: str, otherwise: str = MISS) -> None:
        """Leave for another block unless a condition holds."""
        self._count += 1
        self.do(f"br i1 {condition}, label %b{self._count}, label %{otherwise}")
        self.start(f"b{self._count}")

    def require_equal(self, llvm_type: str, value: str, expected: str | int) -> None:
        """A guard: what differs is for the next entry."""
        self.go_on_if(self.value(f"icmp eq {llvm_type} {value}, {expected}"))

    def require_type(self, value: str, type_name: str) -> None:
        """A guard on the exact type of an object."""
        self.require_equal("ptr", self.field(value, TYPE), self.symbol(type_name))

    def require_made(self, value: str, held: int) -> str:
        """Undo what was made so far (`held` references) if a new object is null."""
        self.undo_unless(self.value(f"icmp ne ptr {value}, null"), held)
        return value

    def undo_unless(self, condition: str, held: int) -> None:
        """Give back `held` references and return null unless a condition holds."""
        self.undo_edges.append((held, self.block))
        self.go_on_if(condition, UNDO)

    def count_reference(self, value: str, by: int) -> None:
        """Change the reference count of an object that is neither immortal nor about to die."""
        count = self.field(value, REFERENCES, "i32")
        self.store(f"i32 {self.value(f'add i32 {count}, {by}')}", value, REFERENCES)
