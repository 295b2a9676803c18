"""Operations at many sizes: one piece of code serves most of them, with the bits of code of their own."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from math import prod
from typing import Any

import numpy as np
import pytest

import pullback as torch
from pullback.compiler.backend.kernel import compile_graph
from pullback.compiler.backend.sized import shared as sharing
from pullback.compiler.backend.sized.shared import Sized
from pullback.compiler.backend.start import written_for
from pullback.compiler.ir.graph import Graph
from pullback.compiler.lowering import lower
from pullback.compiler.lowering.nests.roots import is_long
from pullback.compiler.lowering.program import Loop, Pop, Rows
from pullback.compiler.passes.pipeline import optimize
from pullback.runtime.tensor.trace import engine, planning, plans
from pullback.runtime.tensor.trace.fragments import families, outlines

SIZES = [3, 17, 18, 31, 40, 57, 64, 65, 90, 120, 133, 200, 257, 300, 1000, 1001]
F = torch.nn.functional


def ramp(*shape: int) -> Any:
    return torch.tensor(np.sin(np.arange(np.prod(shape)) * 1.7 + 0.3).reshape(shape), dtype=torch.float32)


OPERATIONS: dict[str, Any] = {
    "tanh": lambda x: x.tanh(),
    "softmax": lambda x: x.softmax(1),
    "linear": lambda x: F.linear(x, ramp(4, 6), ramp(4)),
    "layer_norm": lambda x: F.layer_norm(x, (6,)),
    "logsumexp": lambda x: x.logsumexp(0),
    "gelu": lambda x: F.gelu(x),
    "cumprod": lambda x: x.cumprod(0),
    "logcumsumexp": lambda x: x.logcumsumexp(0),
}


@pytest.fixture
def graphs(monkeypatch: pytest.MonkeyPatch) -> list[Graph]:
    """Those that are compiled alone from here on, the families being new."""
    found: list[Graph] = []
    monkeypatch.setattr(families, "_families", {})
    monkeypatch.setattr(engine, "kernel_of", lambda graph: found.append(graph) or families.kernel_of(graph))
    return found


def numbers_of(graph: Graph) -> list[np.ndarray]:
    shapes = [(p.type.static_shape(), p.type.numpy) for p in graph.params]
    return [np.cos(0.7 * np.arange(prod(shape))).astype(dtype).reshape(shape) for shape, dtype in shapes]


@pytest.mark.parametrize("name", OPERATIONS)
def test_the_bits_are_those_of_code_of_their_own(name: str, graphs: list[Graph]) -> None:
    for n in SIZES:
        x = ramp(n, 6).requires_grad_()
        made = OPERATIONS[name](x)
        made.sum().backward()
        x.grad.tolist()
    assert graphs
    shared = 0
    for graph in graphs:
        if not outlines.is_opaque(graph):
            kernel, given = families.kernel_of(graph), numbers_of(graph)
            shared += isinstance(kernel, Sized)
            want = compile_graph(graph).run(given)
            for made in (kernel.run(given), kernel.runner()(given)):
                assert [a.tobytes() for a in made] == [a.tobytes() for a in want], graph.name
    assert shared > len(graphs) // 2


@pytest.mark.parametrize("name", OPERATIONS)
def test_what_kernels_are_told_is_what_lowering_tells(
    name: str, graphs: list[Graph], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plans, "may_know", lambda structure: False)  # each operation by itself
    monkeypatch.setattr(planning, "may_know", lambda structure: False)
    for n in (40, 5, 1000, 17, 300, 64, 90, 2, 33, *range(2, 140, 3)):
        x = ramp(n, 6).requires_grad_()
        OPERATIONS[name](x).sum().backward()
        x.grad.tolist()
    told = 0
    for graph in graphs:
        numbers: list[Any] = []
        family = families._families.get((graph.name, outlines.outline(graph, numbers)))
        wanted = sharing.Wanted([p.type for p in graph.params], [r.type for r in graph.results], lambda: graph)  # noqa: B023
        kernel = family and family.known(numbers, wanted)
        if isinstance(kernel, Sized):
            program = lower(optimize(graph), *written_for())
            assert kernel.long == is_long(program)
            assert family is not None
            mine = [made for made in family.shared._made if made.code is kernel._shared]
            patterns = [made.pattern for made in mine if made.pattern is not None]
            if [p.match(program) for p in patterns] == [(*kernel.numbers.tolist(),)]:
                told += 1
                continue
            other = [s for s in program.body if isinstance(s, Loop | Pop) or (isinstance(s, Rows) and s.straight)]
            assert other, (graph.name, numbers)  # few rows are written out, and what a loop keeps lies elsewhere
            want, have = (k.run(numbers_of(graph)) for k in (compile_graph(graph), kernel))
            assert [a.tobytes() for a in have] == [a.tobytes() for a in want], (graph.name, numbers)
    assert told >= 50  # of loops what goes forward


def test_a_mean_of_many_rows_is_not_a_way_for_each_number_of_them(graphs: list[Graph]) -> None:
    """A divisor that is told is a division at all sizes; where it is a power of two the bits are those of a product."""
    weight = ramp(6, 6)
    for n in (40, 33, *range(34, 70)):
        x = ramp(n, 6).requires_grad_()
        ((x @ weight).tanh() + x).mean(0).sum().backward()
        x.grad.tolist()
    ways = [family.shared.ways for family in families._families.values()]
    assert 1 <= max(ways) <= 5, ways
    for graph in graphs:
        if not outlines.is_opaque(graph):
            have, want = (k.run(numbers_of(graph)) for k in (families.kernel_of(graph), compile_graph(graph)))
            assert [a.tobytes() for a in have] == [a.tobytes() for a in want], graph.name


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_layers_over_time_share_their_loops(kind: str, graphs: list[Graph]) -> None:
    net = getattr(torch.nn, kind)(5, 8)
    for steps in (1, 9, 12, 30, 14, 2, 21, 11, 40, 25):
        x = ramp(steps, 3, 5).requires_grad_()
        (net(x)[0] * ramp(steps, 3, 8)).sum().backward()
        x.grad.tolist()
    loops = [g for g in graphs if any(op.regions for op in g.body)]
    kernels = [families.kernel_of(graph) for graph in loops]
    assert sum(isinstance(kernel, Sized) for kernel in kernels) > len(loops) // 2
    for graph, kernel in zip(loops, kernels, strict=True):
        given = numbers_of(graph)
        assert [a.tobytes() for a in kernel.run(given)] == [a.tobytes() for a in compile_graph(graph).run(given)]


def test_threads_share_families(graphs: list[Graph]) -> None:
    want = {n: ramp(n, 6).tanh().numpy().tobytes() for n in SIZES}
    families._families.clear()

    def run(k: int) -> None:
        for n in SIZES[k:] + SIZES[:k]:
            assert (ramp(n, 6).tanh() + 0.0).numpy().tobytes() == want[n]

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(run, range(4)))


def test_few_families_are_kept(graphs: list[Graph], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(families, "KEPT", 3)
    for name in OPERATIONS:
        for n in (20, 30):
            OPERATIONS[name](ramp(n, 6)).tolist()
    assert len(families._families) <= 3
