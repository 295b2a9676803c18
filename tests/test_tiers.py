"""Two tiers of code: quick code first, better code in the background, and the same bits from both."""

import gc
import os
import subprocess
import sys
import threading
import weakref
from typing import Any

import numpy as np
import pytest

from pullback import grad, value_and_grad
from pullback.compiler.backend import tiers
from pullback.compiler.backend.kernel import Kernel, compile_graph
from pullback.compiler.ir.graph import Builder, Graph
from pullback.compiler.ir.primitive import REGISTRY as P
from pullback.compiler.ir.types import Type
from pullback.compiler.settings import settings
from tests.test_kernel import softmax


def soft(x):
    return np.sum(np.log1p(np.exp(np.sin(x) - x * x)))


def kernel_of(function: Any) -> Kernel:
    return function._latest.kernel


def heat(function, *args):
    """Call until better code is due, and wait for it; every result."""
    results = [function(*args)]
    for _ in range(kernel_of(function).code.calls + 1):
        results.append(function(*args))
    assert tiers.settle()
    return [*results, function(*args)]


def same(a, b) -> bool:
    return np.asarray(a).tobytes() == np.asarray(b).tobytes()


def test_a_function_begins_at_level_0_and_is_better_when_it_has_been_called_often(rng):
    slope = grad(soft)
    x = rng.normal(size=3000)
    first = slope(x)
    code = kernel_of(slope).code
    assert (code.level, code.tiered) == (0, True)
    results = heat(slope, x)
    assert (code.level, code.problem) == (2, "")
    assert "codegen in the background" in code.times
    assert all(same(first, each) for each in results)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("bits", [128, 256, 512])
def test_every_level_and_every_width_gives_the_same_bits(rng, dtype, bits):
    made = []
    x = rng.normal(size=(7, 131)).astype(dtype)
    with settings.override(vector_bits=bits):
        for level in (0, 1, 2, 3):
            with settings.override(level=level):
                value, slope = value_and_grad(soft)(x)
                made.append((np.asarray(value), slope))
        both = value_and_grad(soft)
        made += heat(both, x)[-1:]
    for value, slope in made[1:]:
        assert same(value, made[0][0]) and same(slope, made[0][1])


def test_a_level_that_is_set_is_kept(rng):
    for level in (0, 1, 3):
        with settings.override(level=level):
            slope = grad(soft)
            slope(rng.normal(size=10))
        code = kernel_of(slope).code
        assert (code.level, code.tiered) == (level, False)


def graph_of(count: int, size: int) -> Graph:
    b = Builder("long", [Type("f64", (size,) if size else ())])
    (x,) = b.params
    for _ in range(count):
        x = P["mul"](b, x, x)
    return b.finish([x])


def test_the_plan_follows_from_the_size_of_the_work():
    assert tiers.plan(graph_of(3, 0), None).level == 0
    assert tiers.plan(graph_of(3, 0), None).calls > 20 * tiers.plan(graph_of(3, 10_000), None).calls
    assert tiers.plan(graph_of(3, 0), 1) == tiers.Plan(1, 0)
    assert tiers.plan(graph_of(3, 2**26), None) == tiers.Plan(2, 0)
    assert tiers.plan(graph_of(tiers.MAX_OPERATIONS + 1, 0), None) == tiers.Plan(0, 0)


def test_calls_may_run_in_both_kinds_of_code(rng):
    """Threads call a kernel with memory of its own while better code is put in its place."""
    kernel = compile_graph(softmax(64, 500))
    assert kernel.emitted.arena > 0 and kernel.code.tiered
    inputs = [[rng.normal(size=(64, 500))] for _ in range(4)]
    wanted = [kernel.run(args) for args in inputs]
    wrong, stop = [], threading.Event()

    def work(k: int) -> None:
        while not stop.is_set():
            if not all(map(same, kernel.run(inputs[k]), wanted[k])):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    address = kernel.address
    for _ in range(kernel.code.calls):
        kernel.run(inputs[0])
    assert tiers.settle()
    stop.set()
    for t in threads:
        t.join()
    assert (kernel.code.level, kernel.address, wrong) == (2, address, [])
    assert all(map(same, kernel.run(inputs[1]), wanted[1]))


def test_failures_are_told_from_both_kinds_of_code():
    @grad
    def pick(x, i):
        return np.sum(x[i] * x[i])

    x, i, bad = np.arange(4.0), np.array([0, 3]), np.array([0, 4])
    for level in (0, 2):
        with pytest.raises(IndexError, match="index 4 is out of bounds for axis 0 with size 4"):
            pick(x, bad)
        assert kernel_of(pick).code.level == level
        heat(pick, x, i)


def test_kernels_go_while_they_wait_and_after(rng):
    x = rng.normal(size=3000)
    cold, hot = grad(soft), grad(soft)
    cold(x)
    heat(hot, x)
    gone = [weakref.ref(kernel_of(each)) for each in (cold, hot)]
    del cold, hot
    gc.collect()
    assert [each() for each in gone] == [None, None]
    assert tiers.settle()


def test_code_that_cannot_be_made_better_stays_as_it_is(rng, monkeypatch):
    def broken(*args):
        raise RuntimeError("no room")

    x = rng.normal(size=3000)
    slope = grad(soft)
    first = slope(x)
    monkeypatch.setattr("pullback.compiler.backend.code.compile_aside", broken)
    assert same(heat(slope, x)[-1], first)
    assert (kernel_of(slope).code.level, kernel_of(slope).code.problem) == (0, "RuntimeError: no room")


PROGRAM = """
import os, sys, time
import numpy as np
from pullback import grad
from pullback.compiler.backend import tiers

@grad
def f(x):
    return np.sum(np.log1p(np.exp(np.sin(x) - x * x)))

x = np.linspace(-1, 1, 3000)
def heat():
    for _ in range(f._latest.kernel.code.calls + 1):
        f(x)
first = f(x)
"""
ENDINGS = {
    "at the end while better code is being made": "heat()",
    "by exit": "heat(); sys.exit(0)",
    "without calls": "",
    "in a child": """
heat()
child = os.fork()
if not child:
    @grad
    def g(x): return np.sum(np.tanh(x * x))
    first = g(x)
    for _ in range(g._latest.kernel.code.calls + 1): g(x)
    assert tiers.settle() and g._latest.kernel.code.level == 2 and (g(x) == first).all()
    sys.exit(0)
assert os.waitpid(child, 0)[1] == 0
assert tiers.settle() and f._latest.kernel.code.level == 2 and (f(x) == first).all()
""",
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_processes_end_well(ending):
    env = {**os.environ, "PULLBACK_CACHE": "0"}
    for _ in range(3):
        done = subprocess.run(
            # From 3.12 on Python warns of any fork in a process that has threads.
            [sys.executable, "-W", "ignore:This process:DeprecationWarning", "-c", PROGRAM + ENDINGS[ending]],
            capture_output=True, text=True, timeout=60, check=False, env=env,
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
