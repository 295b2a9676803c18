"""A WebAssembly object as a module that a browser or Node runs as it is, and the JavaScript that loads and calls it.

LLVM writes an object's addresses and indices as if it were linked alone, so what a linker has left to do for one
object is to say which functions can be called. Source: WebAssembly's core specification 1.0, chapter 5 (sections), and
the tool conventions' Linking.md (the symbols of an object).

    linked(object)       the module; it imports its memory, its stack pointer, its table and functions of mathematics
    loader(...)          the text of an ES module with `load(bytes)`, which gives the functions
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ...ir.types import Type
from .bare import bare_kernel, bare_object, put
from .describe import Function, doc
from .header import header
from .targets import MachineTarget

_HEAD = b"\0asm\1\0\0\0"
_CUSTOM, _EXPORT, _DATA_COUNT, _DATA = 0, 7, 12, 11
_AFTER_EXPORT = (8, 9, 10, 11)
_SYMBOLS, _FUNCTION, _DATA_SYMBOL, _SECTION = 8, 0, 1, 3
_CONSTANT, _END = 0x41, 0x0B  # i32.const, end
_UNDEFINED, _NAMED, _LOCAL = 0x10, 0x40, 0x02


def write_wasm(functions: Sequence[Function], name: str, out: Path, target: MachineTarget) -> Path:
    """Write a module, the JavaScript that loads it, and the object it was made of; the path of the module."""
    made = [bare_kernel(f, f"{name}_{f.name}", target) for f in functions]
    code = bare_object(made, target)
    told = [(f, m.failures) for f, m in zip(functions, made, strict=True)]
    script = loader(told, name, data_end(code))
    return put(out, {f"{name}.wasm": linked(code), f"{name}.mjs": script.encode(), f"{name}.o": code,
                     f"{name}.h": header(told, name, [f"They run on {target.name}."], f"{name}.o").encode()})


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
            if what == _FUNCTION and not flags & (_UNDEFINED | _LOCAL):
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


# ---- the loader

_ARRAYS = {"bool": "Uint8Array", "i32": "Int32Array", "i64": "BigInt64Array", "f32": "Float32Array",
           "f64": "Float64Array"}


def loader(functions: Sequence[tuple[Function, tuple[tuple[str, str], ...]]], name: str, end: int) -> str:
    """The text of an ES module for these functions and what their statuses mean."""
    told: dict[str, Any] = {}
    for f, failures in functions:
        params = f.graph.params
        fixed = len(params) - len(f.extras)
        names = [p.hint or f"in{k}" for k, p in enumerate(params)]
        told[f.name] = {
            "kernel": f"{name}_{f.name}",
            "inputs": [[each, *_spelled(p.type)] for each, p in zip(names[:fixed], params, strict=False)],
            "fixed": [base64.b64encode(a.tobytes()).decode() for a in f.extras],
            "outputs": [_spelled(r.type) for r in f.graph.results],
            "failures": [f"{kind}: {text}".replace("%%", "%") for kind, text in failures],
            "doc": doc(f).partition("\n--\n\n")[2],
        }
    return _LOADER.replace("MODULE", name).replace("END", str(end)).replace("FUNCTIONS", json.dumps(told))


def _spelled(type: Type) -> list[Any]:
    return [_ARRAYS[type.dtype], list(type.static_shape())]


_LOADER = """\
// Functions of MODULE.wasm.
//
//     import {load} from "./MODULE.mjs";
//     const kernels = await load(bytes of MODULE.wasm, or what fetch() gives);
//
// Numbers and typed arrays go in, in row-major order, one for each input below; an array of the outputs comes back:
// numbers (BigInt for 64-bit integers) and fresh typed arrays. What does not fit is a TypeError or a RangeError, and
// where the Python function raises there is an Error.

export const functions = FUNCTIONS;

const KINDS = {Uint8Array, Int32Array, BigInt64Array, Float32Array, Float64Array};
const STACK = 1 << 20, PAGE = 1 << 16;
const round = (n) => (n + 63) & ~63;
const count = (shape) => shape.reduce((a, b) => a * b, 1);

export async function load(source) {
  source = await source;
  const bytes = source instanceof ArrayBuffer || ArrayBuffer.isView(source) ? source : await source.arrayBuffer();
  const module = await WebAssembly.compile(bytes);
  const first = round(END) + STACK;
  let most = 0;
  for (const f of Object.values(functions)) {
    let size = 64 + f.fixed.reduce((sum, text) => sum + round(text.length), 0);
    for (const [kind, shape] of [...f.inputs.map((each) => each.slice(1)), ...f.outputs])
      size += round(count(shape) * KINDS[kind].BYTES_PER_ELEMENT) + 64;
    most = Math.max(most, size);
  }
  const memory = new WebAssembly.Memory({initial: Math.ceil((first + most) / PAGE) + 1});
  const env = {
    __linear_memory: memory,
    __stack_pointer: new WebAssembly.Global({value: "i32", mutable: true}, first),
    __indirect_function_table: new WebAssembly.Table({initial: 4096, element: "anyfunc"}),
  };
  for (const {name, kind} of WebAssembly.Module.imports(module)) {
    const plain = name.replace(/f$/, "");
    if (kind === "function") env[name] = plain === "fmod" ? (a, b) => a % b : (Math[name] ?? Math[plain]);
    if (kind === "function" && !env[name]) throw new Error(`MODULE.wasm calls ${name}, which Math has not`);
  }
  const {exports} = await WebAssembly.instantiate(module, {env});
  const made = {};
  for (const [name, f] of Object.entries(functions)) {
    made[name] = (...given) => call(name, f, given, exports[f.kernel], memory, first);
  }
  return made;
}

function call(name, f, given, kernel, memory, first) {
  if (given.length !== f.inputs.length)
    throw new TypeError(`${name} takes (${f.inputs.map((x) => x[0])}), got ${given.length} arguments`);
  let at = first;
  const places = [];
  const place = (kind, size) => {
    const view = new KINDS[kind](memory.buffer, at, size);
    places.push(at);
    at += round(view.byteLength) + 64;
    return view;
  };
  f.inputs.forEach(([path, kind, shape], k) => {
    const value = given[k], view = place(kind, count(shape)), big = kind === "BigInt64Array";
    if (shape.length === 0 && !ArrayBuffer.isView(value))
      view[0] = number(`${name}: argument ${path}`, value, kind, big);
    else if (!(value instanceof KINDS[kind]))
      throw new TypeError(`${name}: argument ${path} is no ${kind} of ${count(shape)} elements`);
    else if (value.length !== view.length)
      throw new RangeError(`${name}: argument ${path} has ${value.length} elements, expected ${shape.join(" x ")}`);
    else if (kind === "Uint8Array") value.forEach((each, j) => (view[j] = each ? 1 : 0));
    else view.set(value);
  });
  for (const text of f.fixed) {
    const raw = atob(text), view = place("Uint8Array", raw.length);
    for (let k = 0; k < raw.length; ++k) view[k] = raw.charCodeAt(k);
  }
  const results = f.outputs.map(([kind, shape]) => [place(kind, count(shape)), shape]);
  const report = new BigInt64Array(memory.buffer, at, 4);
  const status = Number(kernel(...places, at));
  if (status > 0) throw new Error(f.failures[status - 1].replace("%lld", report[0]));
  if (status < 0) throw new Error(`${name} is running already`);
  return results.map(([view, shape]) => (shape.length === 0 ? view[0] : view.slice()));
}

function number(path, value, kind, big) {
  if (typeof value === "boolean") value = Number(value);
  if (typeof value !== "number" && !(typeof value === "bigint" && big))
    throw new TypeError(`${path} is a ${typeof value}, expected a number`);
  if (kind.includes("Int") && typeof value === "number" && !Number.isSafeInteger(value))
    throw new RangeError(`${path} is ${value}, expected an integer`);
  if (kind === "Int32Array" && value !== (value | 0)) throw new RangeError(`${path} is ${value}, expected 32 bits`);
  if (big && BigInt.asIntN(64, BigInt(value)) !== BigInt(value)) throw new RangeError(`${path} has more than 64 bits`);
  if (kind === "Uint8Array") return value ? 1 : 0;
  return big ? BigInt(value) : value;
}
"""
