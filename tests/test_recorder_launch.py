"""`launch`, which runs a kernel on values of a list and puts its results there."""

from __future__ import annotations

import gc
import sys
from typing import Any

import pytest

from pullback.runtime.tensor import recorder


def test_launch_puts_results_where_they_belong():
    values: list[Any] = ["a", "b", "c", None, None]
    given: list[Any] = []

    def kernel(arrays: list[Any]) -> Any:
        given.append(arrays)
        return ["".join(arrays), "second"]

    assert recorder.launch(kernel, values, (2, 0, 2), [1, 0], 3) is True
    assert given == [["c", "a", "c"]] and type(given[0]) is list
    assert values == ["a", "b", "c", "second", "cac"]
    assert recorder.launch(lambda _: [], values, [], (), 0) is True


@pytest.mark.parametrize("made", [None, (1,), "a", {}])
def test_launch_says_whether_it_ran(made):
    values = [1, 2]
    assert recorder.launch(lambda _: made, values, (0,), (1,), 0) is False and values == [1, 2]


def test_launch_refuses_wrong_arguments_and_results():
    def run(**wrong: Any) -> None:
        values = [1, 2, 3]
        given = {"kernel": lambda arrays: [arrays[0]], "values": values, "numbers": (0,), "results": (1,), "base": 1}
        given |= wrong
        with pytest.raises((TypeError, IndexError)):
            recorder.launch(*given.values())
        assert values == [1, 2, 3]

    for numbers in ((3,), (-1,), (0, 5), (2**62,), (2**70,), ("a",), (None,), 7, None, {0}, "0"):
        run(numbers=numbers)
    for results in ((2,), (-1,), (-2,), (2**62,), (2**70,), ("a",), (None,), 7, None, {0}, (), (0, 1)):
        run(results=results)
    for base in ("a", None, 1.5, 2, -2, 2**62, 2**70):
        run(base=base)
    for values in (None, (1, 2, 3), "abc", 5):
        run(values=values)
    for made in ([], [1, 2]):
        run(kernel=lambda _, made=made: made)
    run(kernel=5)
    launch: Any = recorder.launch
    for arguments in ((), (len, [1], (0,), (0,)), (len, [1], (0,), (0,), 0, 0)):
        with pytest.raises(TypeError):
            launch(*arguments)


def test_launch_hands_exceptions_on_and_leaks_nothing():
    values = [object(), None]

    def fail(arrays: list[Any]) -> Any:
        raise KeyError("kernel")

    def step() -> None:
        with pytest.raises(KeyError, match="kernel"):
            recorder.launch(fail, values, (0, 0), (0,), 1)
        with pytest.raises(IndexError):
            recorder.launch(list, values, (0, 9), (0, 1), 1)
        with pytest.raises(IndexError):
            recorder.launch(list, values, (0, 0), (0, 1), 1)
        with pytest.raises(TypeError):
            recorder.launch(list, values, (0, 0), (0,), 1)
        assert recorder.launch(tuple, values, (0, 0), (0,), 1) is False
        assert recorder.launch(list, values, (0,), (0,), 1) is True

    step()
    gc.collect()
    before = sys.getrefcount(values[0])
    for _ in range(1000):
        step()
    gc.collect()
    assert abs(sys.getrefcount(values[0]) - before) < 10
