"""Loop programs: nests with explicit vectors and accumulators, and calls of matrix products.

    kernel loss(a: f64[131072], b: f64[131072]) -> (s: f64[], ga: f64[131072])
      for i in 131072 by 8 = 1 x <8>
        ga[i] = (b[i] * sech2((a[i] * b[i])))
        s[0] <- sum tanh((a[i] * b[i]))
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from ..ir.graph import Where
from ..loops import Affine, Axis, Buffer, Element, Load

LONG = 200_000  # elements above which a call lets other threads run Python


@dataclass(frozen=True, eq=False, slots=True)
class Store:
    """buffer[offset + gathered] = value, or += value; without memory if not `kept`, for loads in the same nest."""

    buffer: Buffer
    offset: Affine
    value: Element
    gathered: tuple[tuple[Element, int], ...] = ()
    add: bool = False
    kept: bool = True


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
    frame    memory for what is read in another piece than it is made in; `slots` says where in it
    """

    pieces: tuple[tuple[Element, ...], ...]
    loads: tuple[Load, ...]
    stores: tuple[tuple[Buffer, Element], ...]
    frame: Buffer
    slots: dict[Element, int]


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
    body: tuple[Nest | Rows | Multiply | Lines, ...]
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


def is_long(program: Program) -> bool:
    """Whether a call takes long enough to let other threads run Python meanwhile."""
    work = 0
    for s in program.body:
        if isinstance(s, Multiply):
            work += s.batch * s.m * s.n * s.k // 8
        elif isinstance(s, Lines):
            work += sum(map(len, s.pieces))
        elif isinstance(s, Rows):
            row = sum(math.prod(axis.extent for axis in n.axes) for n in s.body)
            work += math.prod(axis.extent for axis in s.axes) * row
        else:
            work += math.prod(axis.extent for axis in s.axes)
    return work > LONG
