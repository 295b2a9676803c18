"""A loop program as one LLVM function.

    define i64 @name(ptr %x, ..., ptr %out0, ..., ptr %report)

Arguments and results are passed by address.  It returns 0, or the number of the assertion that failed, having
written the offending element to %report.  Scratch memory is one arena: on the stack if it is small, else kept
between calls and taken by an atomic exchange, so that calls from several threads do not meet.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...loops import Buffer
from ...lowering.nests.chunks import Cut, Pause, cut, nanoseconds, pause
from ...lowering.nests.roots import inside
from ...lowering.pattern import Told, ToldCut
from ...lowering.program import Lines, Multiply, Nest, Program, Rows, Statement, has_regions
from ...lowering.storage import plan
from .. import gemm
from ..libraries import lapack
from ..text.levels import LevelWriter
from .apart import Apart, stop_unless_zero, write
from .arena import leave, on_lines, take_arena
from .calls import call_blas
from .case import in_case
from .control import Control
from .lines import emit_lines
from .loops import EVERYTHING, Stop
from .sizes import prelude

ON_STACK = 16 * 1024
LONG = 1000  # nanoseconds of a statement in a loop from which a call does not matter
CROWD = 40  # statements in loops from which LLVM's time matters more
APART = 6  # statements from which each is a function of its own: LLVM takes more than twice as long for twice the text


@dataclass(frozen=True, slots=True)
class EmittedKernel:
    """LLVM text of a kernel.

    arena  the size of the memory it keeps between calls, 0 for none
    calls  the libraries of functions that it calls: blas, threads, gemm f32, gemm f64
    """

    text: str
    name: str
    arena: int
    calls: tuple[str, ...]


def emit(program: Program, name: str, fma: bool, sizes: Told | None = None, on_stack: int = ON_STACK) -> EmittedKernel:
    """The LLVM text of `program` as the function `name`; `sizes` are those of its numbers that it is told.

    on_stack  bytes of temporaries up to which they are on the stack
    """
    return _Kernel(program, name, fma, sizes, on_stack).emit()


class _Kernel:
    """One kernel under construction; `functions` are the statements that have become functions, by their text."""

    def __init__(self, program: Program, name: str, fma: bool, sizes: Told | None, on_stack: int) -> None:
        self.program, self.name, self.fma, self.sizes = program, name, fma, sizes
        self.w = LevelWriter(fma)
        self.pointers = {b: f"%in{k}" for k, b in enumerate(program.inputs)}
        self.pointers |= {b: f"%out{k}" for k, b in enumerate(program.results)}
        self.order = {b: k for k, b in enumerate((*program.inputs, *program.results, *program.scratch))}
        pairs = [(program.results[k], program.inputs[j]) for k, j in program.aliases]
        #: what may lie in the same memory as another buffer
        self.shared = {*program.scratch, *(b for pair in pairs for b in pair)}
        self.apart = Apart(name, fma, sizes, self.order, lambda b: self._alone(b, "noalias "))
        self.calls: set[str] = set()
        placed, size = plan(program.scratch, program.body) if sizes is None else sizes.arena
        self.kept = size if size > on_stack else 0
        if size:
            take_arena(self.w, name, size, self.kept)
        for buffer, offset in placed.items():
            self.pointers[buffer] = self.w.gep("%arena", "bool", offset)
        self.control = Control(self.w, self.pointers, program, self._statement) if has_regions(program) else None
        self.many, self.inner = False, 0

    def emit(self) -> EmittedKernel:
        """All statements, one after the other."""
        w, program, name = self.w, self.program, self.name
        every = sum(isinstance(s, Nest | Rows) for s in inside(program.body))
        first = sum(isinstance(s, Nest | Rows) for s in program.body)
        self.inner = every - first
        self.many = self.inner >= CROWD or first >= APART
        if self.control is not None:
            self.control.write(program.body)
            self.control.end(lambda status: leave(w, name, self.kept, status))
        else:
            for k, statement in enumerate(program.body):
                self._statement(statement, k)
            leave(w, name, self.kept, "0")
        w.declarations |= self.apart.declarations
        self.calls |= {"external"} if "pullback_external" in w.declarations else set()
        self.calls |= {"lapack"} if any(map(lapack.is_name, w.declarations)) else set()
        self.calls |= {"threads"} if self.apart.parallel or "pullback_poll" in w.declarations else set()
        inputs = [f"ptr {self._alone(b, 'noalias readonly ')}{self.pointers[b]}" for b in program.inputs]
        results = [f"ptr {self._alone(b, 'noalias ')}{self.pointers[b]}" for b in program.results]
        params = ", ".join([*self._told("noalias readonly "), *inputs, *results, "ptr %report"])
        lines = self._with_sizes(w.text())
        head = f"define i64 @{name}({params}) nounwind {on_lines(inside(program.body), lines)}{{\nentry:"
        function = "\n".join([head, *lines, "}"])
        text = _module("\n".join([*self.apart.texts(), function]), w, name, bool(self.kept))
        arena = self.kept if isinstance(self.kept, int) else 1
        return EmittedKernel(text, name, arena, tuple(sorted(self.calls)))

    def _statement(self, statement: Statement, k: int = 0) -> None:
        """Array work; `k` is its number among the statements of a kernel that is told its sizes."""
        w = self.w
        if isinstance(statement, Multiply):
            self._multiply(statement)
            return
        if isinstance(statement, Lines):
            emit_lines(w, self.pointers, statement, self.name, self._leave)
            return
        assert isinstance(statement, Nest | Rows)
        chunks = cut(statement) if self.sizes is None else self.sizes.cuts[k]
        stop = Stop(self._pause(k, statement, chunks), self._leave)
        with in_case(w, self.pointers, statement):
            if chunks is not None or self._is_apart(statement):
                self.apart.run(w, self.pointers, statement, chunks, stop)
            else:
                write(w, self.pointers, statement, EVERYTHING, stop)

    def _is_apart(self, statement: Nest | Rows) -> bool:
        """Whether a statement is a function of its own; in a loop, where it is so long that a call does not matter."""
        if self.w.depth == 0 or not self.many:
            return self.many
        return nanoseconds(statement) > (LONG if self.inner < CROWD else LONG // 10)

    def _leave(self, status: str) -> None:
        """End the kernel with a status, from wherever this is."""
        if self.control is not None:
            self.control.leave(status)
        else:
            leave(self.w, self.name, self.kept, status)

    def _told(self, how: str = "") -> list[str]:
        """The parameter, or argument, that has the numbers that a kernel is told."""
        return [] if self.sizes is None else [f"ptr {how}%sizes"]

    def _with_sizes(self, lines: list[str]) -> list[str]:
        """The lines of a function, behind those that take the numbers it uses from %sizes."""
        return lines if self.sizes is None else [*prelude(self.sizes.sizes, self.sizes.names, lines), *lines]

    def _alone(self, buffer: Buffer, how: str) -> str:
        """How LLVM is told that nothing else lies where a buffer does, if that is so."""
        return "" if buffer in self.shared or self.control is not None else how

    def _pause(self, k: int, statement: Nest | Rows, chunks: Cut | ToldCut | None) -> Pause | None:
        """Where statement k looks for signals."""
        if self.sizes is not None:
            return self.sizes.pauses[k]
        return pause(statement, chunks if isinstance(chunks, Cut) else None)

    # ---- matrix products

    def _multiply(self, call: Multiply) -> None:
        """A call of our packed product, or of the BLAS where it is the better one."""
        dtype = call.out.buffer.type.dtype
        if not gemm.prefers(call.m, call.n, call.k):
            self.calls.add("blas")
            call_blas(self.w, call, self.pointers)
            return
        self.calls.add(f"gemm {dtype}")
        given = [f"i64 {n}" for n in (call.m, call.n, call.k)]
        batched = call.batch > 1
        if batched:
            given.insert(0, f"i64 {call.batch}")
        for m in (call.left, call.right, call.out):
            given += [f"ptr {self.pointers[m.buffer]}", f"i64 {m.leading}"]
            given += [f"i64 {int(m.transposed)}"] if m is not call.out else []
            given += [f"i64 {m.stride}"] if batched else []
        name = f"pullback_gemm_{'batch_' if batched else ''}{dtype}"
        kinds = ", ".join(each.split()[0] for each in given)
        self.w.declarations[name] = f"declare i64 @{name}({kinds})"
        stop_unless_zero(self.w, f"call i64 @{name}({', '.join(given)})", Stop(None, self._leave))


def _module(functions: str, w: LevelWriter, name: str, kept: bool) -> str:
    parts = [f"@{name}.arena = global ptr null"] if kept else []
    if kept:
        w.declarations["malloc"] = "declare noalias ptr @malloc(i64)"
        w.declarations["free"] = "declare void @free(ptr)"
    parts += list(w.declarations.values())
    return "\n".join([*parts, "", functions, ""])
