"""What a graph computes in a few bytes, for keys: from a graph to bytes that equal graphs share, and no others.

    graph_key(graph)     numbers of primitives, types, arguments and results as arrays, then the texts they stand for

It says what `show(graph, bare=True)` says. All that is done for each operation is a step of a comprehension: a graph is
looked up at each first call of a process, and ten thousand operations are to cost less than it takes to read the file.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from itertools import count

from .graph import Graph
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
    values = [*params, *[value for op in body for value in op.results]]
    numbers = dict(zip(values, count(), strict=False))
    prims, types = [id(op.prim) for op in body], [id(value.type) for value in values]
    with_prim, with_type = dict(zip(prims, body, strict=True)), dict(zip(types, values, strict=True))
    if any(op.prim.opaque for op in with_prim.values()):
        return False
    parts += [
        graph.name.encode(errors="surrogatepass"),
        array("q", [len(params), len(body), len(graph.results)]).tobytes(),
        _numbered({key: op.prim.name for key, op in with_prim.items()}, prims, parts),
        _numbered({key: str(value.type) for key, value in with_type.items()}, types, parts),
        array("I", [len(op.args) for op in body]).tobytes(),
        array("I", [len(op.results) for op in body]).tobytes(),
        array("I", [numbers[value] for op in body for value in op.args]).tobytes(),
        array("I", [numbers[value] for value in graph.results]).tobytes(),
        "\n".join(_attributes(graph)).encode(errors="surrogatepass"),
    ]
    pending.extend(region for op in reversed(body) if op.regions for region in reversed(op.regions))
    return True


def _numbered(texts: dict[int, str], ids: Sequence[int], parts: list[bytes]) -> bytes:
    """The number of each object's text, in the order in which texts come first; the texts are added to the parts."""
    found: dict[str, int] = {}
    number = {key: found.setdefault(text, len(found)) for key, text in texts.items()}
    parts.append("\n".join(found).encode(errors="surrogatepass"))
    return array("I", [number[each] for each in ids]).tobytes()


def _attributes(graph: Graph) -> Iterable[str]:
    """What operations have beside their arguments, by their numbers."""
    for k, op in enumerate(graph.body):
        if op.attrs or op.regions:
            told = ",".join([f"{name}={show_attr(value)}" for name, value in sorted(op.attrs.items())])
            yield f"{k} {len(op.regions)} {told}"


__all__ = ["graph_key"]
