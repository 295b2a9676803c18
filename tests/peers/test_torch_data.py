"""`p.data`, which is made when somebody looks at it: writes through it, what sees them, and what backward reads are
PyTorch's, in steps that come for the first time and in such as are known."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch as reference

import pullback

PROGRAMS: dict[str, Callable[[Any], Any]] = {}


def program(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    PROGRAMS[function.__name__[1:]] = function
    return function


def _leaf(torch: Any, *shape: int) -> Any:
    return (torch.arange(float(np.prod(shape))).reshape(shape) / 5 - 0.4).requires_grad_()


def _steps(torch: Any, update: Callable[[Any, Any, Any, int], Any], steps: int = 7) -> Any:
    w, other, x = _leaf(torch, 3, 2), _leaf(torch, 3, 2), torch.arange(12.0).reshape(4, 3) / 12
    told = []
    for k in range(steps):
        w.grad = other.grad = None
        loss = torch.tanh(x @ w).pow(2).sum() + (w * other).sum()
        loss.backward()
        told += [loss.detach(), *(update(torch, w, other, k) or ())]
    return (*told, w, other, torch.tensor([w._version, other._version]))


@program
def _descent(torch: Any) -> Any:
    def update(torch: Any, w: Any, other: Any, k: int) -> None:
        w.data -= 0.1 * w.grad
        other.data.add_(other.grad.data, alpha=-0.05).clamp_(-1, 1)
        other.grad.data.zero_()

    return _steps(torch, update)


@program
def _averages(torch: Any) -> Any:
    shadow: list[Any] = []

    def update(torch: Any, w: Any, other: Any, k: int) -> Any:
        w.data.sub_(0.1 * w.grad.data)
        other.data.mul_(0.9).add_(0.1 * w.data)
        shadow[:] = [0.5 * shadow[0] + w.data * 0.5] if shadow else [w.data.clone()]
        other.data.copy_(0.9 * other.data + 0.1 * shadow[0])
        return shadow

    return _steps(torch, update)


@program
def _an_alias_that_is_kept(torch: Any) -> Any:
    def update(torch: Any, w: Any, other: Any, k: int) -> Any:
        a, b = w.data, w.data
        a.mul_(0.5)
        with torch.no_grad():
            w.add_(1)
        b.sub_(0.25)
        before = a.clone()
        w.data = torch.full((3, 2), 0.1 * k)
        a.add_(1)
        return a.clone(), b, before, w.data.detach().clone()

    return _steps(torch, update)


@program
def _views_of_it(torch: Any) -> Any:
    def update(torch: Any, w: Any, other: Any, k: int) -> Any:
        w.data[0] = 0.3
        w.data.view(-1)[1] = 0.2
        w.data.t()[1].mul_(0.5)
        row, same = other.data[1], other.data.contiguous()
        same.sub_(0.1)
        row.add_(0.1)
        return torch.cat([w.data, other.data]), torch.stack([row, w.data[2]]), other.data.data.sum()

    return _steps(torch, update)


@program
def _given_a_history(torch: Any) -> Any:
    def update(torch: Any, w: Any, other: Any, k: int) -> Any:
        a = w.data
        a.add_(other * 0.1)
        told = torch.tensor([a.requires_grad, w.requires_grad, w.is_leaf])
        (g,) = torch.autograd.grad((a * a).sum(), other)
        return told, g

    return _steps(torch, update)


@program
def _between_forward_and_backward(torch: Any) -> Any:
    w, x, told = _leaf(torch, 3), torch.tensor([1.0, 2.0, 3.0]), []
    for _ in range(6):
        w.grad = None
        y = (w * w * x).sum()
        w.data.mul_(0.5)
        y.backward(retain_graph=True)
        w.data.add_(1.0)
        y.backward()
        told.append(w.grad.clone())
        w.data.sub_(0.01 * w.grad)
    return torch.stack(told)


@program
def _later_backward(torch: Any) -> Any:
    w, told, kept = _leaf(torch, 3), [], []
    for k in range(6):
        w.grad = None
        kept.append((w * w).sum() * (k + 1))
        kept.append((w.detach() * w).sum())
        w.data -= 0.1
        if len(kept) > 4:
            sum(kept).backward()
            kept = []
            told.append(w.grad.clone())
    return torch.stack(told)


@program
def _of_results(torch: Any) -> Any:
    w, told = _leaf(torch, 3), []
    for _ in range(6):
        w.grad = None
        y = torch.tanh(w) * 2
        z = y * y
        d = y.data
        told += [d * 3, z.data.mul_(0.5).clone(), d.sum()]
        (y.sum() + (d * w).sum()).backward()
        told.append(w.grad.clone())
        w.data -= 0.1 * w.grad
    return (*told, w)


@program
def _copies(torch: Any) -> Any:
    w = _leaf(torch, 3)
    a, b, c = copy.deepcopy(w.data), w.data.numpy().copy(), w.data
    w.data += 1
    array = w.data.numpy()
    array += 1
    d = w.data.requires_grad_()
    (d * 2).sum().backward()
    assert w.data is not w and c.shape == (3,) and c.is_leaf and not c.requires_grad
    return a, torch.tensor(b), c, w, d.grad, c.dtype == w.dtype


@program
def _shapes(torch: Any) -> Any:
    w, x = _leaf(torch, 3, 2), torch.zeros(2, 3)
    a, b = x.data, w.data
    x.t_()
    a.add_(1)
    b.unsqueeze_(0)
    b.mul_(2)
    return a, x, b, w


@program
def _other_memory(torch: Any) -> Any:
    w, k, x, told = _leaf(torch, 3), torch.ones(3), torch.tensor([1.0, 2.0, 3.0]), []
    for step in range(9):
        w.grad = None
        y = (w * w * x).sum() + (torch.tanh(w * k) * k).sum()
        k.data = k.data * 0.9 + w.data * 0.1
        z = (w * k).sum()
        if step % 3 == 2:
            w.data = w.data * 0.5
        try:
            (y + z).backward()
        except RuntimeError:
            told.append(torch.zeros(1))
        told.append(w.grad.clone())
        w.data = w.data - 0.01 * w.grad
        k.data, w.data = k.data.clone(), w.data * 1.0
    return (*told, w, k)


@program
def _one_array_for_all_steps(torch: Any) -> Any:
    a, told = np.zeros(3, np.float32), []
    net = torch.nn.Linear(3, 3)
    with torch.no_grad():
        net.weight.copy_(torch.arange(9.0).view(3, 3) / 9)
        net.bias.zero_()
    descent = torch.optim.SGD(net.parameters(), 0.01)
    for step in range(8):
        a[:] = np.arange(3) + step
        x = torch.from_numpy(a)
        with torch.no_grad():
            row = x.unsqueeze(0)
            told += [net(x), net(row), net(x[None])]
            a[0] += 1
            told += [net(x), net(row).clone(), row.view(-1), row.t() * 2]
        loss = net(x).pow(2).mean() + net(x.unsqueeze(0)).sum() + (row * 2).sum()
        a[1] -= 0.5
        told += [loss.detach(), x.clone()]
        descent.zero_grad()
        net(x.view(1, 3)).pow(2).sum().backward()
        descent.step()
    return (*told, net.weight)


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_same_as_pytorch(name: str) -> None:
    theirs, ours = PROGRAMS[name](reference), PROGRAMS[name](pullback)
    for n, (a, b) in enumerate(zip(theirs, ours, strict=True)):
        if isinstance(a, reference.Tensor):
            assert str(a.dtype) == str(b.dtype) and tuple(a.shape) == tuple(b.shape), n
            np.testing.assert_allclose(b.detach().numpy(), a.detach().numpy(), rtol=2e-6, atol=1e-6, err_msg=str(n))
        else:
            assert a == b, n
