"""Loop programs: nests with explicit vectors and accumulators, and calls of matrix products.

    kernel loss(a: f64[131072], b: f64[131072]) -> (s: f64[], ga: f64[131072])
      for i in 131072 by 8 = 1 x <8>
        ga[i] = (b[i] * sech2((a[i] * b[i])))
        s[0] <- sum tanh((a[i] * b[i]))
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from ..ir.graph import Where
from ..loops import Affine, Axis, Buffer, Element, Load, Variable


@dataclass(frozen=True, eq=False, slots=True)
class Store:
    """buffer[offset + gathered] = value, or its `fold` with that; without memory if not `kept`, for loads in one nest.

    `over` says that it writes over what is there: loads of the same nest mean what was there before.
    """

    buffer: Buffer
    offset: Affine
    value: Element
    gathered: tuple[tuple[Element, int], ...] = ()
    fold: str = ""
    kept: bool = True
    over: bool = False


@dataclass(frozen=True, eq=False, slots=True)
class Accumulate:
    """buffer[offset] = the fold of value over the axes that the nest reduces; without memory if not `kept`."""

    kind: str
    buffer: Buffer
    offset: Affine
    value: Element
    position: Element | None = None
    kept: bool = True


@dataclass(frozen=True, eq=False, slots=True)
class Assert:
    """Fail with `site` and the element `report` if `fails` holds anywhere in the nest."""

    fails: Element
    report: Element
    site: int


@dataclass(frozen=True, eq=False, slots=True)
class InPlace:
    """The case that a result lies where an input does."""

    result: Buffer
    input: Buffer


@dataclass(frozen=True, eq=False, slots=True)
class Still:
    """The case that a buffer of one element holds 0.0, or -0.0 if `negative`."""

    change: Buffer
    negative: bool


@dataclass(frozen=True, eq=False, slots=True)
class Nest:
    """Loops over `axes`, outermost first; the last `reduced` of them are folded by the accumulators.

    after     what is stored once the folds are complete: it may read what they hold
    vector    the axis that is walked `width` steps at a time, `unroll` vectors in one turn
    tile      the axis of which one turn makes `rows` steps, so that what does not depend on it is read once for all
    partials  interleaved partial results of a fold along the vector axis
    chain     whether sums are made one element after the other, or in partial results; None where nothing is summed
    cases     in which the nest runs, or with False does not; all must agree
    """

    axes: tuple[Axis, ...]
    reduced: int
    stores: tuple[Store, ...]
    folds: tuple[Accumulate, ...] = ()
    after: tuple[Store, ...] = ()
    asserts: tuple[Assert, ...] = ()
    vector: Axis | None = None
    width: int = 1
    unroll: int = 1
    tile: Axis | None = None
    rows: int = 1
    partials: int = 32
    chain: bool | None = None
    cases: tuple[tuple[InPlace | Still, bool], ...] = ()


@dataclass(frozen=True, eq=False, slots=True)
class Rows:
    """Nests that share their outer axes: for each step of `axes`, one after the other.

    local     buffers of one row: they are used in it and forgotten
    vector    the axis of `axes` whose steps are the lanes of vectors of `width`, if the lanes hold different rows
    straight  whether the nests are written out without loops, and the local buffers kept in registers
    """

    axes: tuple[Axis, ...]
    body: tuple[Nest, ...]
    local: tuple[Buffer, ...]
    vector: Axis | None = None
    width: int = 1
    straight: bool = False


@dataclass(frozen=True, eq=False, slots=True)
class Lines:
    """Single numbers, made one after the other, in pieces that become functions of their own.

    loads    the elements of arguments that are read
    stores   the results: buffers of one element, and what is stored there
    checks   what must not hold, in running order: all are made before anything is stored
    frame    memory for what is read in another piece than it is made in; `slots` says where in it
    """

    pieces: tuple[tuple[Element, ...], ...]
    loads: tuple[Load, ...]
    stores: tuple[tuple[Buffer, Element], ...]
    frame: Buffer
    slots: dict[Element, int]
    checks: tuple[Assert, ...] = ()


@dataclass(frozen=True, eq=False, slots=True)
class Matrix:
    """A matrix in memory: `rows` x `columns`, transposed or not, with a leading dimension."""

    buffer: Buffer
    transposed: bool
    leading: int
    stride: int  # from one matrix of a batch to the next


@dataclass(frozen=True, eq=False, slots=True)
class Multiply:
    """out[m,n] = left[m,k] @ right[k,n], `batch` times, through the BLAS."""

    left: Matrix
    right: Matrix
    out: Matrix
    m: int
    n: int
    k: int
    batch: int = 1


# ---- what loops and branches are made of


@dataclass(frozen=True, eq=False, slots=True)
class Let:
    """name = value, made where it stands among the stores: an element of an array, a number that is known better, or
    one that array work reads, whose nests may be functions of their own.

    Other numbers need no statement: they are made where they are read, as far out as they are known.
    """

    name: Variable
    value: Element


@dataclass(frozen=True, eq=False, slots=True)
class View:
    """`buffer` is the memory of another one, from an offset on that may be known only at run time."""

    buffer: Buffer
    of: Buffer
    offset: int = 0
    gathered: tuple[tuple[Element, int], ...] = ()


@dataclass(frozen=True, eq=False, slots=True)
class Copy:
    """All elements of a buffer into another one, unless that is the same memory."""

    to: Buffer
    source: Buffer


@dataclass(frozen=True, eq=False, slots=True)
class Fail:
    """End the call with `site` and the i64 element `report` if `condition` holds."""

    condition: Element
    report: Element
    site: int


@dataclass(frozen=True, eq=False, slots=True)
class Tape:
    """Memory for a stack of records; one that `grows` asks for more than the buffer has."""

    buffer: Buffer
    grows: bool


@dataclass(frozen=True, eq=False, slots=True)
class Push:
    """Write a record of numbers and arrays into a tape, `top` bytes from its beginning.

    record  what is written and at which byte of the record; `size` is the bytes it takes
    """

    tape: Tape
    top: Element
    record: tuple[tuple[Element | Buffer, int], ...]
    size: int


@dataclass(frozen=True, eq=False, slots=True)
class Pop:
    """Name what a record holds: numbers, and buffers that are their place in the tape."""

    tape: Tape
    top: Element
    record: tuple[tuple[Variable | Buffer, int], ...]


@dataclass(frozen=True, eq=False, slots=True)
class Opaque:
    """results = the Python function with this number, on arguments; end the call with `site` if it raises."""

    number: int
    arguments: tuple[Buffer, ...]
    results: tuple[Buffer, ...]
    site: int


@dataclass(frozen=True, eq=False, slots=True)
class Native:
    """results = a routine of LAPACK's, on arguments; `sizes` and attributes come first in its call."""

    routine: str
    sizes: tuple[int, ...]
    arguments: tuple[Buffer, ...]
    results: tuple[Buffer, ...]


class Carry(NamedTuple):
    """A number that a loop hands from round to round: inside, before the first, after each, and after the last."""

    inside: Variable
    start: Element
    next: Element
    after: Variable


class Pointer(NamedTuple):
    """Memory that a loop hands from round to round: inside, before the first, after each, after the last."""

    inside: Buffer
    start: Buffer
    next: Buffer
    after: Buffer


@dataclass(frozen=True, eq=False, slots=True)
class Loop:
    """Rounds that follow one another: `count` of them, or as many as `test` says, which ends in `more`.

    index     the number of the round, counted down if `backwards`
    rounds    how many there were, where that is asked
    """

    index: Variable
    count: Element | None
    backwards: bool
    carries: tuple[Carry, ...]
    pointers: tuple[Pointer, ...]
    body: tuple[Statement, ...]
    test: tuple[Statement, ...] = ()
    more: Element | None = None
    rounds: Variable | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Branch:
    """The first statements if `condition` holds, else the second ones.

    given    numbers that both, or what follows, read: they are made before
    results  (name, its value in the first case, in the second)
    """

    condition: Element
    given: tuple[Element, ...]
    yes: tuple[Statement, ...]
    no: tuple[Statement, ...]
    results: tuple[tuple[Variable, Element, Element], ...]


Statement = (
    Nest | Rows | Multiply | Lines | Store | Let | View | Copy | Fail | Opaque | Native | Push | Pop | Loop | Branch
)


@dataclass(frozen=True, eq=False, slots=True)
class Site:
    """What to tell the user when an assertion fails."""

    where: Where | None
    kind: str
    facts: tuple[int, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Program:
    """Buffers and the statements that fill them.

    aliases  (k, j) where result k may be the memory of input j: the statements are right whether it is or not
    """

    name: str
    inputs: tuple[Buffer, ...]
    results: tuple[Buffer, ...]
    scratch: tuple[Buffer, ...]
    body: tuple[Statement, ...]
    sites: tuple[Site, ...] = field(default=())
    aliases: tuple[tuple[int, int], ...] = ()


def tested(nest: Nest) -> set[Buffer]:
    """The buffers that are looked at to see in which case a nest is."""
    return {case.change for case, _ in nest.cases if isinstance(case, Still)}


def tops(nest: Nest) -> list[Element]:
    """The elements that a nest makes: all others are parts of these."""
    made = [s.value for s in nest.stores]
    made += [e for s in nest.stores for e, _ in s.gathered]
    for f in nest.folds:
        made += [f.value] if f.position is None else [f.value, f.position]
    made += [s.value for s in nest.after]
    return made + [e for a in nest.asserts for e in (a.fails, a.report)]


def has_regions(program: Program) -> bool:
    """Whether a program has more than array work one after the other."""
    return not all(isinstance(s, Nest | Rows | Multiply | Lines) for s in program.body)
