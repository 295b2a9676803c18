"""Array work in regions: what is updated in place, what is read before it is overwritten, and where results lie."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from pullback.compiler.backend.kernel import compile_graph
from pullback.compiler.ir.graph import Graph, evaluate
from pullback.compiler.ir.text import show
from pullback.compiler.ir.types import Type
from pullback.compiler.loops import Buffer
from pullback.compiler.lowering import lower
from pullback.compiler.lowering.program import Copy, Loop, Multiply, Nest, Program, Rows
from pullback.compiler.lowering.regions.parts import Part, part
from pullback.compiler.lowering.show import show_program
from pullback.compiler.ops.contract import contract
from pullback.compiler.ops.elementwise import add, cast
from pullback.compiler.ops.index import check_indices, take
from pullback.compiler.ops.memory import bump, read, update
from pullback.compiler.ops.reduce import spread
from pullback.compiler.ops.shape import reshape, transpose
from pullback.compiler.ops.source import number
from pullback.compiler.ops.term import Term
from pullback.compiler.passes import adjoint
from pullback.compiler.settings import settings
from tests.nests import Nest as Notation
from tests.nests import nest, region_of
from tests.random_arrays import Arrays
from tests.work import calls_of

I64 = Type("i64")


def f64(*shape: int) -> Type:
    return Type("f64", shape)


def window(m: Notation, x: Term, at: Sequence[int | Term], widths: Sequence[int]) -> Term:
    """x[a:a+w, ...]; a width of -1 is an index."""
    starts = [a.value if isinstance(a, Term) else number(m.b, a, I64) for a in at]
    return m(read(m.b, x.value, *starts, axes=tuple(range(len(at))), widths=tuple(widths)))


def put(m: Notation, x: Term, v: Term, at: Sequence[int | Term], widths: Sequence[int], adds: bool = False) -> Term:
    """x after x[a:a+w, ...] = v, or += v."""
    starts = [a.value if isinstance(a, Term) else number(m.b, a, I64) for a in at]
    prim = bump if adds else update
    return m(prim(m.b, x.value, v.value, *starts, axes=tuple(range(len(at))), widths=tuple(widths)))


def assert_exact(graph: Graph, args: Sequence[np.ndarray]) -> Program:
    """The kernel gives the bits of the reference executor; its program."""
    kernel = compile_graph(graph)
    before = [a.copy() for a in args]
    got, want = kernel.run(args), evaluate(graph, args)
    for g, w in zip(got, want, strict=True):
        assert np.array_equal(g, w), f"{show(graph)}\n{show_program(kernel.program)}"
    assert all(np.array_equal(a, b) for a, b in zip(args, before, strict=True)), "an argument was written to"
    return kernel.program


def integers(*shapes: tuple[int, ...]) -> list[np.ndarray]:
    rng = np.random.default_rng(3)
    return [rng.integers(-4, 5, s).astype(float) for s in shapes]


def loops(program: Program) -> list[Loop]:
    return [s for s in program.body if isinstance(s, Loop)]


def copies(program: Program) -> int:
    """The copies in loops."""
    return sum(isinstance(s, Copy) for loop in loops(program) for s in loop.body)


# ---- hazards: f(m, i, x, y) -> the next x, in a loop and on its own


def reads_old_later(m: Notation, i: Term, x: Term, y: Term) -> Term:
    first = window(m, x, (0, 0), (2, 3))
    changed = put(m, x, window(m, y, (0, 0), (4, 3)), (0, 1), (4, 3))
    return put(m, changed, first, (1, i), (2, 3))


def overlaps(m: Notation, i: Term, x: Term, y: Term) -> Term:
    return put(m, x, window(m, x, (0, 0), (3, 4)), (1, 0), (3, 4))


def overlaps_backwards(m: Notation, i: Term, x: Term, y: Term) -> Term:
    return put(m, x, window(m, x, (0, 1), (4, 3)), (0, 0), (4, 3))


def overlaps_at_run_time(m: Notation, i: Term, x: Term, y: Term) -> Term:
    return put(m, x, window(m, x, (i,), (-1,)) + window(m, x, (1,), (-1,)), (1,), (-1,))


def short_overlap(m: Notation, i: Term, x: Term, y: Term) -> Term:
    return put(m, x, window(m, x, (1, 0), (-1, 3)), (1, 1), (-1, 3))


def transposed(m: Notation, i: Term, x: Term, y: Term) -> Term:
    return m(transpose(m.b, x.value, axes=(1, 0))) * 0.5 + y


def transposed_part(m: Notation, i: Term, x: Term, y: Term) -> Term:
    return put(m, x, m(transpose(m.b, window(m, x, (0, 0), (2, 2)).value, axes=(1, 0))), (1, 1), (2, 2))


def twice(m: Notation, i: Term, x: Term, y: Term) -> Term:
    return put(m, put(m, x, window(m, y, (i,), (-1,)), (i,), (-1,)), window(m, y, (0,), (-1,)), (3,), (-1,), adds=True)


def row_beside(m: Notation, i: Term, x: Term, y: Term) -> Term:
    row = window(m, x, (i,), (-1,))
    changed = put(m, x, row * 2.0, (i,), (-1,))
    return put(m, changed, row + window(m, changed, (i,), (-1,)), (0,), (-1,))


def place_from_itself(m: Notation, i: Term, x: Term, y: Term) -> Term:
    at = m(cast(m.b, m.at(x, 0, 0).value, dtype="i64"))
    return put(m, x, window(m, y, (0,), (-1,)), (at,), (-1,))


def product_of_itself(m: Notation, i: Term, x: Term, y: Term) -> Term:
    return m(contract(m.b, x.value, y.value, left=(1,), right=(0,))) * 0.0625


def whole(m: Notation, i: Term, x: Term, y: Term) -> Term:
    return put(m, x, x * y, (0,), (4,), adds=True) * 0.5


def renamed(m: Notation, i: Term, x: Term, y: Term) -> Term:
    flat = m(reshape(m.b, x.value, shape=(16,)))
    changed = put(m, flat, window(m, y, (0,), (-1,)), (5,), (4,))
    return m(reshape(m.b, changed.value, shape=(4, 4))) + x


def covered(m: Notation, i: Term, x: Term, y: Term) -> Term:
    return put(m, put(m, x, window(m, y, (0,), (-1,)), (i,), (-1,)), y * 0.5, (), ())


Step = Callable[[Notation, Term, Term, Term], Term]
HAZARDS: tuple[Step, ...] = (
    reads_old_later, overlaps, overlaps_backwards, overlaps_at_run_time, short_overlap, transposed, transposed_part,
    twice, row_beside, place_from_itself, product_of_itself, whole, renamed, covered,
)
hazards = pytest.mark.parametrize("step", HAZARDS, ids=lambda f: f.__name__)


@hazards
def test_hazards_in_a_loop(step: Step) -> None:
    @nest("f", (4, 4), (4, 4))
    def graph(m, x, y):
        return m.scan(5, lambda m, i, c, r: [step(m, i, c[0], r[0])], [x], [y])[0]

    assert_exact(graph, integers((4, 4), (4, 4)))


@hazards
def test_hazards_outside_of_regions(step: Step) -> None:
    types = [f64(4, 4), f64(4, 4), I64]
    graph = region_of("f", types, lambda m, x, y, i: [step(m, i, step(m, i, x * 1.0, y), y), x])
    assert_exact(graph, [*integers((4, 4), (4, 4)), np.array(2)])


@hazards
def test_hazards_where_the_old_version_is_a_result_too(step: Step) -> None:
    @nest("f", (4, 4), (4, 4))
    def graph(m, x, y):
        def body(m, i, c, r):
            return [step(m, i, c[0], r[0]), c[0]]

        a, b = m.scan(4, body, [x, y], [y])
        return a - b

    assert_exact(graph, integers((4, 4), (4, 4)))


@hazards
def test_hazards_in_a_branch(step: Step) -> None:
    def graph(m, x, y, p):
        def body(m, i, c, r):
            even = m.lt(i - m.i64(2), m.i64(0))
            return m.cond(even, lambda m, x, y, i: [step(m, i, x, y), x], lambda m, x, y, i: [y, x], [*c, i])

        return m.scan(5, body, [x, y])

    types = [f64(4, 4), f64(4, 4), I64]
    assert_exact(region_of("f", types, graph), [*integers((4, 4), (4, 4)), np.array(1)])


@hazards
def test_gradients_of_hazards(step: Step) -> None:
    if step is place_from_itself:
        return

    @nest("f", (4, 4), (4, 4))
    def graph(m, x, y):
        return m.scan(3, lambda m, i, c, r: [step(m, i, c[0], r[0])], [x], [y])[0]

    pulled = adjoint(graph, [0, 1])
    args = integers((4, 4), (4, 4), (4, 4))
    for g, w in zip(compile_graph(pulled).run(args), evaluate(pulled, args), strict=True):
        np.testing.assert_allclose(g, w, rtol=1e-13, atol=1e-13)


# ---- random programs


@pytest.mark.parametrize("block", range(4))
def test_random_updates(block: int) -> None:
    for seed in range(40 * block, 40 * block + 40):
        random = Arrays(seed)
        graph = random.graph(regions=False)
        assert_exact(graph, random.arguments(graph))


@pytest.mark.parametrize("block", range(4))
def test_random_updates_in_regions(block: int) -> None:
    for seed in range(1000 + 40 * block, 1000 + 40 * block + 40):
        random = Arrays(seed)
        graph = random.graph(regions=True)
        assert_exact(graph, random.arguments(graph))


# ---- where things lie


def run_part(graph: Graph, into: dict[int, int], spare: Sequence[int] = ()) -> tuple[Part, list[Buffer]]:
    """The part that makes the results of a graph; `into` says which result is to lie where which parameter does."""
    given = {p: Buffer(f"p{k}", p.type) for k, p in enumerate(graph.params)}
    buffers = list(given.values())
    places = {r: Buffer(f"r{k}", r.type) for k, r in enumerate(graph.results)}
    places |= {graph.results[k]: buffers[j] for k, j in into.items()}
    other = {graph.results[k]: Buffer(f"s{k}", graph.results[k].type) for k in spare}
    names = itertools.count()
    made = part(graph.body, given, graph.results, places, True, 256, 1, other, lambda hint: f"{hint}{next(names)}")
    return made, buffers


def test_an_elementwise_result_takes_the_memory_of_what_it_is_made_of() -> None:
    graph = region_of("f", [f64(50), f64(50)], lambda m, x, y: [x * y + 1.0])
    made, (x, _) = run_part(graph, {0: 0})
    assert not made.scratch and list(made.same.values()) == [x]
    assert len(made.body) == 1


def test_a_stencil_goes_to_the_spare_memory() -> None:
    def stencil(m, x):
        middle = (window(m, x, (0,), (48,)) + window(m, x, (2,), (48,))) * 0.5
        return [put(m, x, middle, (1,), (48,))]

    graph = region_of("f", [f64(50)], stencil)
    made, (x,) = run_part(graph, {0: 0}, [0])
    assert made.where[graph.results[0]].name == "s0" and not made.scratch
    made, (x,) = run_part(graph, {0: 0})
    assert made.where[graph.results[0]] is x and len(made.scratch) + len(made.same) == 1


def test_results_that_change_places_are_both_right() -> None:
    graph = region_of("f", [f64(50), f64(50)], lambda m, x, y: [y, x])
    made, (x, y) = run_part(graph, {0: 0, 1: 1})
    assert [made.where[r] for r in graph.results] == [x, y] and len(made.scratch) == 1


def test_a_chain_of_updates_is_one_buffer() -> None:
    """Hundreds of unrolled assignments: no copy for each, and no more than proportional work."""

    def chain(n):
        def f(m, x, v):
            for k in range(n):
                x = put(m, x, m.at(v, k) * 2.0, (k,), (-1,))
            return [x]

        return region_of("f", [f64(1000), f64(1000)], f)

    def work(n):
        graph, made = chain(n), []
        calls = calls_of(lambda: made.append(lower(graph)))
        return calls, made[0]

    work(10)
    (short, _), (long, program) = work(50), work(400)
    assert not program.scratch
    assert long < 10 * short
    small = chain(60)
    assert_exact(small, integers((1000,), (1000,)))


def test_a_loop_of_stencils_swaps_pointers() -> None:
    n = 40

    @nest("heat", (n, n))
    def heat(m, u):
        def body(m, i, c, r):
            (u,) = c
            offsets = ((0, 0), (1, 0), (-1, 0), (0, 1), (0, -1))
            inner = [window(m, u, (1 + a, 1 + b), (n - 2, n - 2)) for a, b in offsets]
            change = (inner[1] + inner[2] + inner[3] + inner[4] - inner[0] * 4.0) * 0.125
            return [put(m, u, inner[0] + change, (1, 1), (n - 2, n - 2))]

        return m.scan(7, body, [u])[0]

    program = assert_exact(heat, [np.random.default_rng(0).normal(size=(n, n)).round(2)])
    (loop,) = loops(program)
    assert copies(program) == 0 and len(loop.pointers) == 2
    plain = [s for s in loop.body if isinstance(s, Nest) and " if " not in show_program(_alone(s))]
    assert max(np.prod([a.extent for a in s.axes]) for s in plain) == (n - 2) ** 2, "the inside has no guards"


def _every(m: Notation, s: Term, n: int) -> Term:
    """A vector with a number in every element."""
    return m(spread(m.b, s.value, shape=(n,), axes=()))


def _alone(s: Nest) -> Program:
    return Program("alone", (), (), (), (s,))


def test_rows_at_run_time_are_vectors() -> None:
    """A row read and a row written at run-time places: contiguous loads and stores, no gathers."""

    @nest("rows", (20, 64), (20, 64))
    def rows(m, x, y):
        def body(m, i, c, r):
            row = m.at(r[0], i) * 3.0 + m.at(c[0], i)
            part = window(m, r[0], (i, i), (-1, 32))
            return [put(m, m.put(c[0], row, i), part * 2.0, (i, i), (-1, 32), adds=True)]

        return m.scan(20, body, [y], [x])[0]

    assert_exact(rows, integers((20, 64), (20, 64)))
    text = compile_graph(rows).text("llvm")
    assert "gather" not in text and "x double>" in text


def test_small_array_work_has_no_loops() -> None:
    @nest("filter", (3, 3), (3, 3), (3,))
    def small(m, p, f, v):
        def body(m, i, c, r):
            p, v = c
            step = m(contract(m.b, r[0].value, p.value, left=(1,), right=(0,)))
            scale = m.at(step, 0, 0) + 2.0
            moved = m(contract(m.b, step.value, v.value, left=(1,), right=(0,)))
            return [m.put(step, scale, 1, 1) * 0.25, moved * _every(m, scale, 3) * 0.125]

        a, b = m.scan(6, body, [p, v], [f])
        return m(add(m.b, a.value, m(contract(m.b, b.value, b.value, left=(), right=())).value))

    args = [np.eye(3), np.arange(9.0).reshape(3, 3) / 16, np.array([1.0, 2.0, -1.0])]
    kernel = compile_graph(small)
    np.testing.assert_allclose(kernel.run(args)[0], evaluate(small, args)[0], rtol=1e-14)
    (loop,) = loops(kernel.program)
    assert all(s.straight for s in loop.body if isinstance(s, Rows))
    assert not any(isinstance(s, Nest) for s in loop.body) and any(isinstance(s, Rows) for s in loop.body)


def test_outer_products_are_added_in_place() -> None:
    @nest("outer", (40, 30), (12, 40), (12, 30))
    def outer(m, w, x, y):
        def body(m, i, c, r):
            product = contract(m.b, m.at(r[0], i).value, m.at(r[1], i).value, left=(), right=())
            return [c[0] + m(product)]

        return m.scan(12, body, [w], [x, y])[0]

    program = assert_exact(outer, integers((40, 30), (12, 40), (12, 30)))
    (loop,) = loops(program)
    assert copies(program) == 0 and not loop.pointers
    assert sum(isinstance(s, Nest | Rows) for s in loop.body) == 1


def test_saved_arrays_are_written_to_the_tape_where_they_are_made() -> None:
    @nest("saves", (100,))
    def saves(m, x):
        return m.total(m.scan(9, lambda m, i, c, r: [m.sin(c[0]) * c[0]], [x])[0])

    pulled = adjoint(saves, [0])
    program = compile_graph(pulled).program
    assert copies(program) == 0 and "push" not in show_program(program)
    args = [np.linspace(-1, 1, 100), np.array(1.0)]
    for g, w in zip(compile_graph(pulled).run(args), evaluate(pulled, args), strict=True):
        np.testing.assert_allclose(g, w, rtol=1e-13)


def test_long_array_work_in_a_loop_runs_in_chunks() -> None:
    n = 2_000_000

    @nest("long", (n,), ())
    def long(m, x, s):
        return m.scan(3, lambda m, i, c, r: [c[0] * _every(m, r[0], n)], [x], [s])[0]

    assert_exact(long, [np.arange(float(n)), np.array(2.0)])
    assert "pullback_parallel" in compile_graph(long).text("llvm")


def test_large_products_in_a_loop() -> None:
    n = 520

    @nest("powers", (n, n), (n, n))
    def powers(m, x, w):
        def body(m, i, c, r):
            return [m(contract(m.b, c[0].value, r[0].value, left=(1,), right=(0,))) * (1.0 / n) + c[0]]

        return m.scan(3, body, [x], [w])[0]

    args = list(np.random.default_rng(5).normal(size=(2, n, n)))
    kernel = compile_graph(powers)
    (got,), (want,) = kernel.run(args), evaluate(powers, args)
    np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)
    assert any(isinstance(s, Multiply) for loop in loops(kernel.program) for s in loop.body)


def test_array_indices_are_checked_in_loops() -> None:
    """The first bad index of the round in which it comes; by then the part may have numbers beside it."""

    def graph(m, x, at):
        def body(m, i, c, r):
            x, at = c
            checked = m(check_indices(m.b, at.value, axis=0, size=9))
            moved = m(add(m.b, checked.value, number(m.b, 1, Type("i64", (40,)))))
            return [x + m(take(m.b, r[0].value, checked.value, axis=0)), moved]

        return m.scan(4, body, [x, at], [x])[:1]

    checks = region_of("f", [f64(40), Type("i64", (40,))], graph)
    args = [np.arange(40.0), np.arange(40) % 5]
    assert_exact(checks, args)
    args[1][7] = 7
    with pytest.raises(IndexError, match="index 9 is out of bounds for axis 0 with size 9"):
        compile_graph(checks).run(args)


@hazards
def test_bits_do_not_depend_on_vectors_or_levels(step: Step) -> None:
    @nest("f", (4, 4), (4, 4), (40, 40))
    def graph(m, x, y, big):
        def body(m, i, c, r):
            x, big = c
            inner = window(m, big, (0, 1), (38, 38)) * 0.3 + window(m, big, (2, 1), (38, 38))
            return [m.sin(step(m, i, x, r[0])), put(m, big, m.cos(inner), (1, 1), (38, 38))]

        x, big = m.scan(3, body, [x, big], [y])
        return m.total(big) * m.total(x)

    rng = np.random.default_rng(2)
    args = [rng.normal(size=s) for s in ((4, 4), (4, 4), (40, 40))]
    pulled, args = adjoint(graph, [0, 1, 2]), [*args, np.array(1.0)]
    made = []
    for width, level in ((128, 2), (256, 0), (512, 2), (512, 0)):
        with settings.override(vector_bits=width, level=level):
            made.append([np.asarray(r).tobytes() for r in compile_graph(pulled).run(args)])
    assert all(m == made[0] for m in made)
    for g, w in zip(compile_graph(pulled).run(args), evaluate(pulled, args), strict=True):
        np.testing.assert_allclose(g, w, rtol=1e-10, atol=1e-10)
