"""Functions that native code enters directly.

`NativeFunction` is the base of what users see as a compiled function. Its instances start with
nothing but a slow path; `install` puts native entries in front of it. A call goes through the
entries until one accepts the arguments, and ends in `__slow__` otherwise. The newest is the first;
another one becomes the first when it has been hit a number of times.
"""

from __future__ import annotations

import ctypes
import functools
import types
from collections.abc import Callable
from typing import Any

from .. import python_abi
from ..linking.module import Linked
from ..process import interpreter_symbol, python_callable
from . import native_text
from .calls import CtypesEntry
from .text import EntryText
from .type_text import INSTANCE_SIZE, OWNERS, VECTORCALL

_TYPE_NAME = f"{__name__}.NativeBase"
_DOC = "The native part of NativeFunction."


class _Slot(ctypes.Structure):
    _fields_ = [("number", ctypes.c_int), ("value", ctypes.c_void_p)]


class _Member(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("kind", ctypes.c_int), ("offset", ctypes.c_ssize_t),
                ("flags", ctypes.c_int), ("doc", ctypes.c_char_p)]


class _TypeSpec(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("basicsize", ctypes.c_int), ("itemsize", ctypes.c_int),
                ("flags", ctypes.c_uint), ("slots", ctypes.POINTER(_Slot))]


class Owner:
    """What a running entry needs in memory: its module and the objects it names."""

    __slots__ = ("__weakref__", "keep", "linked")

    def __init__(self, linked: Linked, keep: list[object]) -> None:
        self.linked = linked
        self.keep = keep


class _CtypesBase:
    """What stands in for the native type where the interpreter's objects are not known."""

    _owners: list[CtypesEntry]
    __slow__: Callable[..., Any]
    __failed__: Callable[..., Any]

    def __new__(cls, *args: object, **kwargs: object) -> _CtypesBase:
        self = super().__new__(cls)
        self._owners = []
        return self

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        for entry in () if kwargs else reversed(tuple(self._owners)):
            inputs = entry.read(args)
            if inputs is not None:
                return entry.run(inputs, self.__failed__)
        return self.__slow__(*args, **kwargs)

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)


def _native_base() -> type:
    """The heap type, made once."""
    members = (_Member * 3)(
        _Member(b"__vectorcalloffset__", python_abi.MEMBER_SIZE, VECTORCALL,
                python_abi.MEMBER_READONLY, None),
        _Member(b"_owners", python_abi.MEMBER_OBJECT, OWNERS, python_abi.MEMBER_READONLY, None))
    doc = ctypes.create_string_buffer(_DOC.encode())
    slots = [
        (python_abi.SLOT_NEW, native_text.address("new")),
        (python_abi.SLOT_TRAVERSE, native_text.address("traverse")),
        (python_abi.SLOT_CLEAR, native_text.address("clear")),
        (python_abi.SLOT_DEALLOC, native_text.address("dealloc")),
        (python_abi.SLOT_DESCR_GET, native_text.address("bind")),
        (python_abi.SLOT_CALL, interpreter_symbol("PyVectorcall_Call")),
        (python_abi.SLOT_MEMBERS, ctypes.addressof(members)),
        (python_abi.SLOT_DOC, ctypes.addressof(doc)),
        (0, None)]
    flags = (python_abi.IMMUTABLE_TYPE | python_abi.BASE_TYPE | python_abi.HAVE_VECTORCALL
             | python_abi.HAVE_GC | python_abi.METHOD_DESCRIPTOR)
    spec = _TypeSpec(_TYPE_NAME.encode(), INSTANCE_SIZE, 0, flags,
                     (_Slot * len(slots))(*(_Slot(*slot) for slot in slots)))
    make = python_callable(interpreter_symbol("PyType_FromSpec"), ctypes.py_object, ctypes.c_void_p)
    base = make(ctypes.addressof(spec))
    _kept.append((spec, members, doc))  # some versions read the spec's strings later
    return base


_kept: list[object] = []
_Base: Any = _native_base() if python_abi.SUPPORTED else _CtypesBase


class NativeFunction(_Base):
    """A callable with native entries. Subclasses say what to do when no entry accepts the arguments
    and when a kernel fails; they may not define `__call__` or `__get__`."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if cls.__call__ is not NativeFunction.__call__ or cls.__get__ is not NativeFunction.__get__:
            raise TypeError(f"{cls.__name__} defines __call__ or __get__, which native entries "
                            "would bypass; define __slow__ instead")
        _mark_callable(cls)

    def __slow__(self, *args: Any, **kwargs: Any) -> Any:
        """The call in Python."""
        raise TypeError(f"no entry of {self!r} accepts these arguments")

    def __failed__(self, site: int, report: tuple[int, ...]) -> None:
        """Raise the exception for a kernel that failed."""
        raise RuntimeError(f"the kernel of {self!r} failed at site {site} with {report}")


def _mark_callable(cls: type) -> None:
    """Let the interpreter use the native entry of instances also for calls and method calls.

    Types made by a class statement do not inherit these two flags, because their `__call__` or
    `__get__` could be replaced; ours may not be.
    """
    if python_abi.SUPPORTED:
        flags = ctypes.c_ulong.from_address(id(cls) + python_abi.TYPE_FLAGS)
        flags.value |= python_abi.HAVE_VECTORCALL | python_abi.METHOD_DESCRIPTOR


_mark_callable(NativeFunction)


def install(function: NativeFunction, linked: Linked, entry: EntryText) -> None:
    """Put an entry in front of a function's others. An entry belongs to one function, once."""
    if not entry.text:
        function._owners.append(CtypesEntry(linked, entry.kernel, entry.args, entry.result))
        return
    owner = Owner(linked, entry.keep)
    put = _native("install", *[ctypes.py_object] * 3, *[ctypes.c_void_p] * 2)
    status = put(function, owner, linked, linked.address(entry.name), linked.address(entry.cells))
    if status == 1:
        raise ValueError(f"entry {entry.name!r} is already installed; link its module once more")
    if status == 2:
        raise ReferenceError("the function is being torn down by the garbage collector")


def reset(function: NativeFunction) -> None:
    """Forget all entries. Calls that run in them end well."""
    if python_abi.SUPPORTED:
        _native("reset", ctypes.py_object)(function)
    else:
        function._owners = []


def entry_count(function: NativeFunction) -> int:
    """How many entries a function has."""
    return len(function._owners)


@functools.cache
def _native(name: str, *arguments: Any) -> Callable[..., int]:
    return python_callable(native_text.address(name), ctypes.c_int, *arguments)
