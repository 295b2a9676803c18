"""Native kernels: the meaning of the reference executor, and the same bits on every way to the machine."""

import gc
import re
import threading

import numpy as np
import pytest

from pullback.compiler import ops  # noqa: F401 - registers the primitives
from pullback.compiler.backend.kernel import compile_graph
from pullback.compiler.ir.graph import Builder, Where, evaluate
from pullback.compiler.ir.primitive import REGISTRY as P
from pullback.compiler.ir.text import parse
from pullback.compiler.ir.types import Type
from pullback.compiler.ir.verify import verify
from pullback.compiler.passes import adjoint, value_and_grad
from pullback.compiler.passes.pipeline import optimize
from pullback.compiler.settings import settings
from tests.compare import assert_all_close, assert_same


def chain(n, dtype="f64"):
    """sum(tanh(a * b + c)) and its gradients."""
    b = Builder("chain", [Type(dtype, (n,))] * 3, list("abc"))
    x, y, z = b.params
    t = P["tanh"](b, P["add"](b, P["mul"](b, x, y), z))
    return value_and_grad(b.finish([P["sum"](b, t, axes=(0,))]), (0, 1, 2))


def softmax(rows, columns, dtype="f64"):
    """Row-wise softmax, its columns' sums and each row's largest element."""
    shape = (rows, columns)
    b = Builder("softmax", [Type(dtype, shape)], ["x"])
    (x,) = b.params
    top = P["spread"](b, P["max"](b, x, axes=(1,)), shape=shape, axes=(0,))
    e = P["exp"](b, P["sub"](b, x, top))
    total = P["spread"](b, P["sum"](b, e, axes=(1,)), shape=shape, axes=(0,))
    q = P["div"](b, e, total)
    return b.finish([q, P["sum"](b, q, axes=(0,)), P["argmax"](b, x, axis=1), P["max"](b, x, axes=(0, 1))])


def product(m, k, n, dtype="f64"):
    b = Builder("product", [Type(dtype, (m, k)), Type(dtype, (k, n))], ["a", "b"])
    return b.finish([P["contract"](b, *b.params, left=(1,), right=(0,))])


def arguments(graph, rng):
    return [np.asarray(rng.normal(size=p.type.shape), p.type.numpy) for p in graph.params]


def inner_product(n, dtype="f64"):
    b = Builder("inner", [Type(dtype, (n,))] * 2, ["a", "b"])
    return b.finish([P["sum"](b, P["mul"](b, *b.params), axes=(0,))])


GRAPHS = [chain(n, d) for n in (1, 3, 8, 31, 33, 129, 1000) for d in ("f32", "f64")]
GRAPHS += [inner_product(n, d) for n in (5, 100, 4099) for d in ("f32", "f64")]
GRAPHS += [softmax(*s, d) for s in ((1, 70), (3, 1), (5, 7), (33, 65)) for d in ("f32", "f64")]


@pytest.mark.parametrize("graph", GRAPHS, ids=lambda g: f"{g.name}-{g.params[0].type}")
def test_bits_do_not_depend_on_vectors_or_code_generator(graph, rng):
    args = arguments(graph, rng)
    made = []
    for bits, level in ((128, 2), (256, 0), (256, 2), (512, 2)):
        with settings.override(vector_bits=bits, level=level):
            made.append(compile_graph(graph).run(args))
    for other in made[1:]:
        assert_same(other, made[0])
    single = graph.params[0].type.dtype == "f32"
    relative, floor = (4e-6, 1e-4) if single else (1e-14, 4e-13)
    assert_all_close(made[0], evaluate(graph, args), relative=relative, floors=[floor] * len(made[0]))


@pytest.mark.parametrize("shape", [(4, 5, 6), (64, 64, 32), (30, 50, 20), (1, 40, 300), (300, 2, 1), (3, 0, 2)])
@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_matrix_products_of_all_sizes(shape, dtype, rng):
    rows, shared, columns = shape
    graph = product(rows, shared, columns, dtype)
    args = arguments(graph, rng)
    exact = args[0].astype(np.longdouble) @ args[1].astype(np.longdouble)
    bound = np.abs(args[0]).astype(np.longdouble) @ np.abs(args[1]).astype(np.longdouble)
    eps = np.finfo(args[0].dtype).eps * max(shared, 1)
    (got,) = compile_graph(graph).run(args)
    assert got.dtype == args[0].dtype
    assert np.all(np.abs(got - exact) <= eps * bound)


@pytest.mark.parametrize("shared", [40, 12_000])
def test_transposed_operands_of_products(shared, rng):
    b = Builder("atb", [Type("f64", (shared, 30)), Type("f64", (20, shared))], ["a", "b"])
    graph = b.finish([P["contract"](b, *b.params, left=(0,), right=(1,))])
    args = arguments(graph, rng)
    kernel = compile_graph(graph)
    assert ("out0 = a.T @ b.T" in kernel.text("loops")) == (shared > 40)
    assert_all_close(kernel.run(args), [args[0].T @ args[1].T], relative=1e-12, floors=[1e-11])


def checked_take():
    b = Builder("rows", [Type("f64", (4, 3)), Type("i64", (5,))], ["x", "i"])
    b.where = Where("shop/model.py", 17)
    x, i = b.params
    i = P["check_indices"](b, i, axis=0, size=4)
    return b.finish([P["take"](b, x, i, axis=0)])


def test_a_bad_index_is_an_index_error_with_the_users_line(rng):
    kernel = compile_graph(checked_take())
    x = rng.normal(size=(4, 3))
    good = np.array([0, 3, 1, 1, 2])
    assert_same(kernel.run([x, good]), [x[good]])
    for bad in (4, -1, 2**62, -(2**63)):
        with pytest.raises(IndexError, match=f"index {bad} is out of bounds for axis 0 with size 4") as caught:
            kernel.run([x, np.array([0, 1, bad, 2, 3])])
        assert any("shop/model.py, line 17" in note for note in caught.value.__notes__)
    assert_same(kernel.run([x, good]), [x[good]])


def test_gathers_without_a_check_stay_inside_the_array(rng):
    b = Builder("clipped", [Type("f64", (4,)), Type("i64", (40,))], ["x", "i"])
    graph = b.finish([P["take"](b, *b.params, axis=0)])
    args = [rng.normal(size=4), rng.integers(-(2**63), 2**63 - 1, 40)]
    assert_same(compile_graph(graph).run(args), evaluate(graph, args))


def test_wrong_arrays_are_refused():
    kernel = compile_graph(product(2, 3, 4))
    with pytest.raises(TypeError, match="takes 2 arrays, got 1"):
        kernel.run([np.zeros((2, 3))])
    with pytest.raises(TypeError, match=r"array 1 is float32\[3, 4\], not f64\[3,4\]"):
        kernel.run([np.zeros((2, 3)), np.zeros((3, 4), np.float32)])
    with pytest.raises(TypeError, match="C-contiguous and aligned"):
        kernel.run([np.zeros((3, 2)).T, np.zeros((3, 4))])


def test_threads_share_a_kernel_and_each_has_memory_of_its_own(rng):
    graph = softmax(64, 500)
    kernel = compile_graph(graph)
    assert kernel.emitted.arena > 0
    inputs = [[rng.normal(size=(64, 500))] for _ in range(4)]
    wanted = [kernel.run(args) for args in inputs]
    wrong = []

    def work(k):
        for _ in range(30):
            got = kernel.run(inputs[k])
            if not all(np.array_equal(a, b) for a, b in zip(got, wanted[k], strict=True)):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_kernels_come_and_go(rng):
    args = [rng.normal(size=(40, 60))]
    want = evaluate(softmax(40, 60), args)
    for _ in range(5):
        assert_all_close(compile_graph(softmax(40, 60)).run(args), want, relative=1e-13, floors=[1e-13] * 4)
        gc.collect()


def test_every_pass_can_be_checked_while_compiling(rng):
    graph = chain(17)
    args = arguments(graph, rng)
    with settings.override(check="passes"):
        assert_all_close(compile_graph(graph).run(args), evaluate(graph, args), relative=1e-13, floors=[1e-13] * 4)


@pytest.mark.parametrize("count", [300, 2000])
def test_long_chains_need_no_deep_stack(count, rng):
    b = Builder("long", [Type("f64", (3,))], ["x"])
    (x,) = b.params
    y = x
    for k in range(count):
        y = P["mul" if k % 2 else "sub"](b, y, x)
    graph = value_and_grad(b.finish([P["sum"](b, y, axes=(0,))]), (0,))
    args = [rng.uniform(0.1, 0.9, 3)]
    with settings.override(level=0):
        got = compile_graph(graph).run(args)
    assert_all_close(got, evaluate(graph, args), relative=1e-11, floors=[1e-12] * 2)


def test_stages_can_be_read():
    kernel = compile_graph(chain(40))
    assert kernel.text("optimized").startswith("graph @chain_grad(")
    assert "for i in 40 by" in kernel.text("loops")
    assert f"define i64 @{kernel.name}(" in kernel.text("llvm")
    assert f"{kernel.name}:" in kernel.text("asm")
    with pytest.raises(ValueError, match="optimized, loops, llvm and asm"):
        kernel.text("tokens")


MIXED_WIDTHS = """
graph @r(%0: i64[20], %1: f32[20], %2: f32[20,2], %3: f32[20,2]) {
  %4: f32[20,2] = spread %1 {axes=(0,), shape=(20, 2)}
  %5: f32[20,2] = sub %2, %4
  %6: f32[20,2] = exp %5
  %7: f32[20] = sum %6 {axes=(1,)}
  %8: f32[20] = log %7
  %9: f32[20,2] = spread %8 {axes=(0,), shape=(20, 2)}
  %10: f32[20,2] = sub %5, %9
  %11: i64[20,2] = iota {axis=1, type=i64[20,2]}
  %12: i64[20,2] = spread %0 {axes=(0,), shape=(20, 2)}
  %13: bool[20,2] = eq %11, %12
  %14: f32[20,2] = select %13, %10, %3
  %15: f32[20] = sum %14 {axes=(1,)}
  return %15
}
"""


@pytest.mark.parametrize("bits, said", [(512, ["alignstack(64)"]), (256, ["alignstack(64)"])])
def test_vectors_of_polynomials_are_aligned_on_the_stack(bits, said):
    """Constants of polynomials leave few registers: what lies on the stack must not lie across lines of the cache."""
    for name, wanted in (("sin", said), ("neg", [])):
        b = Builder("waves", [Type("f64", (4000 + bits,))], ["x"])
        value = P[name](b, P[name](b, *b.params))
        with settings.override(vector_bits=bits):
            text = compile_graph(b.finish([value])).emitted.text
        assert re.findall(r"alignstack\(\d+\)", text) == wanted


def test_nests_of_different_widths_share_no_vectors(rng):
    """Entropy of two classes: nests over the same axis with lanes for f32 and with lanes for i64."""
    graph = verify(parse(MIXED_WIDTHS))
    args = [
        np.asarray(rng.normal(size=p.type.shape), p.type.numpy)
        if p.type.is_float
        else rng.integers(0, 2, p.type.shape).astype(p.type.numpy)
        for p in graph.params
    ]
    wanted = evaluate(graph, args)
    assert_all_close(compile_graph(graph).run(args), wanted, relative=1e-5, floors=[1e-5] * len(wanted))


def test_a_region_may_be_called_twice(rng):
    r = Builder("shift", [Type("f64", (3,))], ["x"])
    (x,) = r.params
    region = r.finish([P["add"](r, x, P["const"](r, type=x.type, value=0.5))])
    b = Builder("twice", [Type("f64", (3,))], ["x"])
    (once,) = b.emit(P["call"], b.params[0], regions=(region,))
    graph = b.finish(b.emit(P["call"], once, regions=(region,)))
    args = [rng.normal(size=3)]
    verify(optimize(graph))
    assert_same(compile_graph(graph).run(args), evaluate(graph, args))
    gradient = adjoint(graph, (0,))
    verify(optimize(gradient))
    assert_same(compile_graph(gradient).run([*args, np.ones(3)]), evaluate(gradient, [*args, np.ones(3)]))
