"""Kernels of training steps: how products, their gradients and what follows them are put together."""

from __future__ import annotations

import gc
import re
import sys
from typing import Any

import numpy as np
import pytest

from pullback.compiler.backend.kernel import compile_graph
from pullback.compiler.ir.graph import Graph, evaluate
from pullback.compiler.ir.text import parse
from pullback.compiler.lowering.nests import running
from pullback.compiler.lowering.program import Nest
from pullback.compiler.passes.pipeline import PIPELINE, optimize, turned
from pullback.compiler.settings import settings

WIDTHS = (128, 256, 512)


def sample(rng: np.random.Generator, graph: Graph) -> list[Any]:
    made = []
    for p in graph.params:
        shape, dtype = p.type.static_shape(), p.type.numpy
        wide = rng.normal(size=shape) if p.type.is_float else rng.integers(-50, 50, size=shape)
        made.append(np.asarray(wide > 0 if p.type.dtype == "bool" else wide).astype(dtype))
    return made


def ran(graph: Graph, args: list[np.ndarray], bits: int = 512, level: int = 0) -> list[bytes]:
    with settings.override(vector_bits=bits, level=level, cache=False):
        return [a.tobytes() for a in compile_graph(graph).run(args)]


# ---- blocks turned in registers


@pytest.mark.parametrize("dtype", ["f32", "f64", "i32", "i64", "bool"])
@pytest.mark.parametrize("shape", [(3, 3), (5, 40), (16, 16), (33, 7), (70, 19), (2, 64), (129, 34)])
def test_transposes(rng: np.random.Generator, dtype: str, shape: tuple[int, int]) -> None:
    n, m = shape
    graph = parse(f"""graph @t(%x: {dtype}[{n},{m}]) {{
      %0: {dtype}[{m},{n}] = transpose %x {{axes=(1, 0)}}
      return %0
    }}""")
    (x,) = sample(rng, graph)
    for bits in WIDTHS:
        assert ran(graph, [x], bits) == [np.ascontiguousarray(x.T).tobytes()]


def test_a_transposed_operand_among_others(rng: np.random.Generator) -> None:
    graph = parse("""graph @f(%x: f32[4,19,33], %y: f32[4,33,19], %z: f32[19]) {
      %0: f32[4,33,19] = transpose %x {axes=(0, 2, 1)}
      %1: f32[4,33,19] = sub %y, %0
      %2: f32[4,33,19] = spread %z {axes=(2,), shape=(4, 33, 19)}
      %3: f32[4,33,19] = mul %1, %2
      return %3
    }""")
    args = sample(rng, graph)
    wanted = [a.tobytes() for a in evaluate(graph, args)]
    for bits in WIDTHS:
        assert ran(graph, args, bits) == wanted
    with settings.override(vector_bits=512):
        (nest,) = compile_graph(graph).program.body
    assert isinstance(nest, Nest) and nest.tile is not None and not nest.folds


# ---- rows whose lanes are folded


@pytest.mark.parametrize("n", [2, 3, 12, 16, 37])
@pytest.mark.parametrize("k", [9, 25, 32, 100])
def test_rows_joined_together_have_the_bits_of_single_ones(rng: np.random.Generator, n: int, k: int) -> None:
    text = """graph @f(%a: DT[N,K], %x: DT[K]) {
      %0: DT[N] = contract %a, %x {left=(1,), right=(0,)}
      return %0
    }"""
    for dtype in ("f32", "f64"):
        here = text.replace("DT", dtype).replace("K", str(k))
        many, one = parse(here.replace("N", str(n))), parse(here.replace("N", "1"))
        a, x = sample(rng, many)
        single = b"".join(ran(one, [a[i : i + 1], x])[0] for i in range(n))
        for bits in WIDTHS:
            assert ran(many, [a, x], bits) == [single]


# ---- products the other way round

WEIGHT = """graph @w(%x: f32[32,N], %g: f32[32,M], %y: f32[32,N], %h: f32[32,M], %w: f32[M,N]) {
  %0: f32[N,M] = contract %x, %g {left=(0,), right=(0,)}
  %1: f32[N,M] = contract %y, %h {left=(0,), right=(0,)}
  %2: f32[N,M] = add %0, %1
  %3: f32[M,N] = transpose %2 {axes=(1, 0)}
  %4: f32[M,N] = sub %w, %3
  return %4
}"""


@pytest.mark.parametrize(("n", "m"), [(8, 8), (20, 10), (64, 64), (9, 100)])
def test_products_that_are_transposed_keep_their_bits(rng: np.random.Generator, n: int, m: int) -> None:
    graph = parse(WEIGHT.replace("N", str(n)).replace("M", str(m)))
    args = sample(rng, graph)
    kept = optimize(graph, [p for p in PIPELINE if p is not turned])
    assert any(op.prim.name == "transpose" for op in kept.body)
    assert not any(op.prim.name == "transpose" for op in optimize(graph).body)
    with settings.override(cache=False):
        wanted = [a.tobytes() for a in compile_graph(kept, "kept").run(args)]
    for bits in WIDTHS:
        assert ran(turned(graph), args, bits) == wanted


def test_few_columns_and_other_readers_keep_a_product_as_it_is() -> None:
    few = parse(WEIGHT.replace("N", "20").replace("M", "7"))
    assert turned(few) is few
    read = parse(WEIGHT.replace("N", "20").replace("M", "10").replace("return %4", "return %4, %0"))
    assert turned(read) is read


# ---- what is made beside what


def unrolled(steps: int) -> Graph:
    """A recurrence of equal steps, and the gradient of its weight."""
    lines = ["%z0: f32[16,16] = contract %h0, %w {left=(1,), right=(0,)}", "%h1: f32[16,16] = tanh %z0"]
    for k in range(1, steps):
        lines += [f"%z{k}: f32[16,16] = contract %h{k}, %w {{left=(1,), right=(0,)}}"]
        lines += [f"%h{k + 1}: f32[16,16] = tanh %z{k}"]
    lines += [f"%g{steps}: f32[16,16] = add %h{steps}, %h{steps}"]
    for k in range(steps - 1, -1, -1):
        lines += [f"%s{k}: f32[16,16] = sech2 %z{k}", f"%d{k}: f32[16,16] = mul %g{k + 1}, %s{k}"]
        lines += [f"%p{k}: f32[16,16] = contract %h{k}, %d{k} {{left=(0,), right=(0,)}}"]
        if k < steps - 1:
            lines += [f"%q{k}: f32[16,16] = add %{'p' if k == steps - 2 else 'q'}{k + 1}, %p{k}"]
        lines += [f"%g{k}: f32[16,16] = contract %d{k}, %w {{left=(1,), right=(1,)}}"]
    body = "\n  ".join(lines)
    return parse(f"graph @unrolled(%h0: f32[16,16], %w: f32[16,16]) {{\n  {body}\n  return %q0\n}}")


def test_functions_that_share_their_work_are_made_in_one_nest(rng: np.random.Generator) -> None:
    graph = unrolled(3)
    shown = compile_graph(graph).text("loops")
    made = [line.strip() for line in shown.splitlines() if "tanh(" in line or "sech2(" in line]
    assert ["sech2" in line for line in made] == [False, True, False, True, True]
    assert "tanh" in made[-1], "the last step's value is not needed before its slope"


def test_running_sums_and_their_bits(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = unrolled(24)
    args = [0.3 * a for a in sample(rng, graph)]
    args = [a.astype(np.float32) for a in args]
    results, texts = [], []
    for many in (running.MANY, 10**9):
        monkeypatch.setattr(running, "MANY", many)
        results.append([ran(graph, args, bits) for bits in WIDTHS])
        with settings.override(cache=False):
            texts.append(compile_graph(graph).text("loops"))
    assert results[0] == results[1] == [results[0][0]] * len(WIDTHS)
    most = [max(line.count(" + t") for line in text.splitlines()) for text in texts]
    assert most[0] < 3 and most[1] > 4
    (wanted,) = evaluate(graph, args)
    made = np.frombuffer(results[0][0][0], np.float32).reshape(16, 16)
    np.testing.assert_allclose(made, wanted, rtol=2e-4, atol=2e-5)


def test_equal_steps_are_written_once() -> None:
    texts = {}
    for steps in (10, 30):
        with settings.override(cache=False):
            texts[steps] = compile_graph(unrolled(steps), load=False).emitted.text
    functions = {steps: re.findall(r"define internal i64 @\S+", text) for steps, text in texts.items()}
    assert len(functions[10]) == len(functions[30]) < 20
    assert texts[30].count("  call i64 @") > 2 * len(functions[30])


# ---- a step in place

STEP = """graph @step(%w: f32[20,30], %b: f32[20], %x: f32[16,30], %t: f32[16,20], %lr: f32[]) {
  %0: f32[30,20] = transpose %w {axes=(1, 0)}
  %1: f32[16,20] = contract %x, %0 {left=(1,), right=(0,)}
  %2: f32[16,20] = spread %b {axes=(1,), shape=(16, 20)}
  %3: f32[16,20] = add %1, %2
  %4: f32[16,20] = sub %3, %t
  %5: f32[30,20] = contract %x, %4 {left=(0,), right=(0,)}
  %6: f32[20,30] = transpose %5 {axes=(1, 0)}
  %7: f32[20,30] = spread %lr {axes=(), shape=(20, 30)}
  %8: f32[20,30] = mul %7, %6
  %9: f32[20,30] = sub %w, %8
  %10: f32[20] = sum %4 {axes=(0,)}
  %11: f32[20] = spread %lr {axes=(), shape=(20,)}
  %12: f32[20] = mul %11, %10
  %13: f32[20] = sub %b, %12
  return %6, %9, %13
}"""


def test_parameters_are_updated_in_place(rng: np.random.Generator) -> None:
    graph = parse(STEP)
    kernel = compile_graph(graph)
    assert kernel.aliases == {1: 0, 2: 1}
    args = sample(rng, graph)
    wanted = [a.tobytes() for a in kernel.run(args)]
    own = [a.copy() for a in args]
    made = kernel.run(own, into={k: own[j] for k, j in kernel.aliases.items()})
    assert made[1] is own[0] and made[2] is own[1]
    assert [a.tobytes() for a in made] == wanted
    weight = kernel.program.results[1]
    (nest,) = (n for n in kernel.program.body if isinstance(n, Nest) and any(s.buffer is weight for s in n.after))
    assert nest.folds, "the weight is updated where its gradient is complete"


# ---- the native call


def test_a_runner_updates_in_place_and_refuses_what_is_not_its_own(rng: np.random.Generator) -> None:
    kernel = compile_graph(parse(STEP))
    args = sample(rng, parse(STEP))
    wanted = [a.tobytes() for a in kernel.run(tuple(args))]
    run, own = kernel.runner(kernel.aliases), [a.copy() for a in args]
    made = run(own)
    assert type(made) is list and made[1] is own[0] and made[2] is own[1]
    assert [a.tobytes() for a in made] == wanted
    assert [a.shape for a in made] == [(20, 30), (20, 30), (20,)] and all(a.dtype == np.float32 for a in made)
    refused: list[Any] = [
        own[:-1],
        [*own, own[0]],
        tuple(own),
        [own[0].astype(np.float64), *own[1:]],
        [own[0].T.copy().T, *own[1:]],
        [own[0][:, :29].copy(), *own[1:]],
        [own[0].tolist(), *own[1:]],
    ]
    assert [run(each) for each in refused] == [None] * len(refused)
    own[1].flags.writeable = False
    assert run(own) is None
    with pytest.raises(TypeError, match="takes 5 arrays, got 4"):
        kernel.run(own[:-1])
    with pytest.raises(TypeError, match=r"array 0 is float64\[20, 30\]"):
        kernel.run([own[0].astype(np.float64), *own[1:]])
    with pytest.raises(ValueError, match="may lie in parameters"):
        kernel.runner({0: 0})


def test_a_runner_keeps_no_references_and_outlives_its_kernel(rng: np.random.Generator) -> None:
    kernel = compile_graph(parse(STEP))
    own = sample(rng, parse(STEP))
    run = kernel.runner(kernel.aliases)
    wanted = [a.tobytes() for a in kernel.run(own)]
    before = [sys.getrefcount(a) for a in own]
    for _ in range(10):
        run([*own])
        run(own[:-1])
    assert [sys.getrefcount(a) for a in own] == before
    own = sample(np.random.default_rng(0), parse(STEP))
    wanted = [a.tobytes() for a in kernel.run(own)]
    del kernel
    gc.collect()
    assert [a.tobytes() for a in run(own)] == wanted


def test_a_runner_tells_what_failed() -> None:
    graph = parse("""graph @pick(%x: f64[5], %i: i64[3], %s: f64[]) {
      %0: i64[3] = check_indices %i {axis=0, size=5}
      %1: f64[3] = take %x, %0 {axis=0}
      %2: f64[] = add %s, %s
      return %1, %2
    }""")
    kernel = compile_graph(graph)
    x, s = np.arange(5.0), np.array(2.5)
    run = kernel.runner()
    made = run([x, np.array([4, 0, 2]), s])
    assert [a.tolist() for a in made] == [[4.0, 0.0, 2.0], 5.0] and made[1].shape == ()
    failed = run([x, np.array([4, 7, 2]), s])
    assert type(failed) is tuple
    assert isinstance(kernel.error(*failed), IndexError)
    with pytest.raises(IndexError, match="7"):
        kernel.run([x, np.array([4, 7, 2]), s])


def test_a_runner_of_many_large_arrays(rng: np.random.Generator) -> None:
    n = 150
    params = ", ".join(f"%a{k}: f64[100,60]" for k in range(n))
    body = "\n".join(f"%b{k}: f64[100,60] = add %a{k}, %a{(k + 1) % n}" for k in range(n))
    graph = parse(f"graph @many({params}) {{\n{body}\nreturn {', '.join(f'%b{k}' for k in range(n))}\n}}")
    args = sample(rng, graph)
    made = compile_graph(graph).runner()(args)
    assert all(np.array_equal(made[k], args[k] + args[(k + 1) % n]) for k in range(n))
    assert len({a.ctypes.data for a in made}) == n
