"""The text of a stage in, the same text out with colours, with the user's source beside it, or as HTML.

    text = fn.ir("adjoint")          a str, and nothing else where a str is wanted
    print(text.beside())             each run of lines below the line of Python that it comes from
    text.show()                      in colours, if standard output is a terminal
"""

from __future__ import annotations

import functools
import linecache
import re
import sys
from collections.abc import Iterator, Sequence
from typing import IO, Any, NamedTuple

from ...compiler.ir.graph import Graph, Where
from ...compiler.ir.rows import Row, show_rows
from ...compiler.settings import settings

WIDEST = 100
"""Characters of a source line that are shown beside a graph."""

_GRAPH = (
    r'(?P<comment> # .*$|^ *# .*$)|(?P<text>"(?:[^"\\]|\\.)*")|(?P<name>[%@][\w.]+)'
    r"|(?P<type>\b(?:bool|tape|[ifu]\d+)\[[^\]]*\])"
    r"|(?P<word>\b(?:graph|return|kernel|for|if|else|while|carry|scratch|by)\b)|(?P<number>(?<![\w.])-?\d[\w.+]*)"
    r"|(?P<op>(?<== )\w+|(?<=^  )\w+(?= %))"
)
_CODE = (
    r'(?P<comment>[;#] .*$)|(?P<text>"(?:[^"\\]|\\.)*")|(?P<name>[%@][\w.]+)|(?P<type>\b(?:double|float|ptr|i\d+)\b)'
    r"|(?P<word>\b(?:define|declare|ret|br|call|load|store|phi)\b|^[\w.$]+:)|(?P<number>(?<![\w.$])-?\d[\w.+]*)"
    r"|(?P<op>^\t\w+)"
)
_DIFF = r"(?P<word>^(?:---|\+\+\+|@@).*)|(?P<gone>^-.*)|(?P<new>^\+.*)"
PATTERNS = {"llvm": _CODE, "asm": _CODE, "diff": _DIFF}

_ANSI = {
    "comment": "2", "text": "32", "name": "36", "type": "33", "word": "1", "number": "35", "op": "1;34",
    "gone": "31", "new": "32",
}
_HTML = {
    "comment": "#808080", "text": "#2e8b57", "name": "#208a9c", "type": "#a0781e", "number": "#a04a9c",
    "word": "inherit;font-weight:bold", "op": "#3f74c8;font-weight:bold", "gone": "#c83c3c", "new": "#2e8b57",
}
"""Colours that can be read on white and on black."""


FOLDED = ("llvm", "asm")
"""Stages whose lines are shown in runs that can be folded, where they are more than text."""


class Run(NamedTuple):
    """Lines `first` up to `last`, that one excluded, and where they come from."""

    place: Where | None
    first: int
    last: int


class Text(str):
    """The text of a stage: a str that knows the line of the user's which each of its lines comes from.

    places   for each line, the file and line; None where there is none, or it is not known

    >>> f = jit(lambda x: np.sin(x) ** 2)
    >>> isinstance(f.ir("graph", 1.0), str), len(f.ir("graph", 1.0).places)
    (True, 5)
    """

    stage: str
    places: tuple[Where | None, ...]

    def __new__(cls, text: str, stage: str = "graph", places: Sequence[Where | None] = ()) -> Text:
        made = super().__new__(cls, text)
        made.stage, made.places = stage, tuple(places)
        return made

    def __repr__(self) -> str:
        return self.coloured() if wants_colour(sys.stdout) else str(self)

    def _repr_html_(self) -> str:
        if not any(run.place for run in self.runs()):
            return f'<pre style="line-height:1.3">{_html(self, self.stage)}</pre>'
        lines = self.splitlines()
        made = [_folded(run, "\n".join(lines[run.first : run.last]), self.stage) for run in self.runs()]
        return f'<div style="font-family:monospace;white-space:pre;line-height:1.3;overflow:auto">{"".join(made)}</div>'

    def runs(self) -> list[Run]:
        """The lines of code in runs that come from one line each, to be folded below it; all else is never folded.

        What has no line follows the run that it stands in, up to the end of a function.
        """
        lines = self.splitlines()
        if self.stage not in FOLDED or not self.places:
            return [Run(None, 0, len(lines))]
        found = [Run(None, 0, 0)]
        for k, (line, place) in enumerate(zip(lines, self.places, strict=True)):
            ends = line[:1].strip() and not line.endswith(":") and not line.startswith(".L")
            if place != found[-1].place and (place is not None or ends):
                found.append(Run(place, k, k))
            found[-1] = found[-1]._replace(last=k + 1)
        return [run for run in found if run.first < run.last]

    def coloured(self) -> str:
        """The text with the escape sequences of a terminal."""
        tokens = _tokens(self, self.stage)
        return "".join(f"\x1b[{_ANSI[kind]}m{each}\x1b[0m" if kind else each for kind, each in tokens)

    def show(self, file: IO[str] | None = None) -> None:
        """Print it: in colours if the file, standard output by default, is a terminal and NO_COLOR is not set."""
        to = sys.stdout if file is None else file
        print(self.coloured() if wants_colour(to) else str(self), file=to)

    def beside(self) -> Text:
        """The text with the user's source in it: a comment above each run of lines that comes from another line.

        What was a graph is still one: comments are passed over by `parse`.

        >>> f = jit(lambda x: np.sin(x) ** 2)
        >>> f.ir("graph", 1.0).beside().splitlines()[1].split()[0]
        '#'
        """
        rows: list[str] = []
        places: list[Where | None] = []
        before: Where | None = None
        mark = ";" if self.stage == "llvm" else "#"
        for line, place in zip(self.splitlines(), self.places or (None,) * len(self.splitlines()), strict=True):
            source = "" if place is None or place == before else linecache.getline(place.file, place.line).strip()
            if source:
                assert place is not None
                pad = " " * (len(line) - len(line.lstrip()))
                rows.append(f"{pad}{mark} {str(place).rpartition(':')[2]} | {source[:WIDEST]}")
                places.append(place)
            before = place or before
            rows.append(line)
            places.append(place)
        return Text("\n".join(rows), self.stage, places)


def _folded(run: Run, text: str, stage: str) -> str:
    """A run of lines as HTML, below its line of source if it has one."""
    if run.place is None:
        return f"<div>{_html(text, stage)}</div>"
    source = linecache.getline(run.place.file, run.place.line).strip()
    told = escaped(f"{str(run.place).rpartition(':')[2]} | {source[:WIDEST]}")
    return f'<details open><summary style="cursor:pointer;color:#808080">{told}</summary>{_html(text, stage)}</details>'


def _html(text: str, stage: str) -> str:
    return "".join(map(_spanned, _tokens(text, stage)))


def wants_colour(file: Any) -> bool:
    """Whether a file is a terminal whose reader takes colours."""
    return bool(getattr(file, "isatty", bool)()) and not settings.plain_text


def graph_text(graph: Graph, stage: str) -> Text:
    """The text of a graph."""
    return rows_text(show_rows(graph), stage)


def rows_text(rows: Sequence[Row], stage: str) -> Text:
    """The text that rows of a graph make."""
    return Text("\n".join(r.text for r in rows), stage, [r.op.where if r.op is not None else None for r in rows])


def _tokens(text: str, stage: str) -> Iterator[tuple[str, str]]:
    """The parts of a text, each with what it is; nothing for what is no more than text."""
    pattern = _compiled(PATTERNS.get(stage, _GRAPH))
    for line in text.splitlines(keepends=True):
        at = 0
        for m in pattern.finditer(line.rstrip("\n")):
            if m.start() > at:
                yield "", line[at : m.start()]
            yield m.lastgroup or "", m[0]
            at = m.end()
        yield "", line[at:]


@functools.cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def _spanned(token: tuple[str, str]) -> str:
    kind, text = token[0], escaped(token[1])
    return f'<span style="color:{_HTML[kind]}">{text}</span>' if kind else text


def escaped(text: str) -> str:
    """A text as HTML that shows it; `html` would load a table of all entities for that."""
    for sign, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;"), ("'", "&#x27;")):
        text = text.replace(sign, entity)
    return text


__all__ = ["Text", "escaped", "graph_text", "rows_text", "wants_colour"]
