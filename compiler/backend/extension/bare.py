"""Functions as one object file for C programs on another kind of machine, and its header: no Python and no linker.

Where there is no malloc, temporaries are in static memory, one block for each function. A call takes the block and
gives it back; one that finds it taken, as in an interrupt, returns -1. A function with sizes known by name takes them
first. Temporaries whose size nobody knows need a malloc, which is there on machines that load objects, too.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ...lowering import lower
from ...passes.pipeline import optimize
from ...settings import settings
from ..emit import ON_STACK, emit
from ..machine import compile_for
from ..tiers import BETTER
from .cpu import Level
from .describe import Function
from .every_size import choice_text, forms_of, joined
from .header import header
from .kernels import alone, failures, hidden, pointers_of
from .targets import VECTOR_BITS, MachineTarget


@dataclass(frozen=True)
class BareKernel:
    """A kernel as LLVM texts; `workspace` is how many bytes of static memory it has for temporaries."""

    texts: tuple[str, ...]
    failures: tuple[tuple[str, str], ...]
    workspace: int


def write_bare(functions: Sequence[Function], name: str, out: Path, target: MachineTarget) -> Path:
    """Write an object file and its header into the folder `out`; the path of the object."""
    made = [bare_kernel(f, f"{name}_{f.name}", target) for f in functions]
    file = name + target.suffix
    failed = [(f, m.failures) for f, m in zip(functions, made, strict=True)]
    told = header(failed, name, _told(functions, made, target), file)
    return put(out, {file: bare_object(made, target), f"{name}.h": told.encode()})


def bare_object(made: Sequence[BareKernel], target: MachineTarget) -> bytes:
    """The object file of kernels."""
    quality = BETTER if settings.level is None else settings.level
    texts = [text for m in made for text in m.texts]
    return compile_for(texts, target.triple, target.cpu, target.features, target.static, quality)


def put(out: Path, files: dict[str, bytes]) -> Path:
    """Write files beside their places and then move them there; the path of the first."""
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".pullback-", dir=out) as folder:
        for name, data in files.items():
            Path(folder, name).write_bytes(data)
        for name in files:
            os.replace(Path(folder, name), out / name)
    return out / next(iter(files))


def bare_kernel(function: Function, name: str, target: MachineTarget) -> BareKernel:
    """The kernel of a function; a NotImplementedError if it calls more than the machine has."""
    if function.sizes:
        return _sized_kernel(function, name, target)
    program = lower(optimize(function.portable or function.graph), VECTOR_BITS, called=0)
    emitted = emit(program, name, target.fma, on_stack=0 if target.static else ON_STACK)
    text = alone(emitted)
    static = target.static and not (target.loaded and "@realloc(" in text)
    if static and emitted.arena:
        size = emitted.arena + _ROOM
        for declared, defined in _STATIC.items():
            text = text.replace(declared, defined.replace("SIZE", str(size)))
    _check(function, text, target)
    workspace = emitted.arena + _ROOM if static and emitted.arena else 0
    return BareKernel((text,), failures(program), workspace)


def _sized_kernel(function: Function, name: str, target: MachineTarget) -> BareKernel:
    """Kernels for all sizes, and the function that runs one of them, under the name of the function."""
    level = Level("any", VECTOR_BITS, target.fma, None, ())
    forms = forms_of(function, name, level)
    texts = [hidden(form.emitted) for form in forms]
    for text in texts:
        _check(function, text, target)
    every, statuses = joined([failures(form.program) for form in forms])
    chosen = choice_text(function, forms, name, level, pointers_of(function), statuses)
    own = f"{name}.{level.name}"
    chosen = chosen.replace(f"define hidden i64 @{own}(", f"define i64 @{name}(")
    return BareKernel((*texts, chosen), every, 0)


def _check(function: Function, text: str, target: MachineTarget) -> None:
    """Refuse what calls more than the machine has."""
    for line in re.findall(r"^declare .*", text, re.M):
        called = re.search(r"@([\w.]+)", line)
        assert called is not None
        allowed = _MATHEMATICS.fullmatch(line) or called[1].startswith("llvm.")
        heap = target.loaded or not target.static
        if not allowed and not (heap and called[1] in _HEAP):
            raise NotImplementedError(_refusal(function, called[1], target))


_ROOM = 128  # what `take_arena` asks for beyond the temporaries
_HEAP = ("malloc", "free", "realloc")
_MATHEMATICS = re.compile(r"declare (?:double|float) @\w+\((?:double|float)(?:, (?:double|float))*\)")


def _refusal(function: Function, called: str, target: MachineTarget) -> str:
    why, fix = f"calls {called}", "give the loop a number of rounds, or leave it out"
    if called == "realloc":
        why = "keeps values of a loop whose number of rounds is known only when it runs, in memory that grows"
    elif function.sizes and called in _HEAP:
        why = f"has temporaries whose size {', '.join(function.sizes)} tells, and calls {called} for them"
        fix = "leave the names out of sizes="
    return f"{function.name} {why}, which an object for {target.name} cannot: {fix}"


# In the place of malloc and free, of which a kernel calls the first once, and the second never for a block of its own.
_STATIC = {
    "declare noalias ptr @malloc(i64)": """\
@.workspace = internal global [SIZE x i8] zeroinitializer, align 64
@.taken = internal global i32 0
define internal ptr @malloc(i64 %size) nounwind {
entry:
  %before = atomicrmw xchg ptr @.taken, i32 1 seq_cst
  %free = icmp eq i32 %before, 0
  %block = select i1 %free, ptr @.workspace, ptr null
  ret ptr %block
}""",
    "declare void @free(ptr)": "define internal void @free(ptr %block) nounwind {\n  ret void\n}",
}


def _told(functions: Sequence[Function], made: Sequence[BareKernel], target: MachineTarget) -> list[str]:
    told = [f"They run on {target.name} ({target.triple}, {target.cpu}{target.features.replace('+', ' +')})."]
    if not target.static:
        return [*told, "A kernel returns -1 if there is no memory for its temporaries; those of more than 16 KiB are",
                "kept for the next call.  Any number of threads may call a kernel.  Link with -lm."]
    sizes = [f"{f.name}: {m.workspace} bytes" for f, m in zip(functions, made, strict=True) if m.workspace]
    return [*told, "Nothing is called but functions of <math.h>, and what the compiler has for arithmetic that the",
            f"machine lacks.  Temporaries are in static memory ({', '.join(sizes) or 'there are none'}).",
            "A kernel returns -1, having done nothing, if it is called while another call of it runs."]
