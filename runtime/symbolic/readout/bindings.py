"""Names for what expressions share: they go in, and come out with a binding for each part that is used more than once.

    bound([x*y*sin(z) + log(sin(z))], {})       [(t_0, sin(z))], [t_0*x*y + log(t_0)]

What a graph gives is a graph, in which equal parts are one object. So parts are counted where they stand: nothing is
searched for, and the time is that of a walk. Who reads a function names the values that it assigns to.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..shared.lets import Bindings, let
from ..shared.library import sympy_module

SHORT = 400
"""The most operations, counted as they are written out, of what has no names unless somebody asks for them."""

LEGIBLE = 6
"""The operations from which on what the function has a name for gets it, though it is used once."""


def named(leaves: Sequence[Any], names: Callable[[], Mapping[Any, str]], always: bool) -> list[Any]:
    """Results with names for what they share: where they are long and get shorter by it, or always.

    `names` gives those that a function has for values. Of a formula over indices what depends on these is named in it.
    """
    from sympy.tensor.array import ArrayComprehension

    before = written_length(leaves)
    if not always and before <= SHORT:
        return list(leaves)
    bindings, bodies = bound(leaves, names())
    for k, body in enumerate(bodies):
        if isinstance(body, ArrayComprehension):
            inner, (function,) = bound([body.function], {}, "u")
            bodies[k] = body.func(let(inner, function), *body.limits)
    after = written_length([*bodies, *[e for _, e in bindings]])
    return [let(bindings, body) for body in bodies] if always or 2 * after < before else list(leaves)


def bound(leaves: Sequence[Any], names: Mapping[Any, str], other: str = "t") -> tuple[Bindings, list[Any]]:
    """Pairs of a name and what it stands for, each of those before it, and the expressions by these names."""
    sympy = sympy_module()

    parts, free = _walked(leaves)
    uses = Counter([a for x in parts for a in _within(x)]) + Counter(leaves)
    taken = {s.name for x in parts if not _within(x) for s in x.free_symbols if hasattr(s, "name")}
    fresh = _names(taken, names, other)
    made: dict[Any, Any] = {}
    size: dict[Any, int] = {}
    bindings: list[tuple[Any, Any]] = []
    for x in parts:
        args = _within(x)
        size[x] = sum([size[a] for a in args]) + bool(args)
        changed = any(made[a] is not a for a in args)
        made[x] = x.func(*[made[a] for a in args]) if changed else x
        often = uses[x] > 1 or (x in names and size[x] >= LEGIBLE)
        if args and often and not free[x] and _worth(made[x], size[x]):
            facts = {"real": True} if isinstance(x, sympy.Expr) else {}
            symbol = sympy.Symbol(fresh(names.get(x)), **facts)
            bindings.append((symbol, made[x]))
            made[x], size[x] = symbol, 0
    return bindings, [made[x] for x in leaves]


def _within(x: Any) -> tuple[Any, ...]:
    """The parts that may have names: what an index is computed of stays in it."""
    sympy = sympy_module()

    return () if isinstance(x, (sympy.Indexed, sympy.IndexedBase)) else x.args


def _walked(leaves: Sequence[Any]) -> tuple[list[Any], dict[Any, frozenset[Any]]]:
    """All parts, what they are made of first, and which symbols in each are bound further out."""
    sympy = sympy_module()

    free: dict[Any, frozenset[Any]] = {}
    parts: list[Any] = []
    stack = [(e, False) for e in reversed(leaves)]
    while stack:
        x, done = stack.pop()
        if x in free:
            continue
        if not done:
            stack += [(x, True), *[(a, False) for a in reversed(_within(x))]]
            continue
        parts.append(x)
        inner = frozenset().union(*[free[a] for a in _within(x)])
        if isinstance(x, (sympy.Symbol, sympy.Indexed)):
            inner = frozenset(s for s in x.free_symbols if isinstance(s, sympy.Symbol))
        free[x] = inner - frozenset(_binds(x))
    variables = frozenset(s for x in parts for s in _binds(x))
    return parts, {x: symbols & variables for x, symbols in free.items()}


def _binds(x: Any) -> Sequence[Any]:
    """The symbols that have their meaning in an expression alone."""
    sympy = sympy_module()
    from sympy.tensor.array import ArrayComprehension

    if isinstance(x, (sympy.Sum, sympy.Product, sympy.Lambda, sympy.Integral, ArrayComprehension)):
        return list(x.variables)
    return ()


def _worth(e: Any, size: int) -> bool:
    """Whether a part, written by names, is longer than a name would be."""
    sympy = sympy_module()

    if isinstance(e, sympy.logic.boolalg.Boolean) and not isinstance(e, sympy.Expr):
        return size > 2
    if not isinstance(e, sympy.Expr) or isinstance(e, sympy.MatrixExpr) or getattr(e, "shape", ()):
        return False
    plain = [a for a in e.args if not a.is_Number]
    return not (e.is_number or (len(plain) == 1 and not _within(plain[0]) and (e.is_Mul or e.is_Pow)
                                and (e.is_Mul or e.exp == -1)))  # fmt: skip


def _names(taken: set[str], names: Mapping[Any, str], other: str) -> Callable[[str | None], str]:
    """What makes names that nothing else has: of those that are wanted the first has it, others are numbered."""
    counts: Counter[str] = Counter()
    wanted = {*names.values()}

    def fresh(name: str | None) -> str:
        base = name or other
        while True:
            k = counts[base]
            counts[base] += 1
            made = base if name and not k else f"{base}_{k}"
            if made not in taken and (made == name or made not in wanted):
                taken.add(made)
                return made

    return fresh


def written_length(leaves: Sequence[Any]) -> int:
    """The operations of expressions that are written out, where each part counts whenever it is used."""
    count: dict[Any, int] = {}
    for x in _walked(leaves)[0]:
        count[x] = sum([count[a] for a in _within(x)]) + bool(x.args)
    return sum([count[x] for x in leaves])


__all__ = ["bound", "named", "written_length"]
