"""Tapes as machine code: of known and of unknown length, through loops and branches, without memory."""

from __future__ import annotations

import resource

import numpy as np
import pytest

from pullback.compiler.backend import process
from pullback.compiler.backend.kernel import compile_graph
from pullback.compiler.ir.graph import Graph
from pullback.compiler.ir.types import TAPE, Type
from pullback.compiler.lowering import lower
from pullback.compiler.lowering.nests.roots import inside
from pullback.compiler.lowering.program import Push
from pullback.compiler.ops import elementwise as e
from pullback.compiler.ops.control import cond
from pullback.compiler.ops.memory import bump
from pullback.compiler.ops.require import require
from pullback.compiler.ops.source import number
from pullback.compiler.ops.tape import new_tape, pop, push
from tests.region_graphs import B, F, N, at, put, region, run, scanned, twice


def taped(n: int | None, words: int) -> Graph:
    """Squares in opposite order, by way of a tape with records of an array and two numbers."""
    record = Type("f64", (words,))

    def main(b, x, a, n_given):
        def fore(b, i, t, x, a):
            (t,) = b.emit(push, t, x, i, a)
            return [t, e.add(b, e.mul(b, x, number(b, 0.5, F)), number(b, 1.0, F)), put(b, a, x, 1, prim=bump)]

        def back(b, i, t, s, r):
            t, x, k, a = b.emit(pop, t, types=(F, N, record))
            s = e.add(b, e.mul(b, s, x), at(b, a, k))
            return [t, s, e.add(b, r, a)]

        count = n_given if n is None else number(b, n, N)
        tape, x, a = scanned(b, count, fore, [*b.emit(new_tape), x, a])
        _, s, r = scanned(b, count, back, [tape, x, a], backwards=True)
        return [s, r]

    return region([F, record, N], main)


@pytest.mark.parametrize("n", [0, 1, 3, 2000])
def test_tapes_of_known_and_of_unknown_length(n: int) -> None:
    for words in (2, 40):
        for graph in (taped(n, words), taped(None, words)):
            run(graph, 0.25, np.linspace(0, 1, words), n)
    grows = [s.tape.grows for s in inside(lower(taped(None, 2)).body) if isinstance(s, Push)]
    assert grows == [True]
    assert [s.tape.grows for s in inside(lower(taped(3, 2)).body) if isinstance(s, Push)] == [False]


@pytest.mark.parametrize("words", [3, 40])
@pytest.mark.parametrize("unknown", [False, True])
def test_an_array_in_several_places_of_records(words: int, unknown: bool) -> None:
    """Array work leaves what it makes on the tape: at each of its places, and in each record that has it."""
    array = Type("f64", (words,))

    def main(b, a, n):
        def fore(b, i, t, a):
            c = e.mul(b, a, a)
            (t,) = b.emit(push, t, a, c, c, i, c)
            return [*b.emit(push, t, c, a, a), c]

        def back(b, i, t, s):
            t, *last = b.emit(pop, t, types=(array,) * 3)
            t, *first, k, c = b.emit(pop, t, types=(*(array,) * 3, N, array))
            for j, part in enumerate((*last, *first, c)):
                s = bump(b, e.mul(b, s, number(b, 0.5 + j, array)), at(b, part, k), k, axes=(0,), widths=(-1,))
            return [t, s]

        count = n if unknown else number(b, 2, N)
        tape, a = scanned(b, count, fore, [*b.emit(new_tape), a])
        return [*scanned(b, count, back, [tape, a], backwards=True)[1:], a, a]

    run(region([array, N], main), np.linspace(-1.0, 1.0, words), 2)


def test_two_tapes_through_a_branch_in_another_order() -> None:
    """What is pushed to each is counted for itself."""
    def fore(b, i, s, t, x):
        yes = region([TAPE, TAPE, F], lambda b, t, s, x: [*b.emit(push, s, x, x, x), *b.emit(push, t, x)])
        no = region([TAPE, TAPE, F], lambda b, t, s, x: [s, t])
        s, t = b.emit(cond, e.lt(b, i, number(b, 30, N)), t, s, x, regions=(yes, no))
        (s,) = b.emit(push, s, x)
        return [s, t, e.add(b, x, number(b, 1.0, F))]

    def back(b, i, s, t, y, x):
        s, z = b.emit(pop, s, types=(F,))
        yes = region([TAPE, TAPE, F], lambda b, t, s, y: [
            (a := b.emit(pop, s, types=(F, F, F)))[0], (c := b.emit(pop, t, types=(F,)))[0],
            e.add(b, e.mul(b, y, c[1]), a[2])])
        no = region([TAPE, TAPE, F], lambda b, t, s, y: [s, t, y])
        s, t, y = b.emit(cond, e.lt(b, i, number(b, 30, N)), t, s, e.add(b, y, z), regions=(yes, no))
        return [s, t, e.mul(b, y, x)]

    def main(b, x, y):
        s, t, x = scanned(b, 40, fore, [*b.emit(new_tape), *b.emit(new_tape), x])
        return scanned(b, 40, back, [s, t, y], x, backwards=True)[2:]

    run(region([F, F], main), 1.0, 1e-30)


@pytest.mark.parametrize("n", [3, 900])
def test_a_tape_that_branches_make(n: int) -> None:
    def main(b, p, x):
        def fore(b, i, t, x):
            return [*b.emit(push, t, x, x), twice(b, x)]

        def full(b, x):
            t, x = scanned(b, n, fore, [*b.emit(new_tape), x])
            return [t, x]

        yes = region([F], full)
        no = region([F], lambda b, x: [*b.emit(push, *b.emit(new_tape), x, twice(b, x)), x])
        t, x = b.emit(cond, p, x, regions=(yes, no))
        (t,) = b.emit(push, t, x, x)
        t, *first = b.emit(pop, t, types=(F, F))
        _, *second = b.emit(pop, t, types=(F, F))
        return [*first, *second]

    for p in (True, False):
        run(region([B, F], main), p, 1e-300)


def test_a_tape_that_gets_no_memory_is_a_memory_error() -> None:
    """Records of 8 MB: the third one asks for more than there are addresses for."""
    kernel = compile_graph(taped(None, 2**20))
    soft, hard = process_limit(2**31)
    try:
        with pytest.raises(MemoryError):
            kernel.run([np.array(1.0), np.ones(2**20), np.array(100_000)])
    finally:
        process_limit(soft, hard)
    assert np.isfinite(kernel.run([np.array(1.0), np.ones(2**20), np.array(3)])[0])


def process_limit(size: int, hard: int | None = None) -> tuple[int, int]:
    """Let the process have only so much more memory than it has; the limits before."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    now = process_size() + size if hard is None else size
    resource.setrlimit(resource.RLIMIT_AS, (now, before[1]))
    return before


def process_size() -> int:
    """The bytes of addresses in use."""
    with open("/proc/self/statm") as f:
        return int(f.read().split()[0]) * process.PAGE_SIZE


def test_failures_give_back_the_memory_of_tapes() -> None:
    """Many failures with a tape of megabytes: what was not given back would be seen."""
    def fore(b, i, t, x):
        (t,) = b.emit(push, t, x, x)
        require(b, e.lt(b, i, number(b, 200_000, N)), error="RuntimeError", text="enough")
        return [t, twice(b, x)]

    def main(b, x, n):
        t, x = scanned(b, n, fore, [*b.emit(new_tape), x])
        return [x, *b.emit(pop, t, types=(F, F))[1:]]

    graph = region([F, N], main)
    kernel = compile_graph(graph)
    kernel.run([np.array(1.0), np.array(100_000)])
    before = process_size()
    for _ in range(20):
        with pytest.raises(RuntimeError, match="enough"):
            kernel.run([np.array(1.0), np.array(300_000)])
    assert process_size() - before < 8 * 2**20
