"""The text form of a graph.  `show(parse(text)) == text`, hints and lines included.

    graph    = "graph @name(%a: f64[3], ...) {" line* "return %r, ..." "}"
    line     = ["%r: type, ..." "="] primitive "%a, ..." ["{name=value, ...}"] ["# file:line"] region*
    region   = "| @name(...) {" line* "return ..." "}"
    value    = number | true | false | "text" | type | dimension | "(" value, ... ")"

Blank lines, and lines that begin with #, are passed over, so a graph can be edited and annotated.

Written without hints and lines (`show(graph, bare=True)`) equal graphs have equal texts.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .explained import Explained
from .graph import Graph, Op, Value, Where
from .primitive import REGISTRY, Primitive
from .rows import show_rows
from .types import parse_dim, parse_type, sizes_in

MAX_DEPTH = 64
MAX_DIGITS = 40
"""Digits of a whole number: those of a 128-bit integer, and no more, which take time that grows with their square."""


class ParseError(Explained, ValueError, page="ParseError"):
    """Text that is not a graph. The message says what was expected; `line` and `column` say where, counted from 1.

    >>> try: parse("graph f(%x: f64[]) {")
    ... except ParseError as error: print(error.line, error.column)
    1 7
    """

    def __init__(self, text: str = "", line: int = 0, column: int = 0) -> None:
        super().__init__(text)
        self.line, self.column = line, column


# ---- printing


def show(graph: Graph, bare: bool = False) -> str:
    """The text of `graph`; `bare` leaves out hints and source lines, so that equal graphs print equal."""
    return "\n".join(row.text for row in show_rows(graph, bare))


# ---- parsing

_NAME = r"[A-Za-z_0-9.]+"
_TYPED = rf"%{_NAME}: [\w]+\[[\w*+,-]*\]"
_HEAD = r" *(?P<kind>graph |\| )@(?P<name>\w+)\((?P<params>[^()]*)\) \{"
_LINE = (
    rf" *(?:(?P<left>{_TYPED}(?:, {_TYPED})*) = )?(?P<prim>\w+)(?P<args>(?: %{_NAME},?)*)"
    r"(?: \{(?P<attrs>[^{}]*)\})?(?: +# (?P<file>[^\s:](?:[^:\n]*[^\s:/\\])?):(?P<line>\d{1,9}))?"
)
_HEAD_PIECES = r" *", r"(graph |\| )", r"@", r"\w+", r"\(", r"[^()]*", r"\) \{"
_LINE_PIECES = " *", rf"({_TYPED}(, {_TYPED})* = )?", r"\w+", rf"( %{_NAME},?)*", r"( \{[^{}]*\})?"
"""What a line is made of, for saying how far it is right."""

_RETURN = rf" *return(?P<args>(?: %{_NAME},?)*)"
_PARTS = r"(?:[^,\[]|\[[^\]]*\]?)+"
_TOKEN = r'\s*([(),=]|"(?:[^"\\]|\\.)*"|[^\s(),="\[\]]+(?:\[[^\]]*\])?)'
_NUMBER = r"-?(\d+(\.\d*)?(e[+-]?\d+)?|inf)|nan"

_pattern = functools.cache(re.compile)
"""Patterns are compiled when something is read: most processes only write."""


def parse(text: str, primitives: Mapping[str, Primitive] = REGISTRY, checked: bool = False) -> Graph:
    """The graph that `text` shows; raises ParseError with the line and the column that are wrong.

    Types of results are taken from the text; `checked` tells whether the primitives agree, as `verify` does.
    """
    reader = _Reader(text, primitives, checked)
    graph = reader.graph("graph ", 0)
    if checked:
        reader.check_sizes(graph)
    if reader.rest():
        raise reader.error("the text goes on after the graph's end")
    return graph


class _Reader:
    def __init__(self, text: str, primitives: Mapping[str, Primitive], checked: bool = False) -> None:
        self.all = [line.rstrip() for line in text.splitlines()]
        kept = [(k, line) for k, line in enumerate(self.all) if line and line.lstrip()[0] != "#"]
        self.numbers = [*(k for k, _ in kept), len(self.all)]
        self.lines = [line for _, line in kept]
        self.at, self.primitives, self.checked = 0, primitives, checked
        self.sizes: dict[str, int] = {}

    def rest(self) -> bool:
        return self.at < len(self.lines)

    def error(self, what: str, at: int | None = None, near: str = "", column: int = 0) -> ParseError:
        """What is wrong with a line, from `near` on, or at a column; else from its first word on."""
        n = min(self.at if at is None else at, len(self.lines))
        line = self.lines[n] if n < len(self.lines) else ""
        found = re.search(re.escape(near) + r"(?![\w.])", line) if 0 < len(near) < 1000 else None
        column = found.start() if found else column or len(line) - len(line.lstrip())
        place = self.numbers[n] + 1, column + 1
        shown = line.strip() if line else "end of text"
        return ParseError(f"line {place[0]}, column {place[1]}: {what[:400]}: {shown[:200]}", *place)

    def reach(self, pieces: Sequence[str]) -> int:
        """How far a line goes on as the pieces say."""
        line, at = self.lines[self.at] if self.at < len(self.lines) else "", 0
        for piece in pieces:
            m = _pattern(piece).match(line, at)
            if m is None:
                break
            at = m.end()
        return at + len(line[at:]) - len(line[at:].lstrip())

    def match(self, pattern: str) -> re.Match[str] | None:
        m = _pattern(pattern).fullmatch(self.lines[self.at]) if self.at < len(self.lines) else None
        self.at += m is not None
        return m

    def graph(self, kind: str, depth: int) -> Graph:
        if depth > MAX_DEPTH:
            raise self.error(f"regions nest deeper than {MAX_DEPTH}")
        m = self.match(_HEAD)
        if m is None or m["kind"] != kind:
            raise self.error(f"expected '{kind}@name(%a: type, ...) {{'", column=self.reach(_HEAD_PIECES))
        env: dict[str, Value] = {}
        params = tuple(self.define(t, env, self.at - 1) for t in _split(m["params"]))
        body = []
        while (end := self.match(_RETURN)) is None:
            body.append(self.op(env, depth))
        results = tuple(self.use(n, env, self.at - 1) for n in _split(end["args"].strip()))
        if self.at >= len(self.lines) or self.lines[self.at].strip() != "}":
            raise self.error("expected '}' after return")
        self.at += 1
        return Graph(m["name"], params, tuple(body), results)

    def op(self, env: dict[str, Value], depth: int) -> Op:
        start, m = self.at, self.match(_LINE)
        if m is None:
            verdict = "expected '%r: type = primitive %a, ... {name=value}' or 'return'"
            raise self.error(verdict, column=self.reach(_LINE_PIECES))
        prim = self.primitives.get(m["prim"])
        if prim is None:
            raise self.error(f"unknown primitive {m['prim']!r}", start, column=m.start("prim"))
        args = tuple(self.use(n, env, start) for n in _split(m["args"].strip()))
        attrs = self.attrs(m["attrs"] or "", start)
        regions = []
        while self.at < len(self.lines) and self.lines[self.at].lstrip().startswith("| @"):
            regions.append(self.graph("| ", depth + 1))
        results = tuple(self.define(t, env, start) for t in _split(m["left"] or ""))
        where = Where(m["file"], int(m["line"])) if m["file"] else None
        op = Op(prim, args, attrs, tuple(regions), results, where)
        if self.checked:
            for name in (n for each in (*attrs.values(), *(r.type for r in results)) for n in sizes_in(each)):
                self.sizes.setdefault(name, start)
            self.check(op, start)
        return op

    def check_sizes(self, graph: Graph) -> None:
        """Refuse a named size that no parameter has, of which nobody could tell the number."""
        known = {name for p in graph.params for name in sizes_in(p.type)}
        for name, at in self.sizes.items():
            if name not in known:
                raise self.error(f"no parameter of @{graph.name} has the size {name}", at, name)

    def check(self, op: Op, at: int) -> None:
        """Refuse an operation that its primitive does not know, or whose results have other types."""
        try:
            op.prim.accepts(len(op.args), op.attrs, len(op.regions))
            want = tuple(op.prim.infer([a.type for a in op.args], op.attrs, op.regions))
        except Exception as error:  # of whatever sort: nobody has promised anything about attributes in a text
            said = f"{type(error).__name__}: {error}" if not isinstance(error, (TypeError, ValueError)) else str(error)
            raise self.error(f"{op.prim.name} is ill-typed: {said}", at) from None
        have = tuple(r.type for r in op.results)
        if want != have:
            told, wanted = (", ".join(map(str, each)) or "nothing" for each in (have, want))
            raise self.error(f"{op.prim.name} gives {wanted}, the text says {told}", at)

    def define(self, text: str, env: dict[str, Value], at: int) -> Value:
        name, colon, spelled = text.partition(": ")
        try:
            type = parse_type(spelled)
        except (ValueError, TypeError) as error:
            raise self.error(f"{text!r} is not '%name: type' ({error})", at, text[:99]) from None
        if not colon or not re.fullmatch(f"%{_NAME}", name) or name[1:] in env:
            raise self.error(f"{name} is not a new name", at, name)
        hint = "" if name[1].isdigit() else name[1:].partition(".")[0]
        env[name[1:]] = value = Value(type, hint)
        return value

    def use(self, name: str, env: dict[str, Value], at: int) -> Value:
        if name[1:] not in env:
            raise self.error(f"{name} is not defined before it is used", at, name)
        return env[name[1:]]

    def attrs(self, text: str, at: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        try:
            tokens = iter([*_tokens(text), ""])
            name = next(tokens)
            while name:
                if not name.isidentifier() or name in found or next(tokens) != "=":
                    raise ValueError(f"expected name=value at {name!r}")
                found[name] = _value(next(tokens), tokens, 0)
                comma = next(tokens)
                if comma not in ("", ","):
                    raise ValueError(f"expected ',' at {comma!r}")
                name = next(tokens) if comma else ""
        except (ValueError, TypeError, StopIteration) as error:
            column = self.lines[at].find("{")
            raise self.error(f"attributes: {error or 'they end too early'}", at, column=column) from None
        return found


def _split(text: str) -> list[str]:
    """Split at commas outside brackets."""
    return [part.strip() for part in _pattern(_PARTS).findall(text) if part.strip()]


def _tokens(text: str) -> list[str]:
    """The tokens of attributes, with nothing but space between them."""
    found, at, end = [], 0, len(text.rstrip())
    while at < end:
        m = _pattern(_TOKEN).match(text, at)
        if m is None:
            raise ValueError(f"no value at {text[at : at + 40]!r}")
        found.append(m[1])
        at = m.end()
    return found


def _value(token: str, tokens: Iterator[str], depth: int) -> Any:
    if token == "(" and depth < MAX_DEPTH:
        items = []
        token = next(tokens)
        while token != ")":
            items.append(_value(token, tokens, depth + 1))
            token = next(tokens)
            if token == ",":
                token = next(tokens)
            elif token != ")":
                raise ValueError(f"expected ',' or ')' at {token!r}")
        return tuple(items)
    if token in ("true", "false"):
        return token == "true"
    if token.startswith('"'):
        return json.loads(token)
    if _pattern(_NUMBER).fullmatch(token):
        whole = re.fullmatch(r"-?\d+", token)
        if whole and len(token) > MAX_DIGITS:
            raise ValueError(f"a number of more than {MAX_DIGITS} digits")
        return int(token) if whole else float(token)
    return parse_type(token) if "[" in token else parse_dim(token)
