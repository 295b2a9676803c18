"""What a function tells of its compiled forms: `fn.report()` of time and reasons, `fn.memory()` of bytes.

    >>> print(slope.report())
    slope: 1 compiled form, times in ms
          trace  adjoint  passes  lowering   emit  codegen   link  entry   disk   total   ops  level
      1    0.41     0.20    0.35      0.40   0.61     2.31   0.52   0.21   0.00    5.01    14      0
      1 is for x: a Python float
        native entry
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from ...compiler.backend.emit import ON_STACK
from ...compiler.frontend import tree
from ...compiler.frontend.state.contents import MISSING, is_foreign_module
from ...compiler.frontend.trace import paths
from ...compiler.ir.types import Type
from ...compiler.loops import Buffer
from ...compiler.lowering.nests.roots import inside, named, roots
from ...compiler.lowering.program import Lines, Multiply, Nest, Program, Rows
from ...compiler.lowering.storage import nbytes, plan, touched
from ...compiler.passes.report import Saved, saved
from .compiled import Compiled
from .kernels import native

STAGES = ("trace", "adjoint", "passes", "lowering", "emit", "codegen", "link", "entry", "cache")
BACKGROUND = "codegen in the background"
DECISIONS = 12
"""Decisions of a form that are told in print; `forms` has all."""

SHOWN = 6
"""Arguments of a form that are spelled out."""


@dataclass(frozen=True)
class Decision:
    """A number that a function asked for while it was traced on the values of a call: another one is another form.

    what     asked for it: bool(), an index or size, ...
    value    the number
    line     of the user, "" if it is not known
    failed   how often it was another one in calls that tried the form, those that native code passed on not counted
    """

    what: str
    value: str
    line: str
    failed: int

    def __str__(self) -> str:
        at = f" at {self.line}" if self.line else ""
        return f"{self.what}{at} is {self.value}" + (f" (not in {self.failed} calls)" if self.failed else "")


@dataclass(frozen=True)
class FormReport:
    """How one form of a function came about.

    arguments    what it is for
    times        milliseconds by stage; stages that did not run are not in it
    operations   in its graph
    level        the level of the code that runs now; None if it is not compiled
    improves     whether better code is made when it has been called often
    cached       which code came from disk
    entry        how calls come to it: native, native after reading hidden inputs, or python
    hidden       the globals, closure cells, defaults and attributes that it reads: a change of them is another form
    reasons      why it was compiled, and what it was specialised for
    problem      why there is no better code, if making it failed
    frozen       what it was made for, if it was traced on the values of a call
    alone        calls of the same signature for which no form was made: they ran op by op
    saved        what loops and branches save for the backward sweep of a gradient: see `passes.report.Saved`
    """

    arguments: str
    times: dict[str, float]
    operations: int
    level: int | None
    improves: bool
    cached: tuple[str, ...]
    entry: str
    hidden: tuple[str, ...]
    reasons: tuple[str, ...]
    problem: str
    frozen: tuple[Decision, ...] = ()
    alone: int = 0
    saved: tuple[Saved, ...] = ()

    @property
    def total(self) -> float:
        """Milliseconds until the first call could run."""
        return sum(spent for stage, spent in self.times.items() if stage != BACKGROUND)

    def _notes(self) -> list[str]:
        notes = [f"why: {reason}" for reason in self.reasons]
        notes += [f"watches {', '.join(self.hidden)}"] if self.hidden else []
        told = [(str(each), len(list(same))) for each, same in groupby(self.frozen)]
        notes += [f"only where {each}" + (f", {n} times" if n > 1 else "") for each, n in told[:DECISIONS]]
        notes += [f"and {len(told) - DECISIONS} decisions more"] if len(told) > DECISIONS else []
        notes += [f"{self.alone} calls of this signature ran op by op"] if self.alone else []
        notes += [f"saves {_kept(each)}" for each in self.saved]
        notes += [f"from disk: {', '.join(self.cached)}"] if self.cached else []
        if BACKGROUND in self.times:
            notes.append(f"better code made in the background in {self.times[BACKGROUND]:.2f} ms")
        elif self.improves and self.level == 0:
            notes.append("better code is made when it has been called often")
        notes += [f"no better code: {self.problem}"] if self.problem else []
        return [*notes, f"{self.entry} entry"]


@dataclass(frozen=True)
class Report:
    """The compiled forms of a function; print it, or read its `forms`."""

    name: str
    forms: tuple[FormReport, ...]

    def __str__(self) -> str:
        many = "form" if len(self.forms) == 1 else "forms"
        head = f"{self.name}: {len(self.forms)} compiled {many}, times in ms"
        columns = ["", *STAGES[:-1], "disk", "total", "ops", "level"]
        rows = [columns, *(_row(k, form) for k, form in enumerate(self.forms, 1))]
        lines = [head, *_table(rows)]
        for k, form in enumerate(self.forms, 1):
            first, *rest = form.arguments, *form._notes()
            lines += [f"  {k} is for {first}", *(f"    {note}" for note in rest)]
        return "\n".join(lines)

    __repr__ = __str__


def _kept(saved: Saved) -> str:
    """One record as text."""
    text = f"{saved.bytes:,} bytes"
    if saved.loop is not None:
        often = "each round" if saved.rounds is None else f"each of {saved.rounds:,} rounds"
        text += f" in {often} of the loop at {saved.loop}"
        text += f", within {saved.within} more" if saved.within else ""
    lines = " and ".join(map(str, saved.lines))
    return f"{text}, of what is made at {lines}" if lines else text


def _row(number: int, form: FormReport) -> list[str]:
    spent = [f"{form.times[s]:.2f}" if s in form.times else "-" for s in STAGES]
    level = "-" if form.level is None else str(form.level)
    return [str(number), *spent, f"{form.total:.2f}", str(form.operations), level]


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  " + "  ".join(cell.rjust(w) for cell, w in zip(row, widths, strict=True)) for row in rows]


def report_of(
    name: str, names: Callable[[int], Sequence[str]], forms: Iterable[Compiled], entered: Sequence[Any]
) -> Report:
    """The report of a function whose arguments are called `names`, and that enters these kernels natively."""
    return Report(name, tuple([_form(_spelled(each, names), each, entered) for each in forms]))


def _form(arguments: str, form: Compiled, entered: Sequence[Any]) -> FormReport:
    kernel, machine = form.kernel, native(form.kernel)
    code = machine.code if machine else None
    entry = "python"
    if any(kernel is each for each in entered):
        entry = "native"
    elif form.core is not None:
        entry = "native, after reading hidden inputs,"
    return FormReport(
        arguments,
        {**form.times, **(machine.times if machine else {})},
        len(form.graph.body),
        code and code.level,
        code is not None and code.tiered,
        tuple(code.cached) if code else (),
        entry,
        tuple([f"{s.kind} {s.name}".strip() for s in form.hidden.sources if _is_told(s.read())]),
        form.reasons,
        code.problem if code else "",
        _decisions(form),
        form.variants.runs if form.variants else 0,
        tuple(saved(machine.graph if machine else form.graph)),
    )


def _is_told(value: Any) -> bool:
    """Whether what a function reads is worth telling: not a function of NumPy's or Python's by its name."""
    owner = getattr(value, "__module__", None) or ""
    return value is not MISSING and not (callable(value) and is_foreign_module(owner))


def _decisions(form: Compiled) -> tuple[Decision, ...]:
    """What a form was made for."""
    frozen = form.traced.frozen
    if form.variants is None:
        return ()
    failures = form.variants.failures
    return tuple([
        Decision(each.what, each.key, str(each.where or ""), failures[k, each[:3]]) for k, each in enumerate(frozen)
    ])


def _spelled(form: Compiled, names: Callable[[int], Sequence[str]]) -> str:
    """The arguments of a form as users call them."""
    signature = form.traced.signature
    found = [f"{path}: {tree.spelled(node)}" for path, node in paths(signature, names(len(signature[1]) - 1))]
    more = len(found) - SHOWN
    return ", ".join(found[:SHOWN]) + (f" and {more} more" if more > 0 else "") if found else "no arguments"


# ---- memory


@dataclass(frozen=True)
class Scratch:
    """A temporary of a kernel: where it lies in the arena, and the statements from its first to its last use."""

    name: str
    type: Type
    bytes: int
    offset: int
    first: int
    last: int


@dataclass(frozen=True)
class FormMemory:
    """The memory of one form, in bytes.

    arguments, results   their arrays
    arena                what the temporaries take together; `scratch` says where each lies in it
    kept                 whether the arena is kept between calls: a small one is on the stack
    """

    of: str
    arguments: int
    results: int
    arena: int
    kept: bool
    scratch: tuple[Scratch, ...]

    def _lines(self) -> list[str]:
        place = "in one block that is kept between calls" if self.kept else "on the stack"
        lines = [f"  for {self.of}"]
        lines.append(f"    reads {self.arguments:,} bytes of arguments and writes {self.results:,} bytes of results")
        if not self.scratch:
            return [*lines, "    needs no memory besides: nothing between them is stored"]
        count = f"{len(self.scratch)} temporary arrays" if len(self.scratch) > 1 else "one temporary array"
        lines.append(f"    needs {self.arena:,} bytes more for {count}, {place}")
        apart = sum(s.bytes for s in self.scratch)
        if apart > self.arena:
            lines.append(f"    those would be {apart:,} bytes side by side; what is not alive at once shares its place")
        if self.scratch:
            rows = [["name", "type", "bytes", "offset", "statements"]]
            for s in self.scratch:
                rows.append([s.name, str(s.type), f"{s.bytes:,}", f"{s.offset:,}", f"{s.first}-{s.last}"])
            lines += [f"  {line}" for line in _table(rows)]
        return lines


@dataclass(frozen=True)
class Memory:
    """The memory plans of a function's compiled forms; print it, or read its `forms`."""

    name: str
    forms: tuple[FormMemory, ...]

    def __str__(self) -> str:
        return "\n".join([f"memory of a call of {self.name}", *(line for f in self.forms for line in f._lines())])

    __repr__ = __str__


def memory_of(name: str, names: Callable[[int], Sequence[str]], forms: Iterable[Compiled]) -> Memory:
    """The memory plans of a function whose arguments are called `names`."""
    return Memory(name, tuple([_memory(_spelled(each, names), each) for each in forms]))


def _memory(of: str, form: Compiled) -> FormMemory:
    arguments = sum(_bytes(p.type) for p in form.graph.params)
    results = sum(_bytes(r.type) for r in form.graph.results)
    machine = native(form.kernel)
    if machine is None:
        return FormMemory(of, arguments, results, 0, False, ())
    program = machine.program
    placed, arena = plan(program.scratch, program.body)
    uses = _uses(program)
    scratch = [Scratch(b.name, b.type, nbytes(b), at, *uses[b]) for b, at in placed.items()]
    return FormMemory(of, arguments, results, arena, arena > ON_STACK, tuple(sorted(scratch, key=lambda s: s.first)))


def _uses(program: Program) -> dict[Buffer, tuple[int, int]]:
    """The first and the last statement that touches each buffer, itself or in a loop or branch."""
    found: dict[Buffer, tuple[int, int]] = {}
    names = roots(program.body)
    for at, statement in enumerate(program.body):
        for each in inside([statement]):
            used = touched(each) if isinstance(each, Nest | Rows | Multiply | Lines) else named(each)
            for buffer in {root for b in used for root in names.get(b, (b,))}:
                found[buffer] = (found.get(buffer, (at, at))[0], at)
    return found


def _bytes(type: Type) -> int:
    size = type.size
    return size * type.numpy.itemsize if isinstance(size, int) else 0


__all__ = ["FormMemory", "FormReport", "Memory", "Report", "Scratch", "memory_of", "report_of"]
