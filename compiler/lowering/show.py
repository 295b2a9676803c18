"""The text of a loop program, for dumps and golden files.

    kernel newton(x: f64[], a: f64[]) -> (out0: f64[], out1: i64[])
      x_1 = x[0]
      a_1 = a[0]
      carry r = x_1
      while (abs(((r * r) - a_1)) > 1e-12) for k
        r = (r - (((r * r) - a_1) / (2.0 * r)))
      r_1 = r
      rounds = k
      out0[0] = r_1
      out1[0] = rounds
"""

from __future__ import annotations

from collections.abc import Sequence

from ..loops import Affine, Buffer, Element, Variable
from .origins import said
from .program import (
    Branch,
    Copy,
    Fail,
    Let,
    Lines,
    Loop,
    Multiply,
    Native,
    Nest,
    Opaque,
    Pop,
    Program,
    Push,
    Rows,
    Statement,
    Store,
    View,
)
from .show_arrays import SIGNS, Shower, array_lines


def show_program(program: Program) -> str:
    """Loops and nests as `for` lines, with a name for every element that would be too long."""
    params = ", ".join(f"{b.name}: {b.type}" for b in program.inputs)
    results = ", ".join(f"{b.name}: {b.type}" for b in program.results)
    lines = [f"kernel {program.name}({params}) -> ({results})"]
    lines += [f"  scratch {b.name}: {b.type}" for b in program.scratch]
    shown = _Shown()
    shown.body(program.body, "  ")
    return "\n".join(lines + shown.out)


class _Shown(Shower):
    """The lines of statements, `out`."""

    def __init__(self) -> None:
        super().__init__(Nest((), 0, ()), 0)

    def body(self, statements: Sequence[Statement], pad: str) -> None:
        """Lines `pad` to the right; what is named in them has no name after."""
        before = self.pad, dict(self.names), dict(self.text)
        self.pad = pad
        for s in statements:
            if isinstance(s, Nest | Rows | Multiply | Lines):
                self.out += [pad[2:] + line for line in array_lines(s)]
            else:
                getattr(self, f"_{type(s).__name__.lower()}")(s)
        self.pad, self.names, self.text = before

    def line(self, text: str) -> None:
        """One more line."""
        self.out.append(self.pad + text)

    def _let(self, s: Let) -> None:
        self.line(f"{s.name.name} = {self.element(s.value)}{said(s.value)}")

    def _store(self, s: Store) -> None:
        value = self.element(s.value)
        self.line(f"{self.place(s.buffer.name, s.offset, s.gathered)} {SIGNS[s.fold]} {value}{said(s.value)}")

    def _view(self, s: View) -> None:
        of = s.of.name
        if s.offset or s.gathered:
            of = f"&{self.place(of, Affine((), s.offset), s.gathered)}"
        self.line(f"{s.buffer.name}: {s.buffer.type} is {of}")

    def _copy(self, s: Copy) -> None:
        self.line(f"copy {s.source.name} to {s.to.name}")

    def _fail(self, s: Fail) -> None:
        self.line(f"fail {s.site} with {self.element(s.report)} if {self.element(s.condition)}{said(s.condition)}")

    def _opaque(self, s: Opaque) -> None:
        results, given = (", ".join(b.name for b in each) for each in (s.results, s.arguments))
        self.line(f"{results} = external {int(s.number)} of {given}, or fail {s.site}")

    def _native(self, s: Native) -> None:
        results, given = (", ".join(b.name for b in each) for each in (s.results, s.arguments))
        self.line(f"{results} = {s.routine}{list(s.sizes)} of {given}")

    def _push(self, s: Push) -> None:
        held = ", ".join(self.element(v) if isinstance(v, Element) else v.name for v, _ in s.record)
        grows = ", which grows" if s.tape.grows else ""
        line = next((said(v) for v, _ in s.record if isinstance(v, Element) and said(v)), "")
        self.line(f"push {held} to {s.tape.buffer.name} at {self.element(s.top)}{grows}{line}")

    def _pop(self, s: Pop) -> None:
        held = ", ".join(_said(name) for name, _ in s.record)
        self.line(f"{held} = pop from {s.tape.buffer.name} at {self.element(s.top)}")

    def _branch(self, s: Branch) -> None:
        asked = f"if {self.element(s.condition)}{said(s.condition)}"
        for condition, body, side in ((asked, s.yes, 1), ("else", s.no, 2)):
            ends = [f"{r[0].name} = {self._inside(r[side])}{said(r[side])}" for r in s.results]
            if body or ends or side == 1:
                self.line(condition)
                self.body(body, self.pad + "  ")
                self.out += [f"{self.pad}  {end}" for end in ends]

    def _loop(self, s: Loop) -> None:
        for c in s.carries:
            self.line(f"carry {c.inside.name}: {c.inside.dtype} = {self.element(c.start)}")
        for p in s.pointers:
            self.line(f"carry {p.inside.name}: {p.inside.type} is {p.start.name}")
        self._head(s)
        self.body(s.body, self.pad + "  ")
        self.out += [f"{self.pad}  {c.inside.name} = {self._inside(c.next)}{said(c.next)}" for c in s.carries]
        self.out += [f"{self.pad}  {p.inside.name} is {p.next.name}" for p in s.pointers]
        for c in s.carries:
            self.line(f"{c.after.name} = {c.inside.name}")
        for p in s.pointers:
            self.line(f"{p.after.name}: {p.after.type} is {p.inside.name}")
        if s.rounds is not None:
            self.line(f"{s.rounds.name} = {s.index.name}")

    def _head(self, s: Loop) -> None:
        if s.count is not None:
            self.line(f"for {s.index.name} below {self.element(s.count)}{', backwards' if s.backwards else ''}")
            return
        assert s.more is not None
        if s.test:
            self.line("before each round")
            self.body(s.test, self.pad + "  ")
        self.line(f"while {self._inside(s.more)} for {s.index.name}{said(s.more)}")

    def _inside(self, e: Element) -> str:
        """The text of an element where no line for a part of it can stand."""
        names, text, out = dict(self.names), dict(self.text), self.out
        self.out = []
        shown = self.element(e)
        found, self.out, self.names, self.text = self.out, out, names, text
        if found:
            parts = "; ".join(line.strip().partition("  # ")[0] for line in found)
            return f"{shown} where {parts}"
        return shown


def _said(x: Variable | Buffer) -> str:
    return x.name if isinstance(x, Variable) else f"{x.name}: {x.type}"


__all__ = ["show_program"]
