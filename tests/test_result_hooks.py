"""Hooks of results, gradients that they keep, and users' Functions: recognised or not, training is the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback as torch
from pullback.runtime.tensor.calls.forgetting import forget_calls
from tests.test_new_structures import unrecognised
from tests.test_rare_disturbances import Watch

nn = torch.nn
STEPS = 12


class Loop:
    """A training loop, and what its parts see; `k` is the number of the step."""

    def __init__(self) -> None:
        torch.manual_seed(1)
        self.first, self.second = nn.Linear(4, 6), nn.Linear(6, 1)
        self.descent = torch.optim.SGD([*self.first.parameters(), *self.second.parameters()], lr=0.1)
        self.x, self.y = torch.randn(5, 4), torch.randn(5, 1)
        self.seen: list[Any] = []
        self.k = 0

    def hidden(self) -> Any:
        return torch.tanh(self.first(self.x))

    def loss(self, hidden: Any) -> Any:
        return ((self.second(hidden) - self.y) ** 2).mean()

    def see(self, gradient: Any) -> None:
        self.seen.append(gradient)


def _changed(w: Loop) -> None:
    h = w.hidden()
    h.register_hook(lambda g: g * 0.5)
    w.loss(h).backward()


def _seen(w: Loop) -> None:
    h = w.hidden()
    h.register_hook(w.see)
    w.loss(h).backward()


def _two(w: Loop) -> None:
    h = w.hidden()
    h.register_hook(lambda g: g * 0.5)
    h.register_hook(lambda g: g + 0.01)
    h.register_hook(w.see)
    w.loss(h).backward()


def _two_results(w: Loop) -> None:
    z = w.first(w.x)
    h = torch.tanh(z)
    h.register_hook(lambda g: g.clamp(-0.1, 0.1))
    z.register_hook(lambda g: g * 2)
    w.loss(h).backward()


def _kept(w: Loop) -> None:
    h = w.hidden()
    h.retain_grad()
    w.loss(h).backward()
    w.see(h.grad)


def _kept_after_hooks(w: Loop) -> None:
    h = w.hidden()
    h.retain_grad()
    h.register_hook(lambda g: g * 0.5)
    w.loss(h).backward()
    w.see(h.grad)


def _kept_twice(w: Loop) -> None:
    h = w.hidden()
    h.retain_grad()
    loss = w.loss(h)
    loss.backward(retain_graph=True)
    loss.backward()
    w.see(h.grad)


def _two_losses(w: Loop) -> None:
    h = w.hidden()
    h.retain_grad()
    h.register_hook(w.see)
    (w.loss(h) + (h**2).mean()).backward()
    w.see(h.grad)


def _dropped(w: Loop) -> None:
    h = w.hidden()
    h.retain_grad()
    loss = w.loss(h)
    del h
    loss.backward()


def _sometimes(w: Loop) -> None:
    h = w.hidden()
    if w.k % 3 == 0:
        h.register_hook(lambda g: g * 0.5)
    w.loss(h).backward()


def _removed(w: Loop) -> None:
    h = w.hidden()
    handle = h.register_hook(lambda g: g * 0.5)
    if w.k % 2:
        handle.remove()
    w.loss(h).backward()


def _written(w: Loop) -> None:
    h = w.hidden() * 1.0
    h.retain_grad()
    h.register_hook(lambda g: g * 0.5)
    h.mul_(1.5)
    w.loss(h).backward()
    w.see(h.grad)


def _part(w: Loop) -> None:
    h = w.hidden()
    a, b = h.split(3, 1)
    a.register_hook(lambda g: g * 0.5)
    b.retain_grad()
    w.loss(torch.cat([b, a], 1)).backward()
    w.see(b.grad)


def _second(w: Loop) -> None:
    values, _ = w.hidden().max(0)
    values.register_hook(w.see)
    (values**2).sum().backward()


def _of_the_loss(w: Loop) -> None:
    loss = w.loss(w.hidden())
    loss.register_hook(lambda g: g * 3)
    loss.backward()


def _weighted(w: Loop) -> None:
    h = w.hidden()
    h.register_hook(lambda g: g * 0.5)
    w.second(h).backward(torch.ones(5, 1))


def _by_autograd(w: Loop) -> None:
    h = w.hidden()
    h.register_hook(lambda g: g * 0.5)
    (g,) = torch.autograd.grad(w.loss(h), w.first.weight, create_graph=True)
    w.see(g.detach())
    (g**2).sum().backward()


def _after_a_look(w: Loop) -> None:
    h = w.hidden()
    w.see(h.sum().item())
    h.register_hook(lambda g: g * 0.5)
    w.loss(h).backward()


def _leaf_too(w: Loop) -> None:
    if w.k == 0:
        w.first.weight.register_hook(w.see)
    h = w.hidden()
    h.register_hook(lambda g: g * 0.5)
    w.loss(h).backward()


def _backward_within(w: Loop) -> None:
    h = w.hidden()

    def inner(g: Any) -> None:
        with torch.enable_grad():
            other = w.hidden()
            other.register_hook(w.see)
            (other**2).mean().backward()

    h.register_hook(inner)
    w.loss(h).backward()


def _fails(w: Loop) -> None:
    h = w.hidden()

    def stop(g: Any) -> None:
        raise KeyError("stop")

    if w.k % 4 == 2:
        h.register_hook(stop)
        with pytest.raises(KeyError):
            w.loss(h).backward()
    else:
        h.register_hook(lambda g: g * 0.5)
        w.loss(h).backward()


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        (x,) = ctx.saved_tensors
        return 2 * x * grad


class Exp(torch.autograd.Function):
    """Saves its own result, and has a second one."""

    @staticmethod
    def forward(ctx: Any, x: Any, scale: float) -> Any:
        y = torch.exp(x)
        ctx.save_for_backward(y)
        ctx.scale = scale
        return y, x * scale

    @staticmethod
    def backward(ctx: Any, grad: Any, other: Any) -> Any:
        (y,) = ctx.saved_tensors
        return grad * y + other * ctx.scale, None


class Attribute(torch.autograd.Function):
    """Keeps a tensor as an attribute of ctx."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.x = x
        return torch.sin(x)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad * torch.cos(ctx.x)


class Affine(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any, w: Any, b: Any) -> Any:
        ctx.save_for_backward(x, w)
        return x @ w.t() + b

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        x, w = ctx.saved_tensors
        return (grad @ w if ctx.needs_input_grad[0] else None), grad.t() @ x, grad.sum(0)


def _function(w: Loop) -> None:
    w.loss(Square.apply(w.hidden())).backward()


def _versions(w: Loop) -> None:
    made = Square.apply(w.hidden())
    w.see(made._version)
    made.mul_(0.5)
    w.see(made._version)
    w.loss(made).backward()


def _functions(w: Loop) -> None:
    h = w.hidden()
    for _ in range(3):
        h = Square.apply(Attribute.apply(h))
    w.loss(h).backward()


def _results_of_functions(w: Loop) -> None:
    a, b = Exp.apply(w.hidden(), 0.5 + 0.01 * w.k)
    w.loss(a + b).backward()


def _one_of_two(w: Loop) -> None:
    w.loss(Exp.apply(w.hidden(), 0.5)[w.k % 2]).backward()


def _of_weights(w: Loop) -> None:
    w.loss(torch.tanh(Affine.apply(w.x, w.first.weight, w.first.bias))).backward()


def _watched_function(w: Loop) -> None:
    h = Square.apply(w.hidden())
    h.register_hook(lambda g: g * 0.5)
    h.retain_grad()
    w.loss(h).backward()
    w.see(h.grad)


def _function_twice(w: Loop) -> None:
    loss = w.loss(Square.apply(w.hidden()))
    loss.backward(retain_graph=True)
    loss.backward()


def _function_used_up(w: Loop) -> None:
    loss = w.loss(Square.apply(w.hidden()))
    loss.backward()
    with pytest.raises(RuntimeError, match="a second time"):
        loss.backward()


def _overwritten(w: Loop) -> None:
    h = w.hidden() * 1.0
    made = Square.apply(h)
    if w.k % 3 == 1:
        h.mul_(2)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            w.loss(made).backward()
    else:
        w.loss(made).backward()


def _result_overwritten(w: Loop) -> None:
    made = Square.apply(w.hidden())
    made.mul_(0.5)
    w.loss(made).backward()


def _without_backward(w: Loop) -> None:
    made = Square.apply(w.hidden())
    w.see(made.sum().item())
    if w.k % 2:
        w.loss(made).backward()


def _second_order(w: Loop) -> None:
    (g,) = torch.autograd.grad(w.loss(Square.apply(w.hidden())), w.first.weight, create_graph=True)
    (g**2).sum().backward()


def _function_fails(w: Loop) -> None:
    class Stops(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            if w.k % 4 == 2:
                raise KeyError("stop")
            return grad * 2

    try:
        w.loss(Stops.apply(w.hidden())).backward()
    except KeyError:
        assert w.k % 4 == 2


def _wrong_shape(w: Loop) -> None:
    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad[:, :2]

    with pytest.raises(RuntimeError, match="invalid gradient at index 0"):
        w.loss(Wrong.apply(w.hidden())).backward()


ALWAYS = [
    _changed, _seen, _two, _two_results, _kept, _kept_after_hooks, _two_losses, _dropped, _removed, _second, _function,
    _functions, _results_of_functions, _of_weights, _watched_function, _result_overwritten,
]  # fmt: skip
"""Where each step after the first ones is recognised as a whole."""

OTHERS = [
    _kept_twice, _sometimes, _written, _part, _of_the_loss, _weighted, _by_autograd, _after_a_look, _leaf_too,
    _backward_within, _fails, _one_of_two, _function_twice, _function_used_up, _overwritten, _without_backward,
    _second_order, _function_fails, _wrong_shape, _versions,
]  # fmt: skip


def _trained(program: Callable[[Loop], None], each: Callable[[], Any] = lambda: None) -> list[list[float]]:
    w, found = Loop(), []
    for k in range(STEPS):
        w.k = k
        w.descent.zero_grad()
        program(w)
        w.descent.step()
        each()
        found.append([float(torch.as_tensor(x).sum()) for x in (*w.seen, w.first.weight, w.second.bias)])
        w.seen.clear()
    return found


@pytest.mark.parametrize("program", [*ALWAYS, *OTHERS], ids=lambda p: p.__name__[1:])
def test_steps_are_what_they_are_operation_by_operation(program: Any) -> None:
    made = _trained(program)
    with unrecognised():
        expected = _trained(program)
    assert [len(row) for row in made] == [len(row) for row in expected]
    for row, right in zip(made, expected, strict=True):
        np.testing.assert_allclose(row, right, rtol=2e-5, atol=2e-6)


class Cube(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x: Any) -> Any:
        return x**3

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        (x,) = ctx.saved_tensors
        return 3 * x * x * grad


def test_functions_under_transforms() -> None:
    x = torch.tensor([0.5, -1.0, 2.0])
    (slopes,) = torch.func.vmap(lambda row: torch.func.grad(lambda t: Cube.apply(t).sum())(row))(x.unsqueeze(0))
    np.testing.assert_allclose(slopes.numpy(), 3 * x.numpy() ** 2, rtol=1e-6)
    slopes = torch.func.vmap(torch.func.grad(Cube.apply))(x)
    np.testing.assert_allclose(slopes.numpy(), 3 * x.numpy() ** 2, rtol=1e-6)


@pytest.mark.parametrize("program", ALWAYS, ids=lambda p: p.__name__[1:])
def test_later_steps_are_recognised(program: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    forget_calls()
    torch.func.vmap(torch.sin)(torch.ones(2))  # transforms elsewhere in the program make no difference
    torch.func.jvp(torch.sin, (torch.ones(2),), (torch.ones(2),))
    watch, taken = Watch(monkeypatch), []
    _trained(program, lambda: taken.append(watch.taken()))
    assert taken[0] and not any(taken[8:])
