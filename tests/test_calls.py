"""Kernels without native entries: called with arrays at hand, and through ctypes."""

from __future__ import annotations

import importlib.util
import sys
import types
from typing import Any

import numpy as np
import pytest

from pullback.compiler.backend import python_abi, tiers
from pullback.compiler.backend.entries import calls, native
from pullback.compiler.backend.entries.calls import CtypesEntry, call_kernel, launcher
from pullback.compiler.backend.entries.specs import (
    ArrayResult,
    ArraySpec,
    BoolResult,
    ConstantResult,
    DictResult,
    DictSpec,
    FloatResult,
    FloatSpec,
    IntResult,
    IntSpec,
    ListResult,
    ListSpec,
    ScalarResult,
    StaticSpec,
    TupleResult,
    TupleSpec,
)
from pullback.compiler.backend.linking.module import link
from pullback.compiler.backend.machine import compile_object
from tests.entries import (
    TWICE,
    Derived,
    Recorded,
    awkward_arrays,
    elementwise,
    linked_entry,
    slow,
    total_references,
)

# Kernels without entries

def test_kernels_are_called_with_arrays() -> None:
    linked, made = linked_entry(TWICE, (FloatSpec(),), FloatResult(0))
    x, y = np.array(4.0), np.empty(())
    assert call_kernel(linked.address(made.kernel), [x], [y]) == (0, (0, 0, 0, 0)) and y == 8.0
    assert call_kernel(linked.address(made.kernel), [np.array(-4.0)], [y]) == (5, (70, -71, 0, 0))
    alone = link(compile_object(TWICE), {}, ["k"])
    assert call_kernel(alone, [x], [y])[0] == 0
    for wrong in ([x], [x, y, y], [x, None], [x, 1.0], [x, np.ones(4)[::2]], [x, y.view(Derived)]):
        with pytest.raises(TypeError, match="kernel takes an address and arrays"):
            launcher(2)(linked.address("k"), *wrong)
    with pytest.raises(TypeError, match="kernel takes"):
        launcher(2)("address", x, y)
    assert launcher(2, release_gil=True)(linked.address("k"), x, y) is None


def test_launching_leaks_nothing() -> None:
    linked, _ = linked_entry(TWICE, (FloatSpec(),), FloatResult(0))
    x, bad, y, address = np.array(4.0), np.array(-4.0), np.empty(()), linked.address("k")
    launch = launcher(2)
    launch(address, x, y)
    tiers.settle()  # another thread would change the counts too
    before, blocks = total_references([x, bad, y, address, None]), sys.getallocatedblocks()
    for _ in range(20_000):
        launch(address, x, y)
        launch(address, bad, y)
    assert total_references([x, bad, y, address, None]) == before
    assert abs(sys.getallocatedblocks() - blocks) < 50


# The way without knowledge of objects

@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    """The module of functions as it is where the interpreter's objects are not known."""
    monkeypatch.setattr(python_abi, "SUPPORTED", False)
    monkeypatch.setattr(calls, "launcher", lambda count: calls._ctypes_launcher(count))
    spec = importlib.util.spec_from_file_location(f"{native.__package__}.plain", native.__file__)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def plain_function(plain: types.ModuleType, kernel: str, args: tuple, result: Any) -> Any:
    class Plain(plain.NativeFunction):
        __slow__, __failed__ = Recorded.__slow__, Recorded.__failed__

    f = Plain()
    linked, made = linked_entry(kernel, args, result)
    assert made.text == "" and made.exports == ("k",)
    plain.install(f, linked, made)
    return f


def test_the_ctypes_way_gives_the_same_results(plain: types.ModuleType) -> None:
    f = plain_function(plain, TWICE, (FloatSpec(),), FloatResult(0))
    assert f(1.5) == 3.0 and f(1) == slow(1) and f(1.5, k=1) == slow(1.5, k=1) and f() == slow()
    with pytest.raises(IndexError) as caught:
        f(-1.0)
    assert caught.value.args == (5, (70, -71, 0, 0))
    assert plain.entry_count(f) == 1
    plain.reset(f)
    assert f(1.5) == slow(1.5)

    class Holder:
        method = f

    holder = Holder()
    assert holder.method(2.0) == slow(holder, 2.0)


def test_the_ctypes_way_builds_every_kind(plain: types.ModuleType) -> None:
    spec = (DictSpec(("a", "b"), (ArraySpec("f32", (2, 3)), ListSpec((IntSpec(),)))),
            TupleSpec((StaticSpec(None), FloatSpec())))
    result = DictResult(("r", "s"), (
        TupleResult((ArrayResult(0, "f32", (2, 3)), IntResult(1), ScalarResult(2, "f64"))),
        ListResult((ConstantResult(len), BoolResult(3)))))
    f = plain_function(plain, elementwise(["f32", "i64", "f64"], [6, 1, 1], [0, 1, 2, 1]), spec, result)
    array = np.asfortranarray(np.arange(6, dtype=np.float32).reshape(2, 3))
    got = f({"b": [1], "a": array}, (None, 0.5))
    np.testing.assert_array_equal(got["r"][0], array)
    assert got["r"][1:] == (1, 0.5) and type(got["r"][2]) is np.float64
    assert got["s"] == [len, True]
    for wrong in (({"b": [1], "a": array}, (0, 0.5)), ({"b": [2**63], "a": array}, (None, 0.5)),
                  ({"b": (1,), "a": array}, (None, 0.5)), ({"b": [1]}, (None, 0.5)),
                  ({"b": [1], "a": array.astype(float)}, (None, 0.5)),
                  ({"b": [1], "a": array}, [None, 0.5]), ({"b": [1], "a": array}, (None, 1))):
        assert f(*wrong)[0] == "slow"


def test_the_ctypes_launcher_checks_arrays() -> None:
    launch = calls._ctypes_launcher(2)
    linked, _ = linked_entry(TWICE, (FloatSpec(),), FloatResult(0))
    x, y = np.array(4.0), np.empty(())
    assert launch(linked.address("k"), x, y) is None and y == 8.0
    assert launch(linked.address("k"), np.array(-4.0), y) == (5, (70, -71, 0, 0))
    with pytest.raises(TypeError, match="got 1 arrays, expected 2"):
        launch(linked.address("k"), x)
    with pytest.raises(TypeError, match=r"got a float64, expected a numpy\.ndarray"):
        launch(linked.address("k"), -x, y)
    with pytest.raises(TypeError, match="strided"):
        launch(linked.address("k"), np.ones(4)[::2], y)


def test_a_ctypes_entry_copies_awkward_arrays() -> None:
    kernel = elementwise(["f64"], [12], [0])
    args, result = (ArraySpec("f64", (3, 4)),), ArrayResult(0, "f64", (3, 4))
    linked, made = linked_entry(kernel, args, result)
    ctypes_entry = CtypesEntry(linked, made.kernel, args, result)
    for given in awkward_arrays():
        inputs = ctypes_entry.read((given,))
        accepted = (type(given) is np.ndarray and given.dtype == np.float64
                    and given.shape == (3, 4))
        assert (inputs is not None) == accepted
        if inputs is not None:
            np.testing.assert_array_equal(ctypes_entry.run(inputs, print), given)
