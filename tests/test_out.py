"""`out=`: where results go, what is refused, and what overlaps."""

from __future__ import annotations

import gc
import sys
from collections import namedtuple
from typing import Any

import numpy as np
import pytest

from pullback import Tensor, grad, hessian, hvp, jit, value_and_grad, vjp
from pullback.compiler.backend.entries.native import entry_count, install
from pullback.compiler.backend.entries.specs import ArrayResult, ArraySpec
from pullback.compiler.backend.entries.text import Named, entry_text
from pullback.compiler.backend.linking.module import link
from pullback.compiler.backend.machine import compile_object
from pullback.compiler.frontend.errors import TraceError
from tests.entries import Recorded, elementwise


def thrice(f: Any, *args: Any, **kwargs: Any) -> Any:
    """A call that compiles, one that makes an entry, and one that enters natively."""
    first, second = f(*args, **kwargs), f(*args, **kwargs)
    before = entry_count(f)
    third = f(*args, **kwargs)
    assert entry_count(f) == before
    assert first is second is third
    return third


def parameters() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    return {"w": rng.normal(size=(3, 4)), "b": rng.normal(size=4)}


@value_and_grad
def loss(p):
    return np.sum(np.tanh(p["w"] + p["b"]))


# Where results go


@pytest.mark.parametrize("kind", [np.bool_, np.int32, np.int64, np.float32, np.float64])
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0,), (2, 0, 3)])
def test_an_array_takes_the_result_and_is_returned(kind: type, shape: tuple[int, ...]) -> None:
    f: Any = jit(lambda x: np.where(x > 0, x, x[..., None][..., 0]))
    x = np.asarray(np.random.default_rng(0).integers(0, 2, shape)).astype(kind)
    y = np.full(shape, True).astype(kind)
    assert thrice(f, x, out=y) is y and y.dtype == kind
    assert np.array_equal(y, x)


def test_a_scalar_result_goes_to_an_array_without_axes() -> None:
    f, x, y = jit(lambda x: np.sum(x)), np.arange(3.0), np.zeros(())
    assert thrice(f, x, out=y) is y and y == 3.0
    g, z = grad(lambda x: x * x), np.zeros(())
    assert thrice(g, 3.0, out=z) is z and z == 6.0


def test_none_is_no_out() -> None:
    f, x = jit(lambda x: 2 * x), np.arange(3.0)
    assert np.array_equal(f(x, out=None), 2 * x) and np.array_equal(f(x, out=None), f(x))


def test_containers_without_none_are_returned_themselves() -> None:
    p, q = parameters(), parameters()
    out = (np.zeros(()), q)
    value, slope = loss(p)
    for _ in range(3):
        made = loss(p, out=out)
        assert made is out and out[0] == value and made[1] is q
        assert all(np.array_equal(q[k], slope[k]) for k in p)
        q["w"][...], q["b"][...] = 0, 0


def test_none_within_a_container_is_a_fresh_result() -> None:
    p, q = parameters(), parameters()
    value, slope = loss(p)
    w = q["w"]
    for _ in range(3):
        made = loss(p, out=(None, {"b": None, "w": w}))
        assert type(made) is tuple and made[0] == value and type(made[0]) is np.float64
        assert list(made[1]) == ["w", "b"] and made[1]["w"] is w
        assert made[1]["b"] is not p["b"] and np.array_equal(made[1]["b"], slope["b"])
    for _ in range(3):
        made = loss(p, out=(None, None))
        assert made[0] == value and np.array_equal(made[1]["w"], slope["w"])


def test_dicts_may_have_their_keys_in_any_order() -> None:
    p = parameters()
    q = dict(reversed(parameters().items()))
    for _ in range(3):
        made = loss(p, out=(None, q))
        assert made[1] is q and np.array_equal(q["b"], loss(p)[1]["b"])


def test_lists_constants_and_namedtuples() -> None:
    pair = namedtuple("pair", "a b")
    f = jit(lambda x: [x, "name", (2 * x,)])
    x, y, z = np.arange(3.0), np.zeros(3), np.zeros(3)
    for _ in range(3):
        made = f(x, out=[y, None, (z,)])
        assert made[0] is y and made[1] == "name" and made[2][0] is z and z[2] == 4.0
    g, given = jit(lambda x: pair(x, 3 * x)), pair(y, z)
    assert g(x, out=given) is given and z[1] == 3.0
    made = g(x, out=pair(None, z))
    assert type(made) is pair and made.b is z and np.array_equal(made.a, x)


def test_every_transform_takes_out() -> None:
    x, v, y = np.array([1.0, 2.0]), np.array([1.0, 0.0]), np.zeros(2)

    def f(x):
        return np.sum(x**3)

    assert thrice(grad(f), x, out=y) is y and np.array_equal(y, 3 * x**2)
    assert thrice(hvp(f), x, v, out=y) is y and np.array_equal(y, [6.0, 0.0])
    h = np.zeros((2, 2))
    assert hessian(f)(x, out=h) is h and np.array_equal(h, np.diag(6 * x))
    zero = np.zeros(())
    assert hessian(lambda x: x**3)(2.0, out=zero) is zero and zero == 12.0
    value, pullback = vjp(np.sin, x, out=y)
    assert value is y and np.array_equal(y, np.sin(x))
    slope = np.zeros(2)
    assert pullback(v, out=(slope,))[0] is slope and np.allclose(slope, np.cos(x) * v)
    with pytest.raises(ValueError, match=r"f: out has shape \(2,\), expected \(2, 2\)"):
        hessian(f)(x, out=y)
    with pytest.raises(TypeError, match=r"out of a pullback is .* expected a tuple of 1"):
        pullback(v, out=slope)


def test_subclasses_of_arrays_take_results(tmp_path) -> None:
    f, x = jit(lambda x: 2 * x), np.arange(3.0)
    file = np.memmap(tmp_path / "data", np.float64, "w+", shape=3)
    for _ in range(3):
        assert f(x, out=file) is file and np.array_equal(np.asarray(file), 2 * x)


def test_functions_with_hidden_arrays_take_out() -> None:
    scale = np.array([1.0, 2.0, 3.0])
    f = jit(lambda x: x * scale)
    x, y = np.ones(3), np.zeros(3)
    for k in range(4):
        scale[0] = k
        assert f(x, out=y) is y and np.array_equal(y, scale)
    assert f(x, out=scale) is scale and np.array_equal(f(x), scale)


def test_an_out_parameter_of_the_function_is_its_own() -> None:
    @jit
    def f(x, out):
        return x + out

    @jit
    def g(x, **more):
        return x + more["out"]

    assert f(1.0, out=2.0) == 3.0 and g(1.0, out=2.0) == 3.0
    y = np.zeros(2)
    assert jit(np.sin)(np.ones(2), out=y) is y and y[0] == np.sin(1.0)


def test_methods_and_keywords() -> None:
    class Model:
        scale = 3.0

        @jit
        def run(self, x, shift=0.0):
            return self.scale * x + shift

    model, x, y = Model(), np.ones(2), np.zeros(2)
    for _ in range(3):
        assert model.run(x, out=y) is y and y[0] == 3.0
        assert model.run(x, shift=1.0, out=y) is y and y[0] == 4.0
        assert model.run(x=x, out=y) is y and y[0] == 3.0


# What is refused


def bad_arrays() -> list[tuple[Any, type[Exception], str]]:
    fixed = np.zeros(3)
    fixed.flags.writeable = False
    raw = np.zeros(25, np.uint8)[1:].view(np.float64)
    return [
        (3.0, TypeError, r"out is a float, expected an array of float64, shape \(3,\), or None"),
        ([np.zeros(3)], TypeError, "out is a list, expected an array"),
        (np.ma.zeros(3), TypeError, "out is a MaskedArray"),
        (np.zeros(3, np.float32), TypeError, "out is an array of float32, expected float64"),
        (np.zeros(3, ">f8"), TypeError, "out is an array of >f8, expected float64"),
        (np.zeros(3, int), TypeError, "out is an array of int64"),
        (np.zeros(4), ValueError, r"out has shape \(4,\), expected \(3,\)"),
        (np.zeros((3, 1)), ValueError, r"out has shape \(3, 1\)"),
        (np.zeros(6)[::2], ValueError, "out is not C-contiguous and aligned"),
        (raw, ValueError, "out is not C-contiguous and aligned"),
        (fixed, ValueError, "out is read-only"),
        (Tensor([1.0, 2.0, 3.0]), TypeError, "out is a Tensor"),
    ]


@pytest.mark.parametrize("entered", [False, True])
@pytest.mark.parametrize(("given", "kind", "text"), bad_arrays())
def test_arrays_that_do_not_fit_are_refused(given: Any, kind: type[Exception], text: str, entered: bool) -> None:
    f, x = jit(lambda x: 2 * x), np.arange(3.0)
    if entered:
        f(x, out=np.zeros(3))
    with pytest.raises(kind, match=text):
        f(x, out=given)


def bad_trees() -> list[tuple[Any, type[Exception], str]]:
    p = parameters()
    w, b = p["w"], p["b"]
    return [
        ([None, p], TypeError, "out is a list of 2, expected a tuple of 2, or None"),
        ((None, p, None), TypeError, "out is a tuple of 3, expected a tuple of 2"),
        (p, TypeError, "out is a dict, expected a tuple of 2"),
        ((None, w), TypeError, r"out\[1\] is an ndarray, expected a dict with the keys \['w', 'b'\]"),
        ((None, {"w": w}), TypeError, r"out\[1\] is a dict with the keys \['w'\]"),
        ((None, {**p, "c": b}), TypeError, r"out\[1\] is a dict with the keys"),
        ((None, {"w": b, "b": b}), ValueError, r"out\[1\]\['w'\] has shape \(4,\), expected \(3, 4\)"),
        ((None, {"w": w, "b": w[1]}), ValueError, "share memory"),
        ((b, p), ValueError, r"out\[0\] has shape \(4,\), expected \(\)"),
    ]


@pytest.mark.parametrize("entered", [False, True])
@pytest.mark.parametrize(("given", "kind", "text"), bad_trees())
def test_trees_that_do_not_fit_are_refused(given: Any, kind: type[Exception], text: str, entered: bool) -> None:
    f = value_and_grad(lambda p: np.sum(np.tanh(p["w"] + p["b"])))
    if entered:
        f(parameters(), out=(None, parameters()))
    with pytest.raises(kind, match=text):
        f(parameters(), out=given)


def test_constants_tensors_and_odd_dicts_have_no_place() -> None:
    x = np.zeros(3)
    with pytest.raises(TypeError, match=r"out\[1\] must be None, because this part of the result is 'name'"):
        jit(lambda x: (x, "name"))(x, out=(x, "name"))
    with pytest.raises(TypeError, match="out must be None, because this part of the result is a Tensor"):
        jit(lambda x: 2 * x)(Tensor([1.0]), out=np.zeros(1))
    with pytest.raises(TypeError, match="a dict whose keys are not strings"):
        jit(lambda x: {1: x})(x, out={1: x})


def test_out_within_a_traced_function_is_refused() -> None:
    inside, y = jit(lambda x: 2 * x), np.zeros(3)
    outer = jit(lambda x: inside(x, out=y))
    with pytest.raises(TypeError, match="out was given inside a function that is being traced"):
        outer(np.ones(3))


# What overlaps


@pytest.mark.parametrize("shift", [-3, -1, 0, 1, 3])
def test_memory_of_an_argument(shift: int) -> None:
    f = jit(lambda x, y: np.flip(x) + np.sum(y))
    for _ in range(3):
        whole, y = np.arange(12.0), np.arange(3.0)
        x, out = whole[4:8], whole[4 + shift : 8 + shift]
        wanted = np.flip(x) + 3.0
        assert f(x, y, out=out) is out and np.array_equal(out, wanted)
        other = np.arange(12.0)
        other[4 + shift : 8 + shift] = wanted
        assert np.array_equal(whole, other)


def test_two_results_over_two_arguments() -> None:
    f = jit(lambda x, y: (x + 2 * y, x - y))
    for _ in range(3):
        x, y = np.arange(300.0), np.ones(300)
        a, b = x + 2 * y, x - y
        made = f(x, y, out=(y, x))
        assert made[0] is y and np.array_equal(y, a) and np.array_equal(x, b)


def test_large_arrays_updated_in_place() -> None:
    f = jit(lambda x: np.flip(x) * 2.0)
    x = np.arange(100_000.0)
    for k in range(1, 4):
        assert f(x, out=x) is x
        assert x[0] == 2.0**k * (99_999.0 if k % 2 else 0.0)


def aliasing(aliases: dict[int, int]) -> tuple[Recorded, str]:
    """y = x + 1, correct where y is x: told by what it writes if the two are the same."""
    kernel = """
    define i64 @k(ptr %x, ptr %z, ptr %y, ptr %report) nounwind {
      %v = load double, ptr %x
      %same = icmp eq ptr %x, %y
      %step = select i1 %same, double 100.0, double 1.0
      %w = fadd double %v, %step
      store double %w, ptr %y
      ret i64 0
    }
    """
    spec = ArraySpec("f64", (1,))
    named = Named(("out",), (0, 1), spec, aliases)
    entry = entry_text("e", "k", (spec, spec), ArrayResult(0, "f64", (1,)), named=named)
    made = Recorded()
    install(made, link(compile_object(kernel + entry.text, 0), entry.symbols, entry.exports), entry)
    return made, entry.text


def test_a_kernel_may_say_that_a_result_shares_the_memory_of_an_argument() -> None:
    x, z, y = np.array([1.0]), np.array([5.0]), np.zeros(1)
    assert aliasing({})[0](x, z, out=x)[0] == 2.0
    f, _ = aliasing({0: 0})
    x = np.array([1.0])
    assert f(x, z, out=y)[0] == 2.0 and f(x, z, out=x)[0] == 101.0
    assert f(z, x, out=x)[0] == 6.0
    x = np.array([1.0])
    assert f(x, x, out=x)[0] == 2.0, "the other argument is there, too"


def test_python_knows_the_same_aliases(monkeypatch) -> None:
    f: Any = jit(lambda x: x + 1)
    x = np.zeros(3)
    f(x)
    kernel = f._latest.kernel
    seen: list[dict[int, np.ndarray]] = []
    run = type(kernel).run

    def noted(self, arrays, into):
        seen.append(dict(into))
        return run(self, arrays, into)

    monkeypatch.setattr(type(kernel), "run", noted)
    assert kernel.aliases == {0: 0}
    f(x, out=x)
    assert seen[0][0] is x and np.array_equal(x, np.ones(3))
    g = jit(lambda x: np.flip(x) + 1)
    g(x, out=x)
    assert seen[1] == {} and np.array_equal(x, np.full(3, 2.0))


# Failures and lifetime


def test_a_failing_kernel_raises_and_keeps_no_memory() -> None:
    f = jit(lambda x, i: x[i] * 2.0)
    x, i, y = np.arange(1000.0), np.array([1, 2]), np.zeros(2)
    f(x, i, out=y)
    i[1] = 5000
    for given in (y, x[3:5]):
        with pytest.raises(IndexError, match="5000"):
            f(x, i, out=given)


def test_references_are_given_back() -> None:
    p, q = parameters(), parameters()
    zero = np.zeros(())
    outs: list[Any] = [(None, q), (zero, q), (None, {**q, "b": None}), (zero, None)]
    for out in outs:
        loss(p, out=out)
    held = [zero, q, q["w"], q["b"], *outs, p["w"]]
    gc.collect()
    before = [sys.getrefcount(each) for each in held]
    for _ in range(50):
        for out in outs:
            loss(p, out=out)
            loss(p, out=(None, {"w": p["w"], "b": q["b"]}))
    gc.collect()
    assert [sys.getrefcount(each) for each in held] == before


def test_entries_without_room_go_on() -> None:
    kernel = elementwise(["f64"], [3], [0])
    spec = ArraySpec("f64", (3,))
    entry = entry_text("e", "k", (spec,), ArrayResult(0, "f64", (3,)), named=Named(("out",), (0,), spec))
    f = Recorded()
    install(f, link(compile_object(kernel + entry.text, 0), entry.symbols, entry.exports), entry)
    x, y = np.arange(3.0), np.zeros(3)
    assert f(x, out=y) is y and np.array_equal(x, y)
    ways = [{}, {"out": None}, {"to": y}, {"out": y, "to": y}, {"out": y[::-1]}]
    for args, kwargs in [((x, y), {}), ((), {"out": y}), *(((x,), way) for way in ways)]:
        assert f(*args, **kwargs)[0] == "slow"


# Results that contain themselves


def test_a_result_that_contains_itself_is_told() -> None:
    @jit
    def f(x):
        found = [x]
        found.append(found)
        return found

    with pytest.raises(TraceError, match=r"more than 100 nested containers, or one within itself\n  at .*test_out"):
        f(1.0)
