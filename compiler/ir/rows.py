"""A graph in, the lines of its text out, each with the operation that it shows; `text` has what the text is made of.

    show_rows(graph)[1].text    '  %0: f64[3] = sin %x                                  # loss.py:12'
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from .graph import Graph, Op, Value, Where
from .types import Size, Type

COMMENT_COLUMN = 72


class Row(NamedTuple):
    """One line of a printed graph, its operation (none for heads and ends), and how deep the graph around it lies."""

    text: str
    op: Op | None = None
    depth: int = 0


class LineNames:
    """What stays from graph to graph, so that two graphs differ in lines that say something else.

    names   of values; they are added to
    lines   of operations, without what is to their left
    """

    def __init__(self) -> None:
        self.names: dict[Value, str] = {}
        self.lines: dict[Op, str] = {}


def show_rows(graph: Graph, bare: bool = False, kept: LineNames | None = None) -> list[Row]:
    """The lines of the text with what they are about; `kept` is from earlier graphs, and for later ones."""
    rows: list[Row] = []
    _show(graph, rows, 0, "graph ", bare, kept, {})
    if bare:
        return rows
    notes: dict[Where | None, str] = {None: ""}
    for _, op, _ in rows:
        if op is not None and op.where not in notes:
            notes[op.where] = f"  # {op.where}"
    noted = [len(left) for left, op, _ in rows if op is not None and op.where is not None]
    column = min(max(noted, default=0), COMMENT_COLUMN)
    return [
        Row(left.ljust(column) + notes[op.where], op, depth) if op is not None and op.where is not None else row
        for row in rows for left, op, depth in (row,)
    ]


def _show(
    graph: Graph, rows: list[Row], depth: int, head: str, bare: bool, kept: LineNames | None, types: dict[Type, str]
) -> None:
    names, pad = _names(graph, bare) if kept is None else _named_once(graph, kept.names), "  " * depth
    params = ", ".join(f"%{names[p]}: {p.type}" for p in graph.params)
    rows.append(Row(f"{pad}{head}@{graph.name}({params}) {{", None, depth))
    for op in graph.body:
        text = kept.lines.get(op) if kept is not None else None
        if text is None:
            text = _line(op, names, types)
            if kept is not None:
                kept.lines[op] = text
        rows.append(Row(f"{pad}  {text}", op, depth))
        for region in op.regions:
            _show(region, rows, depth + 2, "| ", bare, kept, types)
    results = ", ".join(f"%{names[r]}" for r in graph.results)
    rows.append(Row(f"{pad}  return {results}".rstrip(), None, depth))
    rows.append(Row(pad + "}", None, depth))


def _line(op: Op, names: Mapping[Value, str], types: dict[Type, str]) -> str:
    """An operation; `types` has the texts of types that have come so far."""
    text = ""
    for r in op.results:
        if (type := types.get(r.type)) is None:
            type = types[r.type] = str(r.type)
        text += f", %{names[r]}: {type}" if text else f"%{names[r]}: {type}"
    text = f"{text} = {op.prim.name}" if text else op.prim.name
    if op.args:
        text += " %" + ", %".join([names[a] for a in op.args])
    if op.attrs:
        text += " {" + ", ".join([f"{k}={show_attr(v)}" for k, v in sorted(op.attrs.items())]) + "}"
    return text


def _named_once(graph: Graph, kept: dict[Value, str]) -> dict[Value, str]:
    """Names for the values that have none yet."""
    for value in [*graph.params, *(r for op in graph.body for r in op.results)]:
        if value not in kept:
            kept[value] = f"{value.hint}.{len(kept)}" if value.hint else str(len(kept))
    return kept


def _names(graph: Graph, bare: bool) -> dict[Value, str]:
    """A name for every value: its hint made unique, or its number among the unnamed ones."""
    names: dict[Value, str] = {}
    taken: set[str] = set()
    latest: dict[str, int] = {}
    number = 0
    for value in [*graph.params, *(r for op in graph.body for r in op.results)]:
        hint = "" if bare else value.hint
        name = hint or str(number)
        if not hint:
            number += 1
        extra = latest.get(hint, 1)
        while name in taken:
            extra += 1
            name = f"{hint}.{extra}"
        latest[hint] = extra
        taken.add(name)
        names[value] = name
    return names


def show_attr(value: Any) -> str:
    """One attribute value as text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return "nan" if math.isnan(value) else repr(value)
    if isinstance(value, tuple):
        return "(" + ", ".join(map(show_attr, value)) + ("," if len(value) == 1 else "") + ")"
    if isinstance(value, str):
        return json.dumps(value).replace("{", "\\u007b").replace("}", "\\u007d")
    if isinstance(value, (int, Type, Size)):
        return str(value)
    raise TypeError(f"an attribute cannot be a {type(value).__name__}: {value!r}")


__all__ = ["LineNames", "Row", "show_attr", "show_rows"]
