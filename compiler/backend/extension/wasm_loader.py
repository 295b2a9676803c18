"""The JavaScript that loads a module of WebAssembly and calls its functions, as text, from what they take and give.

    loader(...)          the text of an ES module with `load(bytes)`, which gives the functions

It checks what a call is given, and has the memory: of arguments, of results and, by malloc and its kin, of temporaries
whose sizes are known in a call only.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from typing import Any

from ...ir.types import Dim, Size
from ..entries.specs import CONTAINERS, ArraySpec, StaticSpec
from .describe import Case, Function, doc, nodes, number_dtype, served_words

_ARRAYS = {"bool": "Uint8Array", "i32": "Int32Array", "i64": "BigInt64Array", "f32": "Float32Array",
           "f64": "Float64Array"}


def loader(functions: Sequence[tuple[Function, tuple[tuple[str, str], ...]]], name: str, end: int) -> str:
    """The text of an ES module for these functions and what their statuses mean."""
    told = {f.name: _described(f, failures, f"{name}_{f.name}") for f, failures in functions}
    return _LOADER.replace("MODULE", name).replace("END", str(end)).replace("FUNCTIONS", json.dumps(told))


def _described(f: Function, failures: Sequence[tuple[str, str]], kernel: str) -> dict[str, Any]:
    """What the loader knows of a function."""
    inputs = []
    for path, spec in nodes(f.names, f.args):
        if not isinstance(spec, (*CONTAINERS, StaticSpec)):
            dtype, shape = (spec.dtype, spec.shape) if isinstance(spec, ArraySpec) else (number_dtype(spec), ())
            assert dtype is not None
            inputs.append([path, _ARRAYS[dtype], _dims(shape)])
    return {
        "kernel": kernel,
        "sizes": list(f.sizes),
        "inputs": inputs,
        "fixed": [base64.b64encode(a.tobytes()).decode() for a in f.extras],
        "cases": [_case(case) for case in f.cases or (Case(f.graph),)],
        "served": served_words(f) if f.sizes else "",
        "failures": [f"{kind}: {text}".replace("%%", "%") for kind, text in failures],
        "doc": doc(f).partition("\n--\n\n")[2],
    }


def _case(case: Case) -> dict[str, Any]:
    """When a case holds, and what it gives: sizes as sums of [factor, names]."""
    return {
        "quotients": [[name, _dim(dividend), divisor] for name, (dividend, divisor) in case.quotients.items()],
        "guards": [[_dim(guard.size), guard.relation] for guard in case.conditions()],
        "outputs": [[_ARRAYS[r.type.dtype], _dims(r.type.shape)] for r in case.graph.results],
    }


def _dims(shape: Sequence[Dim]) -> list[Any]:
    return [_dim(each) for each in shape]


def _dim(dim: Dim) -> Any:
    return [[factor, *names] for names, factor in dim.terms] if isinstance(dim, Size) else dim


_LOADER = """\
// Functions of MODULE.wasm.
//
//     import {load} from "./MODULE.mjs";
//     const kernels = await load(bytes of MODULE.wasm, or what fetch() gives);
//
// Numbers and typed arrays go in, in row-major order, one for each input below, after an object with the sizes if they
// have names: f({n: 40}, x). An array of the outputs comes back: numbers (BigInt for 64-bit integers) and fresh typed
// arrays. What does not fit is a TypeError or a RangeError, and where the Python function raises there is an Error.

export const functions = FUNCTIONS;

const KINDS = {Uint8Array, Int32Array, BigInt64Array, Float32Array, Float64Array};
const STACK = 1 << 20, PAGE = 1 << 16;
const HOLDS = {"> 0": (n) => n > 0, "== 0": (n) => n === 0, "!= 0": (n) => n !== 0};
const round = (n) => Math.ceil(n / 64) * 64;
const count = (shape) => shape.reduce((a, b) => a * b, 1);

export async function load(source) {
  source = await source;
  const bytes = source instanceof ArrayBuffer || ArrayBuffer.isView(source) ? source : await source.arrayBuffer();
  const module = await WebAssembly.compile(bytes);
  const first = round(END) + STACK;
  const memory = new WebAssembly.Memory({initial: Math.ceil(first / PAGE) + 1});
  const heap = heapOf(memory, first);
  const env = {
    __linear_memory: memory,
    __stack_pointer: new WebAssembly.Global({value: "i32", mutable: true}, first),
    __indirect_function_table: new WebAssembly.Table({initial: 4096, element: "anyfunc"}),
    malloc: (size) => heap.take(Number(size)),
    free: (at) => heap.give(at >>> 0),
    realloc: (at, size) => heap.move(at >>> 0, Number(size)),
  };
  for (const {name, kind} of WebAssembly.Module.imports(module)) {
    if (kind !== "function" || env[name]) continue;
    const plain = name.replace(/f$/, "");
    env[name] = plain === "fmod" ? (a, b) => a % b : (Math[name] ?? Math[plain]);
    if (!env[name]) throw new Error(`MODULE.wasm calls ${name}, which Math has not`);
  }
  const {exports} = await WebAssembly.instantiate(module, {env});
  const made = {};
  for (const [name, f] of Object.entries(functions))
    made[name] = (...given) => call(name, f, given, exports[f.kernel], memory, heap);
  return made;
}

// Blocks of memory from `first` on, at multiples of 64; the memory grows when they need more, and 0 is no block.
function heapOf(memory, first) {
  const blocks = [];
  const take = (size) => {
    let at = first, k = 0;
    size = round(size) + 64;
    for (; k < blocks.length && blocks[k][0] - at < size; ++k) at = blocks[k][1];
    const missing = at + size - memory.buffer.byteLength;
    try {
      if (missing > 0) memory.grow(Math.ceil(missing / PAGE));
    } catch {
      return 0;
    }
    blocks.splice(k, 0, [at, at + size]);
    return at;
  };
  const give = (at) => {
    const k = blocks.findIndex((each) => each[0] === at);
    if (k >= 0) blocks.splice(k, 1);
  };
  const move = (at, size) => {
    const old = blocks.find((each) => each[0] === at), to = take(size);
    if (!old || !to) return to;
    new Uint8Array(memory.buffer).copyWithin(to, at, Math.min(old[1], at + size));
    give(at);
    return to;
  };
  return {take, give, move};
}

function call(name, f, given, kernel, memory, heap) {
  const sizes = f.sizes.length ? sizesOf(name, f, given[0]) : {};
  const values = f.sizes.length ? given.slice(1) : given;
  if (values.length !== f.inputs.length) {
    const wanted = [...(f.sizes.length ? [`{${f.sizes.join(", ")}}`] : []), ...f.inputs.map((x) => x[0])];
    throw new TypeError(`${name} takes (${wanted.join(", ")}), got ${given.length} arguments`);
  }
  const number = (dim) => (typeof dim === "number" ? dim
    : dim.reduce((sum, [factor, ...names]) => sum + names.reduce((a, b) => a * sizes[b], factor), 0));
  const fits = (each) => {
    for (const [own, dividend, divisor] of each.quotients) sizes[own] = Math.floor(number(dividend) / divisor);
    return each.guards.every(([size, relation]) => HOLDS[relation](number(size)));
  };
  const checked = f.inputs.map(([path, kind, shape], k) => input(`${name}: argument ${path}`, values[k], kind,
    shape.map(number), shape.map(spelled)));
  const found = f.cases.find(fits);
  if (!found) throw new RangeError(unserved(name, f, given[0]));
  const places = [];
  const place = (bytes) => {
    const at = heap.take(bytes);
    if (!at) throw new RangeError(`${name}: there is no memory for ${bytes} bytes`);
    places.push(at);
    return at;
  };
  try {
    if (f.sizes.length) {
      const at = place(8 * f.sizes.length), view = new BigInt64Array(memory.buffer, at, f.sizes.length);
      f.sizes.forEach((each, k) => (view[k] = BigInt(sizes[each])));
    }
    for (const each of [...checked, ...f.fixed.map((text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0)))]) {
      const at = place(each.byteLength);
      new each.constructor(memory.buffer, at, each.length).set(each);
    }
    const outputs = found.outputs.map(([kind, shape]) => [KINDS[kind], shape.map(number)]);
    const results = outputs.map(([kind, shape]) => place(count(shape) * kind.BYTES_PER_ELEMENT));
    const report = place(32);
    const status = Number(kernel(...places));
    if (status > 0) {
      const [told] = new BigInt64Array(memory.buffer, report, 1);
      throw new Error(f.failures[status - 1].replace("%lld", told));
    }
    if (status === -3) throw new RangeError(unserved(name, f, given[0]));
    if (status < 0) throw new RangeError(`${name}: there is no memory for its temporaries`);
    return outputs.map(([kind, shape], k) => {
      const view = new kind(memory.buffer, results[k], count(shape));
      return shape.length === 0 ? view[0] : view.slice();
    });
  } finally {
    places.forEach(heap.give);
  }
}

function unserved(name, f, sizes) {
  const told = f.sizes.map((each) => `${each} = ${sizes[each]}`).join(", ");
  return `${name}: ${told}: there is code for ${f.served}`;
}

function sizesOf(name, f, given) {
  const wanted = `{${f.sizes.join(", ")}}`, odd = Object.keys(Object(given)).find((each) => !f.sizes.includes(each));
  if (typeof given !== "object" || given === null || ArrayBuffer.isView(given))
    throw new TypeError(`${name} takes an object with its sizes ${wanted} first`);
  if (odd !== undefined) throw new TypeError(`${name} has no size ${odd}: its sizes are ${wanted}`);
  const made = {};
  for (const each of f.sizes) {
    const size = typeof given[each] === "bigint" ? Number(given[each]) : given[each];
    if (!Number.isSafeInteger(size) || size < 0)
      throw new RangeError(`${name}: size ${each} is ${given[each]}, expected an integer from 0 on`);
    made[each] = size;
  }
  return made;
}

function spelled(dim) {
  if (typeof dim === "number") return dim;
  const term = ([factor, ...names]) => [...(factor === 1 && names.length ? [] : [factor]), ...names].join("*");
  return dim.length > 1 ? `(${dim.map(term).join(" + ")})` : term(dim[0]);
}

function input(path, value, kind, shape, words) {
  const Kind = KINDS[kind], size = count(shape);
  if (shape.length === 0 && !ArrayBuffer.isView(value)) return Kind.of(number(path, value, kind));
  const named = words.some((each) => typeof each === "string");
  if (!(value instanceof Kind)) throw new TypeError(`${path} is no ${kind} of ${size} elements`);
  if (value.length !== size) {
    const expected = words.join(" x ") + (named ? ` = ${size}` : "");
    throw new RangeError(`${path} has ${value.length} elements, expected ${expected}`);
  }
  return kind === "Uint8Array" ? value.map((each) => (each ? 1 : 0)) : value;
}

function number(path, value, kind) {
  const big = kind === "BigInt64Array";
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

__all__ = ["loader"]
