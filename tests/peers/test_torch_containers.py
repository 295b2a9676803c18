"""Containers of parameters as programs fill them: names and orders are PyTorch's."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from typing import Any

import torch as reference

import pullback


def orders(t: Any) -> list[list[str]]:
    nn = t.nn

    def one() -> Any:
        return nn.Parameter(t.ones(1))

    given = {"z": one(), "a": one(), "m": one()}
    found = []
    for start in (given, OrderedDict(given), list(given.items()), nn.ParameterDict(OrderedDict(given)), {}):
        x = nn.ParameterDict(start)
        found.append(list(x | {"q": one(), "b": one()}))
        x.update({"y": one(), "c": one()})
        found += [list(x), [name for name, _ in x.named_parameters()], list(x.state_dict())]
        found.append(list({"zz": one(), "k": one()} | x))
        x |= OrderedDict({"o": one(), "d": one()})
        found.append(list(x))
    return [*found, list(nn.ModuleDict({"z": nn.ReLU(), "a": nn.ReLU()}))]


def test_parameters_by_name_are_in_the_order_that_pytorch_has() -> None:
    assert orders(pullback) == orders(reference)


def test_a_hook_of_a_module_whose_inputs_need_no_gradient_warns() -> None:
    for t in (reference, pullback):
        layer, heard = t.nn.Linear(2, 1), []
        layer.register_full_backward_hook(lambda m, given, got, heard=heard: heard.append(given))
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            layer(t.ones(1, 2)).sum().backward()
        assert heard == [(None,)] and any("Full backward hook is firing" in str(w.message) for w in told)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            layer(t.ones(1, 2, requires_grad=True)).sum().backward()
        assert not told and len(heard) == 2


def test_nodes_of_functions_that_users_write_print_as_pytorch_s() -> None:
    for t in (reference, pullback):
        double = type("Double", (t.autograd.Function,), {
            "forward": staticmethod(lambda ctx, x: x * 2), "backward": staticmethod(lambda ctx, g: g * 2)
        })  # fmt: skip
        made = double.apply(t.ones(1, requires_grad=True))
        assert repr(made.grad_fn).startswith("<torch.autograd.function.DoubleBackward object at 0x")
