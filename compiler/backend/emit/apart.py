"""Statements as functions of their own, called once or for each of the chunks into which a long one is cut.

    define internal i64 @name.0(ptr %p0, ..., double %v0, ..., ptr %sizes, i64 %begin, i64 %end, ptr %report)
    define internal i64 @name.1(ptr %frame, i64 %chunk, ptr %report)       calls @name.0 on the steps of a chunk

The frame of a chunk holds, in words of eight bytes, what its statement is given: addresses, and numbers that are in
registers where the statement stands.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ...loops import Buffer, Element, Variable
from ...lowering.nests.chunks import Cut, Pause
from ...lowering.nests.inside import reachable
from ...lowering.pattern import Told, ToldCut
from ...lowering.program import Assert, Nest, Rows, tops
from ...lowering.storage import touched
from ..text.levels import LevelWriter
from ..text.registers import Reg
from .arena import on_lines
from .element import known
from .loops import EVERYTHING, REST, Span, Stop
from .nest import emit_nest, possible
from .rows import emit_rows
from .same import key
from .sizes import prelude

Statement = Nest | Rows


class Apart:
    """The functions of one kernel, by their texts; `declarations` is what these need, `parallel` whether chunks do.

    alone  what LLVM is told of the parameter for a buffer
    order  the places of the buffers among the parameters
    """

    def __init__(
        self, name: str, fma: bool, sizes: Told | None, order: Mapping[Buffer, int], alone: Callable[[Buffer], str]
    ) -> None:
        self.name, self.fma, self.sizes, self.order, self.alone = name, fma, sizes, order, alone
        self.functions: dict[str, str] = {}
        self.known: dict[tuple[Any, ...], str] = {}
        self.declarations: dict[str, str] = {}
        self.parallel = False

    def texts(self) -> list[str]:
        """All functions, with their names."""
        return [text.replace("@FUNCTION", f"@{made}") for text, made in self.functions.items()]

    def run(
        self,
        w: LevelWriter,
        pointers: Mapping[Buffer, str],
        statement: Statement,
        chunks: Cut | ToldCut | None,
        stop: Stop,
    ) -> None:
        """Write the call of a statement's function, or of that which runs its chunks; a status is handed on."""
        used = sorted(touched(statement), key=lambda b: (self.order.get(b, len(self.order)), b.name))
        numbers = variables(statement)
        given = [f"ptr {pointers[b]}" for b in used] + [known(w, v).typed for v in numbers] + self._told()
        may_fail = bool(asserts(statement))
        if chunks is None:
            made = self._function(statement, used, numbers, EVERYTHING, stop.pause)
            self._call(w, made, given, stop.pause is not None or may_fail, stop)
            return
        span = Span(Reg("i64", 1, "%begin"), Reg("i64", 1, "%end"))
        chunk = self._chunk(self._function(statement, used, numbers, span, stop.pause), used, numbers, chunks)
        frame = w.alloca(8 * len(given), 8)
        for k, each in enumerate(given):
            w.lines.append(f"  store {each}, ptr {w.gep(frame, 'i64', k)}, align 8")
        self.declarations["pullback_parallel"] = "declare i64 @pullback_parallel(ptr, ptr, i64, i64, ptr)"
        self.parallel = True
        counts = [f"i64 {chunks.chunks}", f"i64 {chunks.work}"]
        self._call(w, "pullback_parallel", [f"ptr @{chunk}", f"ptr {frame}", *counts], True, stop)
        if possible(statement.axes[0].extent - chunks.whole):
            rest = self._function(statement, used, numbers, REST, None)
            self._call(w, rest, given, may_fail, stop)

    def _told(self, how: str = "") -> list[str]:
        """The parameter, or argument, that has the numbers that a kernel is told."""
        return [] if self.sizes is None else [f"ptr {how}%sizes"]

    def _call(self, w: LevelWriter, function: str, given: list[str], may_fail: bool, stop: Stop) -> None:
        """Call a statement's function, and hand on its status."""
        call = f"call i64 @{function}({', '.join([*given, 'ptr %report'])})"
        if may_fail:
            stop_unless_zero(w, call, stop)
        else:
            w.lines.append(f"  {call}")

    def _function(
        self, statement: Statement, used: list[Buffer], numbers: list[Variable], span: Span | None, pause: Pause | None
    ) -> str:
        """The name of a function that runs a statement, or the steps from %begin to %end of its outermost axis."""
        if self.sizes is not None or numbers:
            return self._written(statement, used, numbers, span, pause)
        alone = [self.alone(b) for b in used]
        same = key(statement, used, alone), _which(span), pause and (statement.axes.index(pause.axis), pause.steps)
        if same not in self.known:
            self.known[same] = self._written(statement, used, numbers, span, pause)
        return self.known[same]

    def _written(
        self, statement: Statement, used: list[Buffer], numbers: list[Variable], span: Span | None, pause: Pause | None
    ) -> str:
        """The same, whether it has been written before or not."""
        w = LevelWriter(self.fma)
        pointers = {b: f"%p{k}" for k, b in enumerate(used)}
        for k, v in enumerate(numbers):
            w.hold(v, Reg(v.dtype, 1, f"%v{k}"))
        write(w, pointers, statement, span, Stop(pause, lambda site: w.lines.append(f"  ret i64 {site}")))
        self.declarations |= w.declarations
        params = [f"ptr {self.alone(b)}{pointers[b]}" for b in used]
        params += [known(w, v).typed for v in numbers] + self._told("noalias readonly ")
        params += ["i64 %begin", "i64 %end"] if span not in (EVERYTHING, REST) else []
        lines = w.text()
        given = ", ".join([*params, "ptr %report"])
        head = f"define internal i64 @FUNCTION({given}) nounwind {on_lines([statement], lines)}{{\nentry:"
        if self.sizes is not None:
            lines = [*prelude(self.sizes.sizes, self.sizes.names, lines), *lines]
        return self._named("\n".join([head, *lines, "  ret i64 0", "}"]))

    def _chunk(self, function: str, used: list[Buffer], numbers: list[Variable], chunks: Cut | ToldCut) -> str:
        """The name of a function of a frame and the number of a chunk."""
        types = ["ptr"] * len(used) + [Reg(v.dtype, 1, "").type for v in numbers]
        names = [f"%p{k}" for k in range(len(used))] + [f"%v{k}" for k in range(len(numbers))]
        if self.sizes is not None:
            types, names = [*types, "ptr"], [*names, "%sizes"]
        loads = []
        for k, (type, name) in enumerate(zip(types, names, strict=True)):
            loads += [f"  {name}.at = getelementptr i64, ptr %frame, i64 {k}",
                      f"  {name} = load {type}, ptr {name}.at, align 8"]
        step, whole = f"{chunks.step}", f"{chunks.whole}"
        if self.sizes is not None:
            loads += prelude(self.sizes.sizes, self.sizes.names, [step, whole])
        given = [f"{type} {name}" for type, name in zip(types, names, strict=True)]
        return self._named("\n".join([
            "define internal i64 @FUNCTION(ptr %frame, i64 %chunk, ptr %report) nounwind {",
            *loads,
            f"  %begin = mul i64 %chunk, {step}",
            f"  %next = add i64 %begin, {step}",
            f"  %inside = icmp ult i64 %next, {whole}",
            f"  %end = select i1 %inside, i64 %next, i64 {whole}",
            f"  %status = call i64 @{function}({', '.join([*given, 'i64 %begin', 'i64 %end', 'ptr %report'])})",
            "  ret i64 %status",
            "}",
        ]))

    def _named(self, text: str) -> str:
        """The name of a function with this text; what is written twice becomes one."""
        return self.functions.setdefault(text, f"{self.name}.{len(self.functions)}")


def stop_unless_zero(w: LevelWriter, call: str, stop: Stop) -> None:
    """Write a call, and leave with its status unless that is zero."""
    status = w.fresh("i64")
    w.lines.append(f"  {status.text} = {call}")
    bad, good = w.label("failed"), w.label("good")
    w.cbr(w.ne(status, w.number(0, "i64")), bad, good)
    w.start(bad)
    stop.leave(status.text)
    w.start(good)


def _which(span: Span | None) -> str:
    """A name for the steps that a function runs."""
    return "every" if span is EVERYTHING else "rest" if span is REST else "some"


def asserts(statement: Statement) -> list[Assert]:
    """The assertions of a statement."""
    nests = statement.body if isinstance(statement, Rows) else (statement,)
    return [a for nest in nests for a in nest.asserts]


def variables(statement: Statement) -> list[Variable]:
    """The numbers in registers that a statement reads."""
    nests = statement.body if isinstance(statement, Rows) else (statement,)
    made: list[Element] = [e for nest in nests for e in tops(nest)]
    made += [e for nest in nests for s in nest.after for e, _ in s.gathered]
    return list(dict.fromkeys(e for e in reachable(made) if isinstance(e, Variable)))


def write(w: LevelWriter, pointers: Mapping[Buffer, str], statement: Statement, span: Span | None, stop: Stop) -> None:
    """Write a statement; where an assertion failed, report it and `stop` with its site."""
    if isinstance(statement, Rows):
        found = emit_rows(w, dict(pointers), statement, span, stop)
    else:
        found = emit_nest(w, dict(pointers), statement, span, stop)
    for a, failed in zip(asserts(statement), found, strict=True):
        bad, good = w.label("failed"), w.label("good")
        w.cbr(failed.flag, bad, good)
        w.start(bad)
        w.store("%report", failed.report)
        stop.leave(str(a.site))
        w.start(good)


__all__ = ["Apart", "asserts", "stop_unless_zero", "variables", "write"]
