"""Writes by index into buffers that are known, and reads of their elements, give what PyTorch gives: values, views
that see the write, versions, and errors of backward where what it needs was written over."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import torch as reference

import pullback
from tests.peers.registered import Program, data, registering

PROGRAMS: dict[str, Program] = {}
program = registering(PROGRAMS)


@program
def _keys(torch: Any) -> Any:
    x = torch.zeros(4, 3, 2)
    x[0], x[-1], x[1, 2], x[2, :, 1] = 1.5, torch.ones(3, 2), torch.tensor([3.0, 4.0]), data(torch, 3)
    x[..., 0] += 1
    x[1:3, None, 0] = torch.full((2, 1, 2), -2.0)
    x[:, 1][0] = 7
    x[torch.tensor([0, 2]), torch.tensor([1, 1])] = data(torch, 2, 2)
    x[x > 3] = 0.25
    x[torch.tensor(1), 0, 0] = 9
    return x, x[1, 2], x[2, 0:2, 1], x[-1, -1, -1].item(), x[:, 1:], x[:, :], x[1, ::2, 0]


@program
def _dtypes(torch: Any) -> Any:
    whole, half, truth = torch.zeros(4, dtype=torch.int64), torch.zeros(4, dtype=torch.bfloat16), torch.zeros(3).bool()
    double, pair = torch.zeros(3, dtype=torch.float64), torch.zeros(3, dtype=torch.complex64)
    whole[1], whole[2], whole[3] = 5, torch.tensor(2.9), True
    half[0], half[1], half[2] = 1.2345, torch.tensor(2.7182), 3
    truth[1], truth[2] = True, torch.tensor(1.0)
    double[0], double[1], double[2] = torch.tensor(0.1), float("-inf"), 10**15
    pair[0], pair[1] = 1 + 2j, torch.tensor(0.5)
    return whole, half.float(), truth, double, torch.view_as_real(pair)


@program
def _views_see_it(torch: Any) -> Any:
    x = data(torch, 4, 3).clone()
    row, flat, late = x[1], x.view(-1), x * 2
    x[1], x[0, 0] = 5.0, -1.0
    again = x[1]
    flat[4] = 8.0
    return x, row, flat, late, again, x._version, row._version


@program
def _arrays_see_it(torch: Any) -> Any:
    a = np.zeros((3, 2), np.float32)
    x, y = torch.from_numpy(a), torch.zeros(2, 2)
    b = y.numpy()
    x[1], y[0, 1] = 2.0, 3.0
    a[2], b[1, 1] = 4.0, 5.0
    return x, y, torch.tensor(a), torch.tensor(b)


@program
def _what_was_read_stays(torch: Any) -> Any:
    x, w = torch.zeros(5, 2), torch.tensor([1.0, 2.0], requires_grad=True)
    kept = []
    for k in range(5):
        kept.append(x.sum() + (w.detach() * x[k]).sum())
        x[k] = w.detach() * k
    return x, torch.stack(kept)


@program
def _saved(torch: Any) -> Any:
    told = []
    for step in range(4):
        w, d = torch.ones(3, requires_grad=True), data(torch, 2, 3).clone()
        out = (w * d).sum() if step % 2 else (w * d[0]).sum()
        d[0, 1] = 4.0
        try:
            out.backward()
            told.append(0)
        except RuntimeError:
            told.append(1)
    return torch.tensor(told)


@program
def _leaves(torch: Any) -> Any:
    w, told = data(torch, 3, 2).clone().requires_grad_(), []
    try:
        w[0] = 1.0
    except RuntimeError:
        told.append(1)
    for _ in range(5):
        (w * w).sum().backward()
        with torch.no_grad():
            w[1], w[2, 0] = w.grad[1] * 0.1, 3.0
        told.append(w._version)
    return w, w.grad, torch.tensor(told)


@program
def _with_a_history(torch: Any) -> Any:
    w, out = data(torch, 3).clone().requires_grad_(), torch.zeros(4, 3)
    out[3] = 1.0
    for k in range(3):
        out[k] = w * k
    out[0, 1] = 2.0
    (out * out).sum().backward()
    return out, w.grad


@program
def _rollouts(torch: Any) -> Any:
    seen, rewards = torch.zeros(6, 3), torch.zeros(6)
    policy = torch.nn.Linear(3, 3)
    with torch.no_grad():
        policy.weight.copy_(data(torch, 3, 3) / 3)
        policy.bias.zero_()
    descent, told = torch.optim.SGD(policy.parameters(), 0.01), []
    for _ in range(5):
        state = torch.ones(3)
        for k in range(6):
            seen[k] = state
            with torch.no_grad():
                state = torch.tanh(policy(state))
            rewards[k] = state.sum().item()
        gains, last = torch.zeros_like(rewards), 0
        for k in reversed(range(6)):
            gains[k] = last = rewards[k] + 0.9 * last
        loss = (policy(seen).sum(1) * gains).mean()
        descent.zero_grad()
        loss.backward()
        descent.step()
        told.append(loss.detach())
    return seen, gains, torch.stack(told), policy.weight


@program
def _errors(torch: Any) -> Any:
    x, told = torch.zeros(3, 2), []
    for key, value in (
        (3, 1.0), ((0, 2), 1.0), (0, torch.ones(3)), ((0, 0, 0), 1.0), (0, "a"), (torch.tensor([5]), 1.0),
        (slice(0, 2), torch.ones(3, 2)), (torch.tensor([True, False]), 1.0), (0, torch.ones(1, 1, 2)),
        (torch.tensor([0, 2]), x[:2]), (x > 1, x[0, 0]),
    ):  # fmt: skip
        try:
            x[key] = value
            told.append(0)
        except (IndexError, RuntimeError, TypeError) as error:
            told.append({"IndexError": 1, "RuntimeError": 2, "TypeError": 3}[type(error).__name__])
    return x, torch.tensor(told)


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_same_as_pytorch(name: str) -> None:
    theirs, ours = PROGRAMS[name](reference), PROGRAMS[name](pullback)
    for a, b in zip(theirs, ours, strict=True):
        if isinstance(a, reference.Tensor):
            assert str(a.dtype) == str(b.dtype) and tuple(a.shape) == tuple(b.shape)
            np.testing.assert_allclose(b.detach().numpy(), a.detach().numpy(), rtol=1e-6, atol=1e-7)
        else:
            assert a == b


IN_PLACE = """
import pullback
buffer, row = pullback.zeros(100_000, 8), pullback.ones(8)
for _ in range(100):  # what is made in the background may come later on a busy machine
    before = buffer.data_ptr()
    for k in range(1, 50):
        buffer[k] = row * k
    if buffer.data_ptr() == before:
        break
assert buffer.data_ptr() == before and buffer[49, 7].item() == 49
"""


def test_a_large_buffer_is_written_where_it_lies() -> None:
    """In a process that has done nothing else: beside what other tests have left, it may be copied."""
    done = subprocess.run([sys.executable, "-c", IN_PLACE], capture_output=True, text=True, timeout=120)
    assert not done.returncode, done.stderr
