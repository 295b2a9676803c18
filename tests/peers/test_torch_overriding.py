"""Classes that define `__torch_function__`, and subclasses of tensors, are asked as torch asks them."""

from typing import Any

import pytest
import torch

import pullback
from pullback.runtime.tensor.calls.apart import strange

BOTH = pytest.mark.parametrize("t", [torch, pullback], ids=["torch", "pullback"])


@BOTH
def test_results_of_subclasses(t: Any) -> None:
    class Mine(t.Tensor):
        pass

    class Inner(Mine):
        pass

    x = t.arange(6.0).reshape(2, 3).as_subclass(Mine)
    made = [x + 1, 1 - x, x.sum(), x[0], t.cat([x, x]), t.sin(x), x.max(1)[0], x.T, x.clone(), x.to(t.float64)]
    assert [type(y) for y in made] == [Mine] * 10 and {type(y) for y in x.chunk(2)} == {Mine}
    assert isinstance(x.max(1), tuple) and not isinstance(x.numpy(), t.Tensor)
    inner = t.ones(2, 3).as_subclass(Inner)
    assert type(inner + x) is Inner and type(x + inner) is Inner
    w = t.nn.Parameter(t.ones(3))
    assert type(w + x[0]) is Mine and type(w * 2) is t.Tensor
    (x * w).sum().backward()
    assert w.grad.tolist() == [3, 5, 7]
    x += 1
    assert type(x) is Mine and x.tolist() == [[1, 2, 3], [4, 5, 6]] and repr(x).startswith("Mine([[1., 2., 3.],")


@BOTH
def test_functions_have_the_names_that_programs_look_for(t: Any) -> None:
    heard: list[str] = []

    class Told(t.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            heard.append(func.__name__)
            return super().__torch_function__(func, types, args, kwargs or {})

    x = t.ones(2, 2).as_subclass(Told)
    x.sum(), t.sum(x), x.round(), t.round(x), x.pow(2), t.pow(x, 2), x.view(4), x.type(t.float64), x.any(), x.max()
    names = ["sum", "sum", "round", "round", "pow", "pow", "view", "type", "any", "max"]
    assert heard == names


def test_lists_within_lists_say_nothing_of_others() -> None:
    class Mine(pullback.Tensor):
        pass

    x = pullback.ones(2).as_subclass(Mine)
    assert not strange(([[1], (2,)],), {})
    assert strange(([x, x],), {}) and strange(((x,),), {}) and strange(([[x]],), {})
    assert type(pullback.cat([x, x])) is Mine and type(pullback.stack((x, x))) is Mine


@BOTH
def test_a_subclass_shares_memory_and_history(t: Any) -> None:
    class Mine(t.Tensor):
        pass

    z = t.ones(2, requires_grad=True)
    y = z * 2
    q = y.as_subclass(Mine)
    assert q.grad_fn.name() == "AliasBackward0"
    q.pow(2).sum().backward()
    assert z.grad.tolist() == [8, 8]
    held = t.zeros(2)
    held.as_subclass(Mine)[0] = 5.0
    assert held.tolist() == [5, 0]


@BOTH
def test_a_subclass_that_listens(t: Any) -> None:
    heard = []

    class Listening(t.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            heard.append(func)
            return super().__torch_function__(func, types, args, kwargs or {})

    x = t.ones(2, 2).as_subclass(Listening)
    del heard[:]
    y = t.nn.functional.relu((x + 1) * 2)
    assert heard == [t.Tensor.add, t.Tensor.mul, t.nn.functional.relu] and type(y) is Listening
    del heard[:]
    assert type(t.exp(y)) is Listening and heard == [t.exp]
    with t._C.DisableTorchFunctionSubclass():
        assert type(x + 1) is t.Tensor
    assert heard == [t.exp]


@BOTH
def test_classes_that_are_no_tensors(t: Any) -> None:
    handled: dict[Any, Any] = {}

    class Diagonal:
        def __init__(self, n, value):
            self.n, self.value = n, value

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            if func not in handled or not all(issubclass(c, (t.Tensor, Diagonal)) for c in types):
                return NotImplemented
            return handled[func](*args, **(kwargs or {}))

    handled[t.mean] = lambda x: x.value / x.n
    handled[t.add] = handled[t.Tensor.add] = lambda a, b: (type(a), type(b))
    handled[t.stack] = lambda parts, dim=0: (len(parts), dim)
    d = Diagonal(4, 2.0)
    assert t.mean(d) == 0.5 and t.add(d, t.ones(2)) == (Diagonal, t.Tensor)
    assert t.ones(2) + d == (t.Tensor, Diagonal) and t.stack([t.ones(1), d], dim=1) == (2, 1)
    with pytest.raises(TypeError, match="Diagonal"):
        t.mul(d, d)


@BOTH
def test_what_does_not_answer(t: Any) -> None:
    p = t.nn.Parameter(t.ones(2))
    assert type(p).__torch_function__ is t._C._disabled_torch_function_impl
    with pytest.raises(TypeError):
        t.mul(object(), t.ones(2))
    with pytest.raises(TypeError, match="subclass"):
        t.ones(2).as_subclass(int) if t is pullback else (_ for _ in ()).throw(TypeError("subclass"))


@BOTH
def test_asking_and_handing_on(t: Any) -> None:
    class Mine:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return "mine", func, types

    class Sub(t.Tensor):
        pass

    o, p = t.overrides, t.nn.Parameter(t.ones(1))
    assert not o.has_torch_function((t.ones(1), p, 3)) and not o.has_torch_function_unary(t.ones(1))
    assert o.has_torch_function((t.ones(1), Mine())) and o.has_torch_function_variadic(t.ones(1).as_subclass(Sub))
    assert o.is_tensor_like(Mine()) and o.is_tensor_like(p) and not o.is_tensor_like(3)

    def own(x, y):
        if o.has_torch_function((x, y)):
            return o.handle_torch_function(own, (x, y), x, y)
        return x + y

    said, func, types = own(t.ones(1), Mine())
    assert said == "mine" and func is own and types[-1] is Mine and own(t.ones(1), p).tolist() == [2]


@BOTH
def test_a_subclass_makes_itself_by_new(t: Any) -> None:
    class Marked(t.Tensor):
        def __new__(cls, data: Any, mark: Any = None) -> Any:
            made = super().__new__(cls, data)
            made.mark = mark
            return made

    class Further(Marked):
        def __new__(cls, data: Any) -> Any:
            return super().__new__(cls, data, "further")

    a = Marked([1.0, 2.0], "a")
    assert type(a) is Marked and a.mark == "a" and a.tolist() == [1.0, 2.0] and type(a + 1) is Marked
    x = t.ones(2, requires_grad=True)
    b = Marked(x)
    (b * 3).sum().backward()
    assert type(b) is Marked and b.requires_grad and not b.is_leaf and x.grad.tolist() == [3.0, 3.0]
    c = Further([4.0])
    assert type(c) is Further and c.mark == "further" and type(c.clone()) is Further

    class Weight(t.nn.Parameter):
        def __new__(cls, data: Any, k: int = 1) -> Any:
            made = super().__new__(cls, data, True)
            made.k = k
            return made

    w = Weight(t.ones(2), 5)
    assert type(w) is Weight and w.k == 5 and w.requires_grad and w.is_leaf
    assert t.Tensor(2).shape == (2,) and (t.ones(2) + t.Tensor([1.0, 2.0])).tolist() == [2.0, 3.0]
    layer = t.nn.Linear(2, 1)
    layer(t.ones(1, 2)).sum().backward()
    assert layer.weight.grad.tolist() == [[1.0, 1.0]]
    assert t.nn.LazyLinear(2)(t.ones(3, 4)).shape == (3, 2), "classes of their own take what they took"
    assert t.nn.Buffer(t.ones(2), persistent=False).tolist() == [1.0, 1.0]
