"""A loop program as one LLVM function.

    define i64 @name(ptr %x, ..., ptr %out0, ..., ptr %report)

Arguments and results are passed by address.  It returns 0, or the number of the assertion that failed, having
written the offending element to %report.  Scratch memory is one arena: on the stack if it is small, else kept
between calls and taken by an atomic exchange, so that calls from several threads do not meet.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ...loops import Buffer
from ...lowering.chunks import Cut, Pause, cut, pause
from ...lowering.pattern import Told, ToldCut
from ...lowering.program import Assert, Lines, Multiply, Nest, Program, Rows
from ...lowering.storage import plan, touched
from .. import gemm
from ..levels import LevelWriter
from ..registers import Reg
from .arena import leave, take_arena
from .calls import call_blas
from .case import in_case
from .lines import emit_lines
from .loops import EVERYTHING, REST, Span, Stop
from .nest import emit_nest, possible
from .rows import emit_rows
from .sizes import prelude

ON_STACK = 16 * 1024
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


def emit(program: Program, name: str, fma: bool, sizes: Told | None = None) -> EmittedKernel:
    """The LLVM text of `program` as the function `name`; `sizes` are those of its numbers that it is told."""
    return _Kernel(program, name, fma, sizes).emit()


class _Kernel:
    """One kernel under construction; `functions` are the statements that have become functions, by their text."""

    def __init__(self, program: Program, name: str, fma: bool, sizes: Told | None) -> None:
        self.program, self.name, self.fma, self.sizes = program, name, fma, sizes
        self.w = LevelWriter(fma)
        self.pointers = {b: f"%in{k}" for k, b in enumerate(program.inputs)}
        self.pointers |= {b: f"%out{k}" for k, b in enumerate(program.results)}
        self.order = {b: k for k, b in enumerate((*program.inputs, *program.results, *program.scratch))}
        pairs = [(program.results[k], program.inputs[j]) for k, j in program.aliases]
        #: what may lie in the same memory as another buffer
        self.shared = {*program.scratch, *(b for pair in pairs for b in pair)}
        self.functions: dict[str, str] = {}
        self.calls: set[str] = set()
        placed, size = plan(program.scratch, program.body) if sizes is None else sizes.arena
        self.kept = size if size > ON_STACK else 0
        if size:
            take_arena(self.w, name, size, self.kept)
        for buffer, offset in placed.items():
            self.pointers[buffer] = self.w.gep("%arena", "bool", offset)

    def emit(self) -> EmittedKernel:
        """All statements, one after the other."""
        w, program, name = self.w, self.program, self.name
        nests = sum(isinstance(s, Nest | Rows) for s in program.body)
        for k, statement in enumerate(program.body):
            if isinstance(statement, Multiply):
                self._multiply(statement)
            elif isinstance(statement, Lines):
                emit_lines(w, self.pointers, statement, name)
            else:
                chunks = cut(statement) if self.sizes is None else self.sizes.cuts[k]
                stop = self._pause(k, statement, chunks)
                with in_case(w, self.pointers, statement):
                    if chunks is not None or nests >= APART:
                        self._apart(statement, chunks, stop)
                    else:
                        self._here(statement, stop)
        leave(w, name, self.kept, "0")
        self.calls |= {"threads"} if "pullback_poll" in w.declarations else set()
        inputs = [f"ptr {self._alone(b, 'noalias readonly ')}{self.pointers[b]}" for b in program.inputs]
        results = [f"ptr {self._alone(b, 'noalias ')}{self.pointers[b]}" for b in program.results]
        params = ", ".join([*self._told("noalias readonly "), *inputs, *results, "ptr %report"])
        head = f"define i64 @{name}({params}) nounwind {{\nentry:"
        function = "\n".join([head, *self._with_sizes(w.text()), "}"])
        functions = [text.replace("@FUNCTION", f"@{made}") for text, made in self.functions.items()]
        text = _module("\n".join([*functions, function]), w, name, bool(self.kept))
        arena = self.kept if isinstance(self.kept, int) else 1
        return EmittedKernel(text, name, arena, tuple(sorted(self.calls)))

    def _told(self, how: str = "") -> list[str]:
        """The parameter, or argument, that has the numbers that a kernel is told."""
        return [] if self.sizes is None else [f"ptr {how}%sizes"]

    def _with_sizes(self, lines: list[str]) -> list[str]:
        """The lines of a function, behind those that take the numbers it uses from %sizes."""
        return lines if self.sizes is None else [*prelude(self.sizes.sizes, self.sizes.names, lines), *lines]

    def _alone(self, buffer: Buffer, how: str) -> str:
        """How LLVM is told that nothing else lies where a buffer does, if that is so."""
        return "" if buffer in self.shared else how

    def _pause(self, k: int, statement: Nest | Rows, chunks: Cut | ToldCut | None) -> Pause | None:
        """Where statement k looks for signals."""
        if self.sizes is not None:
            return self.sizes.pauses[k]
        return pause(statement, chunks if isinstance(chunks, Cut) else None)

    def _here(self, statement: Nest | Rows, stop: Pause | None) -> None:
        """A statement among the others."""
        _write(self.w, self.pointers, statement, EVERYTHING, stop, lambda s: leave(self.w, self.name, self.kept, s))

    # ---- statements as functions

    def _apart(self, statement: Nest | Rows, chunks: Cut | ToldCut | None, stop: Pause | None) -> None:
        """A statement as a function, called once or for each of its chunks."""
        used = sorted(touched(statement), key=self.order.__getitem__)
        given = [f"ptr {self.pointers[b]}" for b in used]
        if chunks is None:
            made = self._function(statement, used, EVERYTHING, stop)
            self._call(made, [*given, *self._told()], stop is not None or bool(_asserts(statement)))
            return
        span = Span(Reg("i64", 1, "%begin"), Reg("i64", 1, "%end"))
        chunk = self._chunk(self._function(statement, used, span, stop), len(used), chunks)
        frame = self.w.fresh("i64").text
        self.w.lines.append(f"  {frame} = alloca [{len(used) + 1} x ptr], align 8")
        for k, pointer in enumerate([*given, *self._told()]):
            place = self.w.gep(frame, "i64", k)
            self.w.lines.append(f"  store {pointer}, ptr {place}, align 8")
        self.w.declarations["pullback_parallel"] = "declare i64 @pullback_parallel(ptr, ptr, i64, i64, ptr)"
        self.calls.add("threads")
        sizes = [f"i64 {chunks.chunks}", f"i64 {chunks.work}"]
        self._call("pullback_parallel", [f"ptr @{chunk}", f"ptr {frame}", *sizes], True)
        if possible(statement.axes[0].extent - chunks.whole):
            rest = self._function(statement, used, REST, None)
            self._call(rest, [*given, *self._told()], bool(_asserts(statement)))

    def _call(self, function: str, given: list[str], may_fail: bool) -> None:
        """Call a statement's function, and hand on its status."""
        call = f"call i64 @{function}({', '.join([*given, 'ptr %report'])})"
        if may_fail:
            self._stop_unless_zero(call)
        else:
            self.w.lines.append(f"  {call}")

    def _stop_unless_zero(self, call: str) -> None:
        w = self.w
        status = w.fresh("i64")
        w.lines.append(f"  {status.text} = {call}")
        bad, good = w.label("failed"), w.label("good")
        w.cbr(w.ne(status, w.number(0, "i64")), bad, good)
        w.start(bad)
        leave(w, self.name, self.kept, status.text)
        w.start(good)

    def _function(self, statement: Nest | Rows, used: list[Buffer], span: Span | None, stop: Pause | None) -> str:
        """The name of a function that runs a statement, or the steps from %begin to %end of its outermost axis."""
        w = LevelWriter(self.fma)
        pointers = {b: f"%p{k}" for k, b in enumerate(used)}
        _write(w, pointers, statement, span, stop, lambda site: w.lines.append(f"  ret i64 {site}"))
        self.w.declarations |= w.declarations
        params = [f"ptr {self._alone(b, 'noalias ')}{pointers[b]}" for b in used]
        params += self._told("noalias readonly ")
        params += ["i64 %begin", "i64 %end"] if span not in (EVERYTHING, REST) else []
        head = f"define internal i64 @FUNCTION({', '.join([*params, 'ptr %report'])}) nounwind {{\nentry:"
        return self._named("\n".join([head, *self._with_sizes(w.text()), "  ret i64 0", "}"]))

    def _chunk(self, function: str, count: int, chunks: Cut | ToldCut) -> str:
        """The name of a function of a frame of pointers and the number of a chunk."""
        loads = []
        step, whole = f"{chunks.step}", f"{chunks.whole}"
        if self.sizes is not None:
            loads = [f"  %as = getelementptr ptr, ptr %frame, i64 {count}", "  %sizes = load ptr, ptr %as, align 8"]
            loads += prelude(self.sizes.sizes, self.sizes.names, [step, whole])
        for k in range(count):
            loads += [f"  %a{k} = getelementptr ptr, ptr %frame, i64 {k}", f"  %p{k} = load ptr, ptr %a{k}, align 8"]
        pointers = [f"ptr %p{k}" for k in range(count)]
        given = ", ".join([*pointers, *self._told(), "i64 %begin", "i64 %end", "ptr %report"])
        return self._named("\n".join([
            "define internal i64 @FUNCTION(ptr %frame, i64 %chunk, ptr %report) nounwind {",
            *loads,
            f"  %begin = mul i64 %chunk, {step}",
            f"  %next = add i64 %begin, {step}",
            f"  %inside = icmp ult i64 %next, {whole}",
            f"  %end = select i1 %inside, i64 %next, i64 {whole}",
            f"  %status = call i64 @{function}({given})",
            "  ret i64 %status",
            "}",
        ]))

    def _named(self, text: str) -> str:
        """The name of a function with this text; what is written twice becomes one."""
        return self.functions.setdefault(text, f"{self.name}.{len(self.functions)}")

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
        self._stop_unless_zero(f"call i64 @{name}({', '.join(given)})")


def _asserts(statement: Nest | Rows) -> list[Assert]:
    nests = statement.body if isinstance(statement, Rows) else (statement,)
    return [a for nest in nests for a in nest.asserts]


def _write(
    w: LevelWriter,
    pointers: dict[Buffer, str],
    statement: Nest | Rows,
    span: Span | None,
    pause: Pause | None,
    stop: Callable[[str], None],
) -> None:
    """Write a statement; where an assertion failed, report it and `stop` with its site."""
    signals = Stop(pause, stop)
    if isinstance(statement, Rows):
        found = emit_rows(w, pointers, statement, span, signals)
    else:
        found = emit_nest(w, pointers, statement, span, signals)
    for a, failed in zip(_asserts(statement), found, strict=True):
        bad, good = w.label("failed"), w.label("good")
        w.cbr(failed.flag, bad, good)
        w.start(bad)
        w.store("%report", failed.report)
        stop(str(a.site))
        w.start(good)


def _module(functions: str, w: LevelWriter, name: str, kept: bool) -> str:
    parts = [f"@{name}.arena = global ptr null"] if kept else []
    if kept:
        w.declarations["malloc"] = "declare noalias ptr @malloc(i64)"
        w.declarations["free"] = "declare void @free(ptr)"
    parts += list(w.declarations.values())
    return "\n".join([*parts, "", functions, ""])
