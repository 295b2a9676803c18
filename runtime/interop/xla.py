"""A kernel as a function that XLA calls: it reads the call frame of XLA's foreign function interface, in LLVM's text.

    handler(frame)   checks how many buffers there are, of which dtypes and sizes; calls the kernel on their memory;
                     returns null, or an error of XLA's making with our message

The layouts are those of `xla/ffi/api/c_api.h`, which jaxlib ships, in version 0 of the interface: only fields that it
has had from the start are read. No Python runs unless the kernel fails; then Python writes the message.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np

from ...compiler.backend.linking.module import link
from ...compiler.backend.machine import compile_object
from ...compiler.backend.process import Callback, callback, read_words
from ...compiler.ir.types import Type
from .flat import Flat

ELEMENTS = {"bool": 1, "i32": 4, "i64": 5, "f32": 11, "f64": 12}
"""XLA's numbers for dtypes."""

FRAME = {"extension": 8, "api": 16, "stage": 32, "args": 56, "arg": 72, "rets": 96, "ret": 112}
BUFFER = {"dtype": 16, "data": 24, "rank": 32, "dims": 40}
EXTENSION = {"type": 8, "next": 16, "metadata": 24}
VERSION = {"major": 24, "minor": 28}
"""Offsets in bytes; those of the version are from the start of the metadata."""

CREATE, EXECUTE, METADATA = 48, 3, 1
"""Where the interface has XLA_FFI_Error_Create, the stage at which a handler works, and the extension that asks."""

INVALID, INTERNAL = 3, 13
"""Codes of errors."""

HELPERS = f"""\
define internal i1 @matches(ptr %buffer, i32 %dtype, i64 %rank, ptr %dims) nounwind {{
entry:
  %p = getelementptr i8, ptr %buffer, i64 {BUFFER["dtype"]}
  %q = getelementptr i8, ptr %buffer, i64 {BUFFER["rank"]}
  %r = getelementptr i8, ptr %buffer, i64 {BUFFER["dims"]}
  %d = load i32, ptr %p
  %n = load i64, ptr %q
  %sizes = load ptr, ptr %r
  %same = icmp eq i32 %d, %dtype
  %alike = icmp eq i64 %n, %rank
  %both = and i1 %same, %alike
  br i1 %both, label %head, label %no
head:
  %k = phi i64 [ 0, %entry ], [ %after, %next ]
  %more = icmp slt i64 %k, %rank
  br i1 %more, label %next, label %yes
next:
  %a = getelementptr i64, ptr %sizes, i64 %k
  %b = getelementptr i64, ptr %dims, i64 %k
  %have = load i64, ptr %a
  %want = load i64, ptr %b
  %after = add i64 %k, 1
  %equal = icmp eq i64 %have, %want
  br i1 %equal, label %head, label %no
yes:
  ret i1 true
no:
  ret i1 false
}}
define internal ptr @refusal(ptr %frame, ptr %message, i32 %code) nounwind {{
  %at = getelementptr i8, ptr %frame, i64 {FRAME["api"]}
  %api = load ptr, ptr %at
  %in = getelementptr i8, ptr %api, i64 {CREATE}
  %create = load ptr, ptr %in
  %args = alloca [4 x i64], align 8
  %b = getelementptr i8, ptr %args, i64 8
  %c = getelementptr i8, ptr %args, i64 16
  %d = getelementptr i8, ptr %args, i64 24
  store i64 28, ptr %args
  store ptr null, ptr %b
  store ptr %message, ptr %c
  store i32 %code, ptr %d
  %error = call ptr %create(ptr %args)
  ret ptr %error
}}
define ptr @handler(ptr %frame) nounwind {{
entry:
  %report = alloca [4 x i64], align 8
  %p = getelementptr i8, ptr %frame, i64 {FRAME["extension"]}
  %first = load ptr, ptr %p
  br label %look
look:
  %extension = phi ptr [ %first, %entry ], [ %following, %other ]
  %none = icmp eq ptr %extension, null
  br i1 %none, label %work, label %inspect
inspect:
  %q = getelementptr i8, ptr %extension, i64 {EXTENSION["type"]}
  %type = load i32, ptr %q
  %asks = icmp eq i32 %type, {METADATA}
  br i1 %asks, label %tell, label %other
other:
  %r = getelementptr i8, ptr %extension, i64 {EXTENSION["next"]}
  %following = load ptr, ptr %r
  br label %look
tell:
  %s = getelementptr i8, ptr %extension, i64 {EXTENSION["metadata"]}
  %metadata = load ptr, ptr %s
  %major = getelementptr i8, ptr %metadata, i64 {VERSION["major"]}
  %minor = getelementptr i8, ptr %metadata, i64 {VERSION["minor"]}
  store i32 0, ptr %major
  store i32 1, ptr %minor
  ret ptr null
idle:
  ret ptr null
failed:
  %reported = ptrtoint ptr %report to i64
  %text = call i64 inttoptr (i64 {{callback}} to ptr)(i64 {{number}}, i64 %status, i64 %reported)
  %said = inttoptr i64 %text to ptr
  %error = call ptr @refusal(ptr %frame, ptr %said, i32 {INTERNAL})
  ret ptr %error
"""


class Handler:
    """The handler of a function; it has its address as long as this lives."""

    def __init__(self, flat: Flat) -> None:
        self.flat = flat
        _handlers.append(self)
        text = self._text(len(_handlers) - 1)
        self._linked = link(compile_object(text, 1), {flat.kernel.name: flat.kernel.address}, ["handler"])
        self.address: int = self._linked.address("handler")

    def _text(self, number: int) -> str:
        flat, kernel = self.flat, self.flat.kernel
        takes, gives = kernel.inputs[: len(flat.nodes)], flat.results
        lines, texts = _Lines(), [_constant("count", f"{flat.name}: another number of arrays than it was compiled for")]
        lines.start(len(takes), len(gives))
        for what, types in (("arg", takes), ("ret", gives)):
            for k, type in enumerate(types):
                name = f"argument {k}" if what == "arg" else f"result {k}"
                dims = ", ".join(f"i64 {n}" for n in type.static_shape())
                texts.append(f"@{what}{k}.dims = internal constant [{len(type.shape)} x i64] [{dims}]")
                texts.append(_constant(f"{what}{k}", f"{flat.name}: {name} is not the {type} it was compiled for"))
                lines.buffer(what, k, type)
        results = sorted(range(len(gives)), key=flat.order.__getitem__)
        given = [f"%arg{k}.data" for k in range(len(takes))]
        given += [f"inttoptr (i64 {each.ctypes.data} to ptr)" for each in flat.extras]
        given += [*(f"%ret{k}.data" for k in results), "%report"]
        lines.call(kernel.name, given)
        declared = f"declare i64 @{kernel.name}({', '.join(['ptr'] * len(given))})"
        helpers = HELPERS.replace("{callback}", str(_message().address)).replace("{number}", str(number))
        return "\n".join([declared, *texts, helpers.rstrip("\n"), *lines.made, "}", ""])


class _Lines:
    """The part of the handler that reads the buffers."""

    def __init__(self) -> None:
        self.made: list[str] = []

    def load(self, name: str, kind: str, base: str, offset: int) -> None:
        self.made.append(f"  %{name}.at = getelementptr i8, ptr {base}, i64 {offset}")
        self.made.append(f"  %{name} = load {kind}, ptr %{name}.at")

    def branch(self, name: str, good: str, message: str) -> None:
        """Go on at `name` where `good` is so, else refuse."""
        self.made += [
            f"  br i1 {good}, label %{name}, label %{name}.not",
            f"{name}.not:",
            f"  %{name}.error = call ptr @refusal(ptr %frame, ptr @{message}.text, i32 {INVALID})",
            f"  ret ptr %{name}.error",
            f"{name}:",
        ]

    def start(self, takes: int, gives: int) -> None:
        self.made.append("work:")
        self.load("stage", "i32", "%frame", FRAME["stage"])
        self.made.append(f"  %runs = icmp eq i32 %stage, {EXECUTE}")
        self.made += ["  br i1 %runs, label %counted, label %idle", "counted:"]
        self.load("args", "i64", "%frame", FRAME["args"])
        self.load("rets", "i64", "%frame", FRAME["rets"])
        self.load("arg", "ptr", "%frame", FRAME["arg"])
        self.load("ret", "ptr", "%frame", FRAME["ret"])
        self.made += [
            f"  %takes = icmp eq i64 %args, {takes}",
            f"  %gives = icmp eq i64 %rets, {gives}",
            "  %counts = and i1 %takes, %gives",
        ]
        self.branch("checked", "%counts", "count")

    def buffer(self, what: str, k: int, type: Type) -> None:
        name = f"{what}{k}"
        self.load(name, "ptr", f"%{what}", 8 * k)
        given = f"ptr %{name}, i32 {ELEMENTS[type.dtype]}, i64 {len(type.shape)}, ptr @{name}.dims"
        self.made.append(f"  %{name}.good = call i1 @matches({given})")
        self.branch(f"{name}.known", f"%{name}.good", name)
        self.load(f"{name}.data", "ptr", f"%{name}", BUFFER["data"])

    def call(self, name: str, given: Sequence[str]) -> None:
        self.made += [
            "  br label %call",
            "call:",
            f"  %status = call i64 @{name}({', '.join(f'ptr {each}' for each in given)})",
            "  %done = icmp eq i64 %status, 0",
            "  br i1 %done, label %idle, label %failed",
        ]


def _constant(name: str, text: str) -> str:
    """A C string."""
    data = text.encode() + b"\0"
    shown = "".join(chr(c) if 32 <= c < 127 and c not in b'"\\' else f"\\{c:02X}" for c in data)
    return f'@{name}.text = internal constant [{len(data)} x i8] c"{shown}"'


# ---- when a kernel fails

_handlers: list[Handler] = []
_last = threading.local()
_made: list[Callback] = []


def _message() -> Callback:
    """The function that handlers call for a message."""
    if not _made:
        _made.append(callback(_told, 3))
    return _made[0]


def _told(number: int, status: int, report: int) -> int:
    """The address of the message for a handler's status; it stays until the thread asks for another one."""
    flat = _handlers[number].flat
    words = [word - (word >> 63 << 64) for word in read_words(report, 4)]
    error = flat.kernel.error(status, words)
    notes = "".join(f"\n{note}" for note in getattr(error, "__notes__", ()))
    text = f"{flat.name}: {type(error).__name__}: {error}{notes}"
    _last.text = np.frombuffer(text.encode() + b"\0", np.uint8)
    return _last.text.ctypes.data


__all__ = ["ELEMENTS", "Handler"]
