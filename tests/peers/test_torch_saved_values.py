"""Random programs that write between forward and backward: the gradients, or the error, are torch's.

What is written to is an argument or a result of an operation, by a write that counts, through `data`, by NumPy or by
giving the tensor other memory. Steps with and without the write follow each other, so that a backward that is known
must notice it. Where torch's derivative takes values of before and of after, ours may be an error that says so.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pytest
import torch

import pullback

SEEDS, BLOCK, N = 500, 25, 3

UNARY: dict[str, Callable[[Any, Any], Any]] = {
    "sin": lambda m, x: x.sin(), "exp": lambda m, x: (x * 0.3).exp(), "square": lambda m, x: x * x,
    "pow": lambda m, x: x**2, "relu": lambda m, x: x.relu(), "tanh": lambda m, x: x.tanh(),
    "sigmoid": lambda m, x: x.sigmoid(), "softmax": lambda m, x: x.softmax(-1), "t": lambda m, x: x.t(),
    "view": lambda m, x: x.view(-1).view(N, N), "rows": lambda m, x: x[0] * x[1] + x, "half": lambda m, x: x * 0.5,
    "diagonal": lambda m, x: x.diagonal() + x, "silu": lambda m, x: m.nn.functional.silu(x),
    "sqrt": lambda m, x: (x * x + 1).sqrt(), "unbind": lambda m, x: x.unbind(0)[1] * x,
    "norm": lambda m, x: x / x.norm(), "layer_norm": lambda m, x: m.nn.functional.layer_norm(x, (N,)),
    "max": lambda m, x: x.max(1, keepdim=True)[0] * x, "cat": lambda m, x: m.cat([x[:1] * x[1:2], x[1:]]),
    "prod": lambda m, x: x.prod(0) + x, "std": lambda m, x: x.std() * x,
}  # fmt: skip

BINARY: dict[str, Callable[[Any, Any, Any], Any]] = {
    "add": lambda m, x, y: x + y, "mul": lambda m, x, y: x * y, "mm": lambda m, x, y: x @ y,
    "linear": lambda m, x, y: m.nn.functional.linear(x, y), "div": lambda m, x, y: x / (y * y + 1),
    "mse": lambda m, x, y: x * m.nn.functional.mse_loss(x, y), "mv": lambda m, x, y: x.mv(y[0]) + x,
    "where": lambda m, x, y: m.where(x > 0, x, y), "outer": lambda m, x, y: m.outer(x[0], y[1]),
    "addmm": lambda m, x, y: m.addmm(x, x, y), "einsum": lambda m, x, y: m.einsum("ij,jk->ik", x, y),
}  # fmt: skip


def _under_no_grad(m: Any, v: Any, held: Any) -> None:
    with m.no_grad():
        v.mul_(1.5)


def _row_by_numpy(m: Any, v: Any, held: Any) -> None:
    v.detach()[1].numpy()[...] = 0.75


def _by_numpy(m: Any, v: Any, held: Any) -> None:
    array = v.detach().numpy()
    array *= 1.5


def _held_array(m: Any, v: Any, held: Any) -> None:
    held[0][...] *= 0.5


def _other_memory(m: Any, v: Any, held: Any) -> None:
    v.data = v.data * 1.5


def _other_memory_written(m: Any, v: Any, held: Any) -> None:
    v.data = v.detach() + 0.125
    v.data.mul_(0.5)


WRITES: list[Callable[[Any, Any, Any], Any]] = [
    _under_no_grad, _by_numpy, _row_by_numpy, _held_array, _other_memory, _other_memory_written,
    lambda m, v, held: v.detach().mul_(1.5), lambda m, v, held: v.data.mul_(1.5), lambda m, v, held: v.data.zero_(),
    lambda m, v, held: v.data[0].mul_(1.5), lambda m, v, held: held[1].mul_(0.7), lambda m, v, held: None,
]  # fmt: skip

PATTERNS = [1] * 6, [0, 0, 0, 1, 0, 1], [0, 0, 0, 0, 0, 1], [1, 0, 1, 0, 1, 0], [0, 1, 1, 1, 0, 1]


class Program:
    """Operations (name, numbers of values), writes (before which operation, to which value, how), when they are on."""

    def __init__(self, seed: int) -> None:
        r = Random(seed)
        self.seed, count, self.steps = seed, r.randint(1, 5), []
        for k in range(4, 4 + count):
            x = k - 1 if k > 4 and r.random() < 0.7 else r.randrange(k)
            unary = r.random() < 0.5
            name = r.choice([*UNARY]) if unary else r.choice([*BINARY])
            self.steps.append((name, (x,) if unary else (x, r.randrange(k))))
        used = [n for _, xs in self.steps for n in xs] + [3 + count]
        self.writes = [(r.choice([count, count, r.randint(0, count)]), r.choice(used), r.choice(WRITES)) for _ in "ab"]
        self.pattern, self.update, self.retains = r.choice(PATTERNS), r.randrange(4), r.random() < 0.25

    def run(self, m: Any) -> list[Any]:
        """Gradients and values after each step, or the text of the error that ends it."""
        arrays = [np.random.default_rng(self.seed + k).standard_normal((N, N)) for k in range(4)]
        leaves, made = [m.tensor(a, requires_grad=True) for a in arrays[:2]], []
        given = [*leaves, m.tensor(arrays[2]), m.from_numpy(arrays[3])]
        for on in self.pattern:
            try:
                self.step(m, given, bool(on))
            except RuntimeError as error:
                return [*made, str(error)]
            grads = [None if x.grad is None else x.grad.numpy().copy() for x in leaves]
            made.append([*grads, *[x.detach().numpy().copy() for x in given]])
            for x in leaves:
                x.grad = None
        return made

    def step(self, m: Any, given: list[Any], on: bool) -> None:
        """Forward, with the writes if they are `on`, backward, and an update."""
        values, owner = list(given), given[self.writes[0][1] % 4]
        held = owner.detach().numpy(), owner.data
        for k in range(len(self.steps) + 1):
            for at, target, write in self.writes:
                if on and at == k and target < len(values):
                    write(m, values[target], held)
            if k < len(self.steps):
                name, xs = self.steps[k]
                values.append({**UNARY, **BINARY}[name](m, *[values[x] for x in xs]))
        loss = values[-1].sum() + given[0].sum()
        if self.retains:
            loss.backward(retain_graph=True)
        loss.backward()
        for x in given[:2]:
            if x.grad is not None and self.update:
                change = 0.01 * x.grad.clamp(-1, 1)
                if self.update == 1:
                    x.data -= change
                elif self.update == 2:
                    x.data = x.data - change
                else:
                    x.detach().numpy()[...] -= change.numpy()


def differs(a: Any, b: Any) -> bool:
    """Whether two steps are other than each other; an error that says why is no difference."""
    if isinstance(a, str) or isinstance(b, str):
        return not isinstance(b, str) or (not isinstance(a, str) and "PyTorch" not in b)
    pairs = list(zip(a, b, strict=True))
    return any((x is None) != (y is None) or (x is not None and not np.allclose(y, x, 1e-6, 1e-9)) for x, y in pairs)


@pytest.mark.parametrize("first", range(0, SEEDS, BLOCK))
def test_random_programs(first: int) -> None:
    for seed in range(first, first + BLOCK):
        program = Program(seed)
        for k, (theirs, ours) in enumerate(zip(program.run(torch), program.run(pullback), strict=False)):
            assert not differs(theirs, ours), (seed, k, theirs, ours)


@pytest.mark.parametrize("mode", ["LSTM", "GRU", "RNN", "LSTMCell", "GRUCell", "RNNCell"])
def test_weights_of_recurrent_layers(mode: str) -> None:
    layer = getattr(pullback.nn, mode)(4, 5)
    x = pullback.randn(3, 4, requires_grad=True)
    for write in (lambda p: p.data.mul_(1.5), lambda p: p.detach().numpy().fill(0.5)):
        y = layer(x)
        write(layer.weight_hh if mode.endswith("Cell") else layer.weight_hh_l0)
        with pytest.raises(RuntimeError, match="Write to a clone"):
            (y[0] if isinstance(y, tuple) else y).sum().backward()


def test_versions_go_on_in_other_memory() -> None:
    for m in (torch, pullback):
        w = m.ones(2, requires_grad=True)
        with m.no_grad():
            w.mul_(2)
        y = (w * w).sum()
        w.data = m.ones(2)
        assert w._version == 1
        with m.no_grad():
            w.mul_(3)
        assert w._version == 2
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.backward()


def test_other_memory_of_another_shape() -> None:
    w = pullback.ones(2, requires_grad=True)
    y = (w * w).sum()
    w.data = pullback.ones(3)
    with pytest.raises(RuntimeError, match=r"has other memory since, of f32\[3\]"):
        y.backward()


def test_swapping_back_and_forth() -> None:
    both = []
    for m in (torch, pullback):
        w, mean, made = m.ones(2, requires_grad=True), m.full((2,), 3.0), []
        for _ in range(6):
            (w * w).sum().backward()
            made.append(w.grad.tolist())
            w.data.add_(w.grad, alpha=-0.1)
            own, w.data = w.data, mean
            y = (w * w).sum()
            w.data = own
            w.grad = None
            y.backward()
            made.append(w.grad.tolist())
        both.append(made)
    np.testing.assert_allclose(*both, rtol=1e-5)


@pytest.mark.parametrize("reduce", ["sum", "mean", "prod", "amax", "amin"])
@pytest.mark.parametrize("what", ["source", "result"])
def test_what_is_reduced_into_places(reduce: str, what: str) -> None:
    """Sums and means read no values in backward; where others would mix those of before and after it is an error."""
    given = []
    for m in (torch, pullback):
        x = m.tensor([1.0, 2.0, 3.0], requires_grad=True)
        for _ in range(4):
            source = x * 2
            made = m.ones(2).scatter_reduce(0, m.tensor([0, 1, 0]), source, reduce)
            (source if what == "source" else made).data.mul_(3)
            x.grad = None
            if reduce in ("sum", "mean"):
                made.sum().backward()
                given.append(x.grad.tolist())
            elif m is pullback:
                with pytest.raises(RuntimeError, match="Write to a clone"):
                    made.sum().backward()
    assert all(each == given[0] for each in given)
