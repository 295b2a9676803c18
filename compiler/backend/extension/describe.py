"""A function of an extension module as data, and in words: what it takes, what it returns.

    value_and_grad of loss(w, x) -> Function("loss", ("w", "x"), (ArraySpec(...), ...), TupleResult(...), ...)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from ...ir.graph import Graph
from ...ir.measure import Guard, spelled_out
from ...ir.types import Dim, Size
from ..entries.specs import (
    CONTAINER_RESULTS,
    CONTAINERS,
    ArrayResult,
    ArraySpec,
    BoolResult,
    ConstantResult,
    Container,
    DictResult,
    DictSpec,
    FloatResult,
    FloatSpec,
    IntResult,
    IntSpec,
    ListResult,
    ListSpec,
    Result,
    ScalarResult,
    ScalarSpec,
    Spec,
    StaticSpec,
    TupleSpec,
    children_first,
)
from .array_text import DTYPES

NUMPY_NAMES: dict[str, str] = dict(zip(DTYPES, ("bool", "int32", "int64", "float32", "float64"), strict=True))
NUMBERS = {"bool": "a bool", "i32": "an int of 32 bits", "i64": "an int of 64 bits", "f32": "a float", "f64": "a float"}
FIXED = (type(None), bool, int, str)
"""Types of the arguments that may be fixed when a module is built; results may also be floats."""


@dataclass(frozen=True, eq=False)
class Case:
    """What a function with named sizes computes for some of them.

    graph      with the names that are free
    where      the others: a number, or another name
    guards     what must hold besides
    quotients  of sizes that the graph and the guards name: dividend and divisor, rounded down
    portable   the graph without calls of libraries, which is compiled in its place
    """

    graph: Graph
    where: Mapping[str, Dim] = field(default_factory=lambda: MappingProxyType({}))
    guards: tuple[Guard, ...] = ()
    quotients: Mapping[str, tuple[Size, int]] = field(default_factory=lambda: MappingProxyType({}))
    portable: Graph | None = None

    def conditions(self) -> list[Guard]:
        """All that must hold."""
        equal = [Size.named(name) - value for name, value in self.where.items()]
        return [*(Guard(each, "== 0") for each in equal if isinstance(each, Size)), *self.guards]

    def in_names(self, names: tuple[str, ...]) -> dict[str, Dim]:
        """What each name of the function is here."""
        return {name: self.where.get(name, Size.named(name)) for name in (*names, *self.quotients)}


@dataclass(frozen=True, eq=False)
class Function:
    """One function of a module.

    names     of the arguments; `args` says what each must be, `result` what is returned
    doc       what the user wrote about it
    graph     what it computes; `extras` are fixed arrays for its last parameters
    sizes     the names of sizes that arguments have; `cases`, of which `graph` is the first one's, serve them
    portable  the graph without calls of libraries, which is compiled in its place
    """

    name: str
    names: tuple[str, ...]
    args: tuple[Spec, ...]
    result: Result
    doc: str
    graph: Graph
    extras: tuple[np.ndarray, ...] = ()
    sizes: tuple[str, ...] = ()
    cases: tuple[Case, ...] = ()
    portable: Graph | None = None

    @property
    def signature(self) -> str:
        return f"({', '.join(self.names)})"


def number_dtype(spec: Spec) -> str | None:
    """The dtype of an argument that is one number; None for arrays and containers."""
    if isinstance(spec, FloatSpec | IntSpec):
        return "f64" if isinstance(spec, FloatSpec) else "i64"
    if isinstance(spec, ScalarSpec):
        return spec.dtype
    return spec.dtype if isinstance(spec, ArraySpec) and not spec.shape else None


def served_words(function: Function) -> str:
    """The sizes that a function serves, as its errors and texts say it."""
    told = [[spelled_out(guard, case.quotients) for guard in case.conditions()] for case in function.cases]
    return "; or ".join([" and ".join(dict.fromkeys(each)) or "any sizes" for each in told])


def array_words(dtype: str, shape: tuple[Dim, ...]) -> str:
    return f"an array of {NUMPY_NAMES[dtype]}, shape ({', '.join(map(str, shape))}{',' * (len(shape) == 1)})"


def words(spec: Spec) -> str:
    """What an argument must be, as its errors and the module's texts call it."""
    dtype = number_dtype(spec)
    if dtype:
        return NUMBERS[dtype]
    if isinstance(spec, ArraySpec):
        return array_words(spec.dtype, spec.shape)
    if isinstance(spec, DictSpec):
        return f"a dict with the keys {', '.join(map(repr, spec.keys))}" if spec.keys else "an empty dict"
    if isinstance(spec, ListSpec | TupleSpec):
        kind = "list" if isinstance(spec, ListSpec) else "tuple"
        return f"a {kind} of {len(spec.items)} item{'s' * (len(spec.items) != 1)}"
    return repr(spec.value) if isinstance(spec, StaticSpec) else ""


def item_paths(path: str, spec: Container) -> list[str]:
    """How a user would write the items of an argument."""
    keys = spec.keys if isinstance(spec, DictSpec) else range(len(spec.items))
    return [f"{path}[{key!r}]" for key in keys]


def nodes(names: tuple[str, ...], args: tuple[Spec, ...]) -> Iterator[tuple[str, Spec]]:
    """Every argument and every part of one with the path to it, containers before their items."""
    pending = list(zip(reversed(names), reversed(args), strict=True))
    while pending:
        path, spec = pending.pop()
        yield path, spec
        if isinstance(spec, CONTAINERS):
            inner = zip(item_paths(path, spec), spec.items, strict=True)
            pending.extend(reversed(list(inner)))


def spelled(result: Result, leaf: Callable[[Result], str], pack: Callable[[Result, list[str]], str]) -> str:
    """A text made of the texts of a result's leaves."""
    stack: list[str] = []
    for node in children_first(result):
        if isinstance(node, CONTAINER_RESULTS):
            items = stack[len(stack) - len(node.items):]
            del stack[len(stack) - len(node.items):]
            stack.append(pack(node, items))
        else:
            stack.append(leaf(node))
    return stack[0]


def result_words(result: Result) -> str:
    """What is returned, in words."""

    def leaf(node: Result) -> str:
        match node:
            case ArrayResult(dtype=dtype, shape=shape):
                return array_words(dtype, shape)
            case ConstantResult(value=value):
                return repr(value)
            case ScalarResult(dtype=dtype):
                return NUMBERS[dtype]
            case FloatResult():
                return NUMBERS["f64"]
            case IntResult() | BoolResult():
                return NUMBERS["i64" if isinstance(node, IntResult) else "bool"]
        raise TypeError(node)

    def pack(node: Result, items: list[str]) -> str:
        if isinstance(node, DictResult):
            return "{" + ", ".join(f"{k!r}: {v}" for k, v in zip(node.keys, items, strict=True)) + "}"
        if isinstance(node, ListResult):
            return "[" + ", ".join(items) + "]"
        return "(" + ", ".join(items) + "," * (len(items) == 1) + ")"

    return spelled(result, leaf, pack)


def doc(function: Function) -> str:
    """What `help` says of a function; its first line is the signature as the interpreter reads it."""
    rows = [f"    {path}: {words(spec)}" for path, spec in nodes(function.names, function.args)]
    rows.append(f"    returns {result_words(function.result)}")
    if function.sizes:
        rows.append(f"    sizes: {', '.join(function.sizes)}, as the arguments have them; {served_words(function)}")
    written = [*function.doc.strip().splitlines(), ""] if function.doc.strip() else []
    return "\n".join([f"{function.name}{function.signature}", "--", "", *written, *rows])
