"""The fragment of an operation on arguments of given kinds: made once, and for further sizes by formulas.

    fragment_for((ADD, (), f32[2,3], f32[3]))

The second sizes at which a fragment is wanted, it is made once more with SymInts for them (`ir.symint`), and so is its
pullback. That gives formulas for the numbers of its graph; at further sizes for which the guards hold a fragment is no
more than these numbers, and its graph is made if it is run by itself.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Any, NamedTuple

from .....compiler.ir.graph import Graph
from .....compiler.ir.symint import SymFloat, SymInt, example
from ...value.cells import Kind, kind_of, symbolic_kind
from ..engine import is_exact
from .dynamic import Dynamic
from .fragments import Fragment, Operation, Pull, pulled, pulled_kinds
from .lying import lay_out
from .meaning import made_of
from .outlines import Body, body_of, outline, outlined, renumbered, with_numbers

LIMIT = 4096
"""How many fragments are kept, and how many that are generic; the oldest goes first, and is made again if needed."""

SMALL = 8
"""Whole numbers below are no sizes among attributes."""

Wanted = tuple[tuple[int, ...], tuple[int, ...] | None] | None
"""The inputs with respect to which a pullback is wanted, and the results that have a cotangent, if not all have; None
for the fragment itself."""


def fragment_for(key: tuple[Any, ...]) -> Fragment:
    """The fragment of (operation, attributes, *arguments), each argument a Kind or a number's class.

    Where attributes have the class float itself, numbers are further inputs, after the arguments.
    """
    try:
        return _fragments.get(key) or _made(key)
    except TypeError:  # SymInts are in no table
        if not is_symbolic(key):
            raise
        return _symbolic(key)


def is_symbolic(key: tuple[Any, ...]) -> bool:
    """Whether there are SymInts in shapes or attributes."""
    _, attributes, *arguments = key
    return any(type(a) is Kind and a.number < 0 for a in arguments) or _has_symbols(attributes)


def _has_symbols(attribute: Any) -> bool:
    if type(attribute) is tuple:
        return any(_has_symbols(each) for each in attribute)
    return type(attribute) is SymInt or type(attribute) is SymFloat


def forget_fragments() -> None:
    """Forget what was made, because what it depended on has changed: the default dtype."""
    _fragments.clear()
    _generics.clear()


_fragments: dict[Any, Fragment] = {}


def _made(key: tuple[Any, ...]) -> Fragment:
    if any(type(a) is Kind and a.number < 0 for a in key):
        return _symbolic(key)
    made = _instance(key) or Fragment(*made_of(key))
    lay_out(made, key)
    while len(_fragments) >= LIMIT:
        _fragments.pop(next(iter(_fragments)), None)
    return _fragments.setdefault(key, made)


def _symbolic(key: tuple[Any, ...]) -> Fragment:
    made = Fragment(*made_of(key))
    made.key = key
    lay_out(made, key)
    return made


# ---- by formulas


class Way(NamedTuple):
    """What fragments have in common whose graphs differ in numbers only.

    graph, body      of an example
    dtypes           of arguments that are numbers
    inputs, results  (dtype, rank) of each
    pull             the example, of a pullback
    """

    graph: Graph
    body: Body
    exact: bool
    dtypes: tuple[str | None, ...]
    inputs: tuple[tuple[str, int], ...]
    results: tuple[tuple[str, int], ...]
    operation: Operation
    pull: Pull | None

    def fragment(self, numbers: list[Any], attributes: tuple[Any, ...], at: Generic | None, given: Any) -> Fragment:
        """A fragment whose graph has these numbers; behind them are the shapes of its results."""
        dims = iter(numbers)
        inputs = [kind_of(dtype, tuple([next(dims) for _ in range(rank)])) for dtype, rank in self.inputs]
        own = len(numbers) - sum([rank for _, rank in self.results])
        dims = iter(numbers[own:])
        results = [kind_of(dtype, tuple([next(dims) for _ in range(rank)])) for dtype, rank in self.results]
        instance = Instance(self, numbers[:own], at, given)
        return Fragment(None, self.dtypes, self.operation, attributes, (tuple(inputs), tuple(results)), instance)


class Instance:
    """A generic fragment at given sizes: `numbers` are those of its graph, `given` those of its key."""

    __slots__ = ("way", "numbers", "generic", "given")

    def __init__(self, way: Way, numbers: list[Any], generic: Generic | None, given: Any) -> None:
        self.way, self.numbers, self.generic, self.given = way, numbers, generic, given

    @property
    def exact(self) -> bool:
        return self.way.exact

    @property
    def outline(self) -> tuple[Body, list[Any]]:
        """As `body_of` its graph."""
        return self.way.body, self.numbers[sum([rank for _, rank in self.way.inputs]) :]

    def graph(self) -> Graph:
        return renumbered(self.way.graph, iter(self.numbers))

    def pull(
        self, fragment: Fragment, wanted: tuple[int, ...], present: tuple[int, ...] | None = None
    ) -> Pull | None:
        """A pullback of the fragment, if it is known how it is made; else let it be learned."""
        if self.generic is None:
            return None
        found = self.generic.at(self.given, (wanted, present))
        if found is None:
            key = fragment.operation, fragment.attributes, *self._arguments(fragment)
            self.generic.wish(key, self.given, (wanted, present))
            return None
        numbers, way = found
        assert way.pull is not None
        made = way.fragment([*numbers], (), None, None)
        made.inputs, made.results = pulled_kinds(fragment, way.pull.reads, way.pull.gives)
        return way.pull._replace(fragment=made)

    def _arguments(self, fragment: Fragment) -> Iterator[Any]:
        assert self.generic is not None
        for argument, kind in zip(self.generic.arguments, fragment.inputs, strict=False):
            yield kind if type(argument) is tuple else argument


class Generic(Dynamic):
    """A fragment for all sizes; `arguments` are those of its key: (dtype, rank, order) or a number's class."""

    def __init__(self, arguments: Sequence[Any], given: list[Any]) -> None:
        super().__init__(given)
        self.arguments = arguments

    def wish(self, key: tuple[Any, ...], given: list[Any], wanted: Wanted = None) -> None:
        """Let it be learned soon how it is made, or pulled back."""
        self.ask(given, lambda numbers: _learned(_with_sizes(key, iter(numbers)), wanted), wanted)


def _learned(key: tuple[Any, ...], wanted: Wanted) -> tuple[list[Any], Way]:
    """What a fragment for SymInts, or its pullback, has in common with those for other sizes, and its numbers."""
    fragment, pull = Fragment(*made_of(key)), None
    if wanted is not None:
        pull = pulled(fragment, *wanted)
        fragment = pull.fragment
    made: list[Any] = []
    outline(fragment.graph, made)
    graph = renumbered(fragment.graph, iter([*map(example, made)]))
    body, _ = body_of(graph)
    if body is None or any(k.is_complex for k in (*fragment.inputs, *fragment.results)):
        raise TypeError("such fragments are made for each size")
    inputs, results = (tuple([(k.dtype, len(k.shape)) for k in kinds]) for kinds in (fragment.inputs, fragment.results))
    way = Way(graph, body, is_exact(graph), fragment.numbers, inputs, results, fragment.operation, pull)
    return [*made, *[n for kind in fragment.results for n in kind.shape]], way


_generics: dict[Hashable, Generic] = {}


def _instance(key: tuple[Any, ...]) -> Fragment | None:
    """The fragment by formulas, if it is known how it is made; else let it be learned, if its like has been made."""
    operation, attributes, *arguments = key
    given: list[Any] = []
    kinds = tuple([_outlined(a, given) for a in arguments])
    bare = operation, _bare(attributes, given), kinds
    generic = _generics.get(bare)
    if generic is None:
        while len(_generics) >= LIMIT:
            _generics.pop(next(iter(_generics)), None)
        _generics[bare] = Generic(kinds, given)
        return None
    found = generic.at(given)
    if found is None:
        generic.wish(key, given)
        return None
    numbers, way = found
    return way.fragment([*numbers], attributes, generic, given)


def _outlined(argument: Any, given: list[Any]) -> Any:
    if type(argument) is not Kind:
        return argument
    given.extend(argument.shape)
    return argument.dtype, len(argument.shape), argument.order


def _with_sizes(key: tuple[Any, ...], numbers: Iterator[Any]) -> tuple[Any, ...]:
    """A key with other numbers, in the order in which `_instance` has found its own."""
    operation, attributes, *arguments = key
    kinds = [
        symbolic_kind(a.dtype, tuple([next(numbers) for _ in a.shape])) if type(a) is Kind else a for a in arguments
    ]
    return operation, _with_numbers(attributes, numbers), *kinds


def _bare(attribute: Any, given: list[Any]) -> Any:
    """An attribute without its numbers but for small ones: these are axes, mostly, of which each is a formula."""
    kind = type(attribute)
    if kind is tuple:
        return tuple([_bare(each, given) for each in attribute])
    return attribute if kind is int and abs(attribute) < SMALL else outlined(attribute, given)


def _with_numbers(attribute: Any, numbers: Iterator[Any]) -> Any:
    kind = type(attribute)
    if kind is tuple:
        return tuple([_with_numbers(each, numbers) for each in attribute])
    return attribute if kind is int and abs(attribute) < SMALL else with_numbers(attribute, numbers)


__all__ = ["forget_fragments", "fragment_for", "is_symbolic"]
