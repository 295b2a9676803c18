"""Calls and attributes of modules, and numbers in tensors: what native code does in a moment, and what is Python's."""

import abc
import copy
import importlib
import inspect
import pickle
import subprocess
import sys
import threading
import traceback
import weakref
from collections.abc import Iterator
from typing import Any, Generic, TypeVar

import numpy as np
import pytest

import pullback as torch
from pullback import nn
from pullback.runtime.tensor import recorder

T = TypeVar("T")


class Scaled(nn.Module):
    def __init__(self, factor: float = 2.0) -> None:
        super().__init__()
        self.factor = nn.Parameter(torch.tensor(factor))

    def forward(self, x: Any, *more: Any, add: Any = 0.0) -> Any:
        return sum((x, *more)) * self.factor + add


# ---- calls


def test_calls_with_any_arguments() -> None:
    m = Scaled()
    assert m(torch.tensor(3.0)).item() == 6.0
    assert m(torch.tensor(3.0), add=1.0).item() == 7.0
    assert m(x=torch.tensor(3.0)).item() == 6.0
    assert m(*[torch.tensor(1.0)] * 16).item() == 32.0
    assert m(*[torch.tensor(1.0)] * 17).item() == 34.0
    with pytest.raises(TypeError, match="forward"):
        m()
    with pytest.raises(TypeError, match="other"):
        m(torch.tensor(1.0), other=3)


def test_a_subclass_may_call_otherwise() -> None:
    class Twice(Scaled):
        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            return super().__call__(*args, **kwargs) * 2

    class Again(Twice):
        pass

    assert [cls()(torch.tensor(1.0)).item() for cls in (Scaled, Twice, Again)] == [2.0, 4.0, 4.0]
    del Twice.__call__
    assert Again()(torch.tensor(1.0)).item() == 2.0


def test_the_call_of_all_modules_may_be_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    original = nn.Module.__call__

    def noted(self: Any, *args: Any) -> Any:
        calls.append(type(self).__name__)
        return original(self, *args)

    model = nn.Sequential(Scaled(), nn.Tanh())
    with monkeypatch.context() as patch:
        patch.setattr(nn.Module, "__call__", noted, raising=False)
        model(torch.tensor(1.0))
    assert calls == ["Sequential", "Scaled", "Tanh"]
    model(torch.tensor(1.0))
    assert len(calls) == 3


def test_forward_may_be_an_attribute_of_the_instance() -> None:
    m: Any = Scaled()
    m.forward = lambda x: x + 100
    assert m(torch.tensor(1.0)).item() == 101.0
    del m.forward
    assert m(torch.tensor(1.0)).item() == 2.0

    class Static(nn.Module):
        @staticmethod
        def forward(x: Any) -> Any:
            return x - 1

    assert Static()(torch.tensor(1.0)).item() == 0.0


def test_errors_in_forward_tell_where_they_were() -> None:
    class Wrong(nn.Module):
        def forward(self, x: Any) -> Any:
            raise ValueError("here")

    with pytest.raises(ValueError, match="here") as caught:
        nn.Sequential(nn.Tanh(), Wrong())(torch.ones(2))
    assert [f.name for f in traceback.extract_tb(caught.value.__traceback__)][-1] == "forward"
    with pytest.raises(NotImplementedError, match="forward"):
        nn.Module()(1)

    class Endless(nn.Module):
        def forward(self, x: Any) -> Any:
            return self(x)

    with pytest.raises(RecursionError):
        Endless()(1)


def test_signatures() -> None:
    class Named(Scaled):
        def __call__(self, x: Any, often: int = 1) -> Any:
            return super().__call__(x) * often

    assert list(inspect.signature(Scaled()).parameters) == ["args", "kwargs"]
    assert list(inspect.signature(Named()).parameters) == ["x", "often"]
    assert list(inspect.signature(Scaled).parameters) == ["factor"]
    assert callable(Scaled())


def test_other_bases_copies_and_pickles() -> None:
    class Plain(nn.Module, abc.ABC):
        @abc.abstractmethod
        def forward(self, x: Any) -> Any: ...

    class Own(Plain, Generic[T]):
        def forward(self, x: Any) -> Any:
            return x + 1

    class Listed(nn.Module, dict):
        def forward(self, x: Any) -> Any:
            return x + len(self)

    with pytest.raises(TypeError, match="abstract"):
        Plain()  # type: ignore[abstract]
    assert Own[int]()(torch.tensor(1.0)).item() == 2.0
    assert Listed()(torch.tensor(1.0)).item() == 1.0
    m = Scaled(3.0)
    for other in (copy.copy(m), copy.deepcopy(m), pickle.loads(pickle.dumps(m))):
        assert other(torch.tensor(1.0)).item() == 3.0 and weakref.ref(other)() is other


# ---- hooks


@pytest.fixture
def everywhere() -> Iterator[list[str]]:
    names: list[str] = []
    handle = nn.modules.module.register_module_forward_hook(lambda m, args, result: names.append(type(m).__name__))
    yield names
    handle.remove()


def test_hooks_of_one_module() -> None:
    m, seen = Scaled(), []
    m(torch.tensor(1.0))
    handle = m.register_forward_hook(lambda module, args, result: seen.append(result.item()))
    m(torch.tensor(1.0))
    m(torch.tensor(1.0), add=1.0)
    m(*[torch.tensor(1.0)] * 20)
    Scaled()(torch.tensor(7.0))
    handle.remove()
    m(torch.tensor(1.0))
    assert seen == [2.0, 3.0, 40.0]


def test_hooks_of_all_modules(everywhere: list[str]) -> None:
    nn.Sequential(Scaled(), nn.Tanh())(torch.tensor(1.0))
    assert everywhere == ["Scaled", "Tanh", "Sequential"]


def test_hooks_come_back_in_another_process(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "doubling.py").write_text("def doubled(module, args, result):\n    return result * 2\n")
    monkeypatch.syspath_prepend(tmp_path)
    m = nn.Sequential(nn.Identity())
    m[0].register_forward_hook(importlib.import_module("doubling").doubled)
    (tmp_path / "hooked").write_bytes(pickle.dumps(m))
    program = "import pickle, pullback; print(pickle.load(open('hooked', 'rb'))(pullback.tensor(21.0)).item())"
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=120, cwd=tmp_path
    )
    assert ran.stdout.split() == ["42.0"]


# ---- attributes


def test_attributes_of_classes_that_say_how() -> None:
    class Lazy(Scaled):
        def __getattr__(self, name: str) -> Any:
            try:
                return super().__getattr__(name)
            except AttributeError:
                if name == "thing":
                    return "none"
                raise

    class Mixin:
        def __getattr__(self, name: str) -> Any:
            if name == "thing":
                return "mixed"
            raise AttributeError(name)

    class Mixed(Mixin, Scaled):
        pass

    class Told(Scaled):
        def __getattribute__(self, name: str) -> Any:
            return "told" if name == "secret" else super().__getattribute__(name)

    assert (Lazy().thing, Mixed().thing, Told().secret) == ("none", "mixed", "told")  # type: ignore[attr-defined]
    assert all(cls().factor.item() == 2.0 for cls in (Lazy, Told))
    assert not hasattr(Mixed(), "factor"), "which does not ask Module, as with PyTorch"
    with pytest.raises(AttributeError, match="'Scaled' object has no attribute 'thing'"):
        _ = Scaled().thing
    with pytest.raises(AttributeError, match="'Told' object has no attribute 'thing'"):
        _ = Told().thing


def test_a_class_may_be_told_later() -> None:
    class Late(Scaled):
        pass

    class Later(Late):
        pass

    m: Any = Later()
    for _ in range(50):
        assert not hasattr(m, "thing") and m.factor is m._parameters["factor"]
    Late.__getattr__ = lambda self, name: f"now {name}"  # type: ignore[method-assign]
    assert m.thing == "now thing" and m.factor.item() == 2.0
    del Late.__getattr__
    assert not hasattr(m, "thing")
    with pytest.raises(AttributeError, match="thing"):
        nn.Module.__getattr__(m, "thing")
    assert nn.Module.__getattr__(m, "factor") is m.factor


def test_attributes_follow_their_tables() -> None:
    m: Any = Scaled()
    for value in (nn.Parameter(torch.tensor(5.0)), None, nn.Parameter(torch.tensor(6.0))):
        m._parameters["factor"] = value
        assert m.factor is value
    del m.factor
    assert not hasattr(m, "factor")


# ---- numbers in tensors


@pytest.mark.parametrize(
    ("value", "dtype", "want"),
    [
        (2.5, torch.float32, 2.5), (2.5, torch.float64, 2.5), (-3, torch.int32, -3), (-(2**40), torch.int64, -(2**40)),
        (True, torch.bool, True), (False, torch.bool, False), (200, torch.uint8, 200),
        (1 + 2j, torch.complex64, 1 + 2j),
    ],
)  # fmt: skip
def test_the_number_in_a_tensor(value: Any, dtype: Any, want: Any) -> None:
    for x in (torch.tensor(value, dtype=dtype), torch.tensor([[value]], dtype=dtype)):
        got = x.item()
        assert got == want and type(got) is type(want)
        assert x.view(1).item() == want and (x.clone() if dtype is torch.bool else x + 0).item() == want


def test_where_there_is_no_one_number() -> None:
    for shape in ((2,), (0,), (1, 2)):
        with pytest.raises(RuntimeError, match="cannot be converted"):
            torch.zeros(*shape).item()
    if recorder.SUPPORTED:
        x = torch.zeros(3)
        assert recorder.number_in(x) is recorder.number_in(3) is recorder.number_in(x.sum()) is NotImplemented
        x = torch.tensor(1.5)
        assert recorder.number_in(x) == 1.5
        view, memory = x.view(1), x.numpy()
        memory[...] = 4.0
        assert recorder.number_in(x) is recorder.number_in(view) is NotImplemented
        assert (x.item(), view.item()) == (4.0, 4.0)


def test_numbers_in_other_threads() -> None:
    x, got = torch.tensor(2.0) * 3, []
    thread = threading.Thread(target=lambda: got.append((x.item(), (x * 2).item())))
    thread.start()
    thread.join()
    assert got == [(6.0, 12.0)] and x.item() == 6.0


def test_a_function_that_reads_a_number_is_not_recognised_by_it() -> None:
    def program(x: Any) -> float:
        return torch.nn.functional.relu(x).sum().item()

    assert [program(torch.tensor([float(k), -1.0])) for k in range(6)] == [float(k) for k in range(6)]
    assert np.float32(torch.tensor(0.1).item()) == np.float32(0.1)


def test_hooks_that_are_removed_leave_nothing() -> None:
    layer = nn.Linear(1, 1)
    before = nn.Linear(1, 1)
    for _ in range(5):
        one = layer.register_forward_hook(lambda m, args, kwargs, out: None, with_kwargs=True, always_call=True)
        two = layer.register_forward_pre_hook(lambda m, args, kwargs: None, with_kwargs=True)
        layer(torch.ones(1, 1))
        one.remove()
        two.remove()
    before.register_forward_hook(lambda m, args, out: None).remove()
    assert vars(layer._hooks) == vars(before._hooks)
