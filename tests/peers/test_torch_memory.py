"""`Tensor.new`, storages and methods that few programs use: what PyTorch gives."""

import warnings
from typing import Any

import pytest
import torch

import pullback

SAME = {
    "sizes": lambda t, x: tuple(x.new(2, 3).shape),
    "a size": lambda t, x: tuple(x.new(t.Size([2, 1])).shape),
    "nothing": lambda t, x: x.new().tolist(),
    "a list": lambda t, x: x.new([1, 2]).tolist(),
    "a tuple": lambda t, x: str(x.new((2, 3)).dtype),
    "integers": lambda t, x: t.tensor([1]).new([1.5]).tolist(),
    "a tensor": lambda t, x: x.new(x).data_ptr() == x.data_ptr(),
    "a device": lambda t, x: tuple(x.new(2, device="cpu").shape),
    "one memory": lambda t, x: x[1:].untyped_storage() == x.untyped_storage(),
    "two memories": lambda t, x: x.clone().untyped_storage() == x.untyped_storage(),
    "as a key": lambda t, x: len({y.untyped_storage() for y in (x, x[1:], x.view(4, 1), x.clone())}),
    "bytes": lambda t, x: (x[1:].untyped_storage().nbytes(), len(x.untyped_storage()), x.untyped_storage().size()),
    "bytes' values": lambda t, x: x.untyped_storage().tolist(),
    "an address": lambda t, x: x[1:].untyped_storage().data_ptr() == x.data_ptr(),
    "an offset": lambda t, x: x[1:].data_ptr() - x[1:].untyped_storage().data_ptr(),
    "elements": lambda t, x: (x[1:].storage().size(), len(x.storage()), x[1:].storage().tolist(), x.storage()[0]),
    "their kind": lambda t, x: (str(x.storage().dtype), x.storage().element_size(), x.storage().nbytes()),
    "complex": lambda t, x: t.tensor([1 + 2j, 3j])[1:].storage().tolist(),
    "after a write": lambda t, x: (x[1:].fill_(7), x.storage().tolist())[1],
    "prelu": lambda t, x: x.prelu(t.tensor([0.25])).tolist(),
    "hardshrink": lambda t, x: x.hardshrink(1.0).tolist(),
    "reversed": lambda t, x: reversed(x.view(2, 2)).tolist(),
    "dims": lambda t, x: (x.dim_order(), x.sparse_dim(), x.dense_dim(), x.name, x.is_distributed()),
    "subclass": lambda t, x: x.as_subclass(t.Tensor).tolist(),
    "truths": lambda t, x: (x > 0)._is_all_true().item(),
    "some truth": lambda t, x: (x > 0)._is_any_true().item(),
    "conjugate": lambda t, x: t.tensor([1 + 2j])._conj().tolist(),
}


@pytest.mark.parametrize("name", SAME)
def test_same(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        want, got = (SAME[name](m, m.tensor([-1.0, 0.5, 2.0, 3.0])) for m in (torch, pullback))
    assert got == want


ERRORS = {
    "a number": lambda t, x: x.new(2.5),
    "another kind": lambda t, x: x.new(t.tensor([1])),
    "a keyword": lambda t, x: x.new([1.0], dtype=t.int64),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name: str) -> None:
    for module in (torch, pullback):
        with pytest.raises(TypeError):
            ERRORS[name](module, module.ones(2))


def test_new_shares_memory() -> None:
    x: Any = pullback.zeros(3, requires_grad=True)
    made = x.new(x)
    assert not made.requires_grad
    with pullback.no_grad():
        made[0] = 5.0
    assert x.tolist() == [5.0, 0.0, 0.0]


def test_an_object_of_a_subclass_has_the_same_memory() -> None:
    x = pullback.zeros(3)
    made = x.as_subclass(pullback.nn.Parameter)
    x.add_(1)
    assert type(made) is pullback.nn.Parameter and not made.requires_grad and made.tolist() == [1.0, 1.0, 1.0]


def test_storage_says_that_it_is_old() -> None:
    with pytest.warns(UserWarning, match="TypedStorage is deprecated"):
        pullback.zeros(3).storage()

OLDER = {
    "add": lambda t, v, w, a, b: [t.add(v, 2, w), v.add(2, w), v.clone().add_(2, w)],
    "sub": lambda t, v, w, a, b: [t.sub(v, 2, w), v.sub(2, w), v.clone().sub_(2, w)],
    "addcmul": lambda t, v, w, a, b: [t.addcmul(v, 2, w, v), v.addcmul(2, w, v), v.clone().addcmul_(2, w, w)],
    "addcdiv": lambda t, v, w, a, b: [t.addcdiv(v, 2, w, v), v.addcdiv(2, w, v), v.clone().addcdiv_(2, w, w)],
    "addmm": lambda t, v, w, a, b: [t.addmm(2, a, a, a), t.addmm(2, a, 3, a, a), a.addmm(2, 3, a, a)],
    "addmm_": lambda t, v, w, a, b: [a.clone().addmm_(2, a, a), a.clone().addmm_(2, 3, a, a)],
    "addmv": lambda t, v, w, a, b: [t.addmv(2, v, 3, a, w), v.addmv(2, a, w), v.clone().addmv_(2, 3, a, w)],
    "addr": lambda t, v, w, a, b: [t.addr(2, a, 3, v, w), a.addr(2, v, w), a.clone().addr_(2, 3, v, w)],
    "baddbmm": lambda t, v, w, a, b: [t.baddbmm(2, b, 3, b, b), b.baddbmm(2, b, b), b.clone().baddbmm_(2, b, b)],
    "addbmm": lambda t, v, w, a, b: [t.addbmm(2, a, 3, b, b), a.addbmm(2, b, b), a.clone().addbmm_(2, 3, b, b)],
}


@pytest.mark.parametrize("name", OLDER)
def test_numbers_before_tensors(name: str) -> None:
    made = []
    for t in (torch, pullback):
        a = t.tensor([[1.0, 2.0], [3.0, 4.0]])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made.append([x.tolist() for x in OLDER[name](t, a[0], t.tensor([3.0, 5.0]), a, a[None])])
    assert made[0] == made[1]


@pytest.mark.parametrize("call", [lambda t, v: t.add(v, v, 2), lambda t, v: t.addcmul(v, v, v, 2)])
def test_numbers_after_tensors_are_refused(call: Any) -> None:
    for t in (torch, pullback):
        with pytest.raises(TypeError):
            call(t, t.ones(2))
