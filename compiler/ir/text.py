"""The text form of a graph.  `show(parse(text)) == text`, hints and lines included.

    graph    = "graph @name(%a: f64[3], ...) {" line* "return %r, ..." "}"
    line     = ["%r: type, ..." "="] primitive "%a, ..." ["{name=value, ...}"] ["# file:line"] region*
    region   = "| @name(...) {" line* "return ..." "}"
    value    = number | true | false | "text" | type | dimension | "(" value, ... ")"

Written without hints and lines (`show(graph, bare=True)`) it is the key under which kernels are kept.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from .graph import Graph, Op, Value, Where
from .primitive import REGISTRY, Primitive
from .types import Size, Type, parse_dim, parse_type

COMMENT_COLUMN = 72
MAX_DEPTH = 64
MAX_DIGITS = 40
"""Digits of a whole number: those of a 128-bit integer, and no more, which take time that grows with their square."""


class ParseError(ValueError):
    """Text that is not a graph.  The message has the line's number and what was expected."""


# ---- printing


def show(graph: Graph, bare: bool = False) -> str:
    """The text of `graph`; `bare` leaves out hints and source lines, so that equal graphs print equal."""
    rows: list[tuple[str, str]] = []
    _show(graph, rows, 0, "graph ", bare)
    noted = [len(left) for left, note in rows if note]
    column = min(max(noted, default=0), COMMENT_COLUMN)
    return "\n".join(f"{left:<{column}}  # {note}" if note else left for left, note in rows)


def _show(graph: Graph, rows: list[tuple[str, str]], depth: int, head: str, bare: bool) -> None:
    names, pad = _names(graph, bare), "  " * depth
    params = ", ".join(f"%{names[p]}: {p.type}" for p in graph.params)
    rows.append((f"{pad}{head}@{graph.name}({params}) {{", ""))
    for op in graph.body:
        left = ", ".join(f"%{names[r]}: {r.type}" for r in op.results)
        args = ", ".join(f"%{names[a]}" for a in op.args)
        attrs = ", ".join(f"{k}={show_attr(v)}" for k, v in sorted(op.attrs.items()))
        text = f"{pad}  {left} = {op.prim.name}" if left else f"{pad}  {op.prim.name}"
        text += (f" {args}" if args else "")
        text += f" {{{attrs}}}" if attrs else ""
        rows.append((text, "" if bare or op.where is None else str(op.where)))
        for region in op.regions:
            _show(region, rows, depth + 2, "| ", bare)
    results = ", ".join(f"%{names[r]}" for r in graph.results)
    rows.append((f"{pad}  return {results}".rstrip(), ""))
    rows.append((pad + "}", ""))


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


# ---- parsing

_NAME = r"[A-Za-z_0-9.]+"
_TYPED = rf"%{_NAME}: [\w]+\[[\w*+,-]*\]"
_HEAD = re.compile(r" *(?P<kind>graph |\| )@(?P<name>\w+)\((?P<params>[^()]*)\) \{")
_LINE = re.compile(
    rf" *(?:(?P<left>{_TYPED}(?:, {_TYPED})*) = )?(?P<prim>\w+)(?P<args>(?: %{_NAME},?)*)"
    r"(?: \{(?P<attrs>[^{}]*)\})?(?: +# (?P<file>[^\s:]*[^\s:/\\]):(?P<line>\d{1,9}))?"
)
_RETURN = re.compile(rf" *return(?P<args>(?: %{_NAME},?)*)")
_PARTS = re.compile(r"(?:[^,\[]|\[[^\]]*\]?)+")
_TOKEN = re.compile(r'\s*([(),=]|"(?:[^"\\]|\\.)*"|[^\s(),="\[\]]+(?:\[[^\]]*\])?)')
_NUMBER = re.compile(r"-?(\d+(\.\d*)?(e[+-]?\d+)?|inf)|nan")


def parse(text: str, primitives: Mapping[str, Primitive] = REGISTRY) -> Graph:
    """The graph that `text` shows; raises ParseError with the number of the line that is wrong.

    Types of results are taken from the text; `verify` tells whether the primitives agree.
    """
    reader = _Reader(text, primitives)
    graph = reader.graph("graph ", 0)
    if reader.rest():
        raise reader.error("the text goes on after the graph's end")
    return graph


class _Reader:
    def __init__(self, text: str, primitives: Mapping[str, Primitive]) -> None:
        self.lines = [line.rstrip() for line in text.splitlines()]
        self.at, self.primitives = 0, primitives
        self._skip()

    def _skip(self) -> None:
        while self.at < len(self.lines) and not self.lines[self.at].strip():
            self.at += 1

    def rest(self) -> bool:
        self._skip()
        return self.at < len(self.lines)

    def error(self, what: str, at: int | None = None) -> ParseError:
        n = self.at if at is None else at
        shown = self.lines[n].strip() if n < len(self.lines) else "end of text"
        return ParseError(f"line {n + 1}: {what[:400]}: {shown[:200]}")

    def match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        m = pattern.fullmatch(self.lines[self.at]) if self.at < len(self.lines) else None
        self.at += m is not None
        return m

    def graph(self, kind: str, depth: int) -> Graph:
        if depth > MAX_DEPTH:
            raise self.error(f"regions nest deeper than {MAX_DEPTH}")
        m = self.match(_HEAD)
        if m is None or m["kind"] != kind:
            raise self.error(f"expected '{kind}@name(%a: type, ...) {{'")
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
            raise self.error("expected '%r: type = primitive %a, ... {name=value}' or 'return'")
        prim = self.primitives.get(m["prim"])
        if prim is None:
            raise self.error(f"unknown primitive {m['prim']!r}", start)
        args = tuple(self.use(n, env, start) for n in _split(m["args"].strip()))
        attrs = self.attrs(m["attrs"] or "", start)
        regions = []
        while self.at < len(self.lines) and self.lines[self.at].lstrip().startswith("| @"):
            regions.append(self.graph("| ", depth + 1))
        results = tuple(self.define(t, env, start) for t in _split(m["left"] or ""))
        where = Where(m["file"], int(m["line"])) if m["file"] else None
        return Op(prim, args, attrs, tuple(regions), results, where)

    def define(self, text: str, env: dict[str, Value], at: int) -> Value:
        name, colon, spelled = text.partition(": ")
        try:
            type = parse_type(spelled)
        except (ValueError, TypeError) as error:
            raise self.error(f"{text!r} is not '%name: type' ({error})", at) from None
        if not colon or not re.fullmatch(f"%{_NAME}", name) or name[1:] in env:
            raise self.error(f"{name} is not a new name", at)
        hint = "" if name[1].isdigit() else name[1:].partition(".")[0]
        env[name[1:]] = value = Value(type, hint)
        return value

    def use(self, name: str, env: dict[str, Value], at: int) -> Value:
        if name[1:] not in env:
            raise self.error(f"{name} is not defined before it is used", at)
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
            raise self.error(f"attributes: {error or 'they end too early'}", at) from None
        return found


def _split(text: str) -> list[str]:
    """Split at commas outside brackets."""
    return [part.strip() for part in _PARTS.findall(text) if part.strip()]


def _tokens(text: str) -> list[str]:
    """The tokens of attributes, with nothing but space between them."""
    found, at, end = [], 0, len(text.rstrip())
    while at < end:
        m = _TOKEN.match(text, at)
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
    if _NUMBER.fullmatch(token):
        whole = re.fullmatch(r"-?\d+", token)
        if whole and len(token) > MAX_DIGITS:
            raise ValueError(f"a number of more than {MAX_DIGITS} digits")
        return int(token) if whole else float(token)
    return parse_type(token) if "[" in token else parse_dim(token)
