"""A compiled form in, one HTML page out that shows all its stages side by side, linked by the user's lines.

    fn.explore("loss.html", w, x)        values, cotangents and costs are those of this call

The page is `explorer.html` with the program in it: JSON, deflated, in base 64. It asks for nothing from anywhere, so it
can be mailed. What comes from the user's program is data in it and never markup, and is shown as text.
"""

from __future__ import annotations

import base64
import json
import linecache
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...compiler.backend import process
from ...compiler.ir.graph import Graph, Value, Where
from ...compiler.ir.rows import Row, show_rows
from ...compiler.passes.pipeline import optimize
from ..compiled.kernels import native, not_compiled
from . import stages
from .numbers import cotangents_of, told, values_of
from .profile import Profile, count_of
from .text import Text, escaped, rows_text

TITLES = {
    "graph": "Graph", "adjoint": "Adjoint", "optimized": "Optimised", "diff": "Passes", "loops": "Loops",
    "llvm": "LLVM", "asm": "Assembly",
}
QUICK = 3
"""The level of compression: higher ones take three times as long for a tenth less."""

Rowed = Callable[[Where | None], int]
"""Tells the row of source in which a place stands, or -1."""

MARGIN = 3
"""Lines of source around those that are in the graph."""

TEMPLATE = Path(__file__).with_name("explorer.html")


class Call:
    """A call whose values are shown: what it was given, the graphs that are followed, and what its lines cost."""

    def __init__(self, graph: Graph, derived: Graph, inputs: Sequence[np.ndarray], profile: Profile | None) -> None:
        self.graph, self.derived, self.inputs, self.profile = graph, derived, inputs, profile


def write(path: Path, name: str, form: Any, memory: Callable[[], Any], call: Call | None) -> Path:
    """Write the page of a form, with the numbers of a call if there is one."""
    data = page_data(name, form, memory, call)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page(name, data), encoding="utf-8")
    except OSError as error:
        raise type(error)(f"explore: {str(path)!r} cannot be written: {error.strerror}") from None
    return path


def page(name: str, data: Any) -> str:
    """The page with its data."""
    text = json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode("ascii")
    packed = base64.b64encode(zlib.compress(text, QUICK)).decode("ascii")
    template = TEMPLATE.read_text(encoding="utf-8").replace("{{size}}", str(len(text)))
    return template.replace("{{title}}", escaped(name)).replace("{{data}}", packed)


def page_data(name: str, form: Any, memory: Callable[[], Any], call: Call | None) -> dict[str, Any]:
    """What the page shows, as JSON has it; the memory is asked for last, when the loops that it is told from are made.
    """
    graphs = {"graph": form.traced.graph, "adjoint": stages.derived(form)}
    if call is not None:  # which has numbers for sizes that may have names in the form
        other = call.derived is not call.graph
        adjoint = call.derived if other else stages.adjoint_of(call.graph, form.traced.inputs)
        graphs = {"graph": call.graph, "adjoint": adjoint}
    with process.uncollected():
        graphs["optimized"] = _optimised(form)
        rows = {key: show_rows(graph) for key, graph in graphs.items()}
        texts = _texts(form, rows)
        source, at = _source([t for _, t in texts], name)
        made = [_stage(stage, text, at) for stage, text in texts]
        pictures = [_picture(key, graph, rows[key], at) for key, graph in graphs.items()]
    if call is not None:
        _add_values(made, graphs, rows, call)
    return {
        "name": name, "source": source, "stages": made, "pictures": pictures,
        "costs": _costs(graphs["optimized"], call, at), "memory": _memory(memory()), "notes": _notes(form, call),
    }


def _stage(stage: str, text: Text, at: Rowed) -> dict[str, Any]:
    """A stage's lines, each with the row of source that it comes from, and without what says so in print."""
    lines = text.splitlines()
    said: dict[Where | None, str] = {place: f"{place}" for place in set(text.places) if place is not None}
    if said:
        lines = [_bare(line, said.get(place, "")) for line, place in zip(lines, text.places, strict=True)]
    folds = [(run.first, run.last, at(run.place)) for run in text.runs() if run.place is not None]
    places = [at(place) for place in text.places] or [-1] * len(lines)
    return {"key": stage, "title": TITLES[stage], "lines": lines, "at": places, "folds": folds}


def _bare(line: str, place: str) -> str:
    """A line without the place that may stand at its end."""
    if not place or not line.endswith(place):
        return line
    left = line.removesuffix(place)
    return left[:-4].rstrip() if left.endswith(("  # ", "  ; ")) else line


def _optimised(form: Any) -> Graph:
    """The graph that is compiled."""
    machine = native(form.kernel)
    return optimize(form.graph) if machine is None else machine.graph


def _texts(form: Any, rows: Mapping[str, Sequence[Row]]) -> list[tuple[str, Text]]:
    """The texts of the stages that there are: what is not compiled has no code."""
    found = []
    for stage in TITLES:
        try:
            made = rows_text(rows[stage], stage) if stage in rows else stages.text_of(form, stage)
            found.append((stage, made))
        except ValueError:
            continue
    return found


def _notes(form: Any, call: Call | None) -> list[str]:
    notes = [] if native(form.kernel) is not None else [f"there is no machine code{not_compiled(form.kernel)}"]
    if call is None:
        notes.append("no arguments were given to explore, so there are no values, and times are not measured")
    return notes


def _source(texts: Sequence[Text], name: str) -> tuple[list[dict[str, Any]], Rowed]:
    """The user's lines around those that are mentioned, and the row among them in which a place stands, or -1."""
    files: dict[str, set[int]] = {}
    for place in dict.fromkeys(place for text in texts for place in text.places if place is not None):
        files.setdefault(place.file, set()).add(place.line)
    rows: list[dict[str, Any]] = []
    index: dict[Where | None, int] = {}
    for file, lines in files.items():
        all_lines = linecache.getlines(file)
        rows.append({"line": 0, "text": str(Where(file, 0)).rpartition(":")[0]})
        around = {n for k in lines for n in range(k - MARGIN, k + MARGIN + 1)}
        wanted = sorted(n for n in around if n in lines or 1 <= n <= len(all_lines))
        before = wanted[0] - 1
        for n in wanted:
            if n != before + 1:
                rows.append({"line": 0, "text": "..."})
            before, index[Where(file, n)] = n, len(rows)
            rows.append({"line": n, "text": all_lines[n - 1].rstrip("\n") if n <= len(all_lines) else "(not at hand)"})
    return rows, lambda place: index.get(place, -1)


def _add_values(
    made: list[dict[str, Any]], graphs: dict[str, Graph], rows: Mapping[str, Sequence[Row]], call: Call
) -> None:
    """What each operation gave, and the cotangents of those of the function."""
    shown = {"graph": call.inputs, "adjoint": _with_ones(graphs["adjoint"], call.inputs)}
    for each in made:
        key = each["key"]
        if key not in shown:
            continue
        values = values_of(graphs[key], shown[key])
        each["values"] = [told(values, r.op) if r.op is not None else "" for r in rows[key]]
        if key == "graph":
            slopes = cotangents_of(graphs[key], call.inputs)
            each["cotangents"] = [told(slopes, r.op) if r.op is not None else "" for r in rows[key]]


def _with_ones(graph: Graph, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The inputs of an adjoint: those of the function, and ones for the cotangents of its results."""
    more = graph.params[len(inputs) :]
    return [*inputs, *(np.ones(p.type.static_shape(), p.type.numpy) for p in more)]


def _picture(key: str, graph: Graph, shown: Sequence[Row], at: Rowed) -> dict[str, Any]:
    """The graph as nodes and edges; operations with regions are one node."""
    rows = {id(r.op): k for k, r in enumerate(shown) if r.op is not None and r.depth == 0}
    number: dict[Value, int] = {}
    nodes: list[list[Any]] = []
    for p in graph.params:
        number[p] = len(nodes)
        nodes.append([p.hint or "argument", f"{p.type}", -1, -1, []])
    for op in graph.body:
        inputs = sorted({number[a] for a in op.args if a in number})
        kind = ", ".join(f"{r.type}" for r in op.results)
        for r in op.results:
            number[r] = len(nodes)
        nodes.append([op.prim.name, kind, at(op.where), rows[id(op)], inputs])
    for k, r in enumerate(graph.results):
        nodes.append([f"result {k}" if len(graph.results) > 1 else "result", f"{r.type}", -1, -1, [number[r]]])
    return {"key": key, "title": TITLES[key], "nodes": nodes}


def _costs(graph: Graph, call: Call | None, at: Rowed) -> list[dict[str, Any]]:
    """What each line costs: as measured and counted for the call, or as counted of one round of everything."""
    found: dict[int, dict[str, Any]] = {}
    if call is not None and call.profile is not None:
        for sweep in call.profile.sweeps:
            for line in sweep.lines:
                row = found.setdefault(at(line.where), {"row": at(line.where)})
                row[sweep.name] = round(1e6 * line.seconds, 3)
                row |= {"flops": line.flops, "bytes": line.bytes}
        return list(found.values())
    for op in graph.body:
        if not op.regions:
            cost = count_of(op)
            row = found.setdefault(at(op.where), {"row": at(op.where), "flops": 0, "bytes": 0})
            row["flops"] += cost.flops
            row["bytes"] += cost.bytes
    return list(found.values())


def _memory(memory: Any) -> dict[str, Any]:
    """The temporaries of the kernel: where each lies, and between which statements."""
    blocks = [[s.name, f"{s.type}", s.bytes, s.offset, s.first, s.last] for s in memory.scratch]
    return {"arena": memory.arena, "arguments": memory.arguments, "results": memory.results, "blocks": blocks}


__all__ = ["Call", "page", "page_data", "write"]
