"""Sum and Product of expressions: written out where they are short, loops of the graph where they are not.

A bound may be an argument, of another value in each element of an array: the loop then takes the most rounds that an
element needs, and each element has those that are its own. Bounds the wrong way round give 0 and 1, as Python's do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ....compiler.frontend.array import here
from ....compiler.ops.expression import Plan, UnknownFunction
from ....compiler.ops.term import Term
from ...control import fori_loop, while_loop
from ..readout import ordered
from ..shared.bounded import solved
from ..shared.iterated import in_one_loop, iterated
from ..shared.known import known_array
from ..shared.library import sympy_module

WRITTEN_OUT = 32
"""The most terms that are written out: a loop of one addition costs as much as some ten written ones to compile."""


def rules() -> dict[type, Any]:
    sympy = sympy_module()

    folds = {sympy.Sum: _folded, sympy.Product: _folded, iterated(): _iterated}
    return {**folds, **ordered.rules(), sympy.Indexed: _indexed, sympy.Idx: _index}


def _index(reader: Any, e: Any, env: Mapping[Any, Any]) -> Plan:
    if e in env:
        return Plan((e,), (), lambda m: env[e])
    if e.label.is_Integer:
        return Plan((e,), (e.label,), lambda m, term: term)
    raise UnknownFunction(f"the index {e} is not among the arguments, and no Sum or Product is over it")


def _indexed(reader: Any, e: Any, env: Mapping[Any, Any]) -> Plan:
    """An element of an array: at whole numbers, or at computed ones by a gather."""
    if e in env:
        return Plan((e,), (), lambda m: env[e])
    base = e.base
    known = base.array if isinstance(base, known_array()) else None
    if base not in env and known is None:
        raise UnknownFunction(f"the indexed base {base} of {e} is not among the arguments")
    places: list[int | None] = [int(i) if i.is_Integer else None for i in e.indices]

    def join(m: Any, *terms: Any) -> Any:
        computed = iter(terms)
        at = [whole(m.array(next(computed))) if p is None else p for p in places]
        return m.term((env[base] if known is None else np.asarray(known))[tuple(at)])

    return Plan((e.base, tuple(places)), [i for i, p in zip(e.indices, places, strict=True) if p is None], join)


def _folded(reader: Any, e: Any, env: Mapping[Any, Any]) -> Plan | None:
    sympy = sympy_module()

    sums = isinstance(e, sympy.Sum)
    if len(e.limits) > 1:
        inner = sympy.UnevaluatedExpr(e.func(e.function, *e.limits[:-1]))  # or SymPy makes one Sum of both again
        return Plan(("nested", e), (e.func(inner, e.limits[-1]),), lambda m, term: term)
    k, low, high = _limits(e)
    if low.is_infinite or high.is_infinite:
        made = _closed(e)
        if made.has(sympy.Sum, sympy.Product):
            raise UnknownFunction(f"{e} has no closed form that SymPy finds, and no end: give it finite bounds")
        return Plan(("closed", e), (made,), lambda m, term: term)
    if low.is_Integer and high.is_Integer and high - low < WRITTEN_OUT:
        values = range(int(low), int(high) + 1)
        parts = [e.function.subs(k, v) if _binds(e.function, k) else e.function.xreplace({k: sympy.Integer(v)})
                 for v in values]  # fmt: skip
        made = sympy.Add(*parts, evaluate=False) if sums else sympy.Mul(*parts, evaluate=False)
        return Plan(("written out", e), (made if parts else sympy.Integer(0 if sums else 1),), lambda m, term: term)
    made = in_one_loop(e) if sums and not getattr(e.function, "is_Matrix", False) else None
    if made is not None:
        return Plan(("in one loop", e), (made,), lambda m, term: term)
    return _loop(reader, e.function, (k, low, high), env, sums)


def _closed(e: Any) -> Any:
    """An endless sum or product as SymPy solves it; NaN where it has a form under another condition only."""
    sympy = sympy_module()

    found = solved(e)
    made = e if found is None else found
    for cases in made.atoms(sympy.Piecewise):
        unsolved = [value.has(sympy.Sum, sympy.Product) for value, _ in cases.args]
        if any(unsolved) and not all(unsolved):
            pairs = [(sympy.nan if left else value, p) for (value, p), left in zip(cases.args, unsolved, strict=True)]
            made = made.xreplace({cases: sympy.Piecewise(*pairs)})
    return made


def whole(x: Any) -> Any:
    """Numbers as integers."""
    return int(x) if isinstance(x, (int, float)) else x.astype(np.int64)


def size_of(m: Any, n: Any) -> int:
    """A dimension, which may be a name that the arguments gave a value to."""
    found = n.subs(m.sizes) if hasattr(n, "subs") else n
    if not getattr(found, "is_Integer", True):
        raise TypeError(f"the size {n} is not known: no matrix among the arguments has it")
    return int(found)


def _limits(e: Any) -> tuple[Any, Any, Any]:
    limit = e.limits[0]
    if len(limit) == 3:
        return limit
    k = limit[0]
    if getattr(k, "upper", None) is None:
        raise UnknownFunction(f"{e} has no bounds: Sum(f, (k, 1, n))")
    return k, k.lower, k.upper


def _binds(e: Any, k: Any) -> bool:
    sympy = sympy_module()

    return any(k in inner.bound_symbols for inner in e.atoms(sympy.Sum, sympy.Product, sympy.Integral, sympy.Lambda))


def outer_keys(body: Any, env: Mapping[Any, Any], without: Sequence[Any] = ()) -> list[Any]:
    """The arguments that an inner expression is about."""
    sympy = sympy_module()

    found = dict.fromkeys(x for x in sympy.preorder_traversal(body) if _hashable(x) and x in env and x not in without)
    return list(found)


def _hashable(x: Any) -> bool:
    return not getattr(x, "is_Number", False) and type(x).__hash__ is not None


def _loop(reader: Any, body: Any, limit: tuple[Any, Any, Any], env: Mapping[Any, Any], sums: bool) -> Plan:
    k, low, high = limit
    keys = outer_keys(body, env, (k,))
    reader.check([body], [*keys, k])
    neutral = 0.0 if sums else 1.0
    size = body.shape if getattr(body, "is_Matrix", False) else ()
    if size and not sums:
        raise UnknownFunction(f"the Product of {body} multiplies matrices: with finite bounds, doit() writes it out")

    def join(m: Any, first: Any, last: Any, *terms: Any) -> Any:
        begin, end = (x if isinstance(x, (int, float)) else m.array(x) for x in (first, last))
        rounds = np.floor(end - begin) + 1.0
        number = whole(rounds)
        most = np.max(number) if np.ndim(number) else number
        outside = [(m.array(t), isinstance(t, Term)) for t in terms]

        def step(i: Any, so_far: Any) -> Any:
            inner = m.like(here())
            at = begin + i * 1.0
            found = {key: inner.term(x) if each else x for key, (x, each) in zip(keys, outside, strict=True)}
            found[k] = inner.term(at)
            (term,) = reader.read([body], inner, found)
            value = inner.array(term if size else inner.term(term))
            if np.ndim(number):
                value = np.where((i < number)[(..., *(None,) * len(size))], value, neutral)
            return so_far + value if sums else so_far * value

        if size:
            return fori_loop(0, most, step, np.zeros((*m.batch, *[size_of(m, n) for n in size])))
        return m.term(fori_loop(0, most, step, m.array(m.term(neutral))))

    return Plan(("loop", body, k, sums), (low, high, *keys), join)


def _iterated(reader: Any, e: Any, env: Mapping[Any, Any]) -> Plan:
    """A recurrence as a loop; elements of an array each have the rounds that are their own."""
    step, start, n, which = e.args
    k, *state = step.variables
    ends = isinstance(n, sympy_module().Lambda)
    test = n.expr.xreplace(dict(zip(n.variables, step.variables, strict=True))) if ends else None
    read = [*step.expr, *([] if test is None else [test])]
    keys = outer_keys(sympy_module().Tuple(*read), env, step.variables)
    reader.check(read, [*keys, *step.variables])

    def join(m: Any, *terms: Any) -> Any:
        rounds, terms = (None, terms) if test is not None else (terms[0], terms[1:])
        begin = tuple(m.array(m.term(t)) for t in terms[: len(state)])
        outside = [(m.array(t), isinstance(t, Term)) for t in terms[len(state) :]]

        def values(exprs: Sequence[Any], i: Any, now: Any) -> list[Any]:
            inner = m.like(here())
            found = {key: inner.term(x) if each else x for key, (x, each) in zip(keys, outside, strict=True)}
            found |= {s: inner.term(x) for s, x in zip(state, now, strict=True)} | {k: inner.term(i * 1.0)}
            return [inner.array(inner.term(t)) for t in reader.read(list(exprs), inner, found)]

        if test is None:
            number = whole(m.array(rounds))

            def round(i: Any, now: Any) -> Any:
                made = values(step.expr, i, now)
                return tuple([np.where(i < number, x, y) for x, y in zip(made, now, strict=True)] if own else made)

            own = np.ndim(number) > 0
            return m.term(fori_loop(0, np.max(number) if own else number, round, begin)[int(which)])

        def following(now: Any) -> Any:
            i, *rest = now
            *made, holds = values(read, i, rest)
            kept = [np.where(holds, x, old) for x, old in zip(made, rest, strict=True)] if m.batch else made
            return (i + 1.0, *kept)

        holds = lambda now: np.any(values([test], now[0], now[1:])[0])  # noqa: E731
        return m.term(while_loop(holds, following, (0.0, *begin))[1 + int(which)])

    given = (*start, *keys) if test is not None else (n, *start, *keys)
    return Plan(("iterated", step, n if test is not None else None, len(start), which), given, join)


__all__ = ["outer_keys", "rules", "size_of", "whole"]
