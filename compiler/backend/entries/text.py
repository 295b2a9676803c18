"""Native entries: LLVM text of functions that take and return Python objects around a kernel.

An entry has the signature of CPython's vectorcall protocol. It checks that the arguments are
exactly of the kinds it was made for, and otherwise jumps to the next entry of the same function;
the last of the chain is the Python slow path. Then it makes the result arrays, runs the kernel and
makes the other results.

    define ptr @NAME(ptr %self, ptr %args, i64 %nargsf, ptr %kwnames)
    @NAME.cells = [next entry, owner, ...]     see `type_text`; set when the entry is installed

    define i64 @KERNEL(ptr %in0, ..., ptr %out0, ..., ptr %report)     returns 0 or a failure site

An entry is for calls that give nothing by name, or these names in this order, `out` perhaps among them.

The owner is a Python object that keeps this code and its constants in memory. A running entry holds
a reference to it and gives it back by a jump out of the code (`finish` in `help_text`), so a
function may be reset or die while it runs.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field

from .. import python_abi
from ..python_abi import ARGUMENT_COUNT_MASK, SIZE, TUPLE_ITEMS
from .arguments import Arguments
from .hidden import Guard, write_guards
from .into import Into
from .results import Results
from .specs import Result, Spec, input_specs, kernel_results
from .type_text import VECTORCALL
from .walked import PackedWalk, WalkedArguments, WalkedResults
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


OUT = "out"


@dataclass(frozen=True)
class Named:
    """What calls give by name.

    names     the names, in the order in which they give them
    places    which of the given objects, those by position first, each argument is
    out       what stands under the name `out`, if that is ours: arrays, in containers like the result's, and None for
              what is made fresh
    aliases   which results may share the memory of which inputs, by number
    """

    names: tuple[str, ...]
    places: tuple[int, ...]
    out: Spec | None = None
    aliases: Mapping[int, int] = field(default_factory=dict)

    @property
    def positional(self) -> int:
        """How many objects are given by position."""
        return len(self.places) + (self.out is not None) - len(self.names)


def entry_text(name: str, kernel_name: str, args: tuple[Spec, ...], result: Result,
               release_gil: bool = False, guards: tuple[Guard, ...] = (), named: Named | None = None,
               retries: bool = False, walk: PackedWalk | None = None, bound: tuple[object, ...] = ()) -> EntryText:
    """The entry `name` around a kernel, to be put into one module with the kernel's text.

    `guards` must hold beside those on the arguments. Without `named` all arguments are given by position. With
    `retries` the kernel has guards of its own: where it fails, the call goes on to the next entry. With `walk` the
    kernel takes and gives many values packed; there is no `out` then. The last of `args` are the arrays `bound`, which
    calls do not give; none of them is packed.

    Where the interpreter's objects are not known the text is empty, and `install` uses ctypes.
    """
    for given in (name, kernel_name):
        if not _PLAIN_NAME.fullmatch(given):
            raise ValueError(f"{given!r} is no name for a function: use letters, digits, _ and .")
    kernel_results(result)
    if not python_abi.SUPPORTED:
        if guards or named or retries:
            raise ValueError("guards on hidden inputs and values, and arguments by name, need native entries")
        return EntryText(name, kernel_name, args, result)
    writer = EntryWriter(name)
    named = named or Named((), tuple(range(len(args) - len(bound))))
    _write_body(writer, kernel_name, args, result, release_gil, guards, named, retries, walk, bound)
    return EntryText(
        name, kernel_name, args, result, _module_text(writer), writer.symbols, writer.keep)


def _write_body(
    writer: EntryWriter, kernel: str, args: tuple[Spec, ...], result: Result, release_gil: bool,
    guards: tuple[Guard, ...], named: Named, retries: bool, walk: PackedWalk | None, bound: tuple[object, ...],
) -> None:  # fmt: skip
    given = writer.value(f"and i64 %nargsf, {ARGUMENT_COUNT_MASK}")
    writer.require_equal("i64", given, named.positional)
    _require_names(writer, named.names)
    write_guards(writer, guards)
    arguments = Arguments(writer) if walk is None else WalkedArguments(writer, walk, result)
    arguments.read(args[: len(args) - len(bound)], named.places)
    if bound:
        arguments.read_bound(args[len(args) - len(bound) :], bound)
    into = Into(writer, result, named.out, named.aliases) if named.out else None
    if into:
        assert isinstance(arguments, Arguments)
        into.read(arguments, named.positional + named.names.index(OUT), input_specs(args))
    if not retries:
        _write_advance(writer)
    owner = writer.field(f"@{writer.name}.cells", 8)
    writer.count_reference(owner, 1)
    if walk is None or isinstance(arguments, Arguments):
        results: Results | WalkedResults = Results(writer, result, into)
    else:
        results = WalkedResults(writer, result, arguments, walk)
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
    edges = _write_retry(writer, results, into, status, owner, release_gil) if retries else []
    writer.help("void", "failed", "ptr %self", f"ptr {report}", f"i64 {status}")
    writer.undo_edges.append((results.depth, writer.block))
    writer.do(f"br label %{UNDO}")
    writer.start("made")
    if retries:
        _write_advance(writer)
    if into:
        into.settle(True)
    made = results.build()
    done = writer.block
    writer.do(f"br label %{LEAVE}")
    _write_undo(writer, results.held, into)
    _write_leave(writer, owner, [(made, done), *edges], release_gil)
    _write_miss(writer)


def _write_retry(writer: EntryWriter, results: Results | WalkedResults, into: Into | None, status: str, owner: str,
                 release_gil: bool) -> list[tuple[str, str]]:
    """Emit the way on for a call that the kernel was not made for; what comes back from it, and from which block.

    The next entry is sure to be there only if nothing else has run meanwhile; else it is the slow path's turn.
    """
    writer.do(f"br i1 {writer.value(f'icmp sgt i64 {status}, 0')}, label %stale, label %broken")
    writer.start("stale")
    if into:
        into.settle(False)
    writer.help("void", "undo", f"ptr {results.held}", f"i64 {results.depth}")
    edges = []
    if release_gil:
        edges.append((writer.help("ptr", "slow", *_SIGNATURE.split(", ")), writer.block))
        writer.do(f"br label %{LEAVE}")
    else:
        writer.count_reference(owner, -1)
        writer.do(f"br label %{MISS}")
    writer.start("broken")
    return edges


def _write_advance(writer: EntryWriter) -> None:
    """Emit the way to the front of the chain."""
    first = writer.field("%self", VECTORCALL)
    is_first = writer.value(f"icmp eq ptr {first}, @{writer.name}")
    writer.do(f"br i1 {is_first}, label %first, label %later")
    writer.start("later")
    writer.help("void", "advance", "ptr %self", f"ptr @{writer.name}", f"ptr @{writer.name}.cells")
    writer.do("br label %first")
    writer.start("first")


def _require_names(writer: EntryWriter, names: tuple[str, ...]) -> None:
    """Emit the guard on what is given by name. The interpreter interns names that stand in code."""
    if not names:
        writer.require_equal("ptr", "%kwnames", "null")
        return
    writer.go_on_if(writer.value("icmp ne ptr %kwnames, null"))
    writer.require_equal("i64", writer.field("%kwnames", SIZE, "i64"), len(names))
    for k, each in enumerate(names):
        name = writer.object(sys.intern(each), "name")
        writer.require_equal("ptr", writer.field("%kwnames", TUPLE_ITEMS + 8 * k), name)


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


def _write_undo(writer: EntryWriter, held: str, into: Into | None) -> None:
    """Give back what was held when something failed."""
    edges = ", ".join(f"[ {depth}, %{block} ]" for depth, block in writer.undo_edges)
    writer.start(UNDO)
    depth = writer.value(f"phi i64 {edges}")
    if into:
        into.settle(False)
    writer.help("void", "undo", f"ptr {held}", f"i64 {depth}")
    writer.do(f"br label %{LEAVE}")


def _write_leave(writer: EntryWriter, owner: str, edges: list[tuple[str, str]], holds_self: bool) -> None:
    """Give back the owner, in code that it does not keep."""
    writer.start(LEAVE)
    made = writer.value("phi ptr " + ", ".join(f"[ {value}, %{block} ]" for value, block in [*edges, ("null", UNDO)]))
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
        f"@{writer.name}.cells = global [4 x ptr] zeroinitializer",
        *writer.declarations.values(),
        *writer.constants.values(),
        # optimising straight-line guards and calls costs milliseconds and gains nothing
        f"define ptr @{writer.name}({_SIGNATURE}) nounwind noinline optnone {{",
        "entry:",
        *writer.frame,
        *writer.lines,
        "}",
        ""])
