"""A whole extension module: from functions as data to files on disk.

Each kernel is an object file of its own for each of the chosen levels of processors. The Python side is one more, for
any x86-64: when the module is imported it asks the processor for the lowest level before anything else runs.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from ..linking import linker
from ..text.registers import literal
from . import argument_text, array_text, bind_text, buffer_text
from .carried import pack
from .cpu import LEVELS, Level
from .describe import Function, doc
from .dispatch import dispatch_text
from .function import Native, function_text
from .header import header, on_levels, stub
from .kernels import Kernels, compile_all, jobs_of, kernels
from .names import EXCEPTIONS, bytes_constant, declarations, text_constant
from .writer import Objects

SUFFIX = ".abi3.so"

_EXECUTE, _INTERPRETERS, _OWN_LOCKS = 2, 3, 2  # Py_mod_exec, Py_mod_multiple_interpreters and what it is set to
_FIRST_OWNED = 3  # word of the state: NumPy's dtypes, then the objects
_KNOWS_INTERPRETERS = 0x030C0000  # an earlier Python refuses a slot that it does not know
_QUICK = 0  # straight-line guards and calls are as fast at any level of code generation
_FASTCALL_WITH_KEYWORDS = 0x82


def write(functions: Sequence[Function], name: str, out: Path, levels: Sequence[Level]) -> Path:
    """Write a module and what goes with it into the folder `out`; the path of the module."""
    program = linker.find_linker()
    made = [kernels(f, name, levels) for f in functions]
    around = [dispatch_text([(m.name, m.pointers) for m in made], levels, name),
              _module_text(functions, made, name, levels)]
    jobs = [*jobs_of(made), *((text, _QUICK, LEVELS["x86-64"].name) for text in around)]
    *codes, glue = compile_all(jobs)
    out.mkdir(parents=True, exist_ok=True)
    # Beside its place, so that whoever imports the module meanwhile finds the old file or the new one.
    with tempfile.TemporaryDirectory(prefix=f".{name}-", dir=out) as folder:
        parts = []
        for k, each in enumerate([glue, *codes]):
            parts.append(Path(folder, f"part{k}.o"))
            parts[-1].write_bytes(each)
        joined, module = Path(folder, f"{name}.o"), Path(folder, f"{name}{SUFFIX}")
        linker.join_objects(program, parts[1:], joined)
        linker.link_module(program, [parts[0], joined], module)
        failed = [(f, m.failures) for f, m in zip(functions, made, strict=True)]
        told = header(failed, name, on_levels(levels), f"{name}.o")
        Path(folder, f"{name}.h").write_text(told, encoding="utf-8")
        Path(folder, f"{name}.pyi").write_text(stub(functions), encoding="utf-8")
        for suffix in (".h", ".pyi", ".o", SUFFIX):
            os.replace(Path(folder, name + suffix), out / (name + suffix))
    return out / f"{name}{SUFFIX}"


# ---- the Python side


def _module_text(functions: Sequence[Function], made: Sequence[Kernels], name: str, levels: Sequence[Level]) -> str:
    objects, packed = Objects(), pack(functions)
    texts = []
    for f, m, row in zip(functions, made, packed.arrays, strict=True):
        extras = tuple([_carried(at) for at in row])
        texts.append(function_text(f, Native(m.name, extras, m.failures, m.long), objects))
    declared = [f"declare i64 @{m.name}({', '.join(['ptr'] * m.pointers)})" for m in made]
    declared += [f"declare hidden i32 @{name}.level()", f"declare hidden ptr @{name}.missing()"]
    raised = sorted({kind for m in made for kind, _ in m.failures} - set(EXCEPTIONS))
    return "\n".join([
        array_text.TYPES, declarations(), *(f"@PyExc_{kind} = external global ptr" for kind in raised),
        argument_text.TEXT, bind_text.TEXT, array_text.TEXT, buffer_text.TEXT, *declared, *texts,
        bytes_constant("module.carried", packed.data, 64), _definition(functions, name, levels, objects),
        _initialise(objects, name, _carried(packed.graphs)),
    ])


def _carried(place: int) -> str:
    """The address of a byte of what the module carries."""
    return f"getelementptr (i8, ptr @module.carried, i64 {place})"


def _definition(functions: Sequence[Function], name: str, levels: Sequence[Level], objects: Objects) -> str:
    """The module's name, texts and table of functions."""
    kinds = ", ".join(level.name for level in levels)
    head = f"Compiled functions, written by pullback for {kinds} processors."
    texts = {"module.name": name, "module.doc": "\n\n".join([head, *(_plain(doc(f)) for f in functions)]),
             "module.lowest": levels[0].name, ".graph_name": "graph", ".cpu_name": "cpu"}
    texts |= {f"module.level{k}": level.name for k, level in enumerate(levels)}
    rows = []
    for k, f in enumerate(functions):
        texts[f"function{k}.name"], texts[f"function{k}.doc"] = f.name, doc(f)
        rows.append(f"{{ ptr, ptr, i32, ptr }} {{ ptr @function{k}.name, ptr @.call_{f.name}, "
                    f"i32 {_FASTCALL_WITH_KEYWORDS}, ptr @function{k}.doc }}")
    rows.append("{ ptr, ptr, i32, ptr } zeroinitializer")
    # A PyModuleDef: the head of an object, which never dies, four words of the interpreter's, then ours.
    head_fields = "i64 1, ptr null, ptr null, i64 0, ptr null"
    fields = (f"ptr @module.name, ptr @module.doc, i64 {objects.size}, ptr @.functions, ptr @.slots, ptr null, "
              "ptr null, ptr @.free")
    names = ", ".join(f"ptr @module.level{k}" for k in range(len(levels)))
    return "\n".join([
        *(text_constant(*pair) for pair in texts.items()),
        f"@.levels = private constant [{len(levels)} x ptr] [{names}]",
        f"@.functions = internal global [{len(rows)} x {{ ptr, ptr, i32, ptr }}] [{', '.join(rows)}]",
        f"@.slots = internal global [3 x {{ i32, ptr }}] [{{ i32, ptr }} {{ i32 {_EXECUTE}, ptr @.execute }}, "
        "{ i32, ptr } zeroinitializer, { i32, ptr } zeroinitializer]",
        "@.module = internal global { i64, ptr, ptr, i64, ptr, ptr, ptr, i64, ptr, ptr, ptr, ptr, ptr } "
        f"{{ {head_fields}, {fields} }}",
    ])


def _plain(text: str) -> str:
    """A function's text without the mark that the interpreter looks for."""
    return text.replace("\n--\n", "\n", 1)


def _initialise(objects: Objects, name: str, graphs: str) -> str:
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
    lines += [
        f"  %level = call i32 @{name}.level()",
        "  %level_place = getelementptr ptr, ptr @.levels, i32 %level",
        "  %level_name = load ptr, ptr %level_place",
    ]
    for attribute, text in (("graph", graphs), ("cpu", "%level_name")):
        lines += [
            f"  %{attribute} = call i32 @PyModule_AddStringConstant(ptr %module, ptr @.{attribute}_name, "
            f"ptr {text})",
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
  %missing = call ptr @NAME.missing()
  %has_all = icmp eq ptr %missing, null
  br i1 %has_all, label %slots, label %lacks
lacks:
  %error = load ptr, ptr @PyExc_ImportError
  call ptr (ptr, ptr, ...) @PyErr_Format(ptr %error, ptr @.no_feature, ptr @module.name, ptr @module.lowest,
                                         ptr %missing)
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
