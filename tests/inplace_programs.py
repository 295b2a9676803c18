"""Programs that write in place where gradients flow, as functions of an input and two leaves.

They return what backward starts from, perhaps with a list of what is to be seen: values, or functions that are called
after backward.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pullback as torch

F = torch.nn.functional

Program = Callable[[Any, Any, Any], Any]
USUAL: dict[str, Program] = {}
UNUSUAL: dict[str, Program] = {}


def usual(program: Program) -> Program:
    """A program that is one kernel from its third step on."""
    USUAL[program.__name__] = program
    return program


def unusual(program: Program) -> Program:
    """A program that works, however it is run."""
    UNUSUAL[program.__name__] = program
    return program


def names(t: Any) -> list[str]:
    """The nodes on the first way from a tensor to a leaf."""
    found, node = [], t.grad_fn
    while node is not None:
        found.append(type(node).__name__)
        node = next((n for n, _ in node.next_functions if n is not None), None)
    return found


# ---- what is recognised


@usual
def relu(x: Any, w: Any, v: Any) -> Any:
    return ((x @ w).relu_() @ v).pow(2).sum()


@usual
def residual(x: Any, w: Any, v: Any) -> Any:
    h = x @ w
    y = F.relu(h, inplace=False) @ v
    y += h
    return y.pow(2).sum(), [y._version]


@usual
def residual_blocks(x: Any, w: Any, v: Any) -> Any:
    for _ in range(2):
        h = F.relu(x @ w, inplace=True) @ v
        h += x
        x = F.relu(h, inplace=True)
    return x.sum()


@usual
def mask_and_bias(x: Any, w: Any, v: Any) -> Any:
    h = x @ w
    h.mul_(x > 0)
    h.add_(v[0]).mul_(v[:1])
    h -= 1
    h /= 2
    return h.pow(2).sum(), [h._version]


@usual
def parameter_that_is_saved(x: Any, w: Any, v: Any) -> Any:
    h = x @ w
    h[:0].sum()
    h = h * 1
    h.mul_(v.mean()).mul_(v.sum())
    return h.sum()


@usual
def with_itself(x: Any, w: Any, v: Any) -> Any:
    h = x @ w
    h *= h
    h += h
    return (h * v[0]).sum()


@usual
def sum_of_losses(x: Any, w: Any, v: Any) -> Any:
    total, h = torch.zeros(()), x
    for _ in range(3):
        h = torch.tanh(h @ w)
        total += h.sum()
        total += (h @ v).pow(2).mean()
    total *= 0.5
    return total, [total._version]


@usual
def gated(x: Any, w: Any, v: Any) -> Any:
    h = torch.zeros(5, 4)
    for _ in range(3):
        z = torch.sigmoid(x @ w + h @ v)
        h = h * z
        h += torch.tanh(x @ w)
    return h.sum()


@usual
def old_value_and_new(x: Any, w: Any, v: Any) -> Any:
    h = x @ w
    a, b = h + 1, h.sum()
    h.relu_()
    return (a * h).sum() + b + (h @ v).sum()


@usual
def old_value_that_is_saved_by_what_is_not_walked(x: Any, w: Any, v: Any) -> Any:
    h = x @ w
    a = h.sin()
    h.mul_(v.sum())
    return h.sum(), [a.requires_grad]


@usual
def without_gradients(x: Any, w: Any, v: Any) -> Any:
    h = x @ w
    with torch.no_grad():
        h.clamp_(-0.5, 0.5)
    h.sin_()
    with torch.no_grad():
        h.mul_(2)
    return (h + v).sum() if h.shape == v.shape else h.sum() + v.sum(), [h._version, h.requires_grad]


@usual
def getting_a_history(x: Any, w: Any, v: Any) -> Any:
    h = torch.zeros_like(x)
    h.copy_(x @ w)
    g = x * 2
    g.add_(1).add_(h, alpha=0.5)
    return (g * v[0]).sum()


@usual
def several_functions(x: Any, w: Any, v: Any) -> Any:
    h = (x @ w).addcmul_(x, x, value=0.5).lerp_(x, 0.3).clamp_(-1, 1)
    h.masked_fill_(x > 0.5, 0.25).addmm_(x, v).abs_().add_(1).sqrt_()
    for function in (F.leaky_relu, F.elu, F.hardtanh, F.silu, F.relu6):
        h = function(h @ w, inplace=True)
    return h.sum()


@usual
def part_of_a_value_that_is_written_over_unread(x: Any, w: Any, v: Any) -> Any:
    h = x @ w
    k = x * v.sum()
    h += k[0]
    k.add_(1)
    return h.pow(2).sum()


# ---- what is looked at


@unusual
def names_of_nodes(x: Any, w: Any, v: Any) -> Any:
    h = x @ w
    first = h._version, names(h)
    h.sin_()
    second = h._version, names(h)
    h += v[0]
    return (h @ v).pow(2).sum(), [first, second, names(h), h.is_leaf, h.requires_grad]


@unusual
def names_after_backward(x: Any, w: Any, v: Any) -> Any:
    h = (x @ w).sin_()
    h += 1
    with torch.no_grad():
        h.mul_(2)
    kept = torch.zeros(5, 4)
    kept += h @ v
    return kept.sum(), [lambda: names(h), lambda: names(kept), lambda: h.tolist(), kept._version]


@unusual
def a_node_that_is_kept(x: Any, w: Any, v: Any) -> Any:
    h = x @ w
    h.mul_(3)
    node = h.grad_fn
    h.add_(v[0])
    return h.pow(2).sum(), [lambda: h.grad_fn.next_functions[0][0] is node, lambda: names(h)]


@unusual
def gradients_that_are_kept(x: Any, w: Any, v: Any) -> Any:
    a, b = x @ w, x @ v
    a.retain_grad()
    a.mul_(3)
    b.mul_(3)
    b.retain_grad()
    return (a * b.sin()).sum(), [lambda: a.grad.tolist(), lambda: b.grad.tolist(), names(a)]


@unusual
def hooks(x: Any, w: Any, v: Any) -> Any:
    seen: list[Any] = []
    h = x @ w
    h.register_hook(lambda g: seen.append(("before", g.tolist())))
    h.mul_(3)
    h.register_hook(lambda g: seen.append(("after", g.tolist())) or g * 0.5)
    return h.pow(2).sum(), [lambda: seen]


@unusual
def values_that_are_read(x: Any, w: Any, v: Any) -> Any:
    h = x @ w
    first = h.sum().item()
    h.mul_(3)
    second = h.tolist()
    h.add_(v.sum())
    return h.pow(2).sum(), [first, second, lambda: names(h), h._version]


@unusual
def views(x: Any, w: Any, v: Any) -> Any:
    h = (x @ w).relu_()
    after = h.view(4, 5)
    g = x @ v
    before = g.view(4, 5)
    g.mul_(2)
    before[1].add_(1)
    return (after * before).sum(), [lambda: names(after), lambda: names(before), lambda: (g._version, after._version)]


@unusual
def a_view_that_is_gone(x: Any, w: Any, v: Any) -> Any:
    h = x @ w
    s = (h.view(-1)[2:] + 1).sum()
    h.mul_(v.sum())
    return s + h.pow(2).sum(), [lambda: names(h)]


@unusual
def detached(x: Any, w: Any, v: Any) -> Any:
    h = x @ w
    loss = h.sum()
    h.detach_()
    h.mul_(2)
    h.add_(x @ v)
    return loss + h.sum(), [h.requires_grad, h._version]


@unusual
def differentiated_twice(x: Any, w: Any, v: Any) -> Any:
    h = x @ w
    h.mul_(w.sum()).mul_(v.mean()).add_(h)
    (g,) = torch.autograd.grad(h.pow(2).sum(), [w], create_graph=True)
    g.mul_(2)
    return g.pow(2).sum() * 1e-3, [lambda: names(h)]


@unusual
def written_after_backward(x: Any, w: Any, v: Any) -> Any:
    h = x @ w
    h.pow(2).sum().backward()
    h.mul_(2)
    return (x @ v).sum(), [lambda: names(h), h._version, lambda: h.tolist()]


@unusual
def not_walked(x: Any, w: Any, v: Any) -> Any:
    h = x @ w
    loss = (h + 1).pow(2).sum()
    h.mul_(v.sum())
    return loss, [lambda: names(h), lambda: torch.autograd.grad(h.sum(), [v])[0].tolist()]
