"""What stands beside an extension module: a C header for its kernels, and a stub with the types of its functions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...ir.types import Size, Type
from ..entries.specs import (
    CONTAINERS,
    ArrayResult,
    ArraySpec,
    BoolResult,
    ConstantResult,
    DictResult,
    DictSpec,
    IntResult,
    ListResult,
    ListSpec,
    Result,
    ScalarResult,
    Spec,
    StaticSpec,
    TupleResult,
)
from ..text.c_names import C_TYPES, distinct
from .cpu import Level
from .describe import NUMPY_NAMES, Function, doc, number_dtype, served_words, spelled

Failures = Sequence[tuple[str, str]]
"""For each status from 1 on the exception that Python would see, and its text."""

_PYTHON_TYPES = {"bool": "bool", "i32": "int", "i64": "int", "f32": "float", "f64": "float"}


# ---- the C header


def header(functions: Sequence[tuple[Function, Failures]], module: str, told: Sequence[str], file: str) -> str:
    """The declarations of the kernels, which `file` has; `told` are lines about where and how they run."""
    guard = f"{module.upper()}_H"
    return "\n".join([
        f"/* The kernels of {module}: plain C functions, in {file}.",
        "   Arrays are contiguous in row-major order and aligned to their elements; results may not overlap anything.",
        "   A kernel returns 0 when it has written its results, and k > 0 where the Python function raises: an index",
        "   out of range, an assert, a raise.  Which k means what stands above each declaration; %lld stands for",
        "   report[0], such as the index.  The results are undefined then.",
        *(f"   {each}" for each in told),
        "*/",
        f"#ifndef {guard}",
        f"#define {guard}",
        "",
        "#include <stdint.h>",
        "",
        "#ifdef __cplusplus",
        'extern "C" {',
        "#endif",
        "",
        *(_declaration(f, failures, module) for f, failures in functions),
        "#ifdef __cplusplus",
        "}",
        "#endif",
        "",
        f"#endif /* {guard} */",
        "",
    ])


def on_levels(levels: Sequence[Level]) -> list[str]:
    """What `header` is told of kernels beside a module."""
    return [
        f"Processors of the levels {', '.join(level.name for level in levels)} are served, by code for the",
        "highest that there is; on others a kernel returns -2 and has done nothing.  It returns",
        "-1 if there is no memory for its temporaries; those of more than 16 KiB are kept for the next call.  Any",
        "number of threads may call a kernel.  Link with -lm.",
    ]


def _declaration(function: Function, failures: Failures, module: str) -> str:
    graph = function.graph
    fixed = len(graph.params) - len(function.extras)
    given = [f"const {_c(p.type)}" for p in graph.params]
    names = distinct([*(["sizes"] if function.sizes else []), *(p.hint or f"in{k}" for k, p in enumerate(graph.params)),
                      *(f"out{k}" for k in range(len(graph.results)))])
    made = [_c(r.type) for r in graph.results]
    types = [p.type for p in [*graph.params, *graph.results]]
    sizes = [f"    const int64_t *sizes, /* {', '.join(function.sizes)} */"] if function.sizes else []
    rows = [f"    {kind} *{name}, /* {_sizes(t)}{', fixed in the module' if fixed <= k < len(given) else ''} */"
            for k, (kind, name, t) in enumerate(zip([*given, *made], names[len(sizes):], types, strict=True))]
    told = [f"/* {k}: {kind}: {' '.join(text.split())} */" for k, (kind, text) in _told(failures)]
    served = [f"/* -3: sizes that it has no code for; it has for {served_words(function)} */"] if sizes else []
    head = [*told, *served, f"int64_t {module}_{function.name}(", *sizes]
    return "\n".join([*head, *rows, "    int64_t *report /* 4 */);", ""])


def _told(failures: Failures) -> Iterator[tuple[int, tuple[str, str]]]:
    """What each status means, so that the text cannot end the comment it stands in."""
    for k, (kind, text) in enumerate(failures, 1):
        yield k, (kind, text.replace("%%", "%").replace("*/", "* /"))


def _c(type: Type) -> str:
    return C_TYPES[type.dtype]


def _sizes(type: Type) -> str:
    return " x ".join(f"({n})" if isinstance(n, Size) and len(n.terms) > 1 else str(n) for n in type.shape) or "1"


# ---- the stub


def stub(functions: Sequence[Function]) -> str:
    """The types of a module's functions."""
    return "\n".join([
        "from typing import Any, Literal",
        "",
        "from numpy import bool as bool_",
        "from numpy import float32, float64, int32, int64",
        "from numpy.typing import NDArray",
        "from typing_extensions import Buffer",
        "",
        "graph: str",
        "cpu: str",
        "",
        *(_signature(f) for f in functions),
    ])


def _signature(function: Function) -> str:
    args = ", ".join(f"{name}: {_argument(spec)}" for name, spec in zip(function.names, function.args, strict=True))
    body = "\n".join(doc(function).splitlines()[3:]).strip().replace("\\", "\\\\").replace('"""', "'''")
    return f'def {function.name}({args}) -> {spelled(function.result, _returned, _packed)}:\n    """{body}"""\n'


def _argument(spec: Spec) -> str:
    """The type of an argument. Trees of any depth stop at their first level of items."""
    if isinstance(spec, CONTAINERS):
        items = [_leaf(each) for each in spec.items]
        if isinstance(spec, DictSpec | ListSpec):
            head = "dict[str, " if isinstance(spec, DictSpec) else "list["
            return f"{head}{items[0] if len(set(items)) == 1 else 'Any'}]"
        return f"tuple[{', '.join(items) or '()'}]"
    return _leaf(spec)


def _leaf(spec: Spec) -> str:
    dtype = number_dtype(spec)
    if dtype:
        return _PYTHON_TYPES[dtype]
    if isinstance(spec, ArraySpec):
        return f"Buffer | {_ndarray(spec.dtype)}"  # NumPy's stubs say that arrays are buffers from Python 3.12 on
    if isinstance(spec, StaticSpec):
        return f"Literal[{spec.value!r}]"
    return {DictSpec: "dict[str, Any]", ListSpec: "list[Any]"}.get(type(spec), "tuple[Any, ...]")


def _ndarray(dtype: str) -> str:
    return f"NDArray[{NUMPY_NAMES[dtype] + '_' * (dtype == 'bool')}]"


def _returned(node: Result) -> str:
    if isinstance(node, ArrayResult):
        return _ndarray(node.dtype)
    if isinstance(node, ScalarResult):
        return _PYTHON_TYPES[node.dtype]
    if isinstance(node, ConstantResult):
        return "None" if node.value is None else type(node.value).__name__
    return {IntResult: "int", BoolResult: "bool"}.get(type(node), "float")


def _packed(node: Result, items: list[str]) -> str:
    if isinstance(node, TupleResult):
        return f"tuple[{', '.join(items) or '()'}]"
    assert isinstance(node, DictResult | ListResult)
    head = "dict[str, " if isinstance(node, DictResult) else "list["
    return f"{head}{items[0] if len(set(items)) == 1 else 'Any'}]"
