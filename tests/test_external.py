"""external: opaque Python called from compiled code, its results checked, its exceptions, and its derivatives."""

import doctest
import gc
import math
import os
import subprocess
import sys
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pullback
from pullback import hvp
from pullback.compiler.ir.types import Size, Type
from pullback.compiler.ops.external import Function, function_of, numbered, remade
from pullback.compiler.settings import settings
from pullback.runtime import external as module
from pullback.runtime.branches import cond
from pullback.runtime.compiled.build import build
from pullback.runtime.control import scan, while_loop
from pullback.runtime.external import external
from pullback.runtime.rules import custom_vjp, stop_gradient
from pullback.runtime.transforms import grad, jit, value_and_grad
from tests.compare import assert_close


@pytest.fixture(params=["native", "reference"])
def way(request: pytest.FixtureRequest) -> Iterator[str]:
    """Compiled code, and the reference executor."""
    with settings.override(reference=request.param == "reference"):
        yield request.param


def near(got: Any, want: Any, relative: float = 1e-13, floor: float = 1e-14) -> None:
    assert_close(np.asarray(got, float), np.asarray(want, float), relative=relative, floor=floor)


class Recorder:
    """A function that keeps what it was called with."""

    def __init__(self, function: Any) -> None:
        self.function, self.calls = function, []

    def __call__(self, *args: Any) -> Any:
        self.calls.append(args)
        return self.function(*args)


# ---- calls


def test_what_goes_in_and_comes_out(way: str) -> None:
    made = Recorder(lambda x, k, v, p: (x + k, {"v": v * p["w"], "n": 3}))
    f = external(made, lambda x, k, v, p: (float, {"v": v, "n": int}))
    v, w = np.arange(3.0), np.float32(2.0)
    a, more = jit(lambda x, k, v, w: f(x, k, v, {"w": w, "mode": "fast"}))(1.5, 2, v, w)
    assert a == 3.5 and more["n"] == 3 and more["v"].tolist() == [0.0, 2.0, 4.0]
    ((x, k, given, p),) = made.calls
    assert type(x) is float and type(k) is int and isinstance(given, np.ndarray) and given is not v
    assert type(p["w"]) is np.float32 and p["mode"] == "fast"
    given[:] = 99.0  # a copy: nothing of the kernel's
    assert v.tolist() == [0.0, 1.0, 2.0]


@pytest.mark.parametrize(
    ("said", "returned", "wanted"),
    [
        (float, 1, np.float64(1.0)),
        (int, 3, np.int64(3)),
        (bool, True, np.bool_(True)),
        (np.float32, np.float32(0.5), np.float32(0.5)),
        ("i32[2]", np.array([1, 2], np.int32), np.array([1, 2], np.int32)),
        (np.zeros((2, 0)), np.zeros((2, 0)), np.zeros((2, 0))),
        (np.dtype(bool), False, np.bool_(False)),
        ("f64[2,3]", np.asfortranarray(np.arange(6.0).reshape(2, 3)), np.arange(6.0).reshape(2, 3)),
    ],
)
def test_results_of_every_type(way: str, said: Any, returned: Any, wanted: Any) -> None:
    got = jit(lambda x: external(lambda x: returned, said)(x))(np.ones(2))
    assert np.asarray(got).dtype == wanted.dtype
    assert np.array_equal(got, wanted) and np.shape(got) == np.shape(wanted)


def test_calls_among_loops_branches_and_array_work(way: str) -> None:
    f = Recorder(np.cumsum)
    total = external(f, lambda v: v)

    def g(v, n):
        def body(s, row):
            k, kept = s
            kept = cond(k % 2 == 0, lambda: total(kept * row), lambda: kept + 1.0)
            return (k + 1, kept), np.sum(kept)

        (_, last), sums = scan(body, (n, v), np.array([1.0, 2.0, 3.0, 0.5]))
        return last, sums

    want = g(np.array([1.0, 2.0]), 0)
    f.calls.clear()
    got = jit(g)(np.array([1.0, 2.0]), 0)
    near(got[0], want[0])
    near(got[1], want[1])
    assert len(f.calls) == 2


def test_calls_come_in_their_order() -> None:
    seen: list[float] = []
    f = external(lambda x: (seen.append(x), x + 1)[1])
    assert jit(lambda x: while_loop(lambda v: v < 4, lambda v: f(v), x))(0.0) == 4.0
    assert seen == [0.0, 1.0, 2.0, 3.0]


def test_outside_of_compiled_code_it_is_the_function() -> None:
    f = external(lambda x: "anything", float)
    assert f(1.0) == "anything"
    assert f.__name__ == "<lambda>" and repr(f) == "<external <lambda>>"


def test_hidden_inputs_of_the_function_are_its_own() -> None:
    box = {"scale": 2.0}
    f = jit(lambda x: external(lambda x: x * box["scale"])(x))
    assert f(3.0) == 6.0
    box["scale"] = 5.0
    assert f(3.0) == 15.0


# ---- what it raises and what it returns wrongly


class Custom(Exception):
    pass


@pytest.mark.parametrize("kind", [KeyError, Custom, KeyboardInterrupt, SystemExit, MemoryError])
def test_its_exceptions_come_out_as_they_are(way: str, kind: type[BaseException]) -> None:
    raised = kind("why")

    def f(x):
        if x > 2:
            raise raised
        return x + 1.0

    opaque = external(f)
    g = jit(lambda x: scan(lambda c, r: (opaque(c) * r, None), x, np.ones(5))[0])
    assert g(-10.0) == -5.0
    for _ in range(2):
        with pytest.raises(kind) as error:
            g(0.0)
        assert error.value is raised
    assert g(-10.0) == -5.0


@pytest.mark.parametrize(
    ("said", "returned", "text"),
    [
        ("f64[3]", np.zeros(2), r"returned float64\[2\], expected float64\[3\]"),
        ("f64[3]", np.zeros(3, np.float32), r"returned float32\[3\], expected float64\[3\]"),
        (int, 2.5, "returned a Python float, expected a Python int"),
        (float, None, "returned None, expected a number or an array"),
        ({"a": float}, {"b": 1.0}, "returned a dict with keys 'b', expected a dict with keys 'a'"),
        ((float, float), [1.0, 2.0], "returned a list of 2, expected a tuple of 2"),
        (float, 1j, "returned a Python complex, expected a Python float"),
        (float, "text", "returned 'text'"),
    ],
)
def test_results_that_are_not_as_said(way: str, said: Any, returned: Any, text: str) -> None:
    f = external(lambda x: returned, said)
    with pytest.raises(TypeError, match=text):
        jit(lambda x: f(x))(1.0)


def test_wrong_arguments_of_external() -> None:
    with pytest.raises(TypeError, match="fn is of class int, expected a function"):
        external(3, float)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="a vjp or differences=True, not both"):
        external(math.sin, float, vjp=math.cos, differences=True)
    with pytest.raises(ValueError, match="step is 3"):
        external(math.sin, float, differences=True, step=3)
    for said in ("f99[2]", complex, object(), np.zeros(2, complex), "number"):
        with pytest.raises(TypeError, match=r'its result is said to be .*say float, int, bool, a dtype, "f64'):
            jit(external(math.sin, said))(1.0)
    with pytest.raises(TypeError):
        jit(lambda x: external(math.sin)(x=x))(1.0)


# ---- derivatives


def test_a_vjp_as_opaque_as_the_function(way: str) -> None:
    pulled = Recorder(lambda ct, out, x, k: (ct["s"] * 2 * x * k + ct["v"] * np.cos(x), None))
    f = external(lambda x, k: {"s": np.sum(x * x) * k, "v": np.sin(x)}, lambda x, k: {"s": float, "v": x}, vjp=pulled)
    x = np.array([0.3, 1.1])

    def loss(g, x):
        made = g(x, 3)
        return made["s"] ** 2 + np.sum(made["v"] * np.array([1.0, 2.0]))

    plain = lambda x, k: {"s": np.sum(x * x) * k, "v": np.sin(x)}  # noqa: E731
    near(grad(lambda x: loss(f, x))(x), grad(lambda x: loss(plain, x))(x))
    ((ct, out, given, k),) = pulled.calls
    assert type(k) is int and given.tolist() == x.tolist()
    near(out["v"], np.sin(x))
    near(ct["s"], 2 * 3 * np.sum(x * x))
    with pytest.raises(TypeError, match=r"has no derivative here.*custom_vjp"):
        hvp(lambda x: loss(f, x))(x, np.ones(2))


def test_central_differences(way: str) -> None:
    f = external(lambda x, y: math.gamma(x) * np.sum(np.exp(y)), float, differences=True)
    y = np.array([[0.1, -0.5, 2.0]])
    slopes = grad(f, argnums=(0, 1))(2.5, y)
    h = 1e-6
    near(slopes[0], (math.gamma(2.5 + h) - math.gamma(2.5 - h)) / (2 * h) * np.sum(np.exp(y)), 1e-8)
    near(slopes[1], math.gamma(2.5) * np.exp(y), 1e-8)
    counted = Recorder(lambda x: x**3)
    g = external(counted, float, differences=True, step=1e-2)
    near(grad(g)(0.5), ((0.51) ** 3 - (0.49) ** 3) / 0.02, 1e-12)
    assert len(counted.calls) == 3 and counted.calls[1:] == [(0.51,), (0.49,)]
    big = external(lambda x: x**3, float, differences=True)
    near(grad(big)(1e6), 3e12, 1e-9)  # the step grows with the number
    with pytest.raises(TypeError, match="has no derivative here"):
        grad(grad(f))(2.5, y)


def test_single_precision(way: str) -> None:
    f = external(lambda x: np.sin(x), lambda x: x, differences=True)
    slope = grad(lambda x: np.sum(f(x)))(np.array([0.5, 1.0], np.float32))
    assert slope.dtype == np.float32
    near(slope, np.cos([0.5, 1.0]), 1e-4)


def test_derivatives_of_derivatives(way: str) -> None:
    by_external = external(math.exp, float, vjp=external(lambda ct, out, x: ct * out, float, differences=True))
    near(grad(grad(by_external))(0.7), math.exp(0.7), 1e-8)
    opaque = external(math.exp, float)
    traced = custom_vjp(lambda x: opaque(x))
    traced.defvjp(lambda x: (traced(x), traced(x)), lambda out, ct: (ct * out,))
    near(grad(grad(grad(traced)))(0.7), math.exp(0.7))


def test_no_derivative_but_none_is_asked_for(way: str) -> None:
    f = external(math.sin, float)
    near(grad(lambda x: x * stop_gradient(f(x)))(0.5), math.sin(0.5))
    near(grad(lambda x, y: x * f(y))(0.5, 0.25), math.sin(0.25))
    with pytest.raises(TypeError, match=r"external sin is differentiated, but has no derivative\n  at .*test_ext"):
        grad(lambda x: f(x) * x)(0.5)


def test_cotangents_that_do_not_fit(way: str) -> None:
    wrong = external(lambda x: np.sum(x), float, vjp=lambda ct, out, x: ct)
    with pytest.raises(TypeError, match="a cotangent for argument 0 that is not like it"):
        grad(lambda x: wrong(x))(np.ones(3))
    wrong = external(lambda x, y: x * y, float, vjp=lambda ct, out, x, y: ct)
    with pytest.raises(TypeError, match="returns a float64 for 2 arguments"):
        grad(lambda x: wrong(x, x))(1.0)


def test_in_loops_with_gradients(way: str) -> None:
    f = external(lambda x: math.sin(x), float, vjp=lambda ct, out, x: ct * math.cos(x))
    loop = lambda g: lambda x: scan(lambda c, r: (g(c) * r, None), x, np.array([0.5, 2.0, 1.5]))[0]  # noqa: E731
    near(grad(loop(f))(0.4), grad(loop(np.sin))(0.4))
    near(value_and_grad(loop(f))(0.4)[0], loop(math.sin)(0.4))


# ---- lifetime, threads, disk


def calling(opaque: Any) -> Any:
    """A compiled function that calls an opaque one."""
    g = external(opaque)
    return jit(lambda x: g(x))


def test_a_function_lives_as_long_as_what_calls_it() -> None:
    class Model:
        def __call__(self, x):
            return x * 2.0

    model = Model()
    alive = weakref.ref(model)
    f = calling(model)
    del model
    gc.collect()
    assert f(2.0) == 4.0
    del f
    gc.collect()
    assert alive() is None


def test_calls_from_several_threads() -> None:
    def opaque(x):
        if x < 0:
            raise ValueError(str(x))
        return x + 1.0

    g = external(opaque)
    f = jit(lambda x: scan(lambda c, _: (g(c), None), x, None, length=20)[0])
    f(0.0)
    wrong: list[Any] = []

    def work(start: float) -> None:
        for k in range(20):
            try:
                got = f(start + k) == start + k + 20
            except ValueError as error:
                got = str(error) == str(start + k) and start < 0
            if not got:
                wrong.append((start, k))

    threads = [threading.Thread(target=work, args=(s,)) for s in (-1000.0, 0.0, 100.0, -50.0)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_a_function_that_calls_compiled_code_again() -> None:
    def depth(x):
        return 0.0 if x <= 0 else 1.0 + again(x - 1.0)

    again = calling(depth)
    assert again(5.0) == 5.0


def test_its_code_is_not_kept_on_disk(tmp_path: Path) -> None:
    with settings.override(cache=True, cache_dir=str(tmp_path), check=""):
        plain = jit(lambda x: scan(lambda c, _: (c + 1.0, None), x, None, length=3)[0])
        assert plain(1.0) == 4.0
        before = {p for p in tmp_path.rglob("*") if p.is_file()}
        assert before
        g = external(lambda x: x + 1.0)
        f = jit(lambda x: scan(lambda c, _: (g(c), None), x, None, length=3)[0])
        assert f(1.0) == 4.0
        assert {p for p in tmp_path.rglob("*") if p.is_file()} == before


AGAIN = """
import sys
import numpy as np
import pullback
from pullback.compiler.backend import machine

made = []
generate = machine._generate
machine._generate = lambda text, *rest: made.append("pullback_external" in text) or generate(text, *rest)
x = np.random.default_rng(0).normal(size=300)


@pullback.value_and_grad
def f(x):
    least = np.sort(x) * np.linspace(0, 1, x.size)
    return least.sum() + np.linalg.svd(x[:64].reshape(8, 8))[1].sum() + np.abs(np.fft.rfft(x)).sum()


value, slope = f(x)
p = pullback.tensor(x, requires_grad=True)
for _ in range(6):
    order = p.sort().values
    at = pullback.searchsorted(order.detach(), pullback.linspace(-1, 1, 7, dtype=pullback.float64))
    best = p.topk(5).values + p.median() + p.cummax(0).values[-1]
    loss = (best.sum() * order[at]).sum() + p.mode().values + pullback.histc(p.detach(), 4).max()
    p.grad = None
    loss.backward()
    p.grad.sum().item()
print(sum(made), repr(float(value)), repr(float(slope.sum())), repr(loss.item()), repr(p.grad.sum().item()))
"""


def test_code_that_calls_numpy_is_kept_on_disk(tmp_path: Path) -> None:
    """Sorts, searches and factorisations are made from recipes by every process: a second one compiles nothing."""
    places = {"PULLBACK_CACHE": "1", "PULLBACK_CACHE_DIR": str(tmp_path), "PULLBACK_BACKGROUND": "0"}
    given: dict[str, Any] = {"env": {**os.environ, **places}, "capture_output": True, "text": True, "check": True}
    said = [subprocess.run([sys.executable, "-c", AGAIN], **given).stdout.split(" ", 1) for _ in range(2)]
    assert int(said[0][0]) > 3 and int(said[1][0]) == 0
    assert said[0][1] == said[1][1]


def test_equal_recipes_are_one_function_that_lives_as_long_as_one_of_its_numbers() -> None:
    types = (Type("f64", (3,)),)

    def made() -> Function:
        return Function("inverse", lambda arrays: arrays, types, types, maker="library", attributes=(("axis", (0, 1)),))

    first, second = numbered(made()), numbered(made())
    assert first == second and first.function is second.function and not first.only_here
    number = int(first)
    del first
    gc.collect()
    assert function_of(number) is second.function
    del second
    gc.collect()
    with pytest.raises(RuntimeError, match="no longer there"):
        function_of(number)
    assert numbered(Function("own", lambda arrays: arrays, types, types)).only_here


@pytest.mark.parametrize("text", [
    "", "(", "__import__('os').system('true')", "('library', 'no such', (), (), ())", "('nobody', 'sort', (), (), ())",
    "('library', 'sort')", "('library', 'exp', (), (('f64', (3,)),), (('f64', (3,)),))", "3",
    "('library', [], (), (), ())",
    "('outside', 'sort', (0, False), (('f99', (3,)),), (('i64', (3,)),))",
])  # fmt: skip
def test_recipes_that_nobody_wrote(text: str) -> None:
    assert remade(text) is None


def test_sizes_that_have_names_have_no_recipe() -> None:
    named = Type("f64", (Size.named("n"),))
    assert Function("sort", lambda arrays: arrays, (named,), (named,), maker="library").recipe is None


def test_it_cannot_be_built_into_a_module(tmp_path: Path) -> None:
    f = external(math.sin, float)
    with pytest.raises(TypeError, match="calls external sin, which is Python"):
        build({"f": jit(lambda x: f(x))}, {"f": (1.0,)}, name="k", out=tmp_path)


def test_tensors_would_not_see_the_rule() -> None:
    f = external(math.sin, float, vjp=lambda ct, out, x: ct)
    with pytest.raises(TypeError, match="does not know the rule"):
        f(pullback.tensor([2.0], requires_grad=True))


def test_examples_of_the_documentation() -> None:
    runner = doctest.DocTestRunner(verbose=False)
    for test in doctest.DocTestFinder().find(module, extraglobs={"np": np, "grad": grad}):
        runner.run(test)
    assert runner.tries and not runner.failures
