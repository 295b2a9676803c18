"""Calls of opaque Python functions from compiled code.

    %1: f64[3] = external %x {name="simulate", number=4, types=(f64[3],)}

The number stands for a function of this process, which lives as long as an operation that calls it. A user's function
means nothing in another process, so that code which calls it is never kept on disk. One of ours, as NumPy's sort along
an axis, is made from its recipe by every process, and its number is a hash of that: what calls it is kept, with the
recipe. What a function raises comes out of the compiled call.
"""

from __future__ import annotations

import ast
import hashlib
import itertools
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar
from weakref import WeakValueDictionary

import numpy as np

from ..ir.graph import Graph
from ..ir.primitive import Effect, Primitive
from ..ir.types import Type
from ..locks import lock
from .custom import refused

Opaque = Callable[[Sequence[np.ndarray]], Sequence[np.ndarray]]


class Function:
    """A function of arrays of the types `takes`, which gives arrays of the types `gives`.

    One that `only_reads` its arguments, and keeps none, is given a kernel's own memory. `into` writes what `call`
    would return to arrays that it gets before the arguments. The `recipe` is text from which `remade` makes the
    function in any process; None if it means something in this one only.
    """

    __slots__ = ("name", "call", "takes", "gives", "only_reads", "into", "layouts", "recipe", "__weakref__")

    def __init__(
        self, name: str, call: Opaque, takes: Sequence[Type], gives: Sequence[Type], only_reads: bool = False,
        into: Callable[[Sequence[np.ndarray], Sequence[np.ndarray]], object] | None = None,
        maker: str = "", attributes: tuple[Any, ...] = (),
    ) -> None:
        self.name, self.call, self.takes, self.gives = name, call, tuple(takes), tuple(gives)
        self.only_reads, self.into = only_reads, into
        self.layouts: Any = None  # of its arguments and results in memory, by who calls it from native code
        self.recipe = _recipe(maker, name, attributes, self.takes, self.gives) if maker else None


MAKERS: dict[str, Callable[[str, tuple[Any, ...], tuple[Type, ...], tuple[Type, ...]], Function | None]] = {}
"""What makes functions of a name, attributes and types, in every process the same; None where there is no such one."""


def _recipe(
    maker: str, name: str, attributes: tuple[Any, ...], takes: Sequence[Type], gives: Sequence[Type]
) -> str | None:
    """The text of what a maker is given; None where that is not all numbers and words, as for sizes that have names."""
    given = maker, name, attributes, *(tuple([(t.dtype, t.shape) for t in types]) for types in (takes, gives))
    text = repr(given)
    try:
        return text if ast.literal_eval(text) == given else None
    except (ValueError, SyntaxError):
        return None


def remade(recipe: str) -> Numbered | None:
    """The number of the function with this recipe, or None if nobody makes it."""
    try:
        maker, name, attributes, *types = ast.literal_eval(recipe)
        takes, gives = (tuple([Type(dtype, shape) for dtype, shape in each]) for each in types)
        made = MAKERS[maker](name, attributes, takes, gives)
    except (ValueError, SyntaxError, TypeError, KeyError):
        return None
    return None if made is None or made.recipe != recipe else numbered(made)


class Numbered(int):
    """The number of a function, which keeps it alive."""

    function: Function

    @property
    def only_here(self) -> bool:
        """Whether it means something in this process only."""
        return self.function.recipe is None


_functions: WeakValueDictionary[int, Function] = WeakValueDictionary()
_numbers = itertools.count(1)
_numbering = lock()

HASHED = 1 << 62
"""Numbers from here on are hashes of recipes."""


def numbered(function: Function) -> Numbered:
    """A number by which operations speak of a function; of one with a recipe the same as for all others with it."""
    if function.recipe is None:
        number = Numbered(next(_numbers))
    else:
        digest = hashlib.sha256(function.recipe.encode()).digest()
        number = Numbered(HASHED + int.from_bytes(digest[:8], "little") % HASHED)
    with _numbering:
        number.function = _functions.setdefault(int(number), function)
    return number


def recipes_of(graph: Graph) -> Iterator[str]:
    """The recipes of the functions that a graph calls, in its regions too; of functions that have one."""
    for op in graph.body:
        if op.prim is external:
            recipe = function_of(op.attrs["number"]).recipe
            if recipe is not None:
                yield recipe
        for region in op.regions:
            yield from recipes_of(region)


def function_of(number: int) -> Function:
    """The function with a number."""
    found = _functions.get(int(number))
    if found is None:
        raise RuntimeError(f"external function {int(number)} is not of this process, or is no longer there")
    return found


class _Pending(threading.local):
    error: BaseException | None = None


_pending = _Pending()


def raised(error: BaseException) -> None:
    """Keep what a function has raised until native code has come back."""
    _pending.error = error


class External(Primitive):
    """What the function with this number returns."""

    effect = Effect.MAY_FAIL
    opaque = True
    attributes: ClassVar = {"name": "word", "number": "number", "types": "types"}
    exact = True

    def infer(self, types, attrs, regions):
        if not isinstance(attrs.get("types"), tuple):
            raise TypeError(f"external wants the types of its results, got {dict(attrs)}")
        return attrs["types"]

    def evaluate(self, args, attrs, regions):
        return function_of(attrs["number"]).call([np.array(a) for a in args])

    @staticmethod
    def error(report, name, number, types):
        """The exception that the function has raised in this thread; the facts are the attributes in order of names."""
        error, _pending.error = _pending.error, None
        return error or RuntimeError(f"external function {name} has failed")

    def pull(self, b, op, cotangents):
        name = op.attrs["name"]
        fix = "give it a derivative that is traced, with custom_vjp, or use stop_gradient"
        where = f" ({op.where.file}:{op.where.line})" if op.where else ""
        text = f"external function {name} has no derivative here{where}: {fix}"
        return [refused.of(b, a.type, text, [*cotangents, *op.args]) if a.type.is_float else None for a in op.args]

    def batch(self, m):
        """One call that calls the function for each lane."""
        name, number, types = (m.op.attrs[key] for key in ("name", "number", "types"))
        function, flags, size = function_of(number), m.flags, m.size
        gives = tuple([t.with_shape((size, *t.shape)) for t in types])

        def call(given):
            rows = [
                function.call([np.array(g[k]) if f else g for g, f in zip(given, flags, strict=True)])
                for k in range(size)
            ]
            made = [np.empty(t.static_shape(), t.numpy) for t in gives]
            for k, row in enumerate(rows):
                for whole, part in zip(made, row, strict=True):
                    whole[k] = part
            return made

        batched = numbered(Function(name, call, [a.type for a in m.args], gives))
        return m.emit(self, *m.args, name=name, number=batched, types=gives)

    def samples(self, rng):
        return []


external = External("external")


def calls_of(graph: Graph) -> Iterator[str]:
    """The names of the external functions that a graph calls or will call, in its regions too."""
    for op in graph.body:
        if op.prim.opaque:
            yield op.attrs.get("name", op.prim.name)
        for region in op.regions:
            yield from calls_of(region)


def calls_python(graph: Graph) -> bool:
    """Whether a graph calls functions of the process that has made it, and of no other."""
    return any(op.prim is external or any(map(calls_python, op.regions)) for op in graph.body)


__all__ = [
    "MAKERS", "Function", "Numbered", "calls_of", "calls_python", "external", "function_of", "numbered", "raised",
    "recipes_of", "remade",
]
