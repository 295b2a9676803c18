"""Functions as object files: each kernel for each level of processors, and the C functions that choose among them.

LLVM makes them at the same time, on as many threads as there are processors.
"""

from __future__ import annotations

import builtins
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass

from ...ir.measure import Measure
from ...ir.primitive import REGISTRY
from ...lowering import lower
from ...lowering.nests.roots import is_long
from ...lowering.program import Program
from ...passes.pipeline import optimize
from ...settings import settings
from ..emit import EmittedKernel, emit
from ..machine import CompilerError, compile_aside
from ..tiers import BETTER
from .cpu import Level
from .describe import Function
from .dispatch import kernel_of
from .every_size import choice_text, forms_of, joined

_ANY_NUMBER = -7_777_777_777_777_777_777  # where a failure's text has a number known only when it happens


@dataclass(frozen=True)
class Kernels:
    """The kernels of one function as texts with their levels, lowest first.

    name      of the C function that runs one of them, which takes so many `pointers`: of its sizes first, if it has any
    failures  what its statuses from 1 on mean: exceptions' names, and formats for PyErr_Format
    long      whether other threads may run Python code meanwhile
    """

    name: str
    pointers: int
    failures: tuple[tuple[str, str], ...]
    long: bool
    texts: tuple[tuple[str, Level], ...]


def kernels(function: Function, module: str, levels: Sequence[Level]) -> Kernels:
    """The kernels of a function of a module."""
    if function.sizes:
        return _sized_kernels(function, f"{module}_{function.name}", levels)
    graph, name = optimize(function.portable or function.graph), f"{module}_{function.name}"
    texts, programs = [], []
    for level in levels:
        programs.append(lower(graph, level.vector_bits, called=0))
        made = kernel_of(name, level)
        emitted = emit(programs[-1], made, level.fma)
        texts.append((hidden(emitted), level))
    told = [failures(program) for program in programs]
    if any(each != told[0] for each in told):
        raise CompilerError(f"the kernels of {function.name} fail differently. This is a bug in pullback")
    return Kernels(name, pointers_of(function), told[0], any(map(is_long, programs)), tuple(texts))


def _sized_kernels(function: Function, name: str, levels: Sequence[Level]) -> Kernels:
    """The kernels of a function with named sizes, and what chooses among those of a level."""
    forms = [forms_of(function, name, level) for level in levels]
    every, numbers = joined([failures(form.program) for row in forms for form in row])
    pointers, texts, statuses = pointers_of(function), [], iter(numbers)
    for level, row in zip(levels, forms, strict=True):
        texts += [(hidden(form.emitted), level) for form in row]
        known = [next(statuses) for _ in row]
        texts.append((choice_text(function, row, name, level, pointers, known), level))
    return Kernels(name, pointers, every, True, tuple(texts))


def pointers_of(function: Function) -> int:
    """How many arguments a kernel has: the sizes, if they have names, what goes in and comes out, and the report."""
    return bool(function.sizes) + len(function.graph.params) + len(function.graph.results) + 1


def hidden(emitted: EmittedKernel) -> str:
    """The text of a kernel that only what is linked with it calls."""
    return alone(emitted).replace(f"define i64 @{emitted.name}(", f"define hidden i64 @{emitted.name}(")


def alone(emitted: EmittedKernel) -> str:
    """The text of a kernel that runs without this compiler's threads, and keeps its memory to itself."""
    text = emitted.text.replace(f"@{emitted.name}.arena = global", f"@{emitted.name}.arena = internal global")
    for declared, defined in _ALONE.items():
        text = text.replace(declared, defined)
    return text


def compile_all(jobs: Sequence[tuple[str, int, str]]) -> list[bytes]:
    """Object files of LLVM texts, each with its level of code generation and LLVM's name of a processor."""
    with ThreadPoolExecutor(min(len(jobs), os.cpu_count() or 1)) as pool:
        return list(pool.map(lambda job: compile_aside(job[0], job[1], nullcontext(), job[2]), jobs))


def jobs_of(made: Sequence[Kernels]) -> Iterator[tuple[str, int, str]]:
    """What `compile_all` makes objects of kernels from."""
    quality = BETTER if settings.level is None else settings.level
    for each in made:
        for text, level in each.texts:
            yield text, quality, level.name


_ALONE = {
    "declare i64 @pullback_poll()": "define internal i64 @pullback_poll() nounwind {\n  ret i64 0\n}",
    "declare i64 @pullback_parallel(ptr, ptr, i64, i64, ptr)": """\
define internal i64 @pullback_parallel(ptr %body, ptr %frame, i64 %chunks, i64 %work, ptr %report) nounwind {
entry:
  br label %next
next:
  %chunk = phi i64 [0, %entry], [%after, %done]
  %status = call i64 %body(ptr %frame, i64 %chunk, ptr %report)
  %failed = icmp ne i64 %status, 0
  br i1 %failed, label %end, label %done
done:
  %after = add i64 %chunk, 1
  %more = icmp ult i64 %after, %chunks
  br i1 %more, label %next, label %end
end:
  ret i64 %status
}
""",
}
"""What kernels call, in a module without threads, of which C may call functions too: chunks run one after the other,
and nobody looks for signals."""


def failures(program: Program) -> tuple[tuple[str, str], ...]:
    """What each site of a program raises, as an exception's name and a format for PyErr_Format."""
    made = []
    for site in program.sites:
        facts = [fact.size if isinstance(fact, Measure) else fact for fact in site.facts]
        error = REGISTRY[site.kind].error(_ANY_NUMBER, *facts)  # type: ignore[attr-defined]
        place = f" (in {site.where})" if site.where else ""
        text = f"{error}{place}".replace("%", "%%").replace(str(_ANY_NUMBER), "%lld")
        kind = type(error)
        known = next(each for each in kind.__mro__ if getattr(builtins, each.__name__, None) is each)
        raised = RuntimeError if known is Exception else known
        made.append((raised.__name__, text if known is kind else f"{kind.__name__}: {text}"))
    return tuple(made)
