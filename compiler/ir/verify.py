"""Verifying a graph is inferring it again."""

from .graph import Graph, Value


class VerifyError(Exception):
    """A graph that no front end and no pass may make: a bug in pullback, or a graph made by hand."""


def verify(graph: Graph) -> Graph:
    """Return `graph`, or raise VerifyError.

    Every value is defined once and before use, with the type its primitive infers; regions are closed.
    """
    pending = [graph]
    while pending:
        g = pending.pop()
        _verify_body(g)
        pending.extend(r for op in g.body for r in op.regions)
    return graph


def _verify_body(graph: Graph) -> None:
    known: set[Value] = set(graph.params)
    if len(known) != len(graph.params):
        raise VerifyError(f"@{graph.name}: a parameter is repeated")
    for op in graph.body:
        here = f"@{graph.name}: {op.prim.name}" + (f" ({op.where})" if op.where else "")
        for a in op.args:
            if a not in known:
                raise VerifyError(f"{here} reads {a!r} before it is defined")
        try:
            op.prim.accepts(len(op.args), op.attrs, len(op.regions))
            want = tuple(op.prim.infer([a.type for a in op.args], op.attrs, op.regions))
        except (TypeError, ValueError) as error:
            raise VerifyError(f"{here} is ill-typed: {error}") from error
        have = tuple(r.type for r in op.results)
        if want != have:
            raise VerifyError(f"{here} gives {have}, its rule says {want}")
        for r in op.results:
            if r in known:
                raise VerifyError(f"{here} defines {r!r} a second time")
            known.add(r)
    for r in graph.results:
        if r not in known:
            raise VerifyError(f"@{graph.name} returns {r!r}, which is never defined")
