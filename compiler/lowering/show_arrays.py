"""The text of elements, and of statements that make arrays."""

from __future__ import annotations

from ..loops import Apply, Axis, Element, Guarded, Load, Number, Position, Variable
from .origins import said
from .program import Lines, Matrix, Multiply, Nest, Rows, Still

INFIX = {"add": "+", "sub": "-", "mul": "*", "div": "/", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
INFIX |= {"eq": "==", "ne": "!=", "and_": "and", "or_": "or"}
LONGEST = 100
SIGNS = {"": "=", "sum": "+=", "max": "max=", "min": "min="}


Array = Nest | Rows | Multiply | Lines


def array_lines(statement: Array) -> list[str]:
    """The lines of array work."""
    if isinstance(statement, Multiply):
        return [f"  {_multiply(statement)}"]
    if isinstance(statement, Rows):
        return _rows(statement)
    if isinstance(statement, Lines):
        return _lines(statement)
    return _case(statement) + Shower(statement, 0).lines()


def _case(nest: Nest) -> list[str]:
    """A line that says when a nest runs."""
    said = []
    for case, holds in nest.cases:
        if isinstance(case, Still):
            told = f"{case.change.name}[0] is {'-0.0' if case.negative else '0.0'}"
        else:
            told = f"{case.result.name} is {case.input.name}"
        said.append(f"{'if' if holds else 'unless'} {told}")
    return ["  " + " and ".join(said)] if said else []


def _rows(rows: Rows) -> list[str]:
    lines = []
    for depth, axis in enumerate(rows.axes):
        lines.append("  " * (depth + 1) + _loop(axis, rows.width if axis is rows.vector else 0, 1))
    pad = "  " * (len(rows.axes) + 1)
    lines += [f"{pad}{'register' if rows.straight else 'local'} {b.name}: {b.type}" for b in rows.local]
    for nest in rows.body:
        lines += Shower(nest, len(rows.axes)).lines()
    return lines


def _lines(s: Lines) -> list[str]:
    """A name for every number that is made."""
    shower = Shower(Nest((), 0, ()), 0)
    made = []
    for number, piece in enumerate(s.pieces):
        made += [f"  piece {number}"] if len(s.pieces) > 1 else []
        for e in piece:
            made.append(f"  e{len(shower.names)} = {shower.element(e)}{said(e)}")
            shower.names[id(e)] = f"e{len(shower.names)}"
    made += [f"  assert not {shower.element(c.fails)}, report {shower.element(c.report)}" for c in s.checks]
    return made + [f"  {buffer.name}[0] = {shower.element(e)}{said(e)}" for buffer, e in s.stores]


def _loop(axis: Axis, width: int, unroll: int) -> str:
    by = f" by {width * unroll} = {unroll} x <{width}>" if width else ""
    return f"for {axis.name} in {axis.extent}{by}"


def _multiply(s: Multiply) -> str:
    def side(m: Matrix) -> str:
        return m.buffer.name + (".T" if m.transposed else "")

    batch = f" x {s.batch}" if s.batch > 1 else ""
    return f"{s.out.buffer.name} = {side(s.left)} @ {side(s.right)}  [{s.m}, {s.n}, {s.k}]{batch}"


class Shower:
    def __init__(self, nest: Nest, outer: int) -> None:
        self.nest, self.outer = nest, outer
        self.names: dict[int, str] = {}
        self.text: dict[int, str] = {}
        self.out: list[str] = []
        self.given = 0
        self.pad = "  " * (outer + len(nest.axes) + 1)

    def lines(self) -> list[str]:
        nest, out = self.nest, self.out
        for depth, axis in enumerate(nest.axes):
            by = f" by {nest.rows}" if axis is nest.tile else ""
            loop = _loop(axis, nest.width if axis is nest.vector else 0, nest.unroll)
            out.append("  " * (self.outer + depth + 1) + loop + by)
        for s in nest.stores:
            value = self.element(s.value)
            place = self.place(s.buffer.name, s.offset, s.gathered)
            sign, to = SIGNS[s.fold], place if s.kept else s.buffer.name
            out.append(f"{self.pad}{to} {sign} {value}{said(s.value)}")
            if not s.fold and not s.gathered:
                self.names[id(s.value)] = place if s.kept else s.buffer.name
        for f in nest.folds:
            place = self.place(f.buffer.name, f.offset, ())
            to = place if f.kept else f.buffer.name
            out.append(f"{self.pad}{to} <- {f.kind} {self.element(f.value)}{said(f.value)}")
        for a in nest.asserts:
            out.append(f"{self.pad}fail {a.site} with {self.element(a.report)} if {self.element(a.fails)}")
        inner, self.pad = self.pad, "  " * (self.outer + len(nest.axes) - nest.reduced + 1)
        for s in nest.after:
            value = self.element(s.value)
            place = self.place(s.buffer.name, s.offset, ())
            out.append(f"{self.pad}{place if s.kept else s.buffer.name} = {value}{said(s.value)}")
        self.pad = inner
        return out

    def place(self, name, offset, gathered) -> str:
        """An element of a buffer."""
        parts = [str(offset)] if offset.terms or offset.constant or not gathered else []
        parts += [f"{stride}*{self.element(e)}" if stride != 1 else self.element(e) for e, stride in gathered]
        return f"{name}[{' + '.join(parts)}]"

    def element(self, e: Element) -> str:
        """The text of an element; what is long gets a line and a name of its own."""
        if id(e) in self.names:
            return self.names[id(e)]
        if id(e) not in self.text:
            text = self._element(e)
            if len(text) > LONGEST:
                name, self.given = f"e{self.given}", self.given + 1
                self.out.append(f"{self.pad}{name} = {text}{said(e)}")
                self.names[id(e)] = text = name
            self.text[id(e)] = text
        return self.text[id(e)]

    def _element(self, e: Element) -> str:
        if isinstance(e, Number):
            return repr(e.value)
        if isinstance(e, Load):
            return self.place(e.buffer.name, e.offset, e.gathered)
        if isinstance(e, Variable):
            return e.name
        if isinstance(e, Position):
            return f"({e.index})"
        if isinstance(e, Guarded):
            tests = ", ".join(f"{i} in {lo}..{hi}" for i, lo, hi in e.ranges)
            return f"({self.element(e.inside)} if {tests} else {self.element(e.outside)})"
        assert isinstance(e, Apply)
        args = [self.element(a) for a in e.args]
        if e.spelling in INFIX:
            return f"({f' {INFIX[e.spelling]} '.join(args)})"
        if e.spelling == "cast":
            return f"{e.dtype}({args[0]})"
        return f"{e.spelling.rstrip('_')}({', '.join(args)})"


__all__ = ["Array", "Shower", "array_lines"]
