"""Pickles of plain data: a pickle's bytes go in, and numbers, strings and containers of them come out.

Nothing is looked up by a name that the bytes give, except in a table that the caller has; an operation that would call
or change anything else ends the reading. What the operations are is told in Python's `pickletools`.
"""

from __future__ import annotations

import struct
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

from ..tensor.value.dtypes import DType, device
from .numpy_values import built
from .structure import Damaged

FIXED = {
    b"\x80": "<B", b"\x95": "<Q", b"K": "<B", b"M": "<H", b"J": "<i", b"G": ">d", b"q": "<B", b"r": "<I", b"h": "<B",
    b"j": "<I",
}  # fmt: skip
"""Operations with an argument, and how it lies in the bytes."""
COUNTED = {
    b"X": "<I", b"\x8c": "<B", b"\x8d": "<Q", b"U": "<B", b"T": "<I", b"C": "<B", b"B": "<I", b"\x8e": "<Q",
    b"\x8a": "<B",
}  # fmt: skip
"""Operations with an argument that is as long as the number in front of it says."""
TEXTS = (b"X", b"\x8c", b"\x8d", b"U", b"T")
CONSTANTS = {b"N": None, b"\x88": True, b"\x89": False, b")": ()}
EMPTY: dict[bytes, Callable[[], Any]] = {b"}": dict, b"]": list, b"\x8f": set}
PUSHED = (*TEXTS, b"K", b"M", b"J", b"G", b"C", b"B", b"\x8e", b"\x8a")
"""Operations whose argument is the value itself."""
TUPLES = {b"\x85": 1, b"\x86": 2, b"\x87": 3}
COPIED = 1 << 20
"""How many elements may be copied from one container to another, apart from 16 for each byte."""
KEYS = (bool, float, str, bytes, DType, device, type(None))


class KnownName:
    """A name that a file may give, and what calls of it make here."""

    __slots__ = ("name", "make")

    def __init__(self, name: str, make: Callable[..., Any]) -> None:
        self.name, self.make = name, make


def tokens(data: bytes, start: int = 0) -> Iterator[tuple[bytes, Any, int]]:
    """The operations of the pickle that begins at a byte: their codes, arguments and where they end."""
    at = start
    while True:
        code = data[at : at + 1]
        at += 1
        argument: Any = None
        if code in FIXED or code in COUNTED:
            form = FIXED.get(code) or COUNTED[code]
            size = struct.calcsize(form)
            (argument,) = struct.unpack(form, data[at : at + size])
            at += size
            if code in COUNTED:
                if argument > len(data) - at:
                    raise Damaged(f"its pickle ends within the argument at byte {at:,}")
                argument, at = data[at : at + argument], at + argument
                if code == b"\x8a":
                    argument = int.from_bytes(argument, "little", signed=True)
                elif code in TEXTS:
                    argument = argument.decode("utf-8", "surrogatepass")
        elif code == b"c":
            middle = data.index(b"\n", at)
            end = data.index(b"\n", middle + 1)
            argument, at = (data[at:middle].decode(), data[middle + 1 : end].decode()), end + 1
        elif not code:
            raise Damaged("its pickle has no end")
        yield code, argument, at
        if code == b".":
            return


def check_key(key: Any, level: int = 0) -> None:
    """Refuse what cannot be a key, or takes long to compare."""
    if isinstance(key, KEYS) or (type(key) is int and -(2**64) < key < 2**64):
        return
    if not isinstance(key, tuple) or level > 2 or len(key) > 64:
        raise Damaged(f"it has a dict or set with a key of type {type(key).__name__}")
    for part in key:
        check_key(part, level + 1)


class PickleReader:
    """One pickle's value. `find` gives what a name means, `persistent` what stands outside of the pickle."""

    def __init__(self, data: bytes, find: Callable[[str, str], Any], persistent: Callable[[Any], Any]) -> None:
        self.data, self.find, self.persistent = data, find, persistent
        self.stack: list[Any] = []
        self.marks: list[int] = []
        self.memo: dict[int, Any] = {}
        self.left = COPIED + 16 * len(data)
        self.end = 0

    def value(self, start: int = 0) -> Any:
        """What the pickle that begins at a byte means; `end` is the byte after it. Raises Damaged."""
        try:
            for code, argument, end in tokens(self.data, start):
                self.end = end
                self.step(code, argument)
            if len(self.stack) != 1 or self.marks:
                raise Damaged("its pickle leaves more or less than one value")
            return self.stack[0]
        except (ValueError, TypeError, LookupError, AttributeError, OverflowError, struct.error) as error:
            raise Damaged(f"its pickle makes no sense at byte {self.end:,} ({type(error).__name__}: {error})") from None

    def step(self, code: bytes, argument: Any) -> None:
        stack = self.stack
        if code in PUSHED:
            stack.append(argument)
        elif code in (b"q", b"r"):
            self.memo[argument] = stack[-1]
        elif code in (b"h", b"j"):
            stack.append(self.memo[argument])
        elif code == b"\x94":
            self.memo[len(self.memo)] = stack[-1]
        elif code in CONSTANTS:
            stack.append(CONSTANTS[code])
        elif code in EMPTY:
            stack.append(EMPTY[code]())
        elif code == b"(":
            self.marks.append(len(stack))
        elif code in TUPLES:
            self.tuple(len(stack) - TUPLES[code])
        elif code == b"t":
            self.tuple(self.marks.pop())
        elif code in (b"c", b"\x93"):
            self.name(argument)
        elif code in (b"R", b"\x81"):
            self.call()
        elif code == b"b":
            self.build()
        elif code == b"Q":
            stack[-1] = self.persistent(stack[-1])
        elif code in (b"s", b"a", b"u", b"e", b"\x90"):
            self.put(code)
        elif code == b"\x91":
            items = self.above(self.marks.pop())
            for key in items:
                check_key(key)
            stack.append(frozenset(items))
        elif code not in (b".", b"\x80", b"\x95"):
            raise Damaged(f"its pickle has the operation {code!r}, which plain data do not need")

    def above(self, place: int) -> list[Any]:
        if not 0 <= place <= len(self.stack):
            raise Damaged("its pickle takes more values than there are")
        items = self.stack[place:]
        del self.stack[place:]
        return items

    def tuple(self, place: int) -> None:
        self.stack.append(tuple(self.above(place)))

    def name(self, argument: Any) -> None:
        module, name = argument or self.above(len(self.stack) - 2)
        if not isinstance(module, str) or not isinstance(name, str):
            raise Damaged("its pickle has a name that is no text")
        self.stack.append(self.find(module, name))

    def call(self) -> None:
        function, args = self.above(len(self.stack) - 2)
        if not isinstance(function, KnownName) or type(args) is not tuple:
            raise Damaged(f"its pickle calls a value of type {type(function).__name__}")
        self.count(args)
        self.stack.append(function.make(*args))

    def count(self, args: tuple[Any, ...]) -> None:
        """That these may be copied."""
        for each in args:
            if isinstance(each, (list, tuple, dict, set, str, bytes)):
                self.left -= len(each)
        if self.left < 0:
            raise Damaged("its pickle copies the same values again and again")

    def build(self) -> None:
        """What a state_dict has beside its tensors, the versions of its modules' layouts, and NumPy's arrays."""
        (state,) = self.above(len(self.stack) - 1)
        made = self.stack[-1]
        self.count(state if type(state) is tuple else (state,))
        if built(made, state):
            return
        if type(made) is not OrderedDict or not isinstance(state, dict) or list(state) != ["_metadata"]:
            raise Damaged(f"its pickle gives attributes to a value of type {type(made).__name__}")
        made._metadata = state["_metadata"]  # type: ignore[attr-defined]

    def put(self, code: bytes) -> None:
        """Items into the dict, list or set below them."""
        if code in (b"s", b"a"):
            items = self.above(len(self.stack) - (2 if code == b"s" else 1))
        else:
            items = self.above(self.marks.pop())
        into = self.stack[-1]
        if code in (b"s", b"u"):
            if type(into) not in (dict, OrderedDict, Counter) or len(items) % 2:
                raise Damaged(f"its pickle sets items of a value of type {type(into).__name__}")
            for key, value in zip(items[::2], items[1::2], strict=True):
                check_key(key)
                into[key] = value
        elif code == b"\x90":
            if type(into) is not set:
                raise Damaged(f"its pickle adds to a value of type {type(into).__name__}")
            for key in items:
                check_key(key)
            into.update(items)
        elif type(into) is not list:
            raise Damaged(f"its pickle appends to a value of type {type(into).__name__}")
        else:
            into.extend(items)
