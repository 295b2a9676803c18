"""What a graph computes as a short text, for keys: from a graph to a string that equal graphs share, and no others.

    key_text(graph)      "loss\\n:f64[3]\\nsin 0:f64[3]\\nsum 1:f64[]{axes=(0,)}\\n= 2"

It says what `show(graph, bare=True)` says, in a third of the time: values are called by their numbers alone.
"""

from __future__ import annotations

from .graph import Graph, Value
from .text import show_attr
from .types import Type


class _Names(dict[Type, str]):
    """The names of types; each is made once."""

    def __missing__(self, key: Type) -> str:
        made = self[key] = f":{key}"
        return made


def key_text(graph: Graph) -> str:
    """The name, parameters, operations and results of a graph, without hints and lines."""
    rows: list[str] = []
    _write(graph, rows, _Names())
    return "\n".join(rows)


def _write(graph: Graph, rows: list[str], names: _Names) -> None:
    numbers: dict[Value, str] = {p: f" {k}" for k, p in enumerate(graph.params)}
    rows.append(graph.name)
    rows.append("".join([names[p.type] for p in graph.params]))
    for op in graph.body:
        row = op.prim.name
        for value in op.args:
            row += numbers[value]
        for value in op.results:
            numbers[value] = f" {len(numbers)}"
            row += names[value.type]
        if op.attrs:
            row += "{" + ",".join([f"{name}={show_attr(value)}" for name, value in sorted(op.attrs.items())]) + "}"
        rows.append(row)
        for region in op.regions:
            rows.append("|")
            _write(region, rows, names)
    rows.append("=" + "".join([numbers[value] for value in graph.results]))


__all__ = ["key_text"]
