"""What is measured: calls, an elementwise gradient, a training step, and the time until the first result."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from peers import jax, torch  # isort: skip - sets thread counts before NumPy's BLAS is used
from harness import Case

from pullback import grad, value_and_grad

Ways = dict[str, Any]


def calls() -> list[Case]:
    """What a call costs that computes next to nothing."""
    return [_scalar(), _three(), _four_arrays()]


def _scalar() -> Case:
    @grad
    def f(x):
        return x * np.sin(x)

    ways: Ways = {"pullback": f}
    if torch:
        x = torch.tensor(1.5, dtype=torch.float64, requires_grad=True)
        ways["torch"] = lambda _: torch.autograd.grad(x * torch.sin(x), x)[0]
    if jax:
        g = jax.jit(jax.grad(lambda x: x * jax.numpy.sin(x)))
        ways["jax"] = lambda x: g(x).block_until_ready()
    return Case("grad of x*sin(x) on a float", ways, "ns a call", 1e9, 60, given=1.5)


def _three() -> Case:
    f = value_and_grad(lambda x: np.sum(x * x))
    a = np.array([1.0, 2.0, 3.0])
    ways: Ways = {"pullback": f}
    if torch:
        x = torch.tensor(a, requires_grad=True)

        def by_torch(_):
            y = (x * x).sum()
            return y, torch.autograd.grad(y, x)[0]

        ways["torch"] = by_torch
    if jax:
        g = jax.jit(jax.value_and_grad(lambda x: (x * x).sum()))
        b = jax.numpy.asarray(a)
        ways["jax"] = lambda _: jax.block_until_ready(g(b))
    return Case("value_and_grad on an array of 3", ways, "ns a call", 1e9, 200, given=a)


def _four_arrays() -> Case:
    def f(p, m=np):
        return m.sum(m.tanh(p["a"] @ p["b"]) * p["c"] + p["d"])

    rng = np.random.default_rng(0)
    p = {"a": rng.normal(size=(4, 4)), "b": rng.normal(size=(4, 4))}
    p |= {"c": rng.normal(size=4), "d": rng.normal(size=4)}
    ways: Ways = {"pullback": value_and_grad(lambda p: f(p))}
    if torch:
        tensors = {k: torch.tensor(v, requires_grad=True) for k, v in p.items()}

        def by_torch(_):
            y = f(tensors, torch)
            return y, dict(zip(tensors, torch.autograd.grad(y, list(tensors.values())), strict=True))

        ways["torch"] = by_torch
    if jax:
        g = jax.jit(jax.value_and_grad(lambda p: f(p, jax.numpy)))
        q = {k: jax.numpy.asarray(v) for k, v in p.items()}
        ways["jax"] = lambda _: jax.block_until_ready(g(q))
    return Case("value_and_grad on a dict of four arrays", ways, "ns a call", 1e9, 3000, given=p)


def elementwise(n: int = 131_072) -> list[Case]:
    """The value and gradients of sum(tanh(a*b+c)): fresh results each time."""
    rng = np.random.default_rng(0)
    a, b, c = (rng.normal(size=n) for _ in range(3))
    ours = value_and_grad(lambda a, b, c: np.sum(np.tanh(a * b + c)), argnums=(0, 1, 2))

    def by_hand():
        t = np.tanh(a * b + c)
        d = 1 - t * t
        return t.sum(), (d * b, d * a, d)

    ways: Ways = {"pullback": lambda: ours(a, b, c), "NumPy by hand": by_hand}
    if torch:
        x = [torch.tensor(v, requires_grad=True) for v in (a, b, c)]

        def by_torch():
            y = (x[0] * x[1] + x[2]).tanh().sum()
            return y, torch.autograd.grad(y, x)

        ways["torch"] = by_torch
    if jax:
        g = jax.jit(jax.value_and_grad(lambda a, b, c: jax.numpy.tanh(a * b + c).sum(), (0, 1, 2)))
        z = [jax.numpy.asarray(v) for v in (a, b, c)]
        ways["jax"] = lambda: jax.block_until_ready(g(*z))
    name = f"value_and_grad(sum(tanh(a*b+c))), {n:,} f64"
    return [Case(name, ways, "ns an element", 1e9 / n, 0.9)]


def digits() -> list[Case]:
    """One step of examples/digits.py: value and gradient on a batch of 64, f32."""
    example = _example("digits")
    train, _ = example.load()
    params = example.start()
    x, y = next(example.batches(*train, 0))
    ours = value_and_grad(example.loss)
    ways: Ways = {
        "pullback": lambda: ours(params, x, y),
        "NumPy by hand": lambda: example.loss_by_hand(params, x, y),
    }
    if torch:
        p = {k: torch.tensor(v, requires_grad=True) for k, v in params.items()}
        tx, ty = torch.tensor(x), torch.tensor(y)

        def by_torch():
            scores = torch.tanh(tx @ p["w1"] + p["b1"]) @ p["w2"] + p["b2"]
            value = torch.nn.functional.cross_entropy(scores, ty)
            return value, dict(zip(p, torch.autograd.grad(value, list(p.values())), strict=True))

        ways["torch"] = by_torch
    if jax:
        np_of_jax = jax.numpy

        def loss(p, x, y):
            scores = np_of_jax.tanh(x @ p["w1"] + p["b1"]) @ p["w2"] + p["b2"]
            return -(y * jax.nn.log_softmax(scores)).sum() / len(x)

        g = jax.jit(jax.value_and_grad(loss))
        q = {k: np_of_jax.asarray(v) for k, v in params.items()}
        jx, jy = np_of_jax.asarray(x), np_of_jax.asarray(y)
        ways["jax"] = lambda: jax.block_until_ready(g(q, jx, jy))
    case = Case("digits step, batch 64, f32", ways, "µs", agree=1e-4)
    return [case]


def cold() -> list[Case]:
    """From a new function to its first gradient, in a process that has compiled before."""

    def ours():
        @grad
        def f(x, y):
            a = np.sin(x) * y + np.exp(-x * x)
            b = np.log(a * a + 1.0) / (y + 2.0)
            return np.tanh(b) + np.sqrt(a * a + b * b)

        return f(0.7, 1.3)

    ways: Ways = {"pullback": ours}
    if jax:
        np_of_jax = jax.numpy

        def by_jax():
            def f(x, y):
                a = np_of_jax.sin(x) * y + np_of_jax.exp(-x * x)
                b = np_of_jax.log(a * a + 1.0) / (y + 2.0)
                return np_of_jax.tanh(b) + np_of_jax.sqrt(a * a + b * b)

            return jax.jit(jax.grad(f))(0.7, 1.3).block_until_ready()

        ways["jax"] = by_jax
    return [Case("cold grad of a ten-op function", ways, "ms", 1e3, 25)]


def imports() -> list[Case]:
    """`import pullback` in a new process, beside starting Python and doing nothing."""

    def start(code: str):
        def run() -> float:
            begin = time.perf_counter()
            subprocess.run([sys.executable, "-c", code], check=True)
            return time.perf_counter() - begin

        return run

    whole = "import pullback; pullback.grad; pullback.Tensor"
    ways: Ways = {
        "import pullback": start("import pullback"),
        "with grad and Tensor": start(whole),
        "Python alone": start("pass"),
    }
    return [Case("import in a new process", ways, "ms", 1e3, 150, agree=None)]


def _example(name: str) -> Any:
    path = Path(__file__).resolve().parent.parent / "examples" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


ALL = {"calls": calls, "elementwise": elementwise, "digits": digits, "cold": cold, "imports": imports}
