"""Programs that the fuzzer found wrong once, made small."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import pullback as torch
from tests.fuzz.compositions import examine
from tests.fuzz.nests import Program

FOUND = {
    "a number that waits for another one, beside array work": (
        """
def scaled(z):
    z = z * np.sum(z)
    return z[np.argmax(z)] * z

main = jit(lambda x: cond(np.sum(x) > 0.0, scaled, lambda z: z, x))
""",
        ["(np.array([1.0, 2.0]),)", "(np.array([-1.0, 0.5]),)"],
    ),
    "a checkpoint on which nothing asked for depends, after a scan": (
        """
def f(x):
    once = checkpoint(lambda p: p * 1.5)(x)
    rows = np.sum(scan(lambda c, r: (once, once), x, x)[1], axis=0)
    return np.dot(rows, rows)

main = lambda x: jvp(lambda z: hvp(f)(z, z), (x,), (x,))
""",
        ["(np.array([-0.544, 0.359, -2.148]),)"],
    ),
    "a tape behind numbers that are at hand": (
        """
def f(x, y):
    again = lambda k: (k[0] + 1, k[1] * 1.3, (lambda s: np.sin(s / (1.0 + np.sum(s * s))))(k[2]))
    last = while_loop(lambda k: (k[0] < 2) & (k[1] < 2.11), again, (0, x, y))
    return y[np.argmax(y)] + x + np.sum(last[2])

def g(x, y):
    if np.sum(x) > 0.29:
        return f(x, y) * 0.5
    return f(np.sin(x), y)

slope = grad(g, argnums=1)
main = lambda x, y: jvp(lambda z: slope(z, y), (x,), (0.5 * x,))[1]
""",
        ["(-1.85, np.array([-0.643, 0.558], np.float32))", "(0.85, np.array([-0.643, 0.558], np.float32))"],
    ),
    "a value pushed twice": (
        """
f = lambda x: np.sum(cond(x[0] > 0.0, lambda x: x * np.exp(x), lambda x: x, x))
main = grad(lambda X: np.sum(vmap(grad(f))(X)))
""",
        ["(np.array([[0.5, -1.0], [-0.5, 2.0]]),)"],
    ),
    "a mask that a loop sets, where its first value is known": (
        """
def f(x, y, n):
    if x < 0:
        v = x + np.sum(y)
    for k in range(n):
        v = 0.5 * x + v
    for k in range(n):
        v = v * x
    return v

main = lambda x, y, n: (grad(grad(f))(x, y, n), jacfwd(grad(f))(x, y, n), grad(grad(grad(f)))(x, y, n))
""",
        ["(-0.348, np.array([3.651, -2.744]), 1)", "(-0.348, np.array([3.651, -2.744]), 3)"],
    ),
    "what one branch pushes and no derivative passes through": (
        """
def f(x, y):
    if np.sum(x) > 0.0:
        v = np.tanh(y)
    else:
        v = np.sum(x) / y
    return v * v

slope = grad(f, argnums=1)
main = lambda x, y: (jacfwd(slope)(x, y), hessian(slope)(x, y), jacfwd(jacfwd(slope))(x, y))
""",
        ["(np.array([1.758, 3.555]), 2.359)", "(np.array([-1.758, -3.555]), 2.359)"],
    ),
    "a slice of what was tiled": (
        "main = grad(lambda y: np.sum(np.tile(y, 2)[:3] * y))\n",
        ["(np.array([2.5, 1.4, 0.7]),)"],
    ),
}


@pytest.mark.parametrize("name", FOUND)
def test_it_means_what_it_says(name: str) -> None:
    source, calls = FOUND[name]
    assert examine(Program(source, calls, {}, 2)) == "equal"


# ---- Tensors, where calls are recognised from the second round on


def leaf() -> Any:
    return torch.tensor([[0.5, -0.25], [1.0, 2.0]], requires_grad=True)


@pytest.mark.parametrize("way", ["register_hook", "register_post_accumulate_grad_hook"])
def test_a_hook_is_not_called_by_a_backward_before_it(way: str) -> None:
    for _ in range(4):
        called, t = list[Any](), leaf()
        (t * 2.0).sum().backward()
        getattr(t, way)(called.append)
        assert t.grad.tolist() == [[2.0, 2.0], [2.0, 2.0]] and not called


def test_backward_of_a_leaf_itself() -> None:
    for _ in range(3):
        t = leaf()
        descent = torch.optim.SGD([t], lr=0.5, momentum=0.5)
        for k in range(3):
            descent.step()
            t.backward(torch.ones_like(t))
            assert t.grad.tolist() == [[k + 1.0] * 2] * 2


@pytest.mark.parametrize("beside", [False, True])
def test_a_view_that_another_thread_made_sees_what_is_written(beside: bool) -> None:
    for _ in range(4):
        t, made = leaf(), list[Any]()
        thread = threading.Thread(target=lambda t=t, made=made: made.append(t[0]))
        thread.start()
        thread.join()
        written = t.view_as(t) if beside else t
        with torch.no_grad():
            written.add_(written)
        assert made[0].tolist() == [1.0, -0.5] and made[0]._version == 1


@pytest.mark.parametrize("entered", [0, 1])
def test_what_a_call_enters_is_not_what_stood_there_before(entered: int) -> None:
    """A gradient that was made step by step and has a second number on the tape, beside what is read first."""
    rows, _ = torch.tensor([[0, 1, 1, 2], [2, 0, 2, 1]]).unbind(0)
    w = torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    (torch.zeros(3).index_add(0, rows, w * w) ** 2).sum().backward()
    zeros = w.grad.new_zeros((4,))
    given = (zeros, w.grad) if entered == 0 else (w.grad, zeros)
    made = torch.add(*given, alpha=2).tolist()
    times = 2 if entered == 0 else 1
    assert made == [times * x for x in (4.0, 104.0, 156.0, 256.0)]


PARTS = {
    "read": "read %x, %i {axes=(0,), widths=(5,)}",
    "slice": "slice %x {shape=(5,), start=(0,), step=(1,)}",
}


@pytest.mark.parametrize("name", PARTS)
def test_parts_of_named_sizes_lie_inside(name: str) -> None:
    """A size that is named when a graph is read is one of a call later: no part of fewer elements is read."""
    text = f"graph @f(%x: f64[n], %i: i64[]) {{\n  %0: f64[5] = {PARTS[name]}\n  return %0\n}}\n"
    f = torch.parse(text)
    assert f(np.arange(9.0), 0).tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
    for called in (f, torch.jit(f)):
        with pytest.raises(TypeError, match="the graph f is none for n = 3"):
            called(np.arange(3.0), 0)
