"""A loop program as one LLVM function.

    define i64 @name(ptr %x, ..., ptr %out0, ..., ptr %report)

Arguments and results are passed by address.  It returns 0, or the number of the assertion that failed, having
written the offending element to %report.  Scratch memory is one arena: on the stack if it is small, else kept
between calls and taken by an atomic exchange, so that calls from several threads do not meet.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..loops import Buffer
from ..lowering.program import Matrix, Multiply, Program
from ..lowering.storage import plan
from .emit_nest import Failed, NestEmitter
from .levels import LevelWriter
from .registers import llvm_type

ON_STACK = 16 * 1024


@dataclass(frozen=True, slots=True)
class EmittedKernel:
    """LLVM text of a kernel; `arena` is the size of the memory it keeps between calls, 0 for none."""

    text: str
    name: str
    arena: int
    calls_blas: bool


def emit(program: Program, name: str, fma: bool) -> EmittedKernel:
    """The LLVM text of `program` as the function `name`."""
    w = LevelWriter(fma)
    pointers = {b: f"%in{k}" for k, b in enumerate(program.inputs)}
    pointers |= {b: f"%out{k}" for k, b in enumerate(program.results)}
    placed, size = plan(program.scratch, program.body)
    kept = size if size > ON_STACK else 0
    if size:
        _take_arena(w, name, size, kept)
    for buffer, offset in placed.items():
        pointers[buffer] = w.gep("%arena", "bool", offset)
    calls = False
    for statement in program.body:
        if isinstance(statement, Multiply):
            _multiply(w, statement, pointers)
            calls = True
            continue
        found = NestEmitter(w, pointers, statement).emit()
        for a, failed in zip(statement.asserts, found, strict=True):
            _stop_if(w, failed, a.site, name, kept)
    _return(w, name, kept, "0")
    inputs = [f"ptr noalias readonly {pointers[b]}" for b in program.inputs]
    results = [f"ptr noalias {pointers[b]}" for b in program.results]
    params = ", ".join([*inputs, *results, "ptr %report"])
    head = [f"define i64 @{name}({params}) nounwind {{", "entry:"]
    function = "\n".join([*head, *w.text(), "}"])
    return EmittedKernel(_module(function, w, name, kept), name, kept, calls)


def _module(function: str, w: LevelWriter, name: str, kept: int) -> str:
    parts = [f"@{name}.arena = global ptr null"] if kept else []
    if kept:
        w.declarations["malloc"] = "declare noalias ptr @malloc(i64)"
        w.declarations["free"] = "declare void @free(ptr)"
    parts += list(w.declarations.values())
    return "\n".join([*parts, "", function, ""])


def _take_arena(w: LevelWriter, name: str, size: int, kept: int) -> None:
    """%arena: stack memory, or the memory kept from the last call, or new memory."""
    if not kept:
        w.lines.append(f"  %arena = alloca i8, i64 {size}, align 64")
        return
    found, new, have = w.label("found"), w.label("new"), w.label("have")
    w.lines += [
        f"  %idle = atomicrmw xchg ptr @{name}.arena, ptr null seq_cst",
        "  %none = icmp eq ptr %idle, null",
        f"  br i1 %none, label %{new}, label %{found}",
        f"{new}:",
        f"  %raw = call ptr @malloc(i64 {size + 64})",
        "  %failed = icmp eq ptr %raw, null",
        f"  br i1 %failed, label %memory, label %{found}",
        "memory:",
        "  ret i64 -1",
        f"{found}:",
        f"  %block = phi ptr [%idle, %entry], [%raw, %{new}]",
        "  %address = ptrtoint ptr %block to i64",
        "  %past = add i64 %address, 63",
        "  %aligned = and i64 %past, -64",
        "  %arena = inttoptr i64 %aligned to ptr",
    ]
    w.br(have)
    w.start(have)


def _return(w: LevelWriter, name: str, kept: int, status: str) -> None:
    """Give the arena back, and return."""
    if kept:
        other, leave = w.label("other"), w.label("leave")
        old = w.fresh("i64").text
        gone = w.fresh("bool").text
        w.lines += [
            f"  {old} = atomicrmw xchg ptr @{name}.arena, ptr %block seq_cst",
            f"  {gone} = icmp eq ptr {old}, null",
            f"  br i1 {gone}, label %{leave}, label %{other}",
            f"{other}:",
            f"  call void @free(ptr {old})",
            f"  br label %{leave}",
            f"{leave}:",
        ]
        w.block = leave
    w.lines.append(f"  ret i64 {status}")


def _stop_if(w: LevelWriter, failed: Failed, site: int, name: str, kept: int) -> None:
    bad, good = w.label("failed"), w.label("good")
    w.cbr(failed.flag, bad, good)
    w.start(bad)
    w.store("%report", failed.report)
    _return(w, name, kept, str(site))
    w.start(good)


def _multiply(w: LevelWriter, call: Multiply, pointers: dict[Buffer, str]) -> None:
    """A call of cblas_?gemm for each matrix of the batch."""
    dtype = call.out.buffer.type.dtype
    real = llvm_type(dtype)
    name = "cblas_dgemm" if dtype == "f64" else "cblas_sgemm"
    kinds = ["i32"] * 3 + ["i64"] * 3 + [real, "ptr", "i64", "ptr", "i64", real, "ptr", "i64"]
    declaration = f"declare void @{name}({', '.join(kinds)})"

    def one(at: list[str]) -> None:
        sides = [call.left, call.right]
        transposed = ["112" if m.transposed else "111" for m in sides]
        one, zero = w.number(1.0, dtype).text, w.number(0.0, dtype).text
        values = ["101", *transposed, str(call.m), str(call.n), str(call.k), one, at[0]]
        values += [str(call.left.leading), at[1], str(call.right.leading), zero, at[2]]
        values.append(str(call.out.leading))
        w.call(name, "void", list(zip(kinds, values, strict=True)), declaration)

    matrices: list[Matrix] = [call.left, call.right, call.out]
    if call.batch == 1:
        one([pointers[m.buffer] for m in matrices])
        return

    def body(index, carries):
        at = []
        for m in matrices:
            step = w.mul(index, w.number(m.stride, "i64"))
            at.append(w.gep(pointers[m.buffer], dtype, step))
        one(at)
        return []

    w.loop(call.batch, 1, [], body)
