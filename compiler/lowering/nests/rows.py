"""Nests that share outer axes: what one makes for a row, the next reads while it is near.

    for i in 512                          softmax of x: f32[512,1000]: each row of x comes from memory once
      for j in 1000
        m[0] <- max x[1000*i + j]
      for j in 1000
        e[j] = exp(x[1000*i + j] - m[0])
        s[0] <- sum e[j]
      for j in 1000
        out[1000*i + j] = e[j] / s[0]

A nest joins another if whatever it reads of the other's buffers lies in the same row of a common axis.  Buffers
that live within a row lose that axis.  Where a row is tiny, its nests are written out and its buffers are
registers; the lanes of the vectors are then different rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from ...ir.measure import OpenExtent, is_open, typical, volume
from ...loops import Affine, Axis, Buffer
from ..program import Multiply, Nest, Rows, tops
from ..reads import operands, reads, runs_alone, same_row, single_steps, written
from .folds import in_blocks, in_rows
from .inside import reachable
from .rename import Rename, Slice
from .schedule import LANES, Facts, is_product, is_turned, lanes_of, price_of, vector_price

TINY = 64  # elements of a nest up to which it is written out within a row
FEW = 9  # elements of a nest up to which that is better than vectors along the row
WRITTEN = 600  # elements that all nests of a row may write out together
STACK = 1 << 15  # bytes of the buffers of a row, which lie on the stack of the calling thread
TURNED = 1 << 10  # elements from which one that is turned in blocks is better alone
NEAR, FAR = 1 << 13, 1 << 19  # elements of arrays whose columns, read line by line, leave the nearest cache unused
LONG = 8  # sums that follow one another in each row, from which a nest had better stay alone
NEEDS = 64  # writers, and readers before the last writer, of one buffer that a statement is told to need
SEEN = 256  # clusters that are looked at to see whether one needs another
ROW = 1 << 14  # elements of a row above which its nests would not find it in the cache
Statement = Nest | Multiply


@dataclass(eq=False)
class _Cluster:
    """Statements that will share outer axes.

    shared  for each shared axis, which one it is in every member
    made    what the members write: by which it is made, and where
    fits    how many of the first members have been found to fit into rows of some of the axes; -1 if one does not
    """

    members: list[int]
    shared: list[dict[int, Axis]]
    made: dict[Buffer, tuple[int, Affine]]
    fits: dict[tuple[int, ...], int] = field(default_factory=dict)


def share(
    body: Iterable[Statement], kept: Iterable[Buffer], schedule: Callable[[Nest], tuple[Nest, ...]], vector_bits: int
) -> list[Nest | Rows | Multiply]:
    """The statements in running order, with those together that share rows; `kept` buffers outlive the kernel."""
    return _Sharing(body, set(kept)).statements(schedule, vector_bits)


class _Sharing:
    def __init__(self, body: Iterable[Statement], kept: set[Buffer]) -> None:
        self.body, self.kept = list(in_blocks(in_rows(body))), kept
        body = self.body
        self.reads = [reads(s) for s in body]
        self.written = [written(s) for s in body]
        self.readers: dict[Buffer, list[int]] = {}
        self.writers: dict[Buffer, list[int]] = {}
        self.needs: list[set[int]] = []
        self._dependencies()
        self.known: dict[tuple[Callable[[Nest], bool], int], bool] = {}
        self.clusters: list[_Cluster] = []
        self.cluster_of: dict[int, _Cluster] = {}
        for at in range(len(body)):
            self._place(at)

    def _dependencies(self) -> None:
        """What must run before each statement, what follows from that at most left out."""
        writers, since = self.writers, dict[Buffer, int]()
        for at in range(len(self.body)):
            read = {r.load.buffer for r in self.reads[at]} | operands(self.body[at])
            written = {b for b, _ in self.written[at]}
            before = {w for b in read | written for w in writers.get(b, ())[-NEEDS:]}
            before |= {r for b in written for r in self.readers.get(b, ())[-max(NEEDS, since.get(b, 0)) :]}
            self.needs.append(before)
            for b in read:
                self.readers.setdefault(b, []).append(at)
                since[b] = since.get(b, 0) + 1
            for b in written:
                writers.setdefault(b, []).append(at)
                since[b] = 0

    # ---- clusters

    def _place(self, at: int) -> None:
        """Put a statement with the latest of those it reads from, or alone."""
        tried: set[int] = set()
        for need in sorted(self.needs[at], reverse=True):
            cluster = self.cluster_of[need]
            if id(cluster) not in tried and self._join(cluster, at):
                return
            tried.add(id(cluster))
        statement = self.body[at]
        shared = [{at: a} for a in self._rows_of(at)] if isinstance(statement, Nest) else []
        cluster = _Cluster([at], shared, {b: (at, offset) for b, offset in self.written[at]})
        self.clusters.append(cluster)
        self.cluster_of[at] = cluster

    def _join(self, cluster: _Cluster, at: int) -> bool:
        nest = self.body[at]
        if not isinstance(nest, Nest) or runs_alone(nest) or runs_alone(self.body[cluster.members[0]]):
            return False
        common = self._common(cluster, at, nest)
        if not common or not self._worthwhile(cluster, at, common) or self._waits_for(cluster, at):
            return False
        if len(common) < len(cluster.shared):
            cluster.shared = [cluster.shared[k] for k in common]
            cluster.fits.clear()
        for row, axis in zip(cluster.shared, common.values(), strict=True):
            row[at] = axis
        cluster.members.append(at)
        cluster.made.update((b, (at, offset)) for b, offset in self.written[at])
        self.cluster_of[at] = cluster
        return True

    def _waits_for(self, cluster: _Cluster, at: int) -> bool:
        """Whether something else that the statement needs, or that shares rows with it, may need the cluster."""
        pending = [c for c in (self.cluster_of[n] for n in self.needs[at]) if c is not cluster]
        seen = {id(c) for c in pending}
        while pending:
            for need in {n for m in pending.pop().members for n in self.needs[m]}:
                other = self.cluster_of[need]
                if other is cluster or len(seen) > SEEN:
                    return True
                if id(other) not in seen:
                    seen.add(id(other))
                    pending.append(other)
        return False

    def _common(self, cluster: _Cluster, at: int, nest: Nest) -> dict[int, Axis]:
        """The shared axes, by number, that the nest has too, in the same rows of all it reads."""
        axes, found = self._rows_of(at), dict[int, Axis]()
        if any(s.fold and s.buffer in cluster.made for s in nest.stores):
            return found
        reads = [(r, *cluster.made[r.load.buffer]) for r in self.reads[at] if r.load.buffer in cluster.made]
        for k, row in enumerate(cluster.shared):
            extent = next(iter(row.values())).extent
            for axis in axes:
                if axis.extent == extent and all(same_row(r, axis, offset, row[m]) for r, m, offset in reads):
                    found[k] = axis
                    axes.remove(axis)
                    break
        return found

    def _worthwhile(self, cluster: _Cluster, at: int, common: dict[int, Axis]) -> bool:
        """Whether rows stay near, and nothing that tiles would speed up is put into them."""
        if not self._suits(at, set(common.values())):
            return False
        known, rows = tuple(common), [cluster.shared[k] for k in common]
        fitting = cluster.fits.get(known, 0)
        if fitting >= 0:
            rest = cluster.members[fitting:]
            fits = all(self._suits(m, {row[m] for row in rows}) for m in rest)
            fitting = cluster.fits[known] = len(cluster.members) if fits else -1
        return fitting >= 0

    def _suits(self, at: int, rows: set[Axis]) -> bool:
        """Whether a nest is as well off in rows along some of its axes."""
        nest = self._nest(at)
        inner, whole = _volume(nest, rows), _volume(nest, set())
        if inner > ROW or (self._is(is_product, at) and inner > TINY) or (self._is(is_turned, at) and whole > TURNED):
            return False
        return not (all(_lies_along(nest, row) for row in rows) and NEAR < whole <= FAR and inner > TINY)

    def _is(self, what: Callable[[Nest], bool], at: int) -> bool:
        """Whether something is so of a nest, found when it is first asked."""
        if (what, at) not in self.known:
            self.known[what, at] = what(self._nest(at))
        return self.known[what, at]

    def _rows_of(self, at: int) -> list[Axis]:
        """The axes that a nest may share: of a product, those that all operands have, and one more."""
        axes = [a for a in _kept(self._nest(at)) if typical(a.extent) > 1]
        if not self._is(is_product, at):
            return axes
        loads = [r.load for r in self.reads[at]]
        serving = [a for a in axes if not all(e.offset.factor(a) or e.gathered for e in loads)]
        return [a for a in axes if a not in serving[1:]]

    # ---- the program

    def statements(
        self, schedule: Callable[[Nest], tuple[Nest, ...]], vector_bits: int
    ) -> list[Nest | Rows | Multiply]:
        """Every cluster in an order in which all it reads is there."""
        out: list[Nest | Rows | Multiply] = []
        for cluster in self._ordered():
            first = self.body[cluster.members[0]]
            if isinstance(first, Multiply):
                out.append(first)
            elif len(cluster.members) == 1:
                out.extend(schedule(first))
            else:
                rows = self._rows(cluster, schedule, vector_bits)
                apart = [nest for m in cluster.members for nest in schedule(self._nest(m))] if _waits(rows) else [rows]
                out.extend(apart)
        return out

    def _nest(self, at: int) -> Nest:
        nest = self.body[at]
        assert isinstance(nest, Nest)
        return nest

    def _ordered(self) -> list[_Cluster]:
        done: set[int] = set()
        order: list[_Cluster] = []
        stack = [(c, False) for c in reversed(self.clusters)]
        while stack:
            cluster, ready = stack.pop()
            if id(cluster) in done:
                continue
            if ready:
                done.add(id(cluster))
                order.append(cluster)
                continue
            stack.append((cluster, True))
            before = {n for m in cluster.members for n in self.needs[m]} - set(cluster.members)
            stack.extend((self.cluster_of[n], False) for n in sorted(before, reverse=True))
        return order

    def _rows(self, cluster: _Cluster, schedule: Callable[[Nest], tuple[Nest, ...]], vector_bits: int) -> Rows:
        """The cluster with axes of its own, its buffers cut down to a row where nothing else reads them."""
        members = set(cluster.members)
        first = [next(iter(row.values())) for row in cluster.shared]
        rows = tuple(Axis(axis.name, axis.extent) for axis in first)
        local: dict[Buffer, Slice] = {}
        single = {m: single_steps(self.reads[m], {row[m] for row in cluster.shared}) for m in cluster.members}
        torn, nests, room = set[Buffer]().union(*(each for _, each in single.values())), [], STACK
        for m in cluster.members:
            for buffer, offset in self.written[m]:
                users = {*self.readers.get(buffer, ()), *self.writers[buffer]}
                if buffer in self.kept or buffer in local or buffer in torn or not members.issuperset(users):
                    continue
                steps = ((offset.factor(row[m]), row[m].extent) for row in cluster.shared)
                cuts = sorted(steps, key=_stride, reverse=True)
                whole = math.prod(buffer.type.static_shape())
                size = whole // math.prod(n for _, n in cuts)
                if isinstance(size, OpenExtent):
                    continue  # what lies on the stack has a size that is known
                room -= size * buffer.type.numpy.itemsize
                if room < 0:
                    break
                local[buffer] = Slice(Buffer(buffer.name, buffer.type.with_shape((size,))), tuple(cuts), whole)
        for m in cluster.members:
            nest = self._nest(m)
            axes = {row[m]: (new, 1) for row, new in zip(cluster.shared, rows, strict=True)}
            rename = Rename(axes, local, frozenset(axes), single=single[m][0])
            inner = [a for a in nest.axes if a not in axes]
            nests.append(rename.nest(nest, tuple(inner), nest.reduced))
        return _scheduled(rows, nests, tuple(s.buffer for s in local.values()), schedule, vector_bits)


def _scheduled(
    rows: tuple[Axis, ...],
    nests: list[Nest],
    local: tuple[Buffer, ...],
    schedule: Callable[[Nest], tuple[Nest, ...]],
    vector_bits: int,
) -> Rows:
    """Rows whose nests have their vectors along a row or across rows; sums stay chains or trees."""
    volumes = [volume(a.extent for a in n.axes) for n in nests]
    known = not any(is_open(a.extent) for n in nests for a in n.axes)
    tiny = known and max(volumes) <= TINY and sum(volumes) <= WRITTEN
    across = rows[-1]
    enough = typical(across.extent) >= LANES
    wide = enough and all(_vectorises(n) for n in nests) and _better_across(nests, across, local)
    if wide or (tiny and max(volumes) <= FEW):
        trees = [n for n in nests if n.chain is False]
        written = tiny and all(n.reduced == 1 for n in trees)
        if written or (wide and not trees):
            nests = [n if n in trees else replace(n, partials=1) for n in nests]
            if wide:
                return _across(rows, nests, local, vector_bits, written)
            return Rows(rows, tuple(nests), local, straight=True)
    return Rows(rows, tuple(s for n in nests for s in schedule(n)), local)


def _across(
    rows: tuple[Axis, ...], nests: list[Nest], local: tuple[Buffer, ...], vector_bits: int, written: bool
) -> Rows:
    """Rows whose lanes are different rows."""
    width = lanes_of([e for n in nests for e in reachable(tops(n))], vector_bits)
    return Rows(rows, tuple(replace(n, vector=rows[-1], width=width) for n in nests), local, rows[-1], width, written)


def _waits(rows: Rows) -> bool:
    """Whether each row waits for a long chain of single sums: apart from the others, its rows would be lanes."""
    chains = [n for n in rows.body if n.chain and n.vector is None and not rows.straight]
    return any(volume(a.extent for a in n.axes) > LONG for n in chains)


def _vectorises(nest: Nest) -> bool:
    return not any(f.kind == "argmax" for f in nest.folds)


def _better_across(nests: list[Nest], across: Axis, local: tuple[Buffer, ...]) -> bool:
    """Whether lanes that hold different rows move less than lanes along a row."""
    held = sum(math.prod(b.type.static_shape()) for b in local)
    if held * LANES * 8 > STACK:
        return False
    along_rows = crosswise = 0.0
    for nest in nests:
        cells = volume(a.extent for a in nest.axes)
        whole = replace(nest, axes=(across, *nest.axes))
        crosswise += cells * price_of(whole, Facts(whole), across)
        along_rows += cells * vector_price(nest)
    return crosswise < along_rows


# ---- facts


def _kept(nest: Nest) -> tuple[Axis, ...]:
    return nest.axes[: len(nest.axes) - nest.reduced]


def _lies_along(nest: Nest, axis: Axis) -> bool:
    """Whether neighbours lie along an axis in all that a nest reads and writes there."""
    factors = {r.load.offset.factor(axis) for r in reads(nest)} | {offset.factor(axis) for _, offset in written(nest)}
    return factors <= {0, 1}


def _volume(nest: Nest, without: set[Axis]) -> int:
    return volume(a.extent for a in nest.axes if a not in without)


def _stride(cut: tuple[int, int]) -> tuple[int, int]:
    return typical(cut[0]), typical(cut[1])


__all__ = ["share"]
