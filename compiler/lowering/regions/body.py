"""The statements of one region: what each step becomes, and where arrays lie."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...bounds import interval
from ...ir.graph import Op
from ...loops import (
    COMBINED,
    Affine,
    Apply,
    Buffer,
    Check,
    Element,
    Index,
    Load,
    Map,
    Number,
    Scatter,
    along,
    element,
)
from ...ops.control import Carrying
from ...ops.elementwise import Elementwise
from ...ops.index import check_indices
from ...ops.linalg.lapack import Routine
from ...ops.shape import reshape
from ..nests.fuse import Fusion
from ..program import Fail, Native, Opaque, Site, Store, View
from .arraywork import write_arrays
from .branches import write_branch
from .rounds import write_loop
from .state import Body
from .steps import forms, is_array, is_number, spaces
from .tapes import write_tape


class Statements(Body):
    """A body that writes all steps of its region."""

    def run(self) -> None:
        """Write all steps."""
        for k, step in enumerate(self.steps):
            if step.kind == "array":
                write_arrays(self, step, k)
            elif step.kind == "region":
                (write_loop if isinstance(step.op.prim, Carrying) else write_branch)(self, step.op, k)
            else:
                getattr(self, f"_{step.kind}")(step.op)

    def _number(self, op: Op) -> None:
        if isinstance(op.prim, Elementwise):
            (r,), (form,) = op.results, forms(op, [self.reader(a) for a in op.args])
            assert isinstance(form, Map)
            self.env[r] = form.value([Affine()] * r.type.rank)
            return
        if op.prim is reshape:
            self.env[op.results[0]] = self.number(op.args[0])
            return
        for r, form in zip(op.results, forms(op, [self.reader(a) for a in op.args]), strict=True):
            index = [Affine()] * r.type.rank
            if isinstance(form, Check):
                self._check(op, form, index)
            elif isinstance(form, Scatter):
                old, new = self.number(op.args[0]), form.value([Affine()] * len(form.extents))
                self.env[r] = Apply(COMBINED[form.fold], (old, new), old.dtype) if form.fold else new
            else:
                value = form.value(index) if isinstance(form, Map) else self.number(op.args[0])
                self.env[r] = self.let(value, r.hint) if any(is_array(a.type) for a in op.args) else value

    def _check(self, op: Op, form: Check, index: Index) -> None:
        value, fails = self.number(op.args[0]), form.fails(index)
        self.env[op.results[0]] = value
        if never(fails):
            return
        self.made.sites.append(Site(op.where, op.prim.name, tuple(v for _, v in sorted(op.attrs.items()))))
        self.out.append(Fail(fails, element(form.report(index)), len(self.made.sites)))
        if op.prim is check_indices:
            low, high = interval(value)
            self.env[op.results[0]] = self.let(value, "at", max(low, 0), min(high, op.attrs["size"] - 1))

    def _element(self, op: Op) -> None:
        (form,) = forms(op, [self.reader(a) for a in op.args])
        assert isinstance(form, Scatter)
        index = [Affine()] * len(form.extents)
        buffer = self.in_place_of(op.results[0], op.args[0])
        offset, gathered = Fusion.place(form.target(index), buffer.type.static_shape())
        self.out.append(Store(buffer, offset, form.value(index), gathered, form.fold))

    def _fill(self, op: Op) -> None:
        numbers = [self.number(a) for a in op.args]
        buffer = self.room(op.results[0])
        self.out += [Store(buffer, Affine((), k), number) for k, number in enumerate(numbers)]

    def _put(self, op: Op) -> None:
        (form,) = forms(op, [self.reader(a) for a in op.args])
        assert isinstance(form, Scatter)
        source = self.buffer(op.args[1])
        buffer = self.in_place_of(op.results[0], op.args[0])
        target = form.target([along(a) for a in spaces(form.extents)])
        offset, gathered = Fusion.place(target, buffer.type.static_shape())
        place = self.view(Buffer(self.made.name("place"), source.type), buffer, offset.constant, gathered)
        self.copy(place, source)

    def _view(self, op: Op) -> None:
        (r,), base = op.results, self.buffer(op.args[0])
        (form,) = forms(op, [self.reader(a) for a in op.args])
        view = Buffer(self.made.name(r.hint or "view"), r.type)
        if isinstance(form, Map):
            made = form.value([along(a) for a in spaces(r.type.static_shape())])
            assert isinstance(made, Load)
            self.view(view, base, made.offset.constant, made.gathered)
        else:
            self.view(view, base)
        self.env[r] = view
        if r in self.takeover.copied:
            self.copy(self.room(r), view)
        elif self.takeover.taken.get(r) is op.args[0]:
            self.lies[r] = self.lies[op.args[0]]

    # ---- calls of Python and of LAPACK

    def _external(self, op: Op) -> None:
        """A call of another's code: its numbers go through buffers of one element."""
        arguments = []
        for a in op.args:
            buffer = self.env[a]
            if isinstance(buffer, Element):
                buffer = self.memory(a.type)
                self.out.append(Store(buffer, Affine(), self.number(a)))
            assert isinstance(buffer, Buffer)
            arguments.append(buffer)
        results = [self.room(r) for r in op.results]
        if isinstance(op.prim, Routine):
            name = f"{op.prim.name}_{op.results[0].type.dtype}"
            sizes = op.prim.sizes([a.type for a in op.args], op.attrs)
            self.out.append(Native(name, sizes, tuple(arguments), tuple(results)))
        else:
            self.made.sites.append(Site(op.where, op.prim.name, tuple(v for _, v in sorted(op.attrs.items()))))
            self.out.append(Opaque(op.attrs["number"], tuple(arguments), tuple(results), len(self.made.sites)))
        for r, buffer in zip(op.results, results, strict=True):
            if is_number(r.type):
                self.env[r] = self.let(Load(buffer, Affine()), r.hint)

    # ---- tapes

    def _tape(self, op: Op) -> None:
        write_tape(self, op)

    # ---- results

    def bring(self, homes: Mapping[int, Buffer]) -> None:
        """Bring results to buffers that are for them."""
        moves: list[tuple[Buffer, Buffer]] = []
        used: set[Buffer] = set()
        renamed = []
        for k, home in homes.items():
            r = self.graph.results[k]
            known = self.env[r]
            if isinstance(known, Element):
                self.out.append(Store(home, Affine(), known))
                continue
            lies = self.own(r, used)
            if lies is home:
                continue
            if lies is not None and lies in self.fresh and self.made.root(home) not in self._touched(homes):
                renamed.append(View(lies, home))
                del self.made.scratch[lies]
                self.made.base[lies] = self.made.root(home)
            else:
                moves.append((home, self.buffer(r)))
        self.out[:0] = renamed
        self._move(moves)

    def _touched(self, homes: Mapping[int, Buffer]) -> set[Buffer]:
        """The homes that are memory of the region, where its arrays may lie before the end."""
        return {self.made.root(b) for b in self.lies.values()}

    def _move(self, moves: Sequence[tuple[Buffer, Buffer]]) -> None:
        """Copy all at once: through memory of its own what lies where another one is to lie."""
        sources = []
        for home, source in moves:
            root = self.made.root(source)
            if any(self.made.root(other) is root for other, _ in moves if other is not home):
                held = self.memory(source.type)
                self.copy(held, source)
                source = held
            sources.append(source)
        for (home, _), source in zip(moves, sources, strict=True):
            self.copy(home, source)


def never(e: Element) -> bool:
    """Whether a condition is seen not to hold."""
    if isinstance(e, Number):
        return not e.value
    if not isinstance(e, Apply) or e.dtype != "bool":
        return False
    if e.spelling in ("or_", "and_"):
        return (all if e.spelling == "or_" else any)(map(never, e.args))
    if e.spelling == "not_" and isinstance(e.args[0], Number):
        return bool(e.args[0].value)
    if e.spelling in ("lt", "ge") and e.args[0].dtype == "i64":
        (low, high), (least, most_) = map(interval, e.args)
        return low >= most_ if e.spelling == "lt" else high < least
    return False


__all__ = ["Statements", "never"]
