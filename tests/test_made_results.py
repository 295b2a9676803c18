"""What compiled functions return beside arrays: containers of every type made anew at each call, or a refusal."""

import array
import collections
import dataclasses
import datetime
import functools
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pullback.compiler.frontend.errors import TraceError
from pullback.runtime.control import scan
from pullback.runtime.transforms import grad, jit, value_and_grad


@dataclasses.dataclass
class Pair:
    a: Any
    b: Any = None


@dataclasses.dataclass(frozen=True)
class Frozen:
    a: Any


@dataclasses.dataclass(slots=True)
class Slotted:
    a: Any


class Listed(list):
    pass


class Titled(dict):
    def __init__(self, title: Any, **items: Any) -> None:
        super().__init__(**items)
        self.title = title


class Row(tuple):
    pass


Point = collections.namedtuple("Point", "x y")


class Located(Point):
    __slots__ = ()


class Plain:
    def __init__(self, held: Any) -> None:
        self.held = held


MADE: dict[str, Callable[[Any], Any]] = {
    "OrderedDict": lambda x: collections.OrderedDict(s=x, t=[x]), "Counter": lambda x: collections.Counter(a=x),
    "defaultdict": lambda x: collections.defaultdict(int, s=x), "deque": lambda x: collections.deque([x, 1], 5),
    "list": lambda x: Listed([x, 1]), "dict": lambda x: Titled(x, a=x), "tuple": lambda x: Row((x, 1)),
    "namedtuple": lambda x: Point(x, 1), "subclass of namedtuple": lambda x: Located(x, 1),
    "dataclass": lambda x: Pair(x, [x]), "frozen": lambda x: Frozen(x), "slots": lambda x: Slotted(x),
    "namespace": lambda x: types.SimpleNamespace(a=x, b=[x]), "constant": lambda x: (x, collections.Counter(a=1)),
    "proxy": lambda x: types.MappingProxyType({"a": x}), "UserDict": lambda x: collections.UserDict(a=x),
    "nested": lambda x: {"a": collections.OrderedDict(b=[Pair(x, collections.deque([x]))])},
    "set": lambda x: (x, {1, 2}), "bytearray": lambda x: (x, bytearray(b"ab")), "keys": lambda x: {1: x, (2, 3): x},
    "array": lambda x: (x, array.array("d", [1.0])), "date": lambda x: (x, datetime.date(2020, 1, 1)),
}  # fmt: skip


def walked(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def f(x):
        for _ in range(1):
            x = x + 0.0
        return function(x)

    return f


@pytest.mark.parametrize("name", MADE)
def test_containers_come_back_as_they_are_made(name: str) -> None:
    function = MADE[name]
    for each in (function, walked(function)):
        f = jit(each)
        made = [f(x) for x in (2.0, 2.0, 3.0)]
        for x, found in zip((2.0, 2.0, 3.0), made, strict=True):
            wanted = function(x)
            assert type(found) is type(wanted) and found == wanted
            assert getattr(found, "title", x) == x and getattr(found, "maxlen", 5) in (5, None)
        inner = made[0] if type(made[0]) is not tuple else made[0][1]
        other = made[1] if type(made[1]) is not tuple else made[1][1]
        assert inner is not other or isinstance(inner, (datetime.date, float))


@pytest.mark.parametrize("name", ["OrderedDict", "deque", "dataclass", "namespace", "dict", "nested"])
def test_the_same_beside_a_gradient(name: str) -> None:
    make = MADE[name]
    slope = grad(lambda x: (x * x, make(x)), has_aux=True)
    both = value_and_grad(lambda x: (x * x, make(x)), has_aux=True)
    for x in (2.0, 3.0):
        assert slope(x) == (2 * x, make(x))
        assert both(x) == ((x * x, make(x)), 2 * x)
    assert jit(lambda x: grad(lambda y: (y * y, make(y)), has_aux=True)(x)[1])(3.0) == make(3.0)


REFUSED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "set": (lambda x: {x}, "a set"), "frozenset": (lambda x: frozenset([x]), "a frozenset with a traced value"),
    "key": (lambda x: {x: 1}, "dict"), "values": (lambda x: {"a": x}.values(), "a dict_values"),
    "iterator": (lambda x: (x, iter([1])), "a list_iterator"), "map": (lambda x: map(str, [1]), "a map"),
    "zip": (lambda x: zip([x], [x], strict=True), "a zip"),
    "object": (lambda x: Plain(x), "a Plain with a traced value"),
    "function": (lambda x: lambda y: y * x, "a function with a traced value"),
    "partial": (lambda x: functools.partial(max, x), "a partial with a traced value"),
    "method": (lambda x: Plain(x).__init__, "a method with a traced value"),  # type: ignore[misc]
    "exception": (lambda x: ValueError(x), "a ValueError with a traced value"),
    "class": (lambda x: type("T", (), {"held": x}), "a type with a traced value"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_made_anew_is_refused(name: str) -> None:
    function, what = REFUSED[name]
    for each in (function, lambda x: grad(lambda y: (y * y, function(y)), has_aux=True)(x)):
        with pytest.raises(TraceError, match=what) as error:
            jit(each)(1.0)
        assert "fix: return" in str(error.value) or "fix: use" in str(error.value)


@pytest.mark.parametrize("function", [lambda x: zip([x], [x], strict=True), lambda x: lambda y: y * x])
def test_walked_functions_refuse_what_is_ours_alone(function: Callable[[Any], Any]) -> None:
    with pytest.raises(TraceError, match="returned"):
        jit(walked(function))(1.0)


def test_constants_are_not_shared_by_calls() -> None:
    for make in (lambda: [1, [2]], lambda: Pair(1, [2]), lambda: {"a": [2]}, lambda: collections.deque([[2]])):
        f = jit(lambda x, make=make: (x, make()))
        first: Any = f(1.0)[1]
        changed = first[-1] if isinstance(first, (list, collections.deque)) else getattr(first, "b", None) or first["a"]
        changed.append(3)
        assert f(1.0)[1] == make()
    f = jit(lambda x: (x, Plain([2])))
    f(1.0)[1].held.append(3)
    assert f(1.0)[1].held == [2]


LIST, PLAIN = [1, 2], Plain(3)


def test_what_was_there_before_comes_back_itself() -> None:
    assert jit(lambda x: (x, LIST))(1.0)[1] is LIST
    assert jit(lambda x: (x, PLAIN))(1.0)[1] is PLAIN
    assert jit(lambda x, given: (x, given))(1.0, PLAIN)[1] is PLAIN
    f = jit(lambda x: (x, LIST))
    LIST.append(3)
    assert f(1.0)[1] == [1, 2, 3]
    LIST.remove(3)


@pytest.mark.parametrize("make", [Plain, lambda c: frozenset([c])])
def test_loops_refuse_to_carry_what_they_cannot(make: Callable[[Any], Any]) -> None:
    with pytest.raises(TraceError, match="with a traced value in it"):
        jit(lambda x: scan(lambda c, e: (c * 2, make(c)), x, np.ones(3)))(1.0)


def test_loops_carry_and_stack_containers_of_all_sorts() -> None:
    stacked = jit(lambda x: scan(lambda c, e: (c * 2, collections.deque([c])), x, np.ones(3))[1])(1.0)
    assert type(stacked) is collections.deque and stacked[0].tolist() == [1.0, 2.0, 4.0]
    last = jit(lambda x: scan(lambda c, e: (Pair(c.b, c.a * e), None), Pair(x, 2 * x), np.full(3, 2.0))[0])(1.0)
    assert type(last) is Pair and (last.a, last.b) == (4.0, 4.0)
