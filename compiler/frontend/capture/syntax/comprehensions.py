"""Comprehensions: loops that append, in frames of their own, so that their names stay inside."""

from __future__ import annotations

import ast
from typing import Any

from ..calls import enter
from ..containers.sequences import new_dict, new_list
from ..frames import Frame
from ..machine import Machine
from ..source import Parsed
from ..values import Grown, traced

NOTHING = ast.Lambda(ast.arguments([], [], None, [], [], None, []), ast.Constant(None))
"""The function that the frame of a comprehension is said to run."""


def comprehension(m: Machine, n: Any) -> Any:
    """A loop that appends to a list, in a frame of its own."""
    out = ast.Name("#out", ast.Load())
    if isinstance(n, ast.DictComp):
        target = ast.Subscript(out, n.key, ast.Store())
        inner: ast.stmt = ast.Assign([target], n.value)
    else:
        inner = ast.Expr(ast.Call(ast.Attribute(out, "append", ast.Load()), [n.elt], []))
    loop, source = _nested(m, n, inner), m.eval(n.generators[0].iter)
    file = m.frame.parsed.file if m.frame.parsed else ""
    frame = Frame(m.frame.name, Parsed(NOTHING, file, _targets(n) | {"#in", "#out"}, frozenset(), False), m.frame)
    frame.globals, frame.line = m.frame.globals, n.lineno
    frame.vars["#in"] = source
    frame.vars["#out"] = new_dict(m, (), ()) if isinstance(n, ast.DictComp) else new_list(m, ())
    m.frames.append(frame)
    m.block([loop])
    m.frames.pop()
    made = frame.vars["#out"]
    if isinstance(n, ast.SetComp):
        items = m.content(made.box)
        if isinstance(items, Grown) or traced(items):
            m.refuse("a set of traced values", "use a list")
        return set(items)
    return made


def any_or_all(m: Machine, n: ast.GeneratorExp, stop: bool) -> Any:
    """any() or all() of a generator: a loop that returns at the first item that decides."""
    if n not in _deciding:
        test = n.elt if stop else ast.UnaryOp(ast.Not(), n.elt)
        loop = _nested(m, n, ast.If(test, [ast.Return(ast.Constant(stop))], []))
        source = ast.arguments([], [ast.arg("#in")], None, [], [], None, [])
        body: list[ast.stmt] = [loop, ast.Return(ast.Constant(not stop))]
        node = ast.FunctionDef(m.frame.name, source, body, [], None)
        _place(node, n)
        file = m.frame.parsed.file if m.frame.parsed else ""
        _deciding[n] = Parsed(node, file, _targets(n) | {"#in"}, frozenset(), False)
    return enter(m, _deciding[n], [m.eval(n.generators[0].iter)], {}, [], {}, scope=m.frame)


_deciding: dict[ast.AST, Parsed] = {}


def _nested(m: Machine, n: Any, inner: ast.stmt) -> ast.stmt:
    """The loops and conditions of a comprehension around a statement; the outermost is over `#in`.

    What that goes over is evaluated outside, where its names are others: `[x * x for x in x]`.
    """
    for g in reversed(n.generators):
        if g.is_async:
            m.refuse("an asynchronous comprehension", "build a list")
        for c in reversed(g.ifs):
            inner = ast.If(c, [inner], [])
        over = ast.Name("#in", ast.Load()) if g is n.generators[0] else g.iter
        inner = ast.For(g.target, over, [inner], [])
    _place(inner, n)
    return inner


def _place(made: ast.AST, n: ast.expr) -> None:
    for each in ast.walk(made):
        if isinstance(each, (ast.stmt, ast.expr)) and not hasattr(each, "lineno"):
            ast.copy_location(each, n)


def _targets(n: Any) -> frozenset[str]:
    return frozenset(t.id for g in n.generators for t in ast.walk(g.target) if isinstance(t, ast.Name))
