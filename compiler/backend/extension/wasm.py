"""A WebAssembly object as a module that a browser or Node runs as it is, beside the JavaScript that loads it.

LLVM writes an object's addresses and indices as if it were linked alone, so what a linker has left to do for one
object is to say which functions can be called. Source: WebAssembly's core specification 1.0, chapter 5 (sections), and
the tool conventions' Linking.md (the symbols of an object).

    linked(object)       the module; it imports its memory, its stack pointer, its table, functions of mathematics
                         and, for temporaries whose sizes are known in a call only, malloc, free and realloc
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from .bare import bare_kernel, bare_object, put
from .describe import Function
from .header import header
from .targets import MachineTarget
from .wasm_loader import loader

_HEAD = b"\0asm\1\0\0\0"
_CUSTOM, _EXPORT, _DATA_COUNT, _DATA = 0, 7, 12, 11
_AFTER_EXPORT = (8, 9, 10, 11)
_SYMBOLS, _FUNCTION, _DATA_SYMBOL, _SECTION = 8, 0, 1, 3
_CONSTANT, _END = 0x41, 0x0B  # i32.const, end
_UNDEFINED, _NAMED, _LOCAL, _HIDDEN = 0x10, 0x40, 0x02, 0x04


def write_wasm(functions: Sequence[Function], name: str, out: Path, target: MachineTarget) -> Path:
    """Write a module, the JavaScript that loads it, and the object it was made of; the path of the module."""
    made = [bare_kernel(f, f"{name}_{f.name}", target) for f in functions]
    code = bare_object(made, target)
    told = [(f, m.failures) for f, m in zip(functions, made, strict=True)]
    script = loader(told, name, data_end(code))
    return put(out, {f"{name}.wasm": linked(code), f"{name}.mjs": script.encode(), f"{name}.o": code,
                     f"{name}.h": header(told, name, _TOLD, f"{name}.o").encode()})


_TOLD = ["They run on wasm32.  A kernel with sizes or with a loop that keeps values calls malloc and realloc, whose",
         "sizes are int64_t here, and free; the .mjs has them."]

# ---- the module


def linked(code: bytes) -> bytes:
    """An object with its functions exported, and without what is for linkers."""
    if not code.startswith(_HEAD):
        raise ValueError("expected an object of WebAssembly")
    exports: list[bytes] = []
    kept: list[tuple[int, bytes]] = []
    for kind, data in _sections(code, len(_HEAD)):
        if kind not in (_CUSTOM, _DATA_COUNT):  # the count is for instructions that kernels have not
            kept.append((kind, data))
        else:
            reader = _Reader(data)
            if reader.vector() == b"linking":
                exports = [_vector(name) + b"\0" + _number(index) for name, index in _defined(reader)]
    kept = [(kind, _without_zeros(data) if kind == _DATA else data) for kind, data in kept]
    section = (_EXPORT, _number(len(exports)) + b"".join(exports))
    place = next((k for k, (kind, _) in enumerate(kept) if kind in _AFTER_EXPORT), len(kept))
    kept.insert(place, section)
    return _HEAD + b"".join(bytes([kind]) + _vector(data) for kind, data in kept)


def _defined(reader: _Reader) -> Iterator[tuple[bytes, int]]:
    """Functions that other objects may call, and their indices."""
    reader.number()  # of the format
    while reader.more():
        kind, data = reader.byte(), _Reader(reader.vector())
        for _ in range(data.number() if kind == _SYMBOLS else 0):
            what, flags = data.byte(), data.number()
            if what == _DATA_SYMBOL:
                data.vector()
                for _ in range(0 if flags & _UNDEFINED else 3):
                    data.number()
                continue
            index = data.number()
            named = what != _SECTION and (not flags & _UNDEFINED or flags & _NAMED)
            name = data.vector() if named else b""
            if what == _FUNCTION and not flags & (_UNDEFINED | _LOCAL | _HIDDEN):
                yield name, index


def data_end(code: bytes) -> int:
    """The first address behind what an object has in memory."""
    data = next((data for kind, data in _sections(code, len(_HEAD)) if kind == _DATA), b"\0")
    return max((at + len(held) for at, held in _segments(data)), default=0)


def _segments(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Addresses and bytes of a data section."""
    reader = _Reader(data)
    for _ in range(reader.number()):
        head = reader.byte(), reader.byte()
        at = reader.number()
        if head != (0, _CONSTANT) or reader.byte() != _END:
            raise ValueError("expected a segment of data at a constant address")
        yield at, reader.vector()


def _without_zeros(data: bytes) -> bytes:
    """A data section without what memory is anyway."""
    made = [bytes([0, _CONSTANT]) + _signed(at) + bytes([_END]) + _vector(held)
            for at, held in _segments(data) if any(held)]
    return _number(len(made)) + b"".join(made)


def _sections(code: bytes, at: int) -> Iterator[tuple[int, bytes]]:
    reader = _Reader(code, at)
    while reader.more():
        yield reader.byte(), reader.vector()


class _Reader:
    """Bytes read from the front."""

    def __init__(self, data: bytes, at: int = 0) -> None:
        self._data, self._at = data, at

    def more(self) -> bool:
        return self._at < len(self._data)

    def byte(self) -> int:
        self._at += 1
        return self._data[self._at - 1]

    def number(self) -> int:
        """An unsigned number in LEB128; addresses are not so large that their sign is set."""
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def vector(self) -> bytes:
        """So many bytes as a number before them says."""
        count = self.number()
        self._at += count
        return self._data[self._at - count:self._at]


def _number(value: int) -> bytes:
    made = bytearray()
    while value > 127:
        made.append(value & 127 | 128)
        value >>= 7
    return bytes([*made, value])


def _signed(value: int) -> bytes:
    """A number that is not negative, as a signed one."""
    made = bytearray(_number(value))
    if made[-1] & 64:
        made[-1] |= 128
        made.append(0)
    return bytes(made)


def _vector(data: bytes) -> bytes:
    return _number(len(data)) + data
