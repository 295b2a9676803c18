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
from ..loops import Affine, Axis, Buffer, Element

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
    """buffer[offset] = the fold of value over the axes that the nest reduces."""

    kind: str
    buffer: Buffer
    offset: Affine
    value: Element
    position: Element | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Assert:
    """Fail with `site` and the element `report` if `fails` holds anywhere in the nest."""

    fails: Element
    report: Element
    site: int


@dataclass(frozen=True, eq=False, slots=True)
class Nest:
    """Loops over `axes`, outermost first; the last `reduced` of them are folded by the accumulators.

    `vector` is walked `width` steps at a time, `unroll` vectors in one turn.
    """

    axes: tuple[Axis, ...]
    reduced: int
    stores: tuple[Store, ...]
    folds: tuple[Accumulate, ...] = ()
    asserts: tuple[Assert, ...] = ()
    vector: Axis | None = None
    width: int = 1
    unroll: int = 1


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
    """Buffers and the statements that fill them."""

    name: str
    inputs: tuple[Buffer, ...]
    results: tuple[Buffer, ...]
    scratch: tuple[Buffer, ...]
    body: tuple[Nest | Multiply, ...]
    sites: tuple[Site, ...] = field(default=())


def tops(nest: Nest) -> list[Element]:
    """The elements that a nest makes: all others are parts of these."""
    made = [s.value for s in nest.stores]
    made += [e for s in nest.stores for e, _ in s.gathered]
    for f in nest.folds:
        made += [f.value] if f.position is None else [f.value, f.position]
    return made + [e for a in nest.asserts for e in (a.fails, a.report)]


def is_long(program: Program) -> bool:
    """Whether a call takes long enough to let other threads run Python meanwhile."""
    work = 0
    for s in program.body:
        if isinstance(s, Multiply):
            work += s.batch * s.m * s.n * s.k // 8
        else:
            work += math.prod(axis.extent for axis in s.axes)
    return work > LONG
