"""What a module carries of the functions it was made from: functions as data to bytes, and those bytes, found in a file
that is never run, back to functions.

    carried = pack(functions)          goes into the module as a constant
    unpack(path.read_bytes())          the functions, with their graphs parsed and verified, or a KernelError

    bytes  = MAGIC "format length-of-json length-of-arrays sha256" "\\n" json arrays
    json   = {"functions": [{"name", "names", "args", "result", "doc", "graph", "extras"}, ...]}

Arguments and results are trees, written as a stack machine would make them: items before their containers. So neither
writing nor reading goes as deep as a tree does. The checksum finds damage, not intent: a stranger may have written it.
"""

from __future__ import annotations

import hashlib
import json
import keyword
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...ir.explained import Explained
from ...ir.graph import Graph
from ...ir.text import ParseError, parse, show
from ...ir.types import Dim, Type
from ...ops.external import calls_python
from ..entries import specs
from .array_text import DTYPES
from .carried_sizes import case_nodes, case_of, cases_of, check_names, dim_of_text, size_name, spelled_shape
from .describe import FIXED, NUMPY_NAMES, Case, Function

MAGIC = b"\0pullback functions\0"
FORMAT = 3
"""The number of what is written here where sizes are known by name; what an earlier number meant stays readable."""

_FIXED_SIZES = 2  # what is written where they are not, so that earlier versions read it

MOST_JSON = 16 * 2**20
MOST_REST = 2**30
"""Bytes that are read of a file; no more than a few times as much is made of them."""

_HEAD = re.compile(rb"(\d{1,9}) (\d{1,12}) (\d{1,12}) ([0-9a-f]{64})\n")
_HEAD_LENGTH = 3 + 1 + 12 + 1 + 12 + 1 + 64 + 1  # as it is written now, so that it does not depend on what it says
_LINE = 64  # bytes of a line of the processor's memory, at whose beginning arrays are
_BETWEEN = b"\n\n"
_MOST_NAME = 255
_CONTAINERS = {"list": (specs.ListSpec, specs.ListResult), "tuple": (specs.TupleSpec, specs.TupleResult),
               "dict": (specs.DictSpec, specs.DictResult)}
_NUMBERS = {"float": (specs.FloatResult, "f64"), "int": (specs.IntResult, "i64"), "bool": (specs.BoolResult, "bool")}


class KernelError(Explained, ValueError, page="KernelError"):
    """A file that is no module of `build`, is damaged, or was written in a format of a later version."""


# ---- writing


@dataclass(frozen=True)
class Packed:
    """What a module carries, and where in it the texts of the graphs are and the arrays of each function."""

    data: bytes
    graphs: int
    arrays: tuple[tuple[int, ...], ...]


def pack(functions: Sequence[Function]) -> Packed:
    """What a module carries of these functions."""
    rest, places = bytearray(), []
    for f in functions:
        places.append([])
        for each in f.extras:
            rest += bytes(_to_line(len(rest)))
            places[-1].append(len(rest))
            rest += each.tobytes()
    texts = [show(case.graph).encode() for f in functions for case in cases_of(f)]
    graphs = len(rest)
    rest += _BETWEEN.join(texts) + b"\0"
    lengths, told = iter(map(len, texts)), []
    for f in functions:
        told.append({"name": f.name, "names": f.names, "args": [_nodes(each) for each in f.args],
                     "result": _nodes(f.result), "doc": f.doc, "graph": next(lengths),
                     "extras": [[_dtype(a), a.shape] for a in f.extras]})
        if f.sizes:
            cases = [case_nodes(case) | ({"graph": next(lengths)} if k else {}) for k, case in enumerate(f.cases)]
            told[-1] |= {"sizes": f.sizes, "cases": cases}
    format = FORMAT if any(f.sizes for f in functions) else _FIXED_SIZES
    data = seal(json.dumps({"functions": told}, separators=(",", ":")).encode(), bytes(rest), format)
    start = len(data) - len(rest)
    return Packed(data, start + graphs, tuple([tuple([start + at for at in row]) for row in places]))


def _to_line(at: int) -> int:
    """Bytes to the next multiple of 64."""
    return -at % _LINE


def seal(told: bytes, rest: bytes, format: int = FORMAT) -> bytes:
    """Both parts behind a head that says their lengths and their checksum; the second begins at a multiple of 64."""
    told += b" " * _to_line(len(MAGIC) + _HEAD_LENGTH + len(told))
    head = f"{format:03} {len(told):012} {len(rest):012} {hashlib.sha256(told + rest).hexdigest()}\n"
    return MAGIC + head.encode() + told + rest


def _nodes(root: Any) -> list[Any]:
    """A tree of specifications or results, items before their containers."""
    made: list[Any] = []
    pending = [(root, False)]
    while pending:
        node, visited = pending.pop()
        if not visited and hasattr(node, "items"):
            pending.append((node, True))
            pending.extend((item, False) for item in reversed(node.items))
        else:
            made.append(_node(node))
    return made


def _node(node: Any) -> list[Any]:
    match node:
        case specs.FloatSpec():
            return ["float"]
        case specs.IntSpec():
            return ["int"]
        case specs.ArraySpec(dtype=dtype, shape=shape):
            return ["array", dtype, spelled_shape(shape)]
        case specs.StaticSpec(value=value) | specs.ConstantResult(value=value):
            return ["fixed", value]
        case specs.ScalarResult(index=index, dtype=dtype):
            return ["scalar", index, dtype]
        case specs.ArrayResult(index=index, dtype=dtype, shape=shape):
            return ["array", index, dtype, spelled_shape(shape)]
        case specs.DictSpec(keys=keys) | specs.DictResult(keys=keys):
            return ["dict", keys]
    for name, kinds in _CONTAINERS.items():
        if isinstance(node, kinds):
            return [name, len(node.items)]
    return next([name, node.index] for name, (kind, _) in _NUMBERS.items() if isinstance(node, kind))


def _dtype(array: np.ndarray) -> str:
    return next(name for name in DTYPES if NUMPY_NAMES[name] == array.dtype.name)


# ---- reading


def unpack(data: bytes) -> list[Function]:
    """The functions of a module's bytes; raises KernelError for what is no module, whoever wrote it."""
    at = data.find(MAGIC)
    if at < 0:
        raise KernelError("it carries no functions of pullback: expected a module that pullback.build has written")
    if data.find(MAGIC, at + 1) >= 0:
        raise KernelError("it carries functions at two places: expected one module of pullback.build")
    head = _HEAD.match(data, at + len(MAGIC))
    if head is None:
        raise KernelError("what says how long its functions are is damaged: build it again")
    format_, told, rest = (int(head[k]) for k in (1, 2, 3))
    if not 1 <= format_ <= FORMAT:
        raise KernelError(f"its format is {format_}, and this version reads 1 to {FORMAT}: take a later pullback")
    if told > MOST_JSON or rest > MOST_REST:
        raise KernelError(f"its functions are {told} and what belongs to them {rest} bytes long, expected at most "
                          f"{MOST_JSON} and {MOST_REST}")
    kept = data[head.end():head.end() + told + rest]
    if len(kept) != told + rest or hashlib.sha256(kept).hexdigest().encode() != head[4]:
        raise KernelError("its functions are damaged: build it again")
    try:
        return _functions(json.loads(kept[:told]), kept[told:], _LINE if format_ > 1 else 1)
    except KernelError:
        raise
    except ParseError as error:
        raise KernelError(f"one of its graphs is none: {error}") from None
    except (ValueError, TypeError, KeyError, IndexError, OverflowError, RecursionError) as error:
        raise KernelError(f"its functions are not what pullback.build writes: {str(error)[:400]}") from None


def _functions(told: Any, rest: bytes, line: int) -> list[Function]:
    """The functions of json and what stands behind it, where arrays begin at multiples of `line`."""
    given, extras, at = _list(told["functions"]), [], 0
    for each in given:
        row = []
        for dtype, shape in _list(each["extras"]):
            spec = specs.ArraySpec(_text(dtype), tuple(_list(shape)))
            at += -at % line
            if len(spec.shape) > 32 or spec.nbytes > len(rest) - at:
                raise KernelError("its arrays are cut off: build it again")
            row.append(_array(spec, rest[at:at + spec.nbytes]))
            at += spec.nbytes
        extras.append(tuple(row))
    made = []
    for each, row in zip(given, extras, strict=True):
        cases, texts = _list(each.get("cases", [])), []
        for length in (each["graph"], *(case["graph"] for case in cases[1:])):
            if line > 1:
                texts.append(rest[at:at + _count(length)].decode())
                at += length + len(_BETWEEN)
            else:
                texts.append(_text(length))
        made.append(_function(each, texts, row))
    end = at + (1 - len(_BETWEEN)) * (line > 1)  # of the text with its last byte
    if end != len(rest) or not made or len({f.name for f in made}) != len(made):
        raise ValueError("expected functions of distinct names, and no arrays and texts but theirs")
    return made


def _array(spec: specs.ArraySpec, data: bytes) -> np.ndarray:
    if spec.dtype == "bool" and data.translate(None, b"\0\1"):
        raise ValueError("an array of bools has other bytes than 0 and 1")
    made = np.frombuffer(data, NUMPY_NAMES[spec.dtype]).reshape(spec.shape).copy()
    made.flags.writeable = False
    return made


def _function(told: Any, texts: list[str], extras: tuple[np.ndarray, ...]) -> Function:
    names = tuple([_name(each) for each in _list(told["names"])])
    args = tuple([_tree(nodes, _spec, 0) for nodes in _list(told["args"])])
    result = _tree(told["result"], _result, 1)
    sizes = tuple([size_name(each) for each in _list(told.get("sizes", []))])
    graphs = [parse(text, checked=True) for text in texts]
    cases = [case_of(each, graph) for each, graph in zip(_list(told.get("cases", [])), graphs, strict=bool(sizes))]
    if len(set(names)) != len(names) or len(args) != len(names):
        raise ValueError(f"{len(names)} names for {len(args)} arguments, expected one for each")
    name, doc = _name(told["name"]), _text(told["doc"])
    made = Function(name, names, args, result, doc, graphs[0], extras, sizes, tuple(cases))
    for case in cases_of(made):
        _check_types(made, case)
    return made


def _check_types(made: Function, case: Case) -> None:
    """Refuse a graph that does not take and return what its function says."""
    graph: Graph = case.graph
    check_names(made, case)
    at = case.in_names(made.sizes)
    if calls_python(graph):
        raise ValueError("a graph calls Python of another process")
    taken = [_type(each) for each in specs.input_specs(made.args)]
    taken += [Type(_dtype(each), each.shape) for each in made.extras]
    returned = [value.type.shape for value in graph.results]
    given = [Type(_result_dtype(each), returned[each.index] if made.sizes else getattr(each, "shape", ()))
             for each in specs.kernel_results(made.result)]
    for what, told, have in (("takes", taken, graph.params), ("returns", given, graph.results)):
        if [type.at(at) for type in told] != [value.type for value in have]:  # type: ignore[arg-type]
            raise ValueError(f"{made.name} {what} {', '.join(map(str, told)) or 'nothing'}, which its graph does not")


def _type(spec: specs.Input) -> Type:
    if isinstance(spec, specs.ArraySpec | specs.ScalarSpec):
        return Type(spec.dtype, getattr(spec, "shape", ()))
    return Type("f64" if isinstance(spec, specs.FloatSpec) else "i64", ())


def _result_dtype(result: Any) -> str:
    if isinstance(result, specs.ScalarResult | specs.ArrayResult):
        return result.dtype
    return next(dtype for kind, dtype in _NUMBERS.values() if isinstance(result, kind))


def _tree(nodes: Any, leaf: Callable[[str, Iterator[Any]], Any], side: int) -> Any:
    """The tree that a stack machine makes of nodes."""
    stack: list[Any] = []
    for node in _list(nodes):
        kind, *rest = _list(node)
        if kind in _CONTAINERS:
            (told,) = rest
            keys = tuple(map(_text, _list(told))) if kind == "dict" else ()
            count = len(keys) if kind == "dict" else _count(told)
            if count > len(stack):
                raise ValueError("a container of more items than there are")
            items = tuple(stack[len(stack) - count:])
            del stack[len(stack) - count:]
            make: Any = _CONTAINERS[kind][side]
            stack.append(make(keys, items) if kind == "dict" else make(items))
        else:
            stack.append(leaf(_text(kind), iter(rest)))
    (made,) = stack
    return made


def _spec(kind: str, rest: Iterator[Any]) -> Any:
    if kind == "array":
        made: Any = specs.ArraySpec(_text(next(rest, None)), _shape(next(rest, None)))
    elif kind == "fixed":
        made = specs.StaticSpec(_fixed(next(rest, ...), FIXED))
    else:
        made = {"float": specs.FloatSpec, "int": specs.IntSpec}[kind]()
    return _whole(made, rest)


def _result(kind: str, rest: Iterator[Any]) -> Any:
    if kind == "fixed":
        return _whole(specs.ConstantResult(_fixed(next(rest, ...), (*FIXED, float))), rest)
    index = _count(next(rest, None))
    if kind == "array":
        return _whole(specs.ArrayResult(index, _text(next(rest, None)), _shape(next(rest, None))), rest)
    if kind == "scalar":
        return _whole(specs.ScalarResult(index, _text(next(rest, None))), rest)
    return _whole(_NUMBERS[kind][0](index), rest)


def _whole(made: Any, rest: Iterator[Any]) -> Any:
    if next(rest, None) is not None:
        raise ValueError("a node of more words than it has")
    return made


def _fixed(value: Any, kinds: tuple[type, ...]) -> Any:
    if type(value) not in kinds:
        raise ValueError(f"a fixed {type(value).__name__}")
    return value


def _shape(told: Any) -> tuple[Dim, ...]:
    shape = tuple([dim_of_text(each) if isinstance(each, str) else _count(each) for each in _list(told)])
    if math.prod([n for n in shape if isinstance(n, int)]) >= 2**60:
        raise ValueError("an array of more elements than there is memory")
    return shape


def _list(told: Any) -> list[Any]:
    if type(told) is not list:
        raise ValueError(f"a {type(told).__name__}, expected a list")
    return told


def _text(told: Any) -> str:
    if type(told) is not str:
        raise ValueError(f"a {type(told).__name__}, expected a text")
    return told


def _count(told: Any) -> int:
    if type(told) is not int or told < 0:
        raise ValueError(f"{str(told)[:40]}, expected a whole number from 0 on")
    return told


def _name(told: Any) -> str:
    if not _text(told).isidentifier() or keyword.iskeyword(told) or len(told) > _MOST_NAME:
        raise ValueError(f"{told[:40]!r} is no name of Python's")
    return told


__all__ = ["FORMAT", "MAGIC", "KernelError", "pack", "seal", "unpack"]
