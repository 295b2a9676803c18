"""Pickles of plain data and tensors as PyTorch reads them: a value goes in, bytes and the tensors' memory come out.

Each operation is written as `pickletools` tells it; the names in it are those that PyTorch's own files have.
"""

from __future__ import annotations

import struct
from collections import Counter, OrderedDict
from typing import Any

import numpy as np

from ..nn.parameter import Parameter
from ..tensor.face.queries import strided
from ..tensor.face.tensor import hung_on
from ..tensor.trace.tape import tapes
from ..tensor.value.aliases import tell_alias
from ..tensor.value.core import Core
from ..tensor.value.dtypes import ALL, DType, Size, device
from ..tensor.value.paths import part_of
from .numpy_values import KINDS, PLAIN
from .structure import LEVELS, refusal
from .weights import SAVED_AS, UNTYPED

OF_CODE = {d.code: SAVED_AS[d.name] for d in ALL.values() if d.name not in UNTYPED}
"""PyTorch's class of storages for each dtype."""


class PickleWriter:
    """One value's pickle, `made`, and the storages that it names, in `arrays`. What occurs twice is written once."""

    def __init__(self) -> None:
        self.made = bytearray(b"\x80\x02")
        self.arrays: list[np.ndarray] = []
        self.memo: dict[Any, int] = {}
        self.keys: dict[int, int] = {}
        self.held: list[Any] = []  # an id says what it did as long as its object lives

    def pickle(self, value: Any) -> bytes:
        self.value(value, "", 0)
        return bytes(self.made + b".")

    # ---- what is written again is referred to

    def known(self, key: Any) -> bool:
        at = self.memo.get(key)
        if at is not None:
            self.made += b"h" + bytes([at]) if at < 256 else b"j" + struct.pack("<I", at)
        return at is not None

    def remember(self, key: Any) -> None:
        at = self.memo[key] = len(self.memo)
        self.made += b"q" + bytes([at]) if at < 256 else b"r" + struct.pack("<I", at)

    def name(self, module: str, name: str) -> None:
        if not self.known((module, name)):
            self.made += f"c{module}\n{name}\n".encode()
            self.remember((module, name))

    def text(self, text: str) -> None:
        if not self.known((str, text)):
            data = text.encode("utf-8", "surrogatepass")
            self.made += b"X" + struct.pack("<I", len(data)) + data
            self.remember((str, text))

    def call(self, module: str, name: str, *args: Any, path: str = "", level: int = 0) -> None:
        """A call of what a name means, with values or functions that write them."""
        self.name(module, name)
        self.made += b"("
        for arg in args:
            if callable(arg):
                arg()
            else:
                self.value(arg, path, level)
        self.made += b"tR"

    # ---- values

    def value(self, value: Any, path: str, level: int) -> None:
        if level > LEVELS:
            raise ValueError(f"save: data nested more than {LEVELS} levels deep, at {path[:80]}...")
        kind = type(value)
        if value is None or kind is bool:
            self.made += b"N" if value is None else b"\x88" if value else b"\x89"
        elif kind is int:
            self.number(value, path)
        elif isinstance(value, float):
            self.made += b"G" + struct.pack(">d", value)
        elif kind is str:
            self.text(value)
        elif not self.known(id(value)):
            self.held.append(value)
            self.thing(value, path, level)
            if id(value) not in self.memo:
                self.remember(id(value))

    def number(self, value: int, path: str) -> None:
        if 0 <= value < 256:
            self.made += b"K" + bytes([value])
        elif -(2**31) <= value < 2**31:
            self.made += b"J" + struct.pack("<i", value)
        else:
            data = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
            if len(data) > 255:
                raise TypeError(f"save: an int of {value.bit_length()} bits at {path}; at most 2039 can be saved")
            self.made += b"\x8a" + bytes([len(data)]) + data

    def thing(self, value: Any, path: str, level: int) -> None:
        kind = type(value)
        if isinstance(value, Core):
            self.tensor(value, path, level)
        elif kind in (dict, Counter) or isinstance(value, OrderedDict):  # a module's state_dict is a kind of these
            self.mapping(value, path, level)
        elif kind is list:
            self.made += b"]"
            self.remember(id(value))
            self.items(value, path, level, b"e")
        elif kind is tuple:
            self.items(value, path, level, b"t")
        elif kind is Size:
            self.call("torch", "Size", tuple(value))
        elif kind in (bytes, bytearray):
            text = value.decode("latin1")
            if kind is bytes:
                self.call("_codecs", "encode", text, "latin1")
            else:
                self.call("__builtin__", "bytearray", text, "latin-1")
        elif kind is complex:
            self.call("__builtin__", "complex", value.real, value.imag)
        elif kind is set:
            self.call("__builtin__", "set", list(value), path=path, level=level + 1)
        elif isinstance(value, np.ndarray) and PLAIN.fullmatch(value.dtype.str):
            rows = bytearray(value.tobytes())
            self.held.append(rows)
            self.call("numpy", "ndarray", value.shape, value.dtype.str, rows)
        elif isinstance(value, np.generic) and kind.__name__ in KINDS:
            self.call("numpy", "bool_" if isinstance(value, np.bool_) else kind.__name__, value.item())
        elif isinstance(value, DType):
            self.name("torch", value.name)
        elif isinstance(value, device):
            self.call("torch", "device", "cpu")
        elif value is strided:
            self.call("torch.serialization", "_get_layout", "torch.strided")
        else:
            raise TypeError(refusal(value, path))

    def items(self, values: Any, path: str, level: int, end: bytes) -> None:
        self.made += b"("
        for k, value in enumerate(values):
            self.value(value, f"{path}.{k}" if path else str(k), level + 1)
        self.made += end

    def mapping(self, value: Any, path: str, level: int) -> None:
        if type(value) is dict:
            self.made += b"}"
        else:
            self.name("collections", "Counter" if type(value) is Counter else "OrderedDict")
            self.made += b")R"
        self.remember(id(value))
        self.made += b"("
        for key, item in value.items():
            self.key(key, path)
            self.value(item, f"{path}.{key}" if path else str(key), level + 1)
        self.made += b"u"
        metadata = getattr(value, "_metadata", None)
        if metadata is not None:
            self.value({"_metadata": metadata}, path, level + 1)
            self.made += b"b"

    def key(self, key: Any, path: str) -> None:
        parts = key if type(key) is tuple else (key,)
        if not all(part is None or type(part) in (bool, int, float, str) for part in parts) or any(
            type(part) is int and abs(part) >= 2**64 for part in parts
        ):
            where = f" at {path}" if path else ""
            raise TypeError(
                f"save: a dict's key must be a number of 64 bits, a string or a tuple of these, got"
                f" {type(key).__name__}{where}"
            )
        self.value(key, path, 0)

    # ---- tensors

    def tensor(self, x: Any, path: str, level: int) -> None:
        state = hung_on(x)
        again = "_rebuild_parameter_with_state" if state else "_rebuild_parameter"
        if isinstance(x, Parameter):
            more = [state] if state else []
            hooks = OrderedDict()
            self.held.append(hooks)
            self.call(
                "torch._utils", again, lambda: self.plain(x, False), bool(x.requires_grad), hooks, *more,
                path=path, level=level + 1,
            )  # fmt: skip
        elif state:
            self.call(
                "torch._tensor", "_rebuild_from_type_v2", lambda: self.maker(x),
                lambda: self.name("torch", "Tensor"), lambda: self.parts(x, bool(x.requires_grad)), state,
                path=path, level=level + 1,
            )  # fmt: skip
        else:
            self.plain(x, bool(x.requires_grad))

    def plain(self, x: Any, requires_grad: bool) -> None:
        self.maker(x)
        self.parts(x, requires_grad)
        self.made += b"R"

    def maker(self, x: Any) -> None:
        """The function that makes the tensor of its parts."""
        self.name("torch._utils", "_rebuild_tensor_v3" if x.dtype.name in UNTYPED else "_rebuild_tensor_v2")

    def parts(self, x: Any, requires_grad: bool) -> None:
        """The storage, and where the elements lie in it."""
        owner, memory, part = memory_of(x)
        offset = (part.ctypes.data - memory.ctypes.data) // part.itemsize if part.size else 0
        strides = [s // part.itemsize for s in part.strides] if part.size else strides_of(part.shape)
        if any(s < 0 for s in strides):
            owner, memory = part, np.ascontiguousarray(part)
            offset, strides = 0, [s // part.itemsize for s in memory.strides]
        self.held.append(owner)
        key = self.keys.setdefault(id(owner), len(self.arrays))
        if key == len(self.arrays):
            self.arrays.append(memory)
        self.made += b"(("
        self.text("storage")
        untyped = x.dtype.name in UNTYPED
        self.name(*("torch.storage", "UntypedStorage") if untyped else ("torch", OF_CODE[x.dtype.code]))
        self.text(str(key))
        self.text("cpu")
        self.number(memory.nbytes if untyped else memory.size, "")
        self.made += b"tQ"
        self.number(offset, "")
        self.shape(part.shape)
        self.shape(strides)
        self.made += b"\x88" if requires_grad else b"\x89"
        self.name("collections", "OrderedDict")
        self.made += b")R"
        if untyped:
            self.name("torch", x.dtype.name)
        self.made += b"t"

    def shape(self, numbers: Any) -> None:
        self.made += b"("
        for n in numbers:
            self.number(int(n), "")
        self.made += b"t"


def strides_of(shape: tuple[int, ...]) -> list[int]:
    """Those of elements in rows, where arrays without any have others."""
    strides, size = [], 1
    for n in reversed(shape):
        strides.append(size)
        size *= max(n, 1)
    return strides[::-1]


def memory_of(x: Any) -> tuple[Any, np.ndarray, np.ndarray]:
    """Whose memory it is of which a tensor shows a part, all of that memory in a row, and the part."""
    tapes.tape.catch_up()  # a call that shares its memory may be on the tape only
    tell_alias(x)
    x._tell()  # a part of plain data that waits is a view of it from now on
    array, storage = x._array(), x._storage
    whole = array if storage is None else storage.value()
    whole = np.ascontiguousarray(whole).reshape(whole.shape)
    return (x, whole, whole) if storage is None else (storage, whole, part_of(whole, x._path))
