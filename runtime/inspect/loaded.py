"""A module that `build` wrote in, the function it was made from out: to call, differentiate, batch and print again.

    load_kernel("kernels.abi3.so", "loss")           reads the file, and runs nothing of it
"""

from __future__ import annotations

import inspect
import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...compiler.backend.entries import specs
from ...compiler.backend.extension import Case, KernelError, served_words, unpack
from ...compiler.backend.extension import Function as Carried
from ...compiler.frontend import tracing
from ...compiler.ir.text import parse, show
from ...compiler.ir.types import Size, Type, sizes_in
from ..compiled.derive import Jit
from ..compiled.function import Function
from ..compiled.tracebacks import boundary
from .parsed import EXAMPLE, ParsedGraph, at_numbers, example, fits

MOST = 2**31
"""Bytes of a file that is read."""


@boundary
def load_kernel(path: str | os.PathLike[str], name: str | None = None) -> Function:
    """A function of a module that `build` has written, as it was before: `grad`, `vmap`, `jit` and `build` take it.

    path      the module's file; it is read, and nothing in it is run, so it may be one for another processor
    name      which of its functions, if it has several

    It takes arguments as the module does, of the dtypes, shapes and structure of the example that it was built with,
    and returns what the module returns, with numbers as NumPy's. Arrays that were made part of the module are part of
    the function. Its derivatives are those of the graph: a built gradient is a gradient, and `grad` differentiates it
    again.

    Raises KernelError for a file that is no such module, is damaged, or is of a later format; ValueError for a name
    that it has not; and OSError where there is no file to read.

    >>> def area(r):
    ...     return 3.0 * r * r
    >>> path = build(area, (1.0,), name="disc", out=folder)
    >>> loaded = load_kernel(path)
    >>> float(loaded(2.0)), grad(loaded)(2.0)
    (12.0, 12.0)
    """
    found = {each.name: each for each in _read(path)}
    if name is None:
        if len(found) > 1:
            several = f"has the functions {', '.join(found)}"
            raise ValueError(f"load_kernel: {os.fspath(path)!r} {several}: say which, by name=")
        name = next(iter(found))
    if name not in found:
        raise ValueError(f"load_kernel: {os.fspath(path)!r} has no function {name!r}, but {', '.join(found)}")
    return Function(LoadedFunction(found[name]), Jit(), (), (), "static")


def _read(path: str | os.PathLike[str]) -> list[Carried]:
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"load_kernel: path is a {type(path).__name__}, expected the name of a module's file")
    told = f"load_kernel: {os.fspath(path)!r}"
    if "\0" in str(Path(path)):
        raise KernelError(f"{told} is no name of a file")
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)  # a pipe would make us wait
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise KernelError(f"{told} is no plain file")
        if status.st_size > MOST:
            raise KernelError(f"{told} is {status.st_size} bytes long, expected at most {MOST}")
        with open(handle, "rb", closefd=False) as file:
            data = file.read(MOST)
    finally:
        os.close(handle)
    try:
        return unpack(data)
    except KernelError as error:
        raise KernelError(f"{told}: {error}") from None


class LoadedFunction:
    """A carried function as a function of stand-ins, in the structure of the example that it was built with."""

    def __init__(self, carried: Carried) -> None:
        self.carried = carried
        self._graph = ParsedGraph(carried.graph)
        self.__name__ = self.__qualname__ = carried.name
        self.__doc__ = carried.doc or None
        self.__signature__ = inspect.Signature([
            inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in carried.names
        ])

    def __reduce__(self) -> Any:
        c = self.carried
        return _again, (c.name, c.names, c.args, c.result, c.doc, show(c.graph), c.extras, c.sizes, _packed(c.cases))

    def __repr__(self) -> str:
        return f"<kernel {self.__name__}>"

    @property
    def __reads__(self) -> tuple[Any, ...]:
        """What else is called: nothing."""
        return ()

    def __call__(self, *args: Any) -> Any:
        leaves = list(self._leaves(args))
        if tracing.current() is not None:
            for (path, x), p in zip(leaves, self.carried.graph.params, strict=False):
                if not any(sizes_in(p.type)):
                    fits(self.__name__, path, x, p.type)
        graph = self._at_sizes(leaves) if self.carried.cases else self._graph
        made = graph(*(x for _, x in leaves), *self.carried.extras)
        return _built(self.carried.result, made if len(self.carried.graph.results) > 1 else (made,))

    def _at_sizes(self, leaves: list[tuple[str, Any]]) -> ParsedGraph:
        """The graph of the case that serves the sizes of a call."""
        carried, numbers = self.carried, dict[str, int]()
        for (path, x), spec in zip(leaves, specs.input_specs(carried.args), strict=True):
            shape = np.shape(x) if not hasattr(x, "shape") else x.shape
            for dim, n in zip(getattr(spec, "shape", ()), shape, strict=False):
                if isinstance(dim, Size) and numbers.setdefault(str(dim), int(n)) != n:
                    raise ValueError(f"{self.__name__}: argument {path} has a size {dim} of {n}, and another one has "
                                     f"{numbers[str(dim)]}: pass arrays that agree")
        for case in carried.cases:
            found = dict(numbers)
            for name, (dividend, divisor) in case.quotients.items():
                found[name] = dividend.at(found) // divisor
            if all(guard.holds(found) for guard in case.conditions()):
                return ParsedGraph(at_numbers(case.graph, found))
        told = ", ".join(f"{name} = {n}" for name, n in numbers.items())
        raise ValueError(f"{self.__name__}: there is no code for {told}: expected {served_words(carried)}")

    def examples(self) -> list[Any]:
        """Arguments that the function takes: numbers between 0 and 1, and what is fixed."""
        return [_example(each) for each in self.carried.args]

    def _leaves(self, args: tuple[Any, ...]) -> Iterator[tuple[str, Any]]:
        """Numbers and arrays with the paths to them, in the graph's order; what was fixed is compared."""
        given = list(zip(self.carried.names, args, self.carried.args, strict=True))
        pending: list[tuple[str, Any, Any]] = given[::-1]
        while pending:
            path, value, spec = pending.pop()
            if isinstance(spec, specs.StaticSpec):
                if type(value) is not type(spec.value) or value != spec.value:
                    said = f"{self.__name__}: argument {path} is {value!r}, expected {spec.value!r}"
                    raise ValueError(f"{said}: it was fixed when the module was built")
            elif isinstance(spec, (specs.DictSpec, specs.ListSpec, specs.TupleSpec)):
                keys = spec.keys if isinstance(spec, specs.DictSpec) else range(len(spec.items))
                self._has(path, value, spec, keys)
                items = [(f"{path}[{key!r}]", value[key], item) for key, item in zip(keys, spec.items, strict=True)]
                pending.extend(reversed(items))
            else:
                yield path, value

    def _has(self, path: str, value: Any, spec: Any, keys: Any) -> None:
        kind = {specs.DictSpec: dict, specs.ListSpec: list}.get(type(spec), tuple)
        if not isinstance(value, kind) or len(value) != len(keys) or (kind is dict and set(value) != set(keys)):
            told = f"a dict with the keys {list(keys)}" if kind is dict else f"a {kind.__name__} of {len(keys)} items"
            came = f"a dict with the keys {list(value)}" if isinstance(value, dict) else f"a {type(value).__name__}"
            came += f" of {len(value)} items" if isinstance(value, (list, tuple)) else ""
            raise TypeError(f"{self.__name__}: argument {path} is {came}, expected {told}")


def _example(root: specs.Spec) -> Any:
    """An argument of a specification."""
    stack: list[Any] = []
    pending: list[tuple[specs.Spec, bool]] = [(root, False)]
    while pending:
        spec, visited = pending.pop()
        if isinstance(spec, specs.CONTAINERS) and not visited:
            pending.append((spec, True))
            pending.extend((item, False) for item in reversed(spec.items))
        elif isinstance(spec, specs.CONTAINERS):
            items = stack[len(stack) - len(spec.items):]
            del stack[len(stack) - len(spec.items):]
            made = dict(zip(spec.keys, items, strict=True)) if isinstance(spec, specs.DictSpec) else items
            stack.append(tuple(items) if isinstance(spec, specs.TupleSpec) else made)
        elif isinstance(spec, specs.ArraySpec):
            shape = tuple([EXAMPLE if isinstance(n, Size) else n for n in spec.shape])
            stack.append(example(Type(spec.dtype, shape)))
        else:
            numbers = {specs.FloatSpec: 0.5, specs.IntSpec: 0}
            stack.append(spec.value if isinstance(spec, specs.StaticSpec) else numbers[type(spec)])
    return stack[0]


def _built(result: Any, values: Any) -> Any:
    """The result tree with values in it, as a stack machine makes it."""
    stack: list[Any] = []
    for node in specs.children_first(result):
        if isinstance(node, specs.ConstantResult):
            stack.append(node.value)
        elif isinstance(node, specs.CONTAINER_RESULTS):
            items = stack[len(stack) - len(node.items):]
            del stack[len(stack) - len(node.items):]
            if isinstance(node, specs.DictResult):
                stack.append(dict(zip(node.keys, items, strict=True)))
            else:
                stack.append(tuple(items) if isinstance(node, specs.TupleResult) else items)
        else:
            stack.append(values[node.index])
    return stack[0]


def _packed(cases: tuple[Case, ...]) -> list[tuple[Any, ...]]:
    return [(show(case.graph), dict(case.where), case.guards, dict(case.quotients)) for case in cases]


def _again(
    name: str, names: Any, args: Any, result: Any, doc: str, text: str, extras: tuple[np.ndarray, ...],
    sizes: tuple[str, ...] = (), cases: Sequence[tuple[Any, ...]] = (),
) -> Any:
    graph, made = parse(text, checked=True), [Case(parse(each, checked=True), *rest) for each, *rest in cases]
    return LoadedFunction(Carried(name, names, args, result, doc, graph, extras, sizes, tuple(made)))


__all__ = ["LoadedFunction", "load_kernel"]
