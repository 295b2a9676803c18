"""The text of a graph in, a function that computes it out: to call, differentiate, print and compile like any other.

    slope = pullback.parse(text)                     what `fn.ir()` printed, edited or not
    slope(np.ones(3)), slope.ir("llvm"), grad(slope), vmap(slope)
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...compiler.frontend import tracing
from ...compiler.frontend.array import Array
from ...compiler.frontend.promotion import conform
from ...compiler.ir.graph import Graph, Value, inline
from ...compiler.ir.measure import names_in
from ...compiler.ir.sizes import at_sizes
from ...compiler.ir.text import ParseError, show
from ...compiler.ir.text import parse as graph_of
from ...compiler.ir.types import CARRIED, COMPLEX, Size, Type
from ...compiler.ir.verify import VerifyError, verify
from ...compiler.ops.external import external
from ..compiled.derive import Jit
from ..compiled.function import Function
from ..compiled.kernels import Reference
from ..compiled.tracebacks import boundary
from ..custom import freeze_sizes

EXAMPLE = 3
"""What a size counts that is known by name, where nobody has said it."""


@boundary
def parse(text: str) -> Function:
    """The function that the text of a graph describes: what `fn.ir()` prints for "graph", "adjoint" or "optimized".

    It takes the graph's parameters by position or by name, as arrays, or numbers where they have no shape, and returns
    its result, or a tuple of them. `grad`, `jit`, `vmap` and the others take it, and it has `ir`, `report`, `diagnose`
    and so on. Lines may be edited; blank ones, and those that begin with #, are passed over.

    text      the graph as it is printed, with or without the user's lines behind its operations

    Raises ParseError, which has `line` and `column`, for what is no graph: names that are not defined, primitives that
    are not there, types that they do not give. A graph is code and is trusted like code: what it reads by indices that
    it does not check is not checked either.

    >>> cube = parse('''
    ... graph @cube(%x: f64[]) {
    ...   %0: f64[] = mul %x, %x
    ...   %1: f64[] = mul %0, %x
    ...   return %1
    ... }''')
    >>> float(cube(2.0)), grad(cube)(2.0)
    (8.0, 12.0)
    """
    if not isinstance(text, str):
        raise TypeError(f"parse: text is of class {type(text).__name__}, expected a graph as text: fn.ir() or a file's")
    graph = graph_of(text, checked=True)
    _refuse(graph, graph)
    for p in graph.params:
        if p.type.is_tape or p.type.dtype in COMPLEX or p.type.dtype in CARRIED:
            raise ParseError(f"line 1, column 1: a parameter of a graph that is run cannot be {p.type}", 1, 1)
    if not graph.results or any(r.type.is_tape for r in graph.results):
        raise ParseError(f"line 1, column 1: @{graph.name} returns no arrays, so it cannot be run", 1, 1)
    return Function(ParsedGraph(graph), Jit(), (), (), "static")


def _refuse(graph: Graph, whole: Graph) -> None:
    """Refuse what means something only in the process that printed it."""
    for op in graph.body:
        if op.prim is external:
            lines = show(whole).splitlines()
            at = next((k for k, line in enumerate(lines, 1) if f" {op.prim.name} " in f"{line} "), 1)
            what = f"{op.prim.name} calls a Python function of the process that printed it"
            raise ParseError(f"line {at}, column 1: {what}; put other operations in its place", at, 1)
        for region in op.regions:
            _refuse(region, whole)


class ParsedGraph:
    """A graph as a function of stand-ins, which puts its operations where it is called."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.__name__ = self.__qualname__ = graph.name
        self.__signature__ = inspect.Signature([
            inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in _names(graph.params)
        ])

    def __reduce__(self) -> Any:
        return _from_text, (show(self.graph),)

    def __repr__(self) -> str:
        return f"<graph {self.__name__}>"

    @property
    def __reads__(self) -> tuple[Any, ...]:
        """What else is called: nothing."""
        return ()

    def __call__(self, *args: Any) -> Any:
        now = tracing.current()
        if now is None:
            made: Sequence[Any] = Reference(self.graph).run([np.asarray(a) for a in args])
            return made[0] if len(made) == 1 else tuple(made)
        freeze_sizes(f"the graph {self.__name__}", args)
        sizes = self._sizes(args)
        graph = at_numbers(self.graph, sizes) if sizes else self.graph
        given = []
        for name, x, p in zip(self.__signature__.parameters, args, graph.params, strict=True):
            fits(self.__name__, name, x, p.type)
            given.append(conform(now, x, p.type.numpy, p.type.shape))
        results = inline(graph, now.builder, given)
        made = [Array(now, r, False, bool(r.type.shape)) for r in results]
        return made[0] if len(made) == 1 else tuple(made)

    def _sizes(self, args: Sequence[Any]) -> dict[str, int]:
        """The numbers of the sizes that stand alone in parameters."""
        found: dict[str, int] = {}
        for x, p in zip(args, self.graph.params, strict=True):
            for d, n in zip(p.type.shape, np.shape(x) if not isinstance(x, Array) else x.shape, strict=False):
                if isinstance(d, Size) and str(d).isidentifier():
                    found.setdefault(str(d), int(n))
        missing = sorted({n for p in self.graph.params for d in p.type.shape for n in names_in(d)} - set(found))
        if missing:
            raise TypeError(f"{self.__name__}: no argument has the size {missing[0]} as one of its own dimensions")
        return found

    def examples(self) -> list[Any]:
        """Arguments that the graph takes: numbers between 0 and 1."""
        names = {n for p in self.graph.params for d in p.type.shape for n in names_in(d)}
        return [example(p.type.at(dict.fromkeys(names, EXAMPLE))) for p in self.graph.params]


def at_numbers(graph: Graph, sizes: Mapping[str, int]) -> Graph:
    """The graph with numbers in place of named sizes; TypeError where it reads beyond an array at these."""
    try:
        return verify(at_sizes(graph, sizes))
    except VerifyError as error:
        told = ", ".join(f"{name} = {n}" for name, n in sizes.items())
        raise TypeError(f"the graph {graph.name} is none for {told}: {error}") from None


def fits(function: str, name: str, x: Any, type: Type) -> None:
    """Refuse an argument of another type; numbers of Python's are converted."""
    if isinstance(x, Array):
        have, shape, weak = x.dtype, x.shape, x.weak
    else:
        have, shape, weak = np.asarray(x).dtype, np.shape(x), isinstance(x, (bool, int, float))
    kinds = "f" if type.is_float else "biu"
    alike = have == type.numpy or (weak and (have.kind in kinds or (type.is_float and have.kind in "biu")))
    if tuple(shape) != type.shape or not alike:
        said = f"{have}{list(shape)}"
        raise TypeError(
            f"{function}: argument {name} is {said}, expected {type.numpy}{list(type.shape)}:"
            f" reshape it, or pass {name}.astype(np.{type.numpy})"
        )


def example(type: Type) -> Any:
    """An argument of a type: numbers between 0 and 1, or 0 and 1 in turns."""
    count = int(np.prod(type.static_shape(), dtype=np.int64))
    made = (np.arange(count) + 1) / (count + 1) if type.is_float else np.arange(count) % 2
    return made.astype(type.numpy).reshape(type.static_shape())


def _names(params: Sequence[Value]) -> list[str]:
    """A name of Python's for each parameter."""
    names: list[str] = []
    for k, p in enumerate(params):
        name = p.hint if p.hint.isidentifier() else f"x{k}"
        while name in names:
            name += "_"
        names.append(name)
    return names


def _from_text(text: str) -> ParsedGraph:
    return ParsedGraph(graph_of(text, checked=True))


__all__ = ["ParsedGraph", "example", "fits", "parse"]
