"""Compiled functions as extension modules: from a function and example arguments to a file that Python imports.

    @pullback.value_and_grad
    def loss(w, x): ...

    pullback.build(loss, (w, x), name="kernels")

and, in a Python that has neither pullback nor llvmlite,

    import kernels
    value, slope = kernels.loss(w, x)

Named sizes may be any number from 0 on that the function itself takes: what it does with them, such as a branch on
x.shape[0] > 10, is part of the module. Loops may count them (range(n), a loop over rows, `while i < n`, a list that
grows by one for each), and stores may fill arrays of them. What must know a number when it is built (int(n), a library
that asks for it) is a TypeError that says what and where. Sizes of a call that the function does not take are a
ValueError, and so are arguments that do not agree in a size of the same name.

Linear algebra (factors, solutions, determinants, eigh, svd, qr, pinv, expm), Fourier transforms, sorts and searches of
shapes that are numbers are loops of the module's own (`runtime.portable`); eigenvectors and singular vectors may have
other signs than NumPy's. What else is Python of this process, such as eigenvalues of any matrix, is refused.
"""

from __future__ import annotations

import inspect
import keyword
import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ...compiler.backend.entries import specs
from ...compiler.backend.extension import FIXED, Function, levels_named, target_named, write, write_for
from ...compiler.frontend import tracing, tree
from ...compiler.frontend.complexes import Parts
from ...compiler.frontend.results import LeafResult
from ...compiler.frontend.static_keys import static_value
from ...compiler.ir.containers import Structure
from ...compiler.ir.graph import Graph
from ...compiler.ir.measure import Measure
from ...compiler.ir.types import CARRIED, Dim
from ...compiler.ops.external import calls_of
from ..portable.replacing import without_libraries
from ..transforms import jit
from . import function as functions
from .compiled import warns
from .named import NamedTraces
from .places import Rule, checked_rule, given_names, places_of, root
from .tracebacks import boundary

_IN_RESULTS = (*FIXED, float)
PARTS = "__pullback_parts__"
"""The method by which an object says of what functions it is built: (name, function, example) for each."""

DERIVATIVES = {
    "grad": "The gradient", "value_and_grad": "The value and the gradient", "hvp": "Products with the Hessian",
    "jacobian": "The Jacobian", "hessian": "The Hessian",
}  # fmt: skip
"""What is said of derivatives, by the names of their plans."""

_SPLIT = "take and return real and imaginary parts, z = a + 1j * b inside"

_TAKEN = ("graph", "cpu")  # attributes of every module


@boundary
def build(
    fn: Callable[..., Any] | Mapping[str, Callable[..., Any]],
    example_args: tuple[Any, ...] | Mapping[str, tuple[Any, ...]],
    *,
    name: str,
    out: str | os.PathLike[str] = ".",
    cpu: str = "native",
    target: str = "",
    sizes: Mapping[str, tuple[int | str | None, ...]] | None = None,
) -> Path:
    """Write a function as the extension module `name` into the folder `out`; returns the path of the module.

    fn            a compiled function, of `jit`, `grad`, `value_and_grad` and so on, or a plain one, which is compiled
                  as by `jit`; or several of them by the names they shall have
    example_args  a tuple of arguments as in a call (by name, if there are several functions): the module takes
                  arguments of their dtypes, structure and shapes, save sizes with names, by position or by name
    cpu           which processors may run it: baseline (any x86-64), avx2 (x86-64-v3) or avx512 (x86-64-v4), or
                  x86-64-v2. Of several, with commas between them, each is in the file, and the module takes the
                  highest that the machine has: "baseline,avx2,avx512" runs everywhere. "native" is the highest level
                  that this machine has. Without the lowest of them the import is an ImportError that says so
    target        another kind of machine: C functions for it instead of a module (see below)
    sizes         names for sizes that each call has, as in `jit(sizes=...)`: {"x": ("n", 25)}, any numbers from 0 on
                  that the function takes; C functions have them first; what needs a number now is a TypeError

    >>> def area(r):
    ...     return 3.14159 * r * r
    >>> path = build(grad(area), (1.0,), name="circle", out=folder)
    >>> sorted(each.name for each in path.parent.iterdir())
    ['circle.abi3.so', 'circle.h', 'circle.o', 'circle.pyi']

    The module needs CPython 3.11 or later (not a free-threaded build) on Linux, and neither pullback, llvmlite nor
    NumPy. It has the functions, `graph` (the text of their graphs) and `cpu` (the level it has chosen). Numbers may be
    anything that converts to a float or int; arrays may be any object with a buffer of the right dtype and shape:
    NumPy arrays, array.array, memoryview. Those that are strided are copied. Numbers come back as floats, ints or
    bools; arrays as numpy.ndarray if NumPy can be imported, else as memoryviews of the same format and shape (one row
    if there are no elements). namedtuples are taken and returned as tuples; strings, None, bools and static ints are
    fixed, and compared at each call. Numbers and arrays that the function reads from outside become part of the module.

    What went wrong is a TypeError or ValueError with the argument, what came and what was expected, or the exception
    of the function itself. What a call needs for temporaries beyond 16 KiB is kept for the next one. Calls from several
    threads and interpreters are safe, and long ones let the other threads run.

    With a target, what is written is an object file for C programs and its header, and no Python module:

        x86_64-linux, aarch64-linux, riscv64-linux, x86_64-macos, aarch64-macos, x86_64-windows, aarch64-windows
        x86_64-none, aarch64-none, riscv32-none, thumbv7em-none (microcontrollers: temporaries are static, nothing is
            called but functions of <math.h>; with names for sizes only what needs no temporaries)
        wasm32: also `name`.wasm with `name`.mjs, which loads it, and takes named sizes first: f({n: 40}, w, x)

    A sparse Jacobian or Hessian `f` becomes two functions: `f`, which returns the entries row by row, and `f_pattern`,
    which returns (indices, indptr, shape), so that SciPy's csr_array((f(x), *f_pattern()[:2]), f_pattern()[2]) is the
    matrix. The pattern is that of the example.

    Beside the module stand `name`.pyi for type checkers, and for C programs `name`.h and `name`.o. Linking takes a C
    compiler: `cc`, `gcc` or `clang` on PATH, or the package ziglang (`pip install pullback[build]`).
    """
    _check_name(name, "name")
    levels = _levels(cpu, target)
    made = _all_described(fn, example_args, {} if sizes is None else checked_rule(sizes), target)
    return _written(made, name, Path(out), target, levels)


def _written(made: list[Function], name: str, out: Path, target: str, levels: Any) -> Path:
    """Write what is made; an OSError of the folder says which one it is."""
    try:
        return write_for(made, name, out, target) if target else write(made, name, out, levels)
    except OSError as error:
        if error.errno is None:  # there is no linker
            raise
        raise type(error)(f"{name!r} cannot be written into the folder {str(out)!r}: {error.strerror}") from None


def _levels(cpu: str, target: str) -> Any:
    """The levels of processors that are asked for; none for a target, which is checked instead."""
    if not target:
        return levels_named(cpu)
    target_named(target)
    if cpu != "native":
        raise ValueError(f"cpu is {cpu!r} and target {target!r}: levels of processors are for Python modules")
    return ()


def _all_described(fn: Any, example_args: Any, sizes: Rule, target: str) -> list[Function]:
    """The functions that `build` is given, under their names."""
    several = dict(fn) if isinstance(fn, Mapping) else {_own_name(fn): fn}
    examples = example_args if isinstance(fn, Mapping) else {next(iter(several)): example_args}
    if not isinstance(examples, Mapping) or set(examples) != set(several):
        given = sorted(examples) if isinstance(examples, Mapping) else f"a {type(examples).__name__}"
        wanted = f"expected a dict with a tuple of arguments for each of {sorted(several)}"
        raise TypeError(f"example_args is {given}, {wanted}")
    made = []
    for called, each in several.items():
        for own, part, example in _parts(called, each, examples[called]):
            if own != called and own in several:
                raise ValueError(f"fn has {own!r}, which is what the pattern of {called!r} is called: rename one")
            made.append(_described(own, part, example, sizes))
    if not made:
        raise ValueError("fn is an empty dict, expected at least one function")
    _check_roots(sizes, made)
    return made


def _parts(name: str, fn: Any, example: Any) -> list[tuple[str, Any, Any]]:
    """The functions that are built for one, with their names and examples: for a sparse derivative two."""
    if not hasattr(type(fn), PARTS) or not isinstance(example, tuple):
        return [(name, fn, example)]
    _check_name(name, "the name of a function")
    return getattr(fn, PARTS)(name, example)


def _own_name(fn: Any) -> str:
    if not callable(fn):
        raise TypeError(f"fn is of class {type(fn).__name__}, expected a function, or a dict of functions by name")
    name = getattr(fn, "__name__", f"a {type(fn).__name__}")
    if not name.isidentifier():
        fix = "build({'f': fn}, {'f': args}, ...)"
        raise ValueError(f"fn is called {name}, which is no name for a function of a module: write {fix}")
    return name


def _check_name(name: Any, argument: str) -> None:
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) or keyword.iskeyword(name):
        raise ValueError(f"{argument} is {name!r}, expected a name of letters, digits and _ that `import` takes")
    if name in _TAKEN or name.startswith(("Py", "_Py")):
        raise ValueError(f"{argument} is {name!r}, which every module or Python itself has: choose another name")


def _described(name: str, fn: Any, example: Any, sizes: Rule) -> Function:
    """A function under its name, traced with example arguments."""
    _check_name(name, "the name of a function")
    if not isinstance(example, tuple):
        raise TypeError(
            f"example_args of {name} is of class {type(example).__name__}, expected a tuple: write (x,) for one")
    if tracing.current() is not None:
        raise RuntimeError(f"build of {name} inside a function that is being traced: call it outside")
    owner: Any = fn if isinstance(fn, functions.Function) else jit(fn)
    signature, _ = owner.flatten(example, {})
    *args, keywords = signature[1]
    if keywords[1]:
        raise TypeError(f"{name} has arguments that are given by name only: fix them with functools.partial")
    names = _plain_names(owner.argument_names(len(args)))
    rule = sizes or owner.naming.rule
    given = given_names(rule, list(places_of(signature, owner.argument_names(len(args)))))
    sized = NamedTraces(owner, name, signature, given) if given else None
    if sized is None:
        made = owner.compiled(signature)
        graph, result, shapes, known, cases = made.graph, made.result, None, (), ()
        extras = tuple([np.asarray(tree.canonical(np.asarray(each))) for each in made.traced.extras])
    else:
        result, shapes, known, cases = sized.made[0].result, iter(sized.shapes), sized.names, sized.cases()
        graph, extras = cases[0].graph, sized.arrays
    portable = without_libraries(graph)
    for each in [portable, *(case.portable for case in cases)]:
        _check_graph(each, name)
    taken = tuple([_taken(each, f"{name}: argument {path}", shapes) for each, path in zip(args, names, strict=True)])
    return Function(name, names, taken, _returned(result, graph, name), _doc(fn), graph, extras, known, cases, portable)


def _check_roots(rule: Rule, functions: list[Function]) -> None:
    """Refuse sizes of an argument that no function has."""
    known = {name for f in functions for name in f.names}
    for path in rule:
        if not any(name == root(path) or name.startswith(f"{root(path)}_") for name in known):
            raise ValueError(f"sizes has {path!r}, and the arguments are {', '.join(sorted(known)) or 'none'}")


def _check_graph(graph: Graph, name: str) -> None:
    """Refuse what a module cannot hold."""
    if warns(graph):
        raise TypeError(f"{name} prints, logs or warns, which a module without Python's functions cannot: take it out")
    opaque = next(calls_of(graph), None)
    if opaque is not None:
        what = f"{name} calls external {opaque}, which is Python of this process"
        raise TypeError(f"{what}: a module can hold no such call")
    narrow = next((v.type for v in (*graph.params, *graph.results) if v.type.dtype in CARRIED), None)
    if narrow is not None:
        what = f"{name} takes, reads or returns numbers of dtype {narrow.numpy}"
        raise TypeError(f"{what}: a module has bool, int32, int64, float32 and float64; convert with .astype")


def _doc(fn: Any) -> str:
    """What the user wrote about a function, after what it is of it; not what its type says of all of its kind."""
    written = getattr(fn, "__doc__", None)
    kind = DERIVATIVES.get(getattr(getattr(fn, "plan", None), "name", ""))
    said = [] if kind is None else [f"{kind} of {fn.__wrapped__.__name__}."]
    return "\n\n".join([*said, *([inspect.cleandoc(written)] if written and written != type(fn).__doc__ else [])])


def _plain_names(names: list[str]) -> tuple[str, ...]:
    """Names that can be written before a `=`: those of *args have brackets."""
    return tuple([re.sub(r"\W+", "_", name).strip("_") or f"a{k}" for k, name in enumerate(names)])


def _taken(node: tree.Signature, path: str, shapes: Iterator[tuple[Dim, ...]] | None) -> Any:
    """What the module takes for a part of a signature, whose traced leaves have these shapes."""
    kind = node[0]
    if kind in ("float", "int"):
        _shape_of(node, shapes)
        return specs.FloatSpec() if kind == "float" else specs.IntSpec()
    if kind == "static":
        value = static_value(node[1])
        if type(value) not in FIXED:
            raise TypeError(
                f"{path} is {value!r}: a module can be called only with numbers, arrays, strings, bools and None; fix "
                "it with functools.partial before building")
        return specs.StaticSpec(value)
    if kind == "dict":
        if not all(type(key) is str for key in node[1]):
            raise TypeError(f"{path} is a dict with the keys {list(node[1])}, expected strings: rename them")
        items = zip(node[1], node[2], strict=True)
        return specs.DictSpec(node[1], tuple([_taken(each, f"{path}[{key!r}]", shapes) for key, each in items]))
    if kind == "named" and node[1] is Parts:
        raise TypeError(f"{path} is complex: a module takes and returns real numbers; {_SPLIT}")
    if kind == "named" and not issubclass(getattr(node[1], "kind", tuple), (list, tuple)):
        fix = "a module takes plain dicts, lists and tuples: pass one of these"
        raise TypeError(f"{path} is a {node[1].__name__}; {fix}")
    if kind in ("list", "tuple", "named"):
        make = specs.ListSpec if kind == "list" else specs.TupleSpec
        return make(tuple([_taken(each, f"{path}[{k}]", shapes) for k, each in enumerate(node[-1])]))
    return specs.ArraySpec(tree.dtype_of(node), _shape_of(node, shapes))


def _shape_of(node: tree.Signature, shapes: Iterator[tuple[Dim, ...]] | None) -> tuple[Dim, ...]:
    return tree.shape_of(node) if shapes is None else next(shapes)


def _returned(result: Any, graph: Graph, name: str) -> Any:
    """What the module returns for a result."""
    if isinstance(result, LeafResult):
        type_ = graph.results[result.index].type
        if not type_.shape:
            return specs.ScalarResult(result.index, type_.dtype)
        return specs.ArrayResult(result.index, type_.dtype, type_.shape)
    if isinstance(result, specs.ConstantResult):
        if isinstance(result.value, Measure):
            told = f"{name} returns the size {result.value!r}, which is known by name"
            raise TypeError(f"{told}: leave it out, or return np.full((), x.shape[0])")
        if type(result.value) not in _IN_RESULTS:
            raise TypeError(
                f"{name} returns {result.value!r}: a module can return only numbers, arrays, strings, bools and None, "
                "in dicts, lists and tuples; leave it out")
        return result
    if isinstance(result, specs.ArrayResult):
        return specs.ArrayResult(result.index, result.dtype, graph.results[result.index].type.shape)
    items = getattr(result, "items", None)
    if items is None:
        return result
    made = tuple([_returned(each, graph, name) for each in items])
    if isinstance(result, specs.DictResult):
        return specs.DictResult(result.keys, made)
    if isinstance(result, specs.MadeResult):
        if result.make is Parts:
            raise TypeError(f"{name} returns complex numbers: a module takes and returns real ones; {_SPLIT}")
        if not isinstance(result.make, Structure):
            raise TypeError(f"{name} returns a dict whose keys are not strings: rename them")
        if not issubclass(result.make.kind, tuple):
            raise TypeError(f"{name} returns a {result.make.__name__}: a module returns plain dicts, lists and tuples")
        return specs.TupleResult(made)
    return type(result)(made)


__all__ = ["build"]
