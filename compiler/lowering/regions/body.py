"""The statements of one region: what each step becomes, and where arrays lie."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from types import MappingProxyType

from ...bounds import interval
from ...ir.graph import Graph, Op, Value
from ...ir.types import Type
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
    Variable,
    along,
    element,
)
from ...ops.control import Carrying
from ...ops.elementwise import Elementwise
from ...ops.index import check_indices
from ...ops.linalg.lapack import Routine
from ...ops.shape import reshape
from ..nests.fuse import Fusion
from ..program import Copy, Fail, Let, Native, Opaque, Site, Statement, Store, Tape, View
from .arraywork import write_arrays
from .branches import write_branch
from .rounds import write_loop
from .steps import expanded, forms, is_array, is_number, load, spaces, steps
from .takeover import Takeover
from .tapes import Top, write_tape

Known = Element | Buffer | Top


class Making:
    """What all regions of a program share."""

    def __init__(self, called: int, vector_bits: int) -> None:
        self.called, self.vector_bits = called, vector_bits
        self.scratch: dict[Buffer, None] = {}
        self.sites: list[Site] = []
        self.base: dict[Buffer, Buffer] = {}
        self._taken: dict[str, Iterator[int]] = {}

    def name(self, hint: str) -> str:
        """A name that nothing else has."""
        if hint in self._taken:
            hint = hint.rstrip("0123456789").rstrip("_") or hint
            numbers = self._taken.setdefault(hint, count(1))
            hint = next(name for k in numbers if (name := f"{hint}_{k}") not in self._taken)
        self._taken[hint] = count(1)
        return hint

    def root(self, buffer: Buffer) -> Buffer:
        """The memory that a buffer is a part of."""
        return self.base.get(buffer, buffer)


class Body:
    """The statements of one region: `out`; `env` has what its values are.

    lies   the memory that an array has to itself, by its first name
    fresh  memory that was taken here
    slots  for a push and the number of a part, an array's place on the tape if it has been stored there before
    """

    def __init__(self, made: Making, graph: Graph, env: dict[Value, Known], owned: Mapping[Value, Buffer]) -> None:
        self.made, self.graph, self.env = made, expanded(graph), env
        self.steps = steps(self.graph)
        self.takeover = Takeover(self.graph, self.steps, set(owned))
        self.out: list[Statement] = []
        self.lies: dict[Value, Buffer] = dict(owned)
        self.fresh: set[Buffer] = set()
        self.tapes: Mapping[Value, Tape] = {}
        self.slots: dict[tuple[Op, int], Buffer] = {}

    # ---- names

    def let(self, value: Element, hint: str = "", low: int | None = None, high: int | None = None) -> Variable:
        """A name for what is made here."""
        name = Variable(self.made.name(hint or "x"), value.dtype, low, high)
        self.out.append(Let(name, value))
        return name

    def number(self, value: Value) -> Element:
        """A number's element."""
        e = self.env[value]
        assert isinstance(e, Element)
        return e

    def buffer(self, value: Value) -> Buffer:
        """Where an array lies."""
        b = self.env[value]
        assert isinstance(b, Buffer)
        return b

    def tape(self, value: Value) -> Top:
        """A tape."""
        t = self.env[value]
        assert isinstance(t, Top)
        return t

    def reader(self, value: Value) -> Callable[[Index], Element]:
        """How an element of a value is read."""
        known = self.env[value]
        if isinstance(known, Buffer):
            return load(known)
        assert isinstance(known, Element)
        return lambda index: known

    def view(self, new: Buffer, of: Buffer, offset: int = 0, gathered: Sequence[tuple[Element, int]] = ()) -> Buffer:
        """Let a buffer be a part of another one."""
        self.made.base[new] = self.made.root(of)
        self.out.append(View(new, of, offset, tuple(gathered)))
        return new

    def copy(self, to: Buffer, source: Buffer) -> None:
        """Copy all elements."""
        self.out.append(Copy(to, source))

    def memory(self, type: Type, hint: str = "") -> Buffer:
        """New memory."""
        buffer = Buffer(self.made.name(hint or "t"), type)
        self.made.scratch[buffer] = None
        self.fresh.add(buffer)
        return buffer

    def room(self, value: Value) -> Buffer:
        """Memory of its own for a value."""
        buffer = self.memory(value.type, value.hint)
        self.env[value] = self.lies[value] = buffer
        return buffer

    def in_place_of(self, value: Value, argument: Value) -> Buffer:
        """The memory of an argument, for a value that may overwrite it; else new memory, to which it is copied."""
        source = self.buffer(argument)
        if self.takeover.taken.get(value) is argument:
            self.env[value], self.lies[value] = source, self.lies[argument]
            return source
        buffer = self.room(value)
        self.copy(buffer, source)
        return buffer

    # ---- steps

    def run(self) -> None:
        """Write all steps."""
        for k, step in enumerate(self.steps):
            if step.kind == "array":
                write_arrays(self, step, k)
            elif step.kind == "region":
                (write_loop if isinstance(step.op.prim, Carrying) else write_branch)(self, step.op, k)
            else:
                getattr(self, f"_{step.kind}")(step.op)

    def inner(
        self, graph: Graph, args: Sequence[Known], owned: Mapping[Value, Buffer],
        tapes: Mapping[Value, Tape] = MappingProxyType({}),
    ) -> Body:
        """A region on what its parameters are; `tapes` are those that it makes and hands out."""
        inner = Body(self.made, graph, dict(zip(graph.params, args, strict=True)), owned)
        inner.tapes = tapes
        inner.run()
        return inner

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

    def own(self, value: Value, used: set[Buffer]) -> Buffer | None:
        """The memory that an array has to itself and no other result has; None if it has none."""
        lies = self.lies.get(value)
        if lies is None or lies in used:
            return None
        used.add(lies)
        return lies

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


__all__ = ["Body", "Known", "Making", "never"]
