"""A compiled form in, the text of one of its stages out; and what each pass has changed in its graph, as a diff.

    --- adjoint
    +++ adjoint, after expand
    @@ -2,3 +2,3 @@
       %2: f64[3] = contract %x, %w {left=(0,), right=(0,)}
    -  %3: f64[3] = tanh %2
    +  %3: f64[3] = sub %9, %8
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Any

from ...compiler.ir.graph import Graph, Where
from ...compiler.ir.rows import LineNames, Row, show_rows
from ...compiler.passes import adjoint
from ...compiler.passes.pipeline import optimize
from ...compiler.settings import STAGES
from ..compiled.kernels import native
from .text import Text, graph_text

ALL = (*STAGES, "diff")
"""What can be asked for, in the order in which it is made; the diff is that of the passes."""

AROUND = 3
"""Lines around a difference that are the same."""


def text_of(form: Any, stage: str) -> Text:
    """The text of a stage of a compiled form."""
    if stage == "graph":
        return graph_text(form.traced.graph, stage)
    if stage == "adjoint":
        return graph_text(derived(form), stage)
    if stage == "diff":
        return diff_of(form)
    kernel = native(form.kernel) or form.kernel
    if stage == "optimized" and hasattr(kernel, "graph"):
        made = getattr(kernel, "stages", None)
        return graph_text(kernel.graph if made is not None else optimize(kernel.graph), stage)
    text = kernel.text(stage)
    return Text(text, stage, places_in(text, [form.traced.graph, form.graph]))


def derived(form: Any) -> Graph:
    """The graph that is compiled; of a function that is compiled as it is, its adjoint for all arguments of floats."""
    return form.graph if form.graph is not form.traced.graph else adjoint_of(form.traced.graph, form.traced.inputs)


def adjoint_of(graph: Graph, inputs: int) -> Graph:
    """The adjoint of a graph for those of its first parameters that are floats."""
    return adjoint(graph, [k for k, p in enumerate(graph.params[:inputs]) if p.type.is_float])


def places_in(text: str, graphs: Sequence[Graph]) -> list[Where | None]:
    """The lines of the user's that stand behind the lines of a text; the graphs know in which folders the files are."""
    known: dict[str, Where] = {}
    pending = list(graphs)
    while pending:
        for op in pending.pop().body:
            if op.where is not None:
                known.setdefault(str(op.where), op.where)
            pending += op.regions
    found = [_NOTE.search(line) for line in text.splitlines()]
    return [known.get(m[1]) if m else None for m in found]


_NOTE = re.compile(r"  [;#] ([^;#\n]+:\d+)$")


def diff_of(form: Any) -> Text:
    """What the passes change, one after the other, in the graph that is compiled."""
    first = "graph" if form.graph is form.traced.graph else "adjoint"
    kept = LineNames()
    rows: list[tuple[str, Where | None]] = []
    title = first
    latest: list[Row] = []

    def note(name: str, before: Graph, after: Graph) -> None:
        nonlocal title, latest
        if (before.params, before.body, before.results) == (after.params, after.body, after.results):
            return  # most passes find nothing to do, and their operations are the same ones
        old = latest or show_rows(before, True, kept)
        latest = show_rows(after, True, kept)
        made = list(_changes(old, latest))
        if made:
            new = f"{first}, after {name}"
            rows.extend([(f"--- {title}", None), (f"+++ {new}", None), *made])
            title = new

    optimize(form.graph, after=note)
    rows = rows or [(f"no pass changes the {first}", None)]
    return Text("\n".join(line for line, _ in rows), "diff", [place for _, place in rows])


def _changes(old: Sequence[Row], new: Sequence[Row]) -> Iterator[tuple[str, Where | None]]:
    """The lines of a unified diff; a value has the same name in both graphs."""
    left, right = [r.text for r in old], [r.text for r in new]
    for group in SequenceMatcher(None, left, right, autojunk=False).get_grouped_opcodes(AROUND):
        a, b, c, d = group[0][1], group[-1][2], group[0][3], group[-1][4]
        yield f"@@ -{a + 1},{b - a} +{c + 1},{d - c} @@", None
        for tag, i, j, k, l in group:  # noqa: E741
            if tag == "equal":
                yield from ((f" {r.text}", r.op and r.op.where) for r in old[i:j])
            else:
                yield from ((f"-{r.text}", r.op and r.op.where) for r in old[i:j])
                yield from ((f"+{r.text}", r.op and r.op.where) for r in new[k:l])


__all__ = ["ALL", "adjoint_of", "derived", "diff_of", "text_of"]
