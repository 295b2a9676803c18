"""Dataclasses whose methods are written late: the same as others, whichever way the first object is made and met."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import subprocess
import sys
import threading
from dataclasses import field
from typing import Any

import pytest

from pullback.compiler.late_classes import late_dataclass


@late_dataclass(frozen=True)
class Point:
    """A point."""

    x: int
    y: float = 2.0


@late_dataclass(frozen=True)
class Longer(Point):
    items: list[int] = field(default_factory=list, compare=False)


def classes() -> tuple[Any, Any]:
    """A class of which there is no object, and one that is derived from it."""

    @late_dataclass(frozen=True)
    class First:
        x: int
        y: float = 2.0

        def __post_init__(self) -> None:
            assert self.x >= 0

    class Derived(First):
        def __init__(self) -> None:
            super().__init__(5)

    return First, Derived


def test_objects_are_those_of_a_dataclass() -> None:
    made = Longer(1, items=[3])
    assert made == Longer(1, 2.0, [4]) != Longer(2) and hash(made) == hash(Longer(1))
    assert repr(Point(1)) == "Point(x=1, y=2.0)" and repr(made) == "Longer(x=1, y=2.0, items=[3])"
    assert [each.name for each in dataclasses.fields(made)] == ["x", "y", "items"]
    assert dataclasses.replace(made, x=7) == Longer(7) and pickle.loads(pickle.dumps(made)).items == [3]
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.x = 3  # type: ignore[misc]
    match made:
        case Longer(x, y):
            assert (x, y) == (1, 2.0)
        case _:
            raise AssertionError
    assert Point.__doc__ == "A point."


@pytest.mark.parametrize("use", [
    repr, hash, lambda each: each == copy.copy(each), lambda each: setattr(each, "x", 3),
    lambda each: delattr(each, "x"),
])
def test_an_object_that_was_never_initialised_is_met_first(use) -> None:
    """As by unpickling, or copying."""
    first, derived = classes()
    for cls in (first, derived):
        one = object.__new__(cls)
        one.__dict__.update(x=1, y=2.0)
        try:
            found = use(one)
        except dataclasses.FrozenInstanceError:
            continue
        assert found in (True, repr(one), hash((1, 2.0))) and "x=1" in repr(one)


def test_a_derived_class_comes_first() -> None:
    first, derived = classes()
    assert derived().x == 5 and first(5) == first(5) and first(5).y == 2.0
    with pytest.raises(AssertionError):
        first(-1)


def test_without_frozen_there_is_no_hash_and_without_eq_identity() -> None:
    @late_dataclass()
    class Loose:
        x: int

    @late_dataclass(eq=False)
    class Same:
        x: int

    one = object.__new__(Loose)
    with pytest.raises(TypeError, match="unhashable type"):
        hash(one)
    with pytest.raises(TypeError, match="unhashable type"):
        hash(Loose(1))
    loose, same = Loose(1), Same(1)
    loose.x = same.x = 4
    assert loose == Loose(4) and same != Same(4) and hash(same) == object.__hash__(same)


def test_methods_of_the_class_itself_stay() -> None:
    @late_dataclass(frozen=True)
    class Own:
        x: int

        def __repr__(self) -> str:
            return "own"

        def __eq__(self, other: object) -> bool:
            return True

        __hash__ = object.__hash__

    assert repr(Own(1)) == "own" and Own(1) == Own(2) and Own.__hash__ is object.__hash__


def test_wrong_arguments_are_told_as_by_dataclasses() -> None:
    first, _ = classes()
    for _ in range(2):
        with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
            first()


def test_threads_that_make_the_first_objects_at_once() -> None:
    for _ in range(50):
        first, _ = classes()
        made: list[Any] = []
        barrier = threading.Barrier(4)

        def make(first: Any = first, made: list[Any] = made, barrier: threading.Barrier = barrier) -> None:
            barrier.wait()
            made.append(first(len(repr(first(1)))))

        threads = [threading.Thread(target=make) for _ in range(4)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        assert len(made) == 4 and len(set(made)) == 1


def test_dataclasses_are_derived_from_a_class_without_objects() -> None:
    first, _ = classes()

    @dataclasses.dataclass(frozen=True)
    class Further(first):
        z: int = 3

    assert [each.name for each in dataclasses.fields(Further)] == ["x", "y", "z"] and Further(1, z=2).z == 2
    first, _ = classes()

    @late_dataclass(frozen=True)
    class Late(first):
        z: int = 3

    assert repr(Late(1)).endswith("Late(x=1, y=2.0, z=3)")
    for k in range(2):
        assert dataclasses.is_dataclass(classes()[k]) and len(dataclasses.fields(classes()[k])) == 2
        one: Any = object.__new__(classes()[k])
        assert one.__match_args__ == ("x", "y")


@late_dataclass(frozen=True, slots=True)
class Thin:
    x: int
    y: float = 2.0
    items: list[int] = field(default_factory=list, compare=False)

    @property
    def double(self) -> int:
        return 2 * self.x


@late_dataclass(frozen=True, slots=True)
class Thinner(Thin):
    """A class whose first field is another by default."""

    x: int = 7
    z: int = 3


@dataclasses.dataclass(frozen=True, slots=True)
class Model:
    """What `dataclasses` makes of the same."""

    x: int
    y: float = 2.0
    items: list[int] = field(default_factory=list, compare=False)


def test_slots_are_those_of_a_dataclass() -> None:
    for cls in (Thin, Model):
        one = cls(1)
        assert cls.__slots__ == ("x", "y", "items") and not hasattr(one, "__dict__") and one.items == []
        assert cls(1) == cls(1, items=[3]) != cls(2) and hash(one) == hash(Model(1))
        assert repr(one) == f"{cls.__name__}(x=1, y=2.0, items=[])"
        assert pickle.loads(pickle.dumps(one)) == copy.deepcopy(one) == dataclasses.replace(one) == one
        with pytest.raises(dataclasses.FrozenInstanceError):
            one.x = 3  # type: ignore[misc]
        with pytest.raises((dataclasses.FrozenInstanceError, AttributeError, TypeError)):
            one.other = 3  # type: ignore[attr-defined]
    assert Thin(4).double == 8 and Thin.__qualname__ == "Thin" and Thin.__module__ == __name__


def test_slots_are_inherited_and_given_other_defaults() -> None:
    assert Thinner.__slots__ == ("z",) and Thinner().x == 7 and Thinner(1) == Thinner(1, z=3) != Thinner(1, z=4)
    assert repr(Thinner()) == "Thinner(x=7, y=2.0, items=[], z=3)" and not hasattr(Thinner(), "__dict__")
    assert pickle.loads(pickle.dumps(Thinner(z=5))) == Thinner(z=5) and "whose first" in str(Thinner.__doc__)
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
        Thin()  # type: ignore[call-arg]


def test_an_ordinary_start_leaves_most_classes_unfinished() -> None:
    program = (
        "import numpy as np, pullback\n"
        "pullback.grad(lambda x: np.sum(np.sin(x)))(np.ones(3))\n"
        "from pullback.compiler import late_classes\n"
        "assert len(late_classes._waiting) > 30, len(late_classes._waiting)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=300)
