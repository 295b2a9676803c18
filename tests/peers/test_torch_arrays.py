"""Tensors among NumPy's numbers and arrays, and Python's numbers: PyTorch's dtypes and values."""

import operator
import warnings
from typing import Any

import numpy as np
import pytest
import torch

import pullback

DTYPES = ["bool", "uint8", "int32", "int64", "float32", "float64", "complex64"]
OPERATORS = ["add", "sub", "mul", "truediv", "pow", "lt", "and_"]
SCALARS = [True, 2, 2.5, 1 + 1j, np.bool_(True), np.int8(2), np.int64(2), np.float32(2), np.float64(2)]
SCALARS.append(np.longdouble(2))
ARRAYS = ["bool", "uint8", "int32", "int64", "float32", "float64", "complex128"]


def made(t: Any, name: str, dtype: str, shape: tuple[int, ...], other: Any, turned: bool) -> Any:
    """Dtype and values of a result, or that there is none."""
    x = t.ones(shape, dtype=getattr(t, dtype)) if dtype == "bool" else t.full(shape, 3, dtype=getattr(t, dtype))
    try:
        result = getattr(operator, name)(*((other, x) if turned else (x, other)))
    except (TypeError, RuntimeError, NotImplementedError, ValueError):
        return "refused"
    values = np.round(np.asarray(result).astype(complex), 3).tolist()
    return result if isinstance(result, bool) else (str(result.dtype), values)


@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_numbers(name: str, dtype: str) -> None:
    for shape in ((), (3,)):
        for other in SCALARS:
            for turned in (False, True):
                if turned and isinstance(other, np.generic) and name == "lt":
                    continue  # a comparison of NumPy's, which looks at the tensor's array
                want, got = (made(t, name, dtype, shape, other, turned) for t in (torch, pullback))
                if want != "refused":
                    assert got == want, f"{name} of {dtype}{list(shape)} and {other!r}, turned: {turned}"


@pytest.mark.parametrize("name", ["add", "sub", "mul", "truediv", "pow"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_arrays(name: str, dtype: str) -> None:
    """PyTorch leaves them to NumPy, whose promotion knows no ranks; it refuses a tensor on the right, which we take."""
    for shape in ((), (3,)):
        for kind in ARRAYS:
            for other in (np.array(2).astype(kind), np.array([2, 1, 2]).astype(kind)):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    want, got = (made(t, name, dtype, shape, other, False) for t in (torch, pullback))
                if want != "refused":
                    assert got == want, f"{name} of {dtype}{list(shape)} and {kind}{list(other.shape)}"


def test_a_tensor_times_an_array_has_a_gradient() -> None:
    x = pullback.ones(3, requires_grad=True)
    made = x * np.array(2.0)
    assert made.dtype == pullback.float64
    made.sum().backward()
    assert x.grad.dtype == pullback.float32 and x.grad.tolist() == [2.0, 2.0, 2.0]


def test_whole_powers_of_whole_tensors_stay_whole() -> None:
    for t in (torch, pullback):
        made = t.tensor([3]) ** t.tensor([35])
        assert str(made.dtype) == "torch.int64" and made.tolist() == [3**35]
