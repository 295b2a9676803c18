"""Graphs as SymPy expressions: scalars as closed forms, small arrays element by element, large ones by their indices.

    to_sympy(graph, [x, y])            its results as expressions

The elements of an operation's result are read off its `define`, as loops are made from it; so what has native code has
an expression. A loop of few rounds is written out; a longer one is a Sum or a Product where it adds up or multiplies,
and else a recurrence. A branch is a Piecewise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ....compiler.ir.graph import Graph, Op, Value
from ....compiler.loops import Check, Map, Product, Reduce, Relabel, Scatter
from ....compiler.ops.contract import free, split
from ....compiler.ops.elementwise import Elementwise
from ....compiler.ops.scipy.special import Special
from ....compiler.passes.cleanup import expand
from ....compiler.passes.tidied import tidied
from ..shared.known import known_array
from ..shared.library import sympy_module
from ..shared.parts import summed
from ..shared.work import bounded_work
from .elements import (
    BY_FORMULA,
    EXPLICIT,
    Formulas,
    NoExpression,
    SymbolicArray,
    Undecided,
    by_cases,
    choose,
    component,
    expression,
    parameter,
    reads,
    scalar,
    table,
)
from .ends import inside, short_axes
from .folding import folded
from .operations import RULES, WRITTEN_OUT, number_of, static_shape, told
from .ordered import place_of_greatest


def to_sympy(graph: Graph, symbols: Sequence[Any] = (), extras: Sequence[Any] = ()) -> list[Any]:
    """The results of a graph as SymPy expressions; parameters without a symbol get one of their name.

    `extras` are the arrays that the last parameters stand for: of few elements they are numbers.

    A number is an expression, an array of up to 64 elements a Matrix where it has two axes and an Array where it has
    others, and a larger one an ArrayComprehension over its indices.
    """
    with bounded_work(NoExpression):
        try:
            return _written(graph, symbols, extras)
        except NoExpression:  # of loops that carry arrays: then of these as they are, where a round makes a part of one
            if not any(op.regions for op in graph.body):
                raise
            return _written(tidied(graph), symbols, extras)


def _written(graph: Graph, symbols: Sequence[Any], extras: Sequence[Any]) -> list[Any]:
    reader, graph, given = opened(graph, symbols, extras)
    try:
        return [result_of(x) for x in reader.run(graph, given)]
    except RecursionError:
        raise NoExpression("sympy() of arrays that are made of one another too often") from None


def opened(graph: Graph, symbols: Sequence[Any], extras: Sequence[Any]) -> tuple[GraphReader, Graph, list[Any]]:
    """What reads a graph, the graph as it is read, and what its parameters are called."""
    m = Formulas()
    graph = expand(graph, late=True, keep=lambda prim: prim in RULES or _is_known(prim, m))
    own = len(graph.params) - len(extras)
    given = [parameter_of(p, k, symbols) for k, p in enumerate(graph.params[:own])]
    given += [_data(p, own + k, x) for k, (p, x) in enumerate(zip(graph.params[own:], extras, strict=True))]
    return GraphReader(m), graph, given


def _is_known(prim: Any, m: Formulas) -> bool:
    return isinstance(prim, Special) and m.knows(prim.name)


def parameter_of(p: Value, k: int, symbols: Sequence[Any]) -> SymbolicArray:
    """What a parameter of a graph is called: the symbol that is given for it, or one of its own name."""
    sympy = sympy_module()

    facts = {"real": True} if p.type.is_float else {"integer": True}
    if not p.type.shape:
        return scalar(symbols[k] if k < len(symbols) else sympy.Symbol(p.hint or f"x{k}", **facts))
    size = static_shape(p.type)
    return parameter(symbols[k] if k < len(symbols) else sympy.IndexedBase(p.hint or f"x{k}", size, **facts), size)


def _data(p: Value, k: int, x: Any) -> SymbolicArray:
    if not isinstance(x, np.ndarray):
        return parameter_of(p, k, ())
    if x.size > EXPLICIT:
        return parameter(known_array()(p.hint or f"x{k}", x), x.shape)
    values = np.empty(x.shape, object)
    for index in np.ndindex(*x.shape):
        values[index] = number_of(x[index].item())
    return table(values)


def result_of(x: SymbolicArray) -> Any:
    """A number as an expression, and an array as the array of SymPy's that its size makes legible."""
    sympy = sympy_module()
    from sympy.tensor.array import ArrayComprehension

    if not x.shape:
        return folded(x[()])
    if x.explicit:
        if len(x.shape) == 2:
            return sympy.ImmutableMatrix(*x.shape, list(map(folded, x.all())))
        return sympy.ImmutableDenseNDimArray(list(map(folded, x.all())), x.shape)
    names = [sympy.Symbol(name, integer=True, nonnegative=True) for name in _indices(len(x.shape))]
    return ArrayComprehension(x[names], *[(i, 0, n - 1) for i, n in zip(names, x.shape, strict=True)])


def _indices(rank: int) -> list[str]:
    return list("ijkl"[:rank]) if rank <= 4 else [f"i{k}" for k in range(rank)]


class GraphReader:
    """What the values of a graph are, one operation after the other."""

    def __init__(self, m: Formulas) -> None:
        self.m, self.names = m, 0

    def symbol(self, name: str, **facts: Any) -> Any:
        """A new symbol, bound by a sum or a recurrence."""
        sympy = sympy_module()

        self.names += 1
        return sympy.Symbol(f"{name}_{self.names}", **facts)

    def run(self, graph: Graph, given: Sequence[Any]) -> list[Any]:
        """The results of a graph for these values of its parameters."""
        env: dict[Value, Any] = dict(zip(graph.params, given, strict=True))
        for op in graph.body:
            env.update(zip(op.results, self.of(op, [env[a] for a in op.args]), strict=True))
        return [env[r] for r in graph.results]

    def of(self, op: Op, args: list[Any]) -> Sequence[Any]:
        """The results of one operation."""
        rule = RULES.get(op.prim)
        if rule is not None:
            return rule(self, op, args)
        if isinstance(op.prim, Elementwise | Special):
            return [self._elementwise(op, args)]
        if len(op.results) != 1:
            raise NoExpression(f"sympy() cannot read {told(op)}")
        try:
            return [self.defined(op, args)]
        except NotImplementedError:
            raise NoExpression(f"sympy() cannot read {told(op)}") from None

    def _elementwise(self, op: Op, args: list[SymbolicArray]) -> SymbolicArray:
        m = self.m
        if isinstance(op.prim, Special):
            formula: Callable[..., Any] = lambda *xs: getattr(m, op.prim.name)(*xs, **op.attrs)  # noqa: E731
        else:
            formula = lambda *xs: op.prim.formula(m, *xs)  # type: ignore[attr-defined]  # noqa: E731
        return SymbolicArray(static_shape(op.results[0].type), lambda *index: formula(*[x[index] for x in args]))

    def defined(self, op: Op, args: list[SymbolicArray]) -> SymbolicArray:
        """By the form that loops are made from."""
        given = reads(args, [a.type.dtype for a in op.args], self.m)
        form, size = op.prim.define(op, given), static_shape(op.results[0].type)
        if isinstance(form, Check):
            return args[0]
        if isinstance(form, Relabel):
            return SymbolicArray(size, lambda *index: args[0][_moved(index, size, args[0].shape)])
        if isinstance(form, Product):
            return self._product(op, args, size)
        if isinstance(form, Reduce):
            return self._reduced(form, size)
        if isinstance(form, Scatter):
            if form.whole is None or not all(x[()].is_Integer for x in args[2:]):
                return self._scattered(form, args[0], size)
            form = Map(form.whole)
        value = form.value

        def element(*index: Any) -> Any:
            return expression(value([component(i, n) for i, n in zip(index, size, strict=True)]), self.m)

        return SymbolicArray(size, element)

    def _reduced(self, form: Reduce, size: tuple[int, ...]) -> SymbolicArray:
        kept = [a for a in range(len(form.extents)) if a not in form.axes]

        def element(*index: Any) -> Any:
            at = dict(zip(kept, index, strict=True))
            axes = [form.extents[a] for a in form.axes]

            def term(*inner: Any) -> Any:
                place = at | dict(zip(form.axes, inner, strict=True))
                parts = [component(place[a], n) for a, n in enumerate(form.extents)]
                return expression(form.value(parts), self.m)

            if form.kind == "argmax":
                if axes[0] > EXPLICIT:
                    raise NoExpression(f"sympy() cannot read the place of a maximum of {axes[0]} elements")
                return place_of_greatest(self.m, [term(j) for j in range(axes[0])])
            return self.folded(form.kind, axes, term)

        return SymbolicArray(size, element)

    def folded(self, kind: str, extents: Sequence[int], term: Callable[..., Any]) -> Any:
        """A fold over axes: written out where it is short, over new indices where it is long."""
        sympy = sympy_module()

        size = math.prod(extents)
        if size > WRITTEN_OUT and kind == "sum":
            asked = BY_FORMULA.set(size <= EXPLICIT)
            try:
                return self._sum(extents, term)
            except NoExpression:  # of elements that are told one by one
                if size > EXPLICIT:
                    raise
            finally:
                BY_FORMULA.reset(asked)
        if size > (EXPLICIT if kind == "sum" else WRITTEN_OUT):
            raise NoExpression(f"sympy() cannot read the {kind} of {size} elements")
        terms = [term(*index) for index in np.ndindex(*extents)]
        return {"sum": sympy.Add, "max": sympy.Max, "min": sympy.Min}[kind](*terms)

    def _sum(self, extents: Sequence[int], term: Callable[..., Any]) -> Any:
        """Over new indices; elements at the ends that are made in other ways are written out beside."""
        sympy = sympy_module()

        short = short_axes(extents)
        long = [a for a in range(len(extents)) if a not in short]

        def at(places: dict[int, Any]) -> Any:
            beside = np.ndindex(*[extents[a] for a in short])
            every = [places | dict(zip(short, index, strict=True)) for index in beside]
            return sympy.Add(*[term(*[each[a] for a in range(len(extents))]) for each in every])

        def inner(before: int, behind: int, strict: bool) -> Any:
            names = {a: self.symbol("k", integer=True) for a in long}
            limits = [(k, before, extents[a] - 1 - behind) for a, k in names.items()]
            self.m.ranges.update((k, (low, high)) for k, low, high in limits)
            self.m.strict |= {*names.values()} if strict else set()
            try:
                return summed(at(names), *limits)
            except Undecided:
                return None
            finally:
                self.m.strict -= {*names.values()}

        found = inside(lambda before, behind: inner(before, behind, True), extents[long[0]]) if len(long) == 1 else None
        made, before, behind = found or (inner(0, 0, False), 0, 0)
        if made is None:
            raise NoExpression("sympy() cannot read a sum with cases within a sum")
        last = extents[long[0]]
        return sympy.Add(made, *[at({long[0]: k}) for k in (*range(before), *range(last - behind, last))])

    def _product(self, op: Op, args: list[SymbolicArray], size: tuple[int, ...]) -> SymbolicArray:
        left, right, batch = split(op.attrs)
        pairs = [*zip(left, right, strict=True)]
        a, b = args
        free_a = free(len(a.shape), [*(p for p, _ in batch), *left])
        free_b = free(len(b.shape), [*(q for _, q in batch), *right])

        def element(*index: Any) -> Any:
            at_a: dict[int, Any] = {}
            at_b: dict[int, Any] = {}
            rest = iter(index)
            for p, q in batch:
                at_a[p] = at_b[q] = next(rest)
            at_a |= {p: next(rest) for p in free_a}
            at_b |= {q: next(rest) for q in free_b}

            def term(*inner: Any) -> Any:
                of_a = at_a | {p: i for (p, _), i in zip(pairs, inner, strict=True)}
                of_b = at_b | {q: i for (_, q), i in zip(pairs, inner, strict=True)}
                return a[[of_a[k] for k in range(len(a.shape))]] * b[[of_b[k] for k in range(len(b.shape))]]

            return self.folded("sum", [a.shape[p] for p in left], term)

        return SymbolicArray(size, element)

    def _scattered(self, form: Scatter, x: SymbolicArray, size: tuple[int, ...]) -> SymbolicArray:
        """Each element with what is put or added there, of few."""
        sympy = sympy_module()

        if math.prod(form.extents) * x.size > EXPLICIT * WRITTEN_OUT:
            raise NoExpression("sympy() cannot read a scatter of that many elements")
        made = {index: x[index] for index in np.ndindex(*size)}
        for index in np.ndindex(*form.extents):
            parts = [component(i, n) for i, n in zip(index, form.extents, strict=True)]
            value = expression(form.value(parts), self.m)
            at = [expression(i, self.m) for i in form.target(parts)]
            for place, old in made.items():
                if form.fold == "sum":
                    made[place] = old + self._there(at, place, value, sympy.S.Zero)
                elif form.fold:
                    most = sympy.Max(old, value) if form.fold == "max" else sympy.Min(old, value)
                    made[place] = self._there(at, place, most, old)
                else:
                    made[place] = self._there(at, place, value, old)

        def element(*index: Any) -> Any:
            if index not in made:
                raise NoExpression("sympy() cannot read an element of a scatter at an index that is not known")
            return made[index]

        return SymbolicArray(size, element)

    def _there(self, at: Sequence[Any], place: Sequence[int], value: Any, other: Any) -> Any:
        """A value where an index is this place, and the other one elsewhere."""
        sympy = sympy_module()

        known = [by_cases(i) for i in at]
        here = sympy.And(*[sympy.Eq(i, p) for i, p, cases in zip(at, place, known, strict=True) if not cases])
        made = choose(self.m, here, value, other)
        for cases, p in zip(known, place, strict=True):
            if cases:
                made = sympy.Piecewise(*[(self.m.assumed(made, c, True) if i == p else other, c) for i, c in cases])
        return made


def _moved(index: Sequence[Any], source: Sequence[int], into: Sequence[int]) -> list[Any]:
    """The index of the same element under another shape."""
    sympy = sympy_module()

    ones = [n for n in source if n != 1]
    if ones == [n for n in into if n != 1]:
        rest = iter([i for i, n in zip(index, source, strict=True) if n != 1])
        return [0 if n == 1 else next(rest) for n in into]
    flat: Any = 0
    for i, n in zip(index, source, strict=True):
        flat = flat * n + i
    made: list[Any] = []
    for n in reversed(into):
        made.append(flat % n if isinstance(flat, int) else sympy.Mod(flat, n))
        flat = flat // n if isinstance(flat, int) else sympy.floor(flat / n)
    return made[::-1]


__all__ = ["GraphReader", "NoExpression", "opened", "parameter_of", "result_of", "to_sympy"]
