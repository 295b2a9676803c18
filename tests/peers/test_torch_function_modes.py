"""`TorchFunctionMode`, properties of classes that listen, and smaller things, as torch has them."""

import math
import threading
import warnings
from typing import Any

import pytest
import torch

import pullback

BOTH = pytest.mark.parametrize("t", [torch, pullback], ids=["torch", "pullback"])


def named(f: Any) -> str:
    return f.__name__.removeprefix("linalg_")


def mode_of(t: Any) -> Any:
    class Heard(t.overrides.TorchFunctionMode):
        def __init__(self) -> None:
            super().__init__()
            self.calls: list[Any] = []

        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            self.calls.append(func)
            return func(*args, **(kwargs or {}))

    return Heard()


@BOTH
def test_a_mode_hears_functions_of_plain_tensors(t: Any) -> None:
    x, heard = t.ones(3), mode_of(t)
    for _ in range(4):  # recognised calls, too
        del heard.calls[:]
        with heard:
            made = [t.zeros(2), t.randn(2), t.add(x, 1), t.cat([x, x]), t.zeros_like(x), t.poisson(x), t.tensor([1.0]),
                    t.nn.functional.dropout(x), t.linalg.inv(t.eye(2))]  # fmt: skip
        wanted = [t.zeros, t.randn, t.add, t.cat, t.zeros_like, t.poisson, t.tensor, t.nn.functional.dropout, t.eye,
                  t.linalg.inv]  # fmt: skip
        assert [named(f) for f in heard.calls] == [named(f) for f in wanted]
        assert all(isinstance(each, t.Tensor) for each in made)
    del heard.calls[:]
    with heard:
        x.detach()
        t.nn.init.kaiming_uniform_(t.empty(2, 2))
    assert heard.calls[0] == t.Tensor.detach and t.nn.init.kaiming_uniform_ in heard.calls
    del heard.calls[:]
    x + 1
    assert heard.calls == []


READS: list[Any] = [
    lambda x: x.item(), float, int, bool, lambda x: x.tolist(), lambda x: x.numpy(), repr, lambda x: f"{x:.1f}",
    lambda x: x.shape, lambda x: x.dtype, lambda x: x.grad, lambda x: x.size(), lambda x: x.stride(),
    lambda x: x.is_contiguous(), lambda x: x.requires_grad_(False), lambda x: setattr(x, "grad", None), len,
]  # fmt: skip


@BOTH
def test_a_mode_hears_reads_of_plain_tensors(t: Any) -> None:
    wanted = [
        "item", "__float__", "__int__", "__bool__", "tolist", "numpy", "__repr__", "__format__", "__get__", "__get__",
        "__get__", "size", "stride", "is_contiguous", "requires_grad_", "__set__", "__len__",
    ]  # fmt: skip
    x = t.tensor(3.0)
    for _ in range(2):
        heard = mode_of(t)
        for read, name in zip(READS, wanted, strict=True):
            del heard.calls[:]
            given = t.ones(1) if read is len else x
            with heard:
                read(given)
                same = t.Tensor.shape.__get__, t.Tensor.item
            assert [f.__name__ for f in heard.calls] == [name]
        with heard:
            del heard.calls[:]
            assert x.shape == () and x.item() == 3.0
            assert (heard.calls[0], heard.calls[1]) == same
        with heard, t._C.DisableTorchFunction():
            del heard.calls[:]
            x.item()
        assert heard.calls == []

    class Seven(t.overrides.TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return 7.0 if func is t.Tensor.item else func(*args, **(kwargs or {}))

    with Seven():
        assert x.item() == 7.0 and float(x) == 3.0 and x.add(1).item() == 7.0
    assert x.item() == 3.0


@BOTH
def test_what_a_mode_gives_is_what_the_caller_has(t: Any) -> None:
    class Double(t.overrides.TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            kwargs = dict(kwargs or {})
            if func in (t.zeros, t.randn):
                kwargs.setdefault("dtype", t.float64)
            made = func(*args, **kwargs)
            return made * 2 if func is t.add else made

    x = t.ones(2, requires_grad=True)
    with Double():
        assert t.zeros(2).dtype is t.float64 and t.randn(1).dtype is t.float64 and t.ones(1).dtype is t.float32
        y = t.add(x, 1)
        with Double():
            assert t.add(x, 1).tolist() == [8, 8]
    y.sum().backward()
    assert y.tolist() == [4, 4] and x.grad.tolist() == [2, 2] and t.add(x, 1).tolist() == [2, 2]


@BOTH
def test_modes_that_do_not_answer(t: Any) -> None:
    class Mute(t.overrides.TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return NotImplemented

    x = t.ones(1)
    with Mute(), pytest.raises(TypeError, match="NotImplemented"):
        t.sin(x)
    with t.overrides.TorchFunctionMode(), pytest.raises(NotImplementedError):
        x + 1
    with pytest.raises(ZeroDivisionError), mode_of(t):
        int(1 / (x.item() - 1))
    assert (x + 1).item() == 2


@BOTH
def test_modes_are_of_a_thread_and_can_be_put_off(t: Any) -> None:
    x, heard = t.ones(2), mode_of(t)
    with heard:
        thread = threading.Thread(target=lambda: x * 2)
        thread.start()
        thread.join()
        with t._C.DisableTorchFunction():
            x * 2
        assert heard.calls == []
        with t._C.DisableTorchFunctionSubclass():
            x * 2
        assert len(heard.calls) == 1


@BOTH
def test_properties_and_plain_methods_of_a_class_that_listens(t: Any) -> None:
    heard: list[Any] = []

    class Listening(t.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            heard.append(func)
            return super().__torch_function__(func, types, args, kwargs or {})

    x = t.ones(2, 2).as_subclass(Listening)
    for read, wanted in [
        (lambda: x.shape, t.Tensor.shape.__get__), (lambda: x.requires_grad, t.Tensor.requires_grad.__get__),
        (lambda: x.T, t.Tensor.T.__get__), (lambda: x.data, t.Tensor.data.__get__),
        (lambda: x.detach(), t.Tensor.detach),
        (lambda: x.size(), t.Tensor.size), (lambda: x.tolist(), t.Tensor.tolist), (lambda: len(x), t.Tensor.__len__),
        (lambda: t.zeros_like(x), t.zeros_like), (lambda: x.uniform_(), t.Tensor.uniform_),
        (lambda: t.bernoulli(x), t.bernoulli), (lambda: x.new_zeros(2), t.Tensor.new_zeros),
    ]:  # fmt: skip
        del heard[:]
        made = read()
        assert heard == [wanted] and (not isinstance(made, t.Tensor) or type(made) is Listening)
    assert repr(x).startswith("Listening(")
    x.requires_grad = True
    assert x.requires_grad and (x * 2).requires_grad


@BOTH
def test_a_factor_as_far_as_there_is_one(t: Any) -> None:
    a = t.tensor([[4.0, 2, 1], [2, 1, 3], [1, 3, 2]], dtype=t.float64)
    low, info = t.linalg.cholesky_ex(t.stack([a, t.eye(3, dtype=t.float64), -a]))
    assert info.tolist() == [2, 0, 1] and low[0].tolist() == [[2, 0, 0], [1, 0, 0], [0.5, 3, 2]]
    assert low[1].tolist() == t.eye(3).tolist() and low[2].tolist() == [[-4, 0, 0], [-2, -1, 0], [-1, -3, -2]]
    up = t.linalg.cholesky_ex(a, upper=True).L
    assert up.tolist() == [[2, 1, 0.5], [0, 0, 3], [0, 0, 2]]
    z = (1j * t.tensor([[0.0, 1], [-1, 0]], dtype=t.complex128)) + t.eye(2, dtype=t.complex128)
    low, info = t.linalg.cholesky_ex(z - 0.5 * t.eye(2, dtype=t.complex128))
    assert info.item() == 2 and abs(low[1, 0].item() + math.sqrt(2) * 1j) < 1e-12
    assert abs(low[1, 1].item() + 1.5) < 1e-12


@BOTH
def test_complex_numbers_are_drawn(t: Any) -> None:
    t.manual_seed(0)
    first = t.zeros(2, dtype=t.complex64).uniform_(-1, 1)
    second = t.zeros(9, dtype=t.complex128).normal_(1, 2)
    third = t.nn.Linear(2, 1, dtype=t.complex64).weight
    assert [round(v, 4) for v in t.view_as_real(first).flatten().tolist()] == [-0.0075, 0.5364, -0.8230, -0.7359]
    assert abs(second.mean().item()) < 5 and third.is_complex() and third.abs().max().item() < 1.1
    with pytest.raises(NotImplementedError):
        t.zeros(2, dtype=t.complex64).bernoulli_()


def test_complex_draws_are_those_of_torch() -> None:
    made = []
    for t in (torch, pullback):
        t.manual_seed(3)
        made.append([
            *t.zeros(3, dtype=t.complex64).uniform_(-1, 1).tolist(),
            *t.zeros(2, 9, dtype=t.complex128).normal_(1, 2).flatten().tolist(),
            *t.nn.Linear(2, 3, dtype=t.complex64).weight.flatten().tolist(),
            *t.nn.init.xavier_normal_(t.zeros(2, 2, dtype=t.complex64)).flatten().tolist(),
        ])  # fmt: skip
    assert max(abs(a - b) for a, b in zip(*made, strict=True)) < 1e-6


@pytest.mark.filterwarnings("ignore:Sparse")
@BOTH
def test_a_sparse_gradient_can_be_set(t: Any) -> None:
    w = t.nn.Parameter(t.ones(3, 2))
    w.grad = t.sparse_coo_tensor([[0, 2]], t.ones(2, 2), (3, 2))
    t.optim.SparseAdam([w], lr=0.5).step()
    assert w[1].tolist() == [1, 1] and w[0, 0].item() == pytest.approx(0.5, abs=1e-4)
    with pytest.raises(RuntimeError, match="of size"):
        w.grad = t.sparse_coo_tensor([[0, 2]], t.ones(2, 2), (4, 2))
    with pytest.raises(RuntimeError, match="dtype"):
        w.grad = t.sparse_coo_tensor([[0, 2]], t.ones(2, 2, dtype=t.float64), (3, 2))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@BOTH
def test_what_is_refused(t: Any) -> None:
    w = t.ones(1, requires_grad=True)
    w.register_post_accumulate_grad_hook(lambda p: p)
    (w * 2).sum().backward()
    w.register_post_accumulate_grad_hook(lambda p: 3)
    with pytest.raises(TypeError, match="hook returned 'int'"):
        (w * 2).sum().backward()
    w = t.ones(1, requires_grad=True)
    w.register_post_accumulate_grad_hook(lambda p: p * 1)
    with pytest.raises(RuntimeError, match="should return None"):
        (w * 2).sum().backward()
    for transform in (t.func.jacfwd, t.func.hessian):
        with pytest.raises((ValueError, RuntimeError)):
            transform(lambda x: x.sum())(t.ones(2, dtype=t.int64))
    with pytest.raises(TypeError, match="Variable data has to be a tensor, but got int"):
        t.autograd.Variable(3)
    with pytest.raises(ValueError, match="floating point or complex, but got"):
        t.func.jvp(lambda x: x, (t.ones(2, dtype=t.int64),), (t.ones(2, dtype=t.int64),))


def test_a_number_that_has_lost_its_history_is_told_of_once() -> None:
    from pullback.runtime.tensor.face import tensor

    x = pullback.ones(1, requires_grad=True)
    tensor._told.clear()
    with pytest.warns(UserWarning, match="Converting a tensor with requires_grad=True to a scalar"):
        math.sqrt(x * 4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert float(x) == 1 and x.item() == 1
        tensor._told.clear()
        assert float(x.detach()) == 1 and int(x) == 1
        with pullback.no_grad():
            assert float(x) == 1
