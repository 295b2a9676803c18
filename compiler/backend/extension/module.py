"""A whole extension module: from functions as data to files on disk.

Each kernel is an object file of its own for the chosen level of processors. The Python side is one more, for any
x86-64: when the module is imported it asks the processor for that level before anything else runs.
"""

from __future__ import annotations

import builtins
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ...ir.primitive import REGISTRY
from ...ir.text import show
from ...lowering import lower
from ...lowering.nests.roots import is_long
from ...lowering.program import Program
from ...passes import optimize
from ...settings import settings
from .. import linker
from ..emit import emit
from ..machine import compile_object
from ..registers import literal
from ..tiers import BETTER
from . import argument_text, array_text, bind_text, buffer_text
from .carried import pack
from .cpu import LEVELS, Level, missing_text
from .describe import Function, doc
from .function import Native, function_text
from .header import header, stub
from .names import EXCEPTIONS, bytes_constant, declarations, text_constant
from .writer import Objects

SUFFIX = ".abi3.so"

_EXECUTE, _INTERPRETERS, _OWN_LOCKS = 2, 3, 2  # Py_mod_exec, Py_mod_multiple_interpreters and what it is set to
_FIRST_OWNED = 3  # word of the state: NumPy's dtypes, then the objects
_KNOWS_INTERPRETERS = 0x030C0000  # an earlier Python refuses a slot that it does not know
_QUICK = 0  # straight-line guards and calls are as fast at any level of code generation
_FASTCALL_WITH_KEYWORDS = 0x82
_ANY_NUMBER = -7_777_777_777_777_777_777  # where a failure's text has a number known only when it happens


@dataclass(frozen=True)
class Compiled:
    """A function with its kernel as an object file."""

    function: Function
    native: Native
    code: bytes


def write(functions: Sequence[Function], name: str, out: Path, level: Level) -> Path:
    """Write a module and what goes with it into the folder `out`; the path of the module."""
    program = linker.find_linker()
    made = [_compile(f, name, level) for f in functions]
    glue = compile_object(_module_text(made, name, level), _QUICK, LEVELS["x86-64"].name)
    out.mkdir(parents=True, exist_ok=True)
    # Beside its place, so that whoever imports the module meanwhile finds the old file or the new one.
    with tempfile.TemporaryDirectory(prefix=f".{name}-", dir=out) as folder:
        parts = []
        for k, each in enumerate([glue, *(m.code for m in made)]):
            parts.append(Path(folder, f"part{k}.o"))
            parts[-1].write_bytes(each)
        kernels, module = Path(folder, f"{name}.o"), Path(folder, f"{name}{SUFFIX}")
        linker.join_objects(program, parts[1:], kernels)
        linker.link_module(program, [parts[0], kernels], module)
        told = header([(m.function, m.native.failures) for m in made], name, level)
        Path(folder, f"{name}.h").write_text(told, encoding="utf-8")
        Path(folder, f"{name}.pyi").write_text(stub(functions), encoding="utf-8")
        for suffix in (".h", ".pyi", ".o", SUFFIX):
            os.replace(Path(folder, name + suffix), out / (name + suffix))
    return out / f"{name}{SUFFIX}"


def _compile(function: Function, module: str, level: Level) -> Compiled:
    program = lower(optimize(function.graph), level.vector_bits, called=0)
    emitted = emit(program, f"{module}_{function.name}", level.fma)
    native = Native(emitted.name, _failures(program), is_long(program))
    quality = BETTER if settings.level is None else settings.level
    text = emitted.text
    for declared, defined in _ALONE.items():
        text = text.replace(declared, defined)
    return Compiled(function, native, compile_object(text, quality, level.name))


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


def _failures(program: Program) -> tuple[tuple[str, str], ...]:
    """What each site of a program raises, as an exception's name and a format for PyErr_Format."""
    made = []
    for site in program.sites:
        error = REGISTRY[site.kind].error(_ANY_NUMBER, *site.facts)  # type: ignore[attr-defined]
        place = f" (in {site.where})" if site.where else ""
        text = f"{error}{place}".replace("%", "%%").replace(str(_ANY_NUMBER), "%lld")
        kind = type(error).__name__
        known = getattr(builtins, kind, None) is type(error)
        made.append((kind, text) if known else ("RuntimeError", f"{kind}: {text}"))
    return tuple(made)


# ---- the Python side


def _module_text(made: Sequence[Compiled], name: str, level: Level) -> str:
    objects = Objects()
    functions = [function_text(m.function, m.native, objects) for m in made]
    kernels = []
    for m in made:
        pointers = ["ptr"] * (len(m.function.graph.params) + len(m.function.graph.results) + 1)
        kernels.append(f"declare i64 @{m.native.kernel}({', '.join(pointers)})")
    raised = sorted({kind for m in made for kind, _ in m.native.failures} - set(EXCEPTIONS))
    return "\n".join([
        array_text.TYPES, declarations(), *(f"@PyExc_{kind} = external global ptr" for kind in raised),
        argument_text.TEXT, bind_text.TEXT, array_text.TEXT, buffer_text.TEXT,
        missing_text(level.features), *kernels, *functions,
        _definition(made, name, level, objects), _initialise(objects, name),
    ])


def _definition(made: Sequence[Compiled], name: str, level: Level, objects: Objects) -> str:
    """The module's name, texts and table of functions."""
    graphs = "\n\n".join(show(m.function.graph) for m in made)
    head = f"Compiled functions, written by pullback for {level.name} processors."
    texts = {"module.name": name, "module.doc": "\n\n".join([head, *(_plain(doc(m.function)) for m in made)]),
             "module.graph": graphs, "module.cpu": level.name, ".graph_name": "graph", ".cpu_name": "cpu"}
    rows = []
    for k, m in enumerate(made):
        texts[f"function{k}.name"], texts[f"function{k}.doc"] = m.function.name, doc(m.function)
        rows.append(f"{{ ptr, ptr, i32, ptr }} {{ ptr @function{k}.name, ptr @.call_{m.function.name}, "
                    f"i32 {_FASTCALL_WITH_KEYWORDS}, ptr @function{k}.doc }}")
    rows.append("{ ptr, ptr, i32, ptr } zeroinitializer")
    # A PyModuleDef: the head of an object, which never dies, four words of the interpreter's, then ours.
    head_fields = "i64 1, ptr null, ptr null, i64 0, ptr null"
    fields = (f"ptr @module.name, ptr @module.doc, i64 {objects.size}, ptr @.functions, ptr @.slots, ptr null, "
              "ptr null, ptr @.free")
    return "\n".join([
        *(text_constant(*pair) for pair in texts.items()),
        bytes_constant("module.carried", pack([m.function for m in made])),
        f"@.functions = internal global [{len(rows)} x {{ ptr, ptr, i32, ptr }}] [{', '.join(rows)}]",
        f"@.slots = internal global [3 x {{ i32, ptr }}] [{{ i32, ptr }} {{ i32 {_EXECUTE}, ptr @.execute }}, "
        "{ i32, ptr } zeroinitializer, { i32, ptr } zeroinitializer]",
        "@.module = internal global { i64, ptr, ptr, i64, ptr, ptr, ptr, i64, ptr, ptr, ptr, ptr, ptr } "
        f"{{ {head_fields}, {fields} }}",
    ])


def _plain(text: str) -> str:
    """A function's text without the mark that the interpreter looks for."""
    return text.replace("\n--\n", "\n", 1)


def _initialise(objects: Objects, name: str) -> str:
    """What the interpreter calls: when the module is imported, when an instance of it is filled, when it goes."""
    lines, constants = [], []
    for k, value in enumerate(objects.values):
        data = str(value)
        constants.append(text_constant(f".object{k}", data))
        if isinstance(value, str):
            make = f"@PyUnicode_FromStringAndSize(ptr @.object{k}, i64 {len(data.encode())})"
        elif isinstance(value, float):
            make = f"@PyFloat_FromDouble(double {literal(value, 'f64').text})"
        else:
            make = f"@PyLong_FromString(ptr @.object{k}, ptr null, i32 10)"
        lines += [
            f"  %object{k} = call ptr {make}",
            f"  %absent{k} = icmp eq ptr %object{k}, null",
            f"  br i1 %absent{k}, label %failed, label %made{k}",
            f"made{k}:",
            f"  %slot{k} = getelementptr i8, ptr %state, i64 {objects.offset(value)}",
            f"  store ptr %object{k}, ptr %slot{k}",
            *([f"  call void @PyUnicode_InternInPlace(ptr %slot{k})"] if isinstance(value, str) else []),
        ]
    for attribute in ("graph", "cpu"):
        lines += [
            f"  %{attribute} = call i32 @PyModule_AddStringConstant(ptr %module, ptr @.{attribute}_name, "
            f"ptr @module.{attribute})",
            f"  %has_{attribute} = icmp eq i32 %{attribute}, 0",
            f"  br i1 %has_{attribute}, label %with_{attribute}, label %failed",
            f"with_{attribute}:",
        ]
    filled = _INITIALISE.replace("NAME", name).replace("OBJECTS", "\n".join(lines))
    return "\n".join([*constants, filled.replace("COUNT", str(objects.size // 8))])


# NumPy's type of arrays lives as long as its module, which is never unloaded; its dtypes are references of our own.
_INITIALISE = f"""
define ptr @PyInit_NAME() nounwind {{
entry:
  %missing = call ptr @.missing()
  %has_all = icmp eq ptr %missing, null
  br i1 %has_all, label %slots, label %lacks
lacks:
  %error = load ptr, ptr @PyExc_ImportError
  call ptr (ptr, ptr, ...) @PyErr_Format(ptr %error, ptr @.no_feature, ptr @module.name, ptr @module.cpu, ptr %missing)
  ret ptr null
slots:
  %version = load i32, ptr @Py_Version
  %knows = icmp uge i32 %version, {_KNOWS_INTERPRETERS}
  br i1 %knows, label %say, label %create
say:
  %place = getelementptr [3 x {{ i32, ptr }}], ptr @.slots, i32 0, i32 1, i32 1
  store ptr inttoptr (i64 {_OWN_LOCKS} to ptr), ptr %place
  %kind = getelementptr [3 x {{ i32, ptr }}], ptr @.slots, i32 0, i32 1, i32 0
  store i32 {_INTERPRETERS}, ptr %kind
  br label %create
create:
  %module = call ptr @PyModuleDef_Init(ptr @.module)
  ret ptr %module
}}

define internal i32 @.execute(ptr %module) nounwind {{
entry:
  %state = call ptr @PyModule_GetState(ptr %module)
OBJECTS
  ret i32 0
failed:
  ret i32 -1
}}

define internal void @.free(ptr %module) nounwind {{
entry:
  %state = call ptr @PyModule_GetState(ptr %module)
  %none = icmp eq ptr %state, null
  br i1 %none, label %leave, label %next
next:
  %index = phi i64 [ {_FIRST_OWNED}, %entry ], [ %after, %dropped ]
  %end = icmp eq i64 %index, COUNT
  br i1 %end, label %leave, label %look
look:
  %slot = getelementptr ptr, ptr %state, i64 %index
  %reference = load ptr, ptr %slot
  %absent = icmp eq ptr %reference, null
  br i1 %absent, label %dropped, label %drop
drop:
  call void @Py_DecRef(ptr %reference)
  br label %dropped
dropped:
  %after = add i64 %index, 1
  br label %next
leave:
  ret void
}}
"""
