"""Complex arrays as arguments and results of compiled functions: native code takes and makes them as they lie."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pullback import grad, jit, value_and_grad
from pullback.compiler.backend.entries.native import entry_count
from pullback.compiler.backend.kernel import compile_graph
from pullback.compiler.ir.graph import evaluate
from pullback.compiler.ir.text import parse
from tests.fenced import array as fenced

RNG = np.random.default_rng(0)
SHAPES = [(1,), (7,), (), (0,), (3, 4), (2, 3, 17)]


def numbers(shape: tuple[int, ...], dtype: Any = np.complex128) -> Any:
    return np.asarray(RNG.normal(size=shape) + 1j * RNG.normal(size=shape), dtype)


def natively(function: Any, *args: Any) -> Any:
    """What the third call gives, which native code takes: the slow path may not be asked for it."""
    for _ in range(2):
        function(*args)
    assert entry_count(function) > 0, "there is no native entry"
    slow, kind = type(function).__slow__, type(function)
    kind.__slow__ = lambda *_, **__: pytest.fail("the call has come to Python")
    try:
        return function(*args)
    finally:
        kind.__slow__ = slow


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
def test_calls_are_native(shape: tuple[int, ...], dtype: Any) -> None:
    z, w = numbers(shape, dtype), numbers(shape, dtype)
    x = np.asarray(RNG.normal(size=shape), z.real.dtype)
    programs: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
        (lambda z: z * z, (z,)), (lambda z, x, w: (x * z, np.real(w), w), (z, x, w)),
        (lambda p: {"b": p["a"] * p["w"], "c": [p["x"], p["a"]]}, ({"a": z, "w": w, "x": x},)),
        (lambda z: (z, z), (z,)), (lambda z: (np.real(z), z, np.imag(z)), (z,)), (lambda x: x * 1j, (x,)),
        (lambda z: np.sum(np.abs(z)), (z,)),
    ]  # fmt: skip
    for program, args in programs:
        got, want = natively(jit(program), *args), program(*args)
        _same(got, want, 1e-14 if dtype is np.complex128 else 1e-6)


def _same(got: Any, want: Any, tolerance: float) -> None:
    if isinstance(want, dict):
        assert list(got) == list(want)
        got, want = list(got.values()), list(want.values())
    if isinstance(want, (list, tuple)):
        assert len(got) == len(want)
        for g, w in zip(got, want, strict=True):
            _same(g, w, tolerance)
        return
    assert np.asarray(got).dtype == np.asarray(want).dtype and np.shape(got) == np.shape(want)
    np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)


def test_gradients_are_native_and_right() -> None:
    z, x = numbers((6,)), RNG.normal(size=6)

    def loss(z, x):
        return np.sum(np.abs(z * x + np.exp(z)) ** 2)

    slope, other = natively(grad(loss, (0, 1)), z, x)
    h = 1e-6
    for k in range(6):
        for direction in (1, 1j):
            step = np.zeros(6, complex)
            step[k] = h * direction
            change = (loss(z + step, x) - loss(z - step, x)) / (2 * h)
            part = slope[k].real if direction == 1 else slope[k].imag
            assert abs(part - change) < 1e-6 * max(1, abs(change))
    assert other.dtype == np.float64
    second = grad(lambda z: np.sum(np.abs(grad(loss)(z, x)) ** 2))
    step = numbers((6,))

    def norm(z):
        return np.sum(np.abs(grad(loss)(z, x)) ** 2)

    change = (norm(z + h * step) - norm(z - h * step)) / (2 * h)
    assert abs(np.real(np.vdot(second(z), step)) - change) < 1e-6 * abs(change)


def test_other_layouts_come_by_another_way() -> None:
    function: Any = jit(lambda z: z[0] * 2 + z[1])
    z = numbers((4, 6))
    natively(function, z)
    for other in (np.asfortranarray(z), numbers((8, 6))[::2], z[::-1], z.astype(">c16"), np.conj(z)):
        np.testing.assert_allclose(function(other), other[0] * 2 + other[1], rtol=1e-15)
    assert function(z.real.copy()).dtype == np.float64
    assert function(z.astype(np.complex64)).dtype == np.complex64


def test_calls_in_python_take_the_same() -> None:
    """Where there is no entry, as by the first calls of some sizes, parts are put together for the kernel."""
    for shape in SHAPES:
        z, w = numbers(shape), numbers(shape, np.complex64)
        function: Any = jit(lambda z, w: {"a": (z * 2, np.real(w)), "b": w, "c": np.sum(z)})
        want = function(z, w)
        signature, leaves = function.flatten((z, w), {})
        got = function.compiled(signature).run(leaves)
        _same(got, want, 0)
        assert got["a"][0].shape == shape and got["b"].dtype == np.complex64


def test_arrays_from_outside() -> None:
    """One that is a view, what is written to it, and NaN, which is equal to nothing."""
    held = numbers((5, 2)).reshape(2, 5)[1]
    z = numbers((5,))
    function: Any = value_and_grad(lambda z: np.real(np.vdot(held, z)))
    value, slope = natively(function, z)
    assert abs(value - np.vdot(held, z).real) < 1e-14
    np.testing.assert_allclose(slope, held, rtol=1e-15)
    held[2] = 3 - 1j
    np.testing.assert_allclose(function(z)[1], held, rtol=1e-15)
    held[0] = complex(np.nan, 1)
    function(z)
    compiled = function._latest
    for _ in range(3):
        assert np.isnan(function(z)[1][0])
    assert function._latest is compiled


def test_a_transform_gets_the_memory_itself() -> None:
    z = numbers((16,))
    function: Any = jit(lambda z: np.fft.ifft(np.fft.fft(z), norm="forward"))
    np.testing.assert_allclose(natively(function, z), 16 * z, rtol=1e-14)
    text = str(function.ir("loops"))
    assert text.count("external") == 2 and "for " not in text, text


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
@pytest.mark.parametrize("axes", [(0,), (1,), (-1,), (0, 1), (2, 0)])
def test_transforms_write_where_the_result_lies(dtype: Any, axes: tuple[int, ...]) -> None:
    z = numbers((4, 3, 5), dtype)
    real = np.ascontiguousarray(z.real)
    for name, given in (("fftn", z), ("ifftn", z), ("rfftn", real), ("irfftn", z)):
        function = getattr(np.fft, name)
        got, want = natively(jit(lambda v, f=function: f(v, axes=axes)), given), function(given, axes=axes)
        assert got.dtype == want.dtype and got.shape == want.shape
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-14 if dtype is np.complex128 else 1e-6)


@pytest.mark.parametrize("at_end", [False, True])
@pytest.mark.parametrize("dtype", ["f64", "f32", "i64", "i32", "bool"])
@pytest.mark.parametrize("step", [2, 3, 4, 5])
def test_elements_a_few_places_apart(step: int, dtype: str, at_end: bool) -> None:
    """Picked out of vectors and put between others, at all lengths, with nothing touched beyond the first and last."""
    kind = {"f64": np.float64, "f32": np.float32, "i64": np.int64, "i32": np.int32, "bool": np.bool_}[dtype]
    for n in (1, 2, 7, 8, 9, 15, 16, 17, 33, 64, 67, 131):
        picked = (n - 1) * step + 1
        graph = parse(f"""graph @f(%x: {dtype}[{picked}], %y: {dtype}[{n}]) {{
  %0: {dtype}[{n}] = slice %x {{shape=({n},), start=(0,), step=({step},)}}
  %1: {dtype}[{picked}] = pad %y {{shape=({picked},), start=(0,), step=({step},)}}
  %2: {dtype}[{n},1] = reshape %y {{shape=({n}, 1)}}
  %3: {dtype}[{n},1] = reshape %0 {{shape=({n}, 1)}}
  %4: {dtype}[{n},2] = concatenate %2, %3 {{axis=1}}
  return %0, %1, %4
}}""")
        x = (RNG.normal(size=picked) * 9).astype(kind)
        y = (RNG.normal(size=n) * 9).astype(kind)
        given = [fenced(x, at_end), fenced(y, at_end)]
        into = {k: fenced(np.asarray(made), at_end) for k, made in enumerate(evaluate(graph, [x, y]))}
        wanted = {k: made.copy() for k, made in into.items()}
        for made in into.values():
            made[...] = 0
        compile_graph(graph).run(given, into)
        for k, want in wanted.items():
            np.testing.assert_array_equal(into[k], want)
