"""What a graph computes in a few bytes, for keys: from a graph to bytes that equal graphs share, and no others.

    graph_key(graph)     numbers of primitives, types, arguments and results as arrays, then the texts they stand for

It says what `show(graph, bare=True)` says. All that is done for each operation is a step of a comprehension: a graph is
looked up at each first call of a process, and ten thousand operations are to cost less than it takes to read the file.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import chain, compress, count
from operator import not_

from .graph import Graph, Op
from .text import show_attr


def graph_key(graph: Graph) -> bytes | None:
    """The name, parameters, operations and results of a graph, without hints and lines.

    None for one with operations that mean something in this process only.
    """
    parts: list[bytes] = []
    pending = [graph]
    while pending:  # regions follow in order: how many each operation has is among its attributes
        if not _write(pending.pop(), parts, pending):
            return None
    return b"".join([len(part).to_bytes(8, "little") + part for part in parts])


def _write(graph: Graph, parts: list[bytes], pending: list[Graph]) -> bool:
    """Add what a graph is to the parts, and its regions to what is to come; whether it means the same everywhere."""
    body, params = graph.body, graph.params
    args, results = [op.args for op in body], [op.results for op in body]
    values = [*params, *chain.from_iterable(results)]
    numbers = dict(zip(values, range(len(values)), strict=True))
    prims, types = [op.prim for op in body], [value.type for value in values]
    of_prims, of_types = [*map(id, prims)], [*map(id, types)]
    kinds, shapes = dict(zip(of_prims, prims, strict=True)), dict(zip(of_types, types, strict=True))
    if any(prim.opaque for prim in kinds.values()):
        return False
    branching = [*compress(count(), [op.regions for op in body])]
    parts += [
        graph.name.encode(errors="surrogatepass"),
        array("q", [len(params), len(body), len(graph.results)]).tobytes(),
        _numbered({key: prim.name for key, prim in kinds.items()}, of_prims, parts),
        _numbered({key: str(each) for key, each in shapes.items()}, of_types, parts),
        array("I", map(len, args)).tobytes(),
        array("I", map(len, results)).tobytes(),
        array("I", map(numbers.__getitem__, chain.from_iterable(args))).tobytes(),
        array("I", map(numbers.__getitem__, graph.results)).tobytes(),
        array("I", branching).tobytes(),
        array("I", [len(body[k].regions) for k in branching]).tobytes(),
    ]
    _write_attributes(body, parts)
    pending.extend(region for k in reversed(branching) for region in reversed(body[k].regions))
    return True


def _write_attributes(body: Sequence[Op], parts: list[bytes]) -> None:
    """Add what operations have beside their arguments: which ones, names, and values; floats by their bits."""
    having = [*compress(count(), [op.attrs for op in body])]
    attrs = [body[k].attrs for k in having]
    names = [*map(tuple, attrs)]
    order = {each: tuple(sorted(each)) for each in dict.fromkeys(names)}  # a set has another order in each process
    names = [*map(order.__getitem__, names)]
    values = [each[name] for each, own in zip(attrs, names, strict=True) for name in own]
    floats = [value.__class__ is float for value in values]
    others = [*compress(values, map(not_, floats))]
    ids = [*map(id, others)]
    parts += [
        array("I", having).tobytes(),
        _numbered({id(each): ",".join(each) for each in order.values()}, [*map(id, names)], parts),
        bytes(floats),
        array("d", compress(values, floats)).tobytes(),
        _numbered({key: show_attr(each) for key, each in dict(zip(ids, others, strict=True)).items()}, ids, parts),
    ]


def _numbered(texts: dict[int, str], ids: Sequence[int], parts: list[bytes]) -> bytes:
    """The number of each object's text, in the order in which texts come first; the texts are added to the parts."""
    found: dict[str, int] = {}
    number = {key: found.setdefault(text, len(found)) for key, text in texts.items()}
    parts.append("\n".join(found).encode(errors="surrogatepass"))
    return array("I", map(number.__getitem__, ids)).tobytes()


__all__ = ["graph_key"]
