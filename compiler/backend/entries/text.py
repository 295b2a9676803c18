"""Native entries: LLVM text of functions that take and return Python objects around a kernel.

An entry has the signature of CPython's vectorcall protocol. It checks that the arguments are
exactly of the kinds it was made for, and otherwise jumps to the next entry of the same function;
the last of the chain is the Python slow path. Then it makes the result arrays, runs the kernel and
makes the other results.

    define ptr @NAME(ptr %self, ptr %args, i64 %nargsf, ptr %kwnames)
    @NAME.cells = [next entry, owner]     set when the entry is installed

    define i64 @KERNEL(ptr %in0, ..., ptr %out0, ..., ptr %report)     returns 0 or a failure site

The owner is a Python object that keeps this code and its constants in memory. A running entry holds
a reference to it and gives it back by a jump out of the code (`finish` in `help_text`), so a
function may be reset or die while it runs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from .. import python_abi
from ..python_abi import ARGUMENT_COUNT_MASK
from .arguments import Arguments
from .hidden import Guard, write_guards
from .results import Results
from .specs import Result, Spec, kernel_results
from .writer import LEAVE, MISS, UNDO, EntryWriter

REPORT_WORDS = 4

_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")
_SIGNATURE = "ptr %self, ptr %args, i64 %nargsf, ptr %kwnames"


@dataclass(frozen=True, eq=False)
class EntryText:
    """An entry as text, what its undefined names mean in this process, and what must outlive it."""

    name: str
    kernel: str
    args: tuple[Spec, ...]
    result: Result
    text: str = ""
    symbols: dict[str, int] = field(default_factory=dict)
    keep: list[object] = field(default_factory=list)

    @property
    def cells(self) -> str:
        """The name of the entry's two variables."""
        return f"{self.name}.cells"

    @property
    def exports(self) -> tuple[str, ...]:
        """The names to look up when the module is linked."""
        return (self.kernel, self.name, self.cells) if self.text else (self.kernel,)


def entry_text(name: str, kernel_name: str, args: tuple[Spec, ...], result: Result,
               release_gil: bool = False, guards: tuple[Guard, ...] = ()) -> EntryText:
    """The entry `name` around a kernel, to be put into one module with the kernel's text.

    `guards` must hold beside those on the arguments.

    Where the interpreter's objects are not known the text is empty, and `install` uses ctypes.
    """
    for given in (name, kernel_name):
        if not _PLAIN_NAME.fullmatch(given):
            raise ValueError(f"{given!r} is no name for a function: use letters, digits, _ and .")
    kernel_results(result)
    if not python_abi.SUPPORTED:
        if guards:
            raise ValueError("guards on hidden inputs need native entries")
        return EntryText(name, kernel_name, args, result)
    writer = EntryWriter(name)
    _write_body(writer, kernel_name, args, result, release_gil, guards)
    return EntryText(
        name, kernel_name, args, result, _module_text(writer), writer.symbols, writer.keep)


def _write_body(writer: EntryWriter, kernel: str, args: tuple[Spec, ...], result: Result,
                release_gil: bool, guards: tuple[Guard, ...]) -> None:
    given = writer.value(f"and i64 %nargsf, {ARGUMENT_COUNT_MASK}")
    writer.require_equal("i64", given, len(args))
    writer.require_equal("ptr", "%kwnames", "null")
    write_guards(writer, guards)
    arguments = Arguments(writer)
    arguments.read(args)
    owner = writer.field(f"@{writer.name}.cells", 8)
    writer.count_reference(owner, 1)
    results = Results(writer, result)
    results.prepare()
    pointers = [*arguments.inputs, *results.outputs]
    borrowed = [*arguments.nested, "%self"] if release_gil else []
    for value in borrowed:  # others may run and drop what this call does not own
        writer.call("void", "Py_IncRef", f"ptr {value}")
    status, report = _run_kernel(writer, kernel, pointers, release_gil)
    for value in borrowed[:-1]:
        writer.call("void", "Py_DecRef", f"ptr {value}")
    succeeded = writer.value(f"icmp eq i64 {status}, 0")
    writer.do(f"br i1 {succeeded}, label %made, label %failed")
    writer.start("failed")
    writer.help("void", "failed", "ptr %self", f"ptr {report}", f"i64 {status}")
    writer.undo_edges.append((results.depth, "failed"))
    writer.do(f"br label %{UNDO}")
    writer.start("made")
    made = results.build()
    done = writer.block
    writer.do(f"br label %{LEAVE}")
    _write_undo(writer, results.held)
    _write_leave(writer, owner, made, done, release_gil)
    _write_miss(writer)


def _run_kernel(writer: EntryWriter, kernel: str, pointers: list[str],
                release_gil: bool) -> tuple[str, str]:
    """Emit the call of the kernel; its status, and the words that tell more about a failure."""
    report = writer.slot(f"[{REPORT_WORDS} x i64]")
    writer.do(f"store <{REPORT_WORDS} x i64> zeroinitializer, ptr {report}, align 8")
    thread = writer.call("ptr", "PyEval_SaveThread") if release_gil else ""
    typed = ", ".join(f"ptr {pointer}" for pointer in [*pointers, report])
    status = writer.value(f"call i64 @{kernel}({typed})")
    if release_gil:
        writer.call("void", "PyEval_RestoreThread", f"ptr {thread}")
    return status, report


def _write_undo(writer: EntryWriter, held: str) -> None:
    """Give back what was held when something failed."""
    edges = ", ".join(f"[ {depth}, %{block} ]" for depth, block in writer.undo_edges)
    writer.start(UNDO)
    depth = writer.value(f"phi i64 {edges}")
    writer.help("void", "undo", f"ptr {held}", f"i64 {depth}")
    writer.do(f"br label %{LEAVE}")


def _write_leave(writer: EntryWriter, owner: str, made: str, done: str, holds_self: bool) -> None:
    """Give back the owner, in code that it does not keep."""
    writer.start(LEAVE)
    made = writer.value(f"phi ptr [ {made}, %{done} ], [ null, %{UNDO} ]")
    if holds_self:
        writer.call("void", "Py_DecRef", "ptr %self")
    arguments = (f"ptr {made}", f"ptr {owner}", "i64 0", "ptr null")
    writer.do(f"ret ptr {writer.help('ptr', 'finish', *arguments, tail=True)}")


def _write_miss(writer: EntryWriter) -> None:
    writer.start(MISS)
    following = writer.field(f"@{writer.name}.cells", 0)
    end = writer.value(f"musttail call ptr {following}({_SIGNATURE})")
    writer.do(f"ret ptr {end}")


def _module_text(writer: EntryWriter) -> str:
    return "\n".join([
        f"@{writer.name}.cells = global [2 x ptr] zeroinitializer",
        *writer.declarations.values(),
        *writer.constants.values(),
        # optimising straight-line guards and calls costs milliseconds and gains nothing
        f"define ptr @{writer.name}({_SIGNATURE}) nounwind noinline optnone {{",
        "entry:",
        *writer.frame,
        *writer.lines,
        "}",
        ""])
