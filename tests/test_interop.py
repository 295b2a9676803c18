"""What PyTorch and JAX are given, without either: flat functions, their derivatives, and the handler that XLA calls."""

from __future__ import annotations

import ctypes
import sys
from typing import Any

import numpy as np
import pytest

import pullback
from pullback.runtime.interop.flat import Flat
from pullback.runtime.interop.xla import Handler
from tests.compare import assert_close

X, Y = np.array([0.5, -1.0, 2.0]), np.array([1.0, 0.25, -0.5])
ROW = ("array", "f64", (3,))


def energy(x, y):
    return np.sum(np.tanh(x) * y**2) + np.sum(x) ** 2


def of_energy() -> Flat:
    return Flat(lambda x, y: (energy(x, y),), [ROW, ROW], "energy")


def two() -> Flat:
    return Flat(lambda x, n: (np.exp(x) * n, np.argmax(x), np.sum(x * x)), [ROW, ("array", "i64", ())], "two")


# ---- flat functions


def test_types_and_values() -> None:
    f = two()
    assert [str(t) for t in f.results] == ["f64[3]", "i64[]", "f64[]"]
    assert f.floats == (0,) and f.float_results == [0, 2] and not f.is_scalar and of_energy().is_scalar
    scaled, place, total = f.call([X, np.array(2)])
    assert_close(scaled, 2 * np.exp(X), relative=1e-15)
    assert place == 2 and total == np.sum(X * X)


def test_derivatives_are_those_of_the_transforms() -> None:
    f, n = two(), np.array(2)
    (pulled,) = f.pull((0,)).call([X, n, Y, np.array(3.0)])
    assert_close(pulled, Y * 2 * np.exp(X) + 6 * X, relative=1e-14)
    first, last = f.push((0,)).call([X, n, Y])
    assert_close(first, Y * 2 * np.exp(X), relative=1e-14)
    assert_close(last, np.asarray(2 * X @ Y), relative=1e-14)
    value, *slopes = of_energy().gradient((0, 1)).call([X, Y])
    wanted, gradients = pullback.value_and_grad(energy, argnums=(0, 1))(X, Y)
    assert value == wanted
    for a, b in zip(slopes, gradients, strict=True):
        assert_close(a, b, relative=1e-14)


def test_derivatives_of_derivatives_and_lanes() -> None:
    f = of_energy()
    (row,) = f.gradient((0,)).pull((0,)).call([X, Y, np.array(0.0), np.array([1.0, 0.0, 0.0])])
    assert_close(row, pullback.hessian(energy)(X, Y)[0], relative=1e-13)
    many = np.stack([X, Y, X + Y])
    (values,) = f.lanes((True, False), 3).call([many, Y])
    assert_close(values, np.array([energy(x, Y) for x in many]), relative=1e-14)
    (slopes,) = f.lanes((True, False), 3).pull((0,)).call([many, Y, np.ones(3)])
    assert_close(slopes, np.stack([pullback.grad(energy)(x, Y) for x in many]), relative=1e-13)


def test_derivatives_read_what_the_function_read() -> None:
    table = np.array([1.0, 2.0, 3.0])
    f = Flat(lambda x: (np.sum(x * table),), [ROW], "weighted")
    assert f.call([X])[0] == X @ table
    table[:] = 0
    assert f.call([X])[0] == 4.5 and f.gradient((0,)).call([X])[1].tolist() == [1, 2, 3]
    table = table - 1
    assert f.pull((0,)).call([X, np.array(1.0)])[0].tolist() == [1, 2, 3]


def test_equal_functions_have_equal_keys() -> None:
    assert of_energy().key == of_energy().key != of_energy().gradient((0,)).key
    one, other = (Flat(lambda x, c=c: (x * c,), [ROW], "scaled") for c in (np.ones(3), np.zeros(3)))
    assert one.key != other.key


# ---- the handler, called as XLA calls it

Words = ctypes.c_int64 * 24
CREATE = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.POINTER(ctypes.c_int64))
DTYPES = {"float64": 12, "float32": 11, "int64": 5, "bool": 1}


class Frame:
    """A call frame in memory, laid out as `XLA_FFI_CallFrame` is."""

    def __init__(self, takes: list[np.ndarray], gives: list[np.ndarray], stage: int = 3) -> None:
        self.errors: list[str] = []
        self.keep: list[Any] = [CREATE(self._error)]
        api, self.words = Words(), Words()
        ctypes.c_void_p.from_buffer(api, 48).value = ctypes.cast(self.keep[0], ctypes.c_void_p).value
        self.words[2], self.words[4] = self._at(api), stage
        for place, arrays in ((5, takes), (10, gives)):
            buffers = Words(*map(self._buffer, arrays))
            self.words[place + 2], self.words[place + 4] = len(arrays), self._at(buffers)

    def _at(self, memory: Any) -> int:
        self.keep.append(memory)
        return ctypes.addressof(memory)

    def _buffer(self, array: np.ndarray) -> int:
        sizes = Words(*array.shape)
        self.keep.append(array)
        return self._at(Words(48, 0, DTYPES[array.dtype.name], array.ctypes.data, array.ndim, self._at(sizes)))

    def _error(self, args: Any) -> int:
        self.errors.append(ctypes.string_at(args[2]).decode())
        return 1

    def run(self, handler: Handler) -> str | None:
        """The message, if the handler has refused or failed."""
        call = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(handler.address)
        return self.errors[0] if call(ctypes.addressof(self.words)) else None


def test_the_handler_calls_the_kernel_on_the_frames_memory() -> None:
    handler = Handler(two())
    gives = [np.zeros(3), np.array(0), np.array(0.0)]
    assert Frame([X, np.array(2)], gives).run(handler) is None
    for got, want in zip(gives, handler.flat.call([X, np.array(2)]), strict=True):
        assert np.array_equal(got, want)


def test_the_handler_works_at_one_stage_only() -> None:
    gives = [np.array(5.0)]
    for stage in (0, 1, 2):
        assert Frame([X, Y], gives, stage).run(Handler(of_energy())) is None
    assert gives[0] == 5.0


@pytest.mark.parametrize(
    ("takes", "gives", "text"),
    [
        ([X], [np.array(0.0)], "another number of arrays"),
        ([X, Y], [], "another number of arrays"),
        ([X, Y[:2].copy()], [np.array(0.0)], "argument 1 is not the f64[3]"),
        ([X, Y.reshape(3, 1)], [np.array(0.0)], "argument 1 is not the f64[3]"),
        ([X.astype("f4"), Y], [np.array(0.0)], "argument 0 is not the f64[3]"),
        ([X, Y], [np.zeros(1)], "result 0 is not the f64[]"),
    ],
)
def test_the_handler_refuses_other_buffers(takes, gives, text) -> None:
    assert text in (Frame(takes, gives).run(Handler(of_energy())) or "")


def test_the_handler_says_what_failed() -> None:
    taken = Flat(lambda x, i: (x[i],), [ROW, ("array", "i64", ())], "taken")
    said = Frame([X, np.array(-9)], [np.array(0.0)]).run(Handler(taken)) or ""
    assert "taken: IndexError: index -9 is out of bounds for axis 0 with size 3" in said and "test_interop.py" in said


def test_the_handler_tells_its_version() -> None:
    metadata, other, extension = Words(), Words(), Words()
    versions: Any = metadata
    metadata[3] = -1
    extension[1], extension[3] = 1, ctypes.addressof(metadata)
    other[1], other[2] = 9, ctypes.addressof(extension)
    frame = Frame([], [])
    frame.words[1] = ctypes.addressof(other)
    assert frame.run(Handler(of_energy())) is None
    assert np.frombuffer(versions, np.int32)[6:8].tolist() == [0, 1]


# ---- where packages are missing, and buffers


@pytest.mark.parametrize(("make", "name"), [(pullback.to_torch, "torch"), (pullback.to_jax, "jax")])
def test_a_missing_package_is_named(make, name, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ModuleNotFoundError, match=f"pip install {name}"):
        make(energy)(X, Y)


def test_a_tensors_memory_as_a_buffer() -> None:
    t = pullback.arange(3.0)
    buffer: Any = t if sys.version_info >= (3, 12) else t.numpy()
    view: Any = memoryview(buffer)
    view[1] = 7.0
    assert t.tolist() == [0, 7, 2] and bytes(view) == t.numpy().tobytes()


def test_writing_to_read_only_memory_is_an_error() -> None:
    a = np.arange(3.0)
    a.flags.writeable = False
    with pytest.warns(UserWarning, match="not writable"):
        t = pullback.from_numpy(a)
    with pytest.raises(ValueError, match="read-only"):
        t.add_(1)
    assert a.tolist() == [0, 1, 2]
