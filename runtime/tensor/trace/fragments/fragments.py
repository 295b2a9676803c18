"""Operations on tensors as small graphs, made once for each combination of kinds.

An `Operation` says what `torch.add` means as graph operations; a `Fragment` is that for given kinds and
attributes, broadcasting and promotion included; a `Pull` is its pullback, a fragment again, so gradients of
gradients need nothing more.

    graph @add(%a: f32[2,3], %b: f32[3]) {
      %0: f32[2,3] = spread %b {axes=(1,), shape=(2, 3)}
      %1: f32[2,3] = add %a, %0
      return %1
    }
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from typing import Any, Literal, NamedTuple

import numpy as np

from .....compiler.ir.graph import Builder, Graph, Op, Value, replay
from .....compiler.ir.types import Type
from .....compiler.ops.source import number
from .....compiler.passes import common, dead
from .....compiler.passes.adjoint import pull_back
from ...value.cells import Kind, symbolic_kind
from ...value.promotion import as_computed, cast_to, widen
from ..engine import Alone, is_exact
from .changing import with_scalars
from .watched import watched_in

Rule = Literal["common", "float", "first", "own"]
Emit = Callable[..., Any]

_numbers = count()


class Operation:
    """What a function of tensors means.

    emit      (terms, *values, *attributes) -> the result, or a tuple of them
    node      what its grad_fn is called, "" where it has none
    rule      the dtype it is done in: the arguments' common one, that as a float, or each its own, where
              numbers take the first tensor's dtype ("first") or their own ("own")
    spreads   its arguments are broadcast to one shape first
    edges     Python numbers count among the node's `next_functions`
    pull      (terms, inputs, results, cotangents, *attributes) -> a cotangent or None for each input, where
              the derived pullback would lose time or digits; such an operation neither promotes nor spreads
    loose     what the pullback reads, (INPUT or RESULT, number), though PyTorch's does not: it may be written over
    lies      how its results lie in PyTorch's memory, see lying.py
    of_complex   its formula is one over pairs (see `meanings`); True if it has complex numbers whatever it is given
    """

    __slots__ = ("name", "emit", "node", "rule", "spreads", "edges", "pull", "loose", "of_complex", "lies")

    def __init__(
        self,
        name: str,
        node: str,
        emit: Emit,
        rule: Rule = "first",
        spreads: bool = False,
        edges: bool = False,
        pull: Callable[..., Any] | None = None,
        loose: tuple[tuple[int, int], ...] = (),
        of_complex: bool | None = None,
        lies: str = "",
    ) -> None:
        self.name, self.node, self.emit = name, node, emit
        self.rule, self.spreads, self.edges, self.pull, self.loose = rule, spreads, edges, pull, loose
        self.of_complex, self.lies = of_complex, lies

    def __repr__(self) -> str:
        return f"<operation {self.name}>"


INPUT, RESULT, COTANGENT = range(3)
"""What a pullback can read of the fragment that it pulls back through."""


class Pull(NamedTuple):
    """A fragment's pullback.

    reads     pairs (INPUT, RESULT or COTANGENT, its number)
    gives     pairs (number of an input, number of its cotangent among the results)
    numbers   which of `reads` are Python numbers, and not tensors
    loose     which of them may be written over
    needs     for each result of the fragment, which of `reads` it depends on
    watched   which of `reads` must not be written over unseen, either
    """

    fragment: Fragment
    reads: tuple[tuple[int, int], ...]
    gives: tuple[tuple[int, int], ...]
    numbers: frozenset[int]
    loose: tuple[int, ...] = ()
    needs: tuple[frozenset[int], ...] = ()
    watched: tuple[int, ...] = ()


class Fragment:
    """An operation on arguments of known kinds.  `numbers[k]` is the dtype of argument k if it is a number.

    instance   of which generic fragment it is one, at which sizes (`generic`): that knows its graph, and its pullbacks
    key        of one for SymInts, what it was made of: (operation, attributes, *arguments)
    """

    key: Any = None

    def __init__(
        self,
        graph: Graph | None,
        numbers: Sequence[str | None],
        operation: Operation,
        attributes: tuple[Any, ...] = (),
        kinds: tuple[tuple[Kind, ...], tuple[Kind, ...]] | None = None,
        instance: Any = None,
    ) -> None:
        self.number = next(_numbers)
        self._graph = graph
        self._alone: Alone | None = None
        self.instance, self.numbers = instance, tuple(numbers)
        self.operation, self.attributes = operation, attributes
        self.has_numbers = any(numbers)
        self.inputs, self.results = kinds or [
            tuple([symbolic_kind(v.type.dtype, v.type.static_shape()) for v in each])
            for each in (self.graph.params, self.graph.results)
        ]
        self.exact = is_exact(self.graph) if instance is None else instance.exact
        self.outline: Any = instance and instance.outline  # see structures.py
        self.floats = all(k.is_float for k in self.inputs)
        self.differentiable = bool(operation.node) and any(k.is_float for k in self.results)
        self.pulls: dict[tuple[int, ...], Pull] = {}
        self.some: dict[tuple[tuple[int, ...], tuple[int, ...]], Pull] = {}
        #: where it was recorded last: how many frames up, and the place there
        self.hint: tuple[int, Any] | None = None

    @property
    def graph(self) -> Graph:
        """What it computes; of an instance of a generic one it is made when it is asked for."""
        if self._graph is None:
            self._graph = self.instance.graph()
        return self._graph

    @property
    def alone(self) -> Alone:
        """How it runs by itself."""
        if self._alone is None:
            self._alone = Alone(self.graph, self.exact, sum([k.size for k in (*self.inputs, *self.results)]))
        return self._alone

    @alone.setter
    def alone(self, alone: Alone) -> None:
        self._alone = alone

    def run(self, arrays: list[np.ndarray]) -> list[np.ndarray]:
        """The results for arrays of the fragment's kinds."""
        return self.alone.run(arrays)

    def pull(self, wanted: tuple[int, ...]) -> Pull:
        """The pullback with respect to the inputs numbered `wanted`."""
        found = self.pulls.get(wanted)
        if found is None:
            found = self.instance and self.instance.pull(self, wanted)
            found = self.pulls[wanted] = found or pulled(self, wanted)
        return found

    def pull_some(self, ways: Sequence[Any], pull: Pull, cts: Sequence[Any]) -> Pull:
        """What is left of `pull`, for inputs whose cotangents go some way, where results have no cotangent (None).

        Zeros in place of one would be NaN where its slope is infinite, and a gradient where there is none.
        """
        if self.operation.pull or all(cts[k] is not None for what, k in pull.reads if what == COTANGENT):
            return pull
        wanted, present = (tuple([k for k, v in enumerate(vs) if v is not None]) for vs in (ways, cts))
        if (wanted, present) not in self.some:
            found = self.instance and self.instance.pull(self, wanted, present)
            self.some[wanted, present] = found or pulled(self, wanted, present)
        return self.some[wanted, present]


def pulled(fragment: Fragment, wanted: tuple[int, ...], present: tuple[int, ...] | None = None) -> Pull:
    """The pullback as a fragment of what it reads: some of the inputs, results and cotangents."""
    is_real = not any(k.is_complex for k in (*fragment.inputs, *fragment.results))
    by_rule = fragment.operation.pull and is_real
    back, gives = _given(fragment, wanted) if by_rule else _derived(fragment, wanted, present)
    count, floats = len(fragment.inputs), [(COTANGENT, k) for k, kind in enumerate(fragment.results) if kind.is_float]
    readings = [*[(INPUT, k) for k in range(count)], *[(RESULT, k) for k in range(len(fragment.results))], *floats]
    used = {a for op in back.body for a in op.args} | set(back.results)
    watched = watched_in(fragment.operation, {readings[k] for k, p in enumerate(back.params) if p in used})
    kept = [k for k, p in enumerate(back.params) if p in used or readings[k] in watched]
    params = tuple([back.params[k] for k in kept])
    pruned = Graph(back.name + "_pull", params, back.body, back.results)
    node = fragment.operation.node.rstrip("0123456789")
    operation = Operation(pruned.name, node and f"{node}Backward0", fragment.operation.emit)
    reads = tuple([readings[k] for k in kept])
    made = Fragment(pruned, [None] * len(params), operation, (), pulled_kinds(fragment, reads, gives))
    numbers = frozenset([n for n, k in enumerate(kept) if k < count and fragment.numbers[k] is not None])
    loose, seen = (tuple([n for n, r in enumerate(reads) if r in some]) for some in (fragment.operation.loose, watched))
    return Pull(made, reads, gives, numbers, loose, _needs(pruned), seen)


def _needs(graph: Graph) -> tuple[frozenset[int], ...]:
    """For each result, the numbers of the parameters that it depends on."""
    needs = {p: frozenset([k]) for k, p in enumerate(graph.params)}
    for op in graph.body:
        found = frozenset().union(*[needs[a] for a in op.args])
        needs.update((r, found) for r in op.results)
    return tuple([needs[r] for r in graph.results])


Gives = tuple[tuple[int, int], ...]


def pulled_kinds(fragment: Fragment, reads: Sequence[tuple[int, int]], gives: Gives) -> Any:
    """The kinds of what a pullback reads and gives."""
    read = [(fragment.inputs if what == INPUT else fragment.results)[k] for what, k in reads]
    given = [fragment.inputs[k] for k, _ in sorted(gives, key=lambda pair: pair[1])]
    return tuple(read), tuple(given)


def _types(fragment: Fragment) -> list[Type]:
    """The types of inputs, results and cotangents."""
    floats = [k.type for k in fragment.results if k.is_float]
    return [*(k.type for k in (*fragment.inputs, *fragment.results)), *floats]


def _split(fragment: Fragment, params: Sequence[Any]) -> tuple[list[Any], list[Any], list[Any]]:
    """Inputs, results, and a cotangent or None for each result."""
    n, m = len(fragment.inputs), len(fragment.inputs) + len(fragment.results)
    floats = iter(params[m:])
    cts = [next(floats) if k.is_float else None for k in fragment.results]
    return list(params[:n]), list(params[n:m]), cts


def _given(fragment: Fragment, wanted: tuple[int, ...]) -> tuple[Graph, Gives]:
    """By the operation's own rule."""
    b = Builder(fragment.graph.name, _types(fragment))
    assert fragment.operation.pull is not None
    inputs, results, cts = _split(fragment, b.params)
    count = len(inputs) - fragment.attributes.count(float)
    m, attributes = with_scalars(b, fragment.attributes, inputs[count:])
    parts = [[v and m(as_computed(b, v)) for v in values] for values in (inputs[:count], results, cts)]
    made = fragment.operation.pull(m, *parts, *attributes)
    return _finished(b, wanted, [made[k] and cast_to(b, made[k].value, inputs[k].type.dtype) for k in wanted])


def _derived(fragment: Fragment, wanted: tuple[int, ...], present: tuple[int, ...] | None) -> tuple[Graph, Gives]:
    """By the adjoint, reading the results that the forward run has instead of computing them again."""
    graph, types = fragment.graph, _types(fragment)
    b = Builder(graph.name, types)
    inputs, results, cts = _split(fragment, b.params)
    env = replay(graph, b, inputs)
    forward = list(b.body)
    made = [env[r] for r in graph.results]
    asked = range(len(cts)) if present is None else present
    seeds = [(v, ct) for k, (v, ct) in enumerate(zip(made, cts, strict=True)) if ct is not None and k in asked]
    pulled = pull_back(b, [inputs[k] for k in wanted], seeds)
    if present is not None:  # zeros would go on, and become NaN at the next infinite slope
        reached = [k for k, v in enumerate(pulled) if v is not None]
        wanted, pulled = tuple([wanted[k] for k in reached]), [pulled[k] for k in reached]
    joint, gives = _finished(b, wanted, pulled)
    known = dict(zip(made, results, strict=True))
    places = {id(op): [known[r] for r in op.results] for op in forward if all(r in known for r in op.results)}

    def visit(_: Builder, op: Op, args: tuple[Value, ...]) -> Sequence[Value] | None:
        return places.get(id(op))

    c = Builder(graph.name)
    c.params = joint.params
    env = replay(joint, c, joint.params, visit)
    return dead(common(c.finish([env[r] for r in joint.results]))), gives


def _finished(b: Builder, wanted: tuple[int, ...], pulled: Sequence[Value | None]) -> tuple[Graph, Gives]:
    """The graph of the cotangents, zeros where the input makes no difference, and which input each is for."""
    filled = [number(b, 0, b.params[k].type) if v is None else v for k, v in zip(wanted, pulled, strict=True)]
    return dead(b.finish(filled)), tuple([(k, n) for n, k in enumerate(wanted)])


__all__ = ["COTANGENT", "INPUT", "RESULT", "Fragment", "Operation", "Pull", "pulled", "pulled_kinds", "widen"]
