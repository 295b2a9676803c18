"""Tensors by the array API standard: names, signatures and results are those of array-api-strict."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import array_api_strict as strict
import numpy as np
import pytest

import pullback as pb

xp: Any = pb.ones(1).__array_namespace__()

ITS_OWN = {"ArrayAPIStrictFlags", "Device", "ModuleType", "get_array_api_strict_flags", "reset_array_api_strict_flags",
           "set_array_api_strict_flags"}  # fmt: skip
"""What array-api-strict has beside the standard."""

def _functions() -> dict[str, Any]:
    """The standard's functions by name."""
    found = {}
    for prefix, space in (("", strict), ("linalg.", strict.linalg), ("fft.", strict.fft)):
        for name in space.__all__:
            each = getattr(space, name)
            if name not in ITS_OWN and not name.startswith("__v") and not inspect.ismodule(each):
                found[prefix + name] = each
    return found


FUNCTIONS = _functions()


def _ours(name: str) -> Any:
    at = xp
    for part in name.split("."):
        at = getattr(at, part)
    return at


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_everything_is_there_with_its_arguments(name: str) -> None:
    ours, theirs = _ours(name), FUNCTIONS[name]
    if not inspect.isfunction(theirs):
        return
    have = inspect.signature(ours).parameters
    for each in inspect.signature(theirs).parameters.values():
        if each.kind is each.KEYWORD_ONLY:
            assert each.name in have and have[each.name].kind in (each.KEYWORD_ONLY, each.POSITIONAL_OR_KEYWORD)


# ---- results


@pytest.fixture(scope="module", autouse=True)
def _floats_of_64_bits() -> Iterator[None]:
    """As NumPy's are, where a function chooses."""
    pb.set_default_dtype(pb.float64)
    yield
    pb.set_default_dtype(pb.float32)


RNG = np.random.default_rng(0)
REAL = RNG.normal(size=(3, 4))
POSITIVE = RNG.uniform(0.1, 0.9, size=(3, 4))
OTHER = RNG.normal(size=(3, 4))
COMPLEX = REAL + 1j * OTHER
WHOLE = RNG.integers(-5, 6, size=(3, 4))
SMALL = RNG.integers(1, 5, size=(3, 4))
LARGE = RNG.integers(2**63, 2**63 + 2**40, size=(3, 4), dtype=np.uint64)
TRUTH = RNG.normal(size=(3, 4)) > 0
SQUARE = RNG.normal(size=(2, 3, 3)) + 3 * np.eye(3)
SYMMETRIC = SQUARE @ SQUARE.swapaxes(-1, -2)
CUBE = RNG.normal(size=(2, 3, 4))
INDEX = np.array([2, 0, 1])

UNARY = """abs acos acosh asin asinh atan atanh ceil conj cos cosh exp expm1 floor imag isfinite isinf isnan log log1p
    log2 log10 negative positive real reciprocal round sign signbit sin sinh sqrt square tan tanh trunc"""
BINARY = """add atan2 copysign divide equal floor_divide greater greater_equal hypot less less_equal logaddexp maximum
    minimum multiply nextafter not_equal pow remainder subtract"""
BITS = "bitwise_and bitwise_or bitwise_xor"
UNSIGNED = "add multiply floor_divide remainder less maximum bitwise_xor"
SHIFTS = "bitwise_left_shift bitwise_right_shift"
ONLY_REAL = "acosh ceil floor round trunc signbit"
ONLY_COMPLEX = "conj imag real"


def _cases() -> list[tuple[str, tuple[Any, ...], dict[str, Any]]]:
    found: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []

    def add(name: str, *args: Any, **kwargs: Any) -> None:
        found.append((name, args, kwargs))

    for name in UNARY.split():
        if name not in ONLY_COMPLEX.split():
            for x in (POSITIVE, POSITIVE.astype(np.float32), POSITIVE[0, 0], POSITIVE[:0], POSITIVE[:, ::2]):
                add(name, x + 1.0 if name == "acosh" else x)
        if name not in ONLY_REAL.split():
            add(name, COMPLEX)
            add(name, COMPLEX.astype(np.complex64))
        if name in ["abs", "negative", "positive", "sign", "square", "ceil", "floor", "round", "trunc", "isfinite"]:
            add(name, WHOLE)
            add(name, SMALL.astype(np.int8))
    for name in BINARY.split():
        for x, y in ((REAL, OTHER), (REAL, OTHER[0]), (REAL.astype(np.float32), OTHER), (POSITIVE, 2.0)):
            if name != "pow" or isinstance(y, float):
                add(name, x, y)
        if name in ["add", "subtract", "multiply", "floor_divide", "remainder", "maximum", "minimum", "equal", "less"]:
            add(name, WHOLE, SMALL)
            add(name, WHOLE.astype(np.int8), SMALL)
            add(name, WHOLE, 3)
    add("pow", POSITIVE, OTHER)
    add("pow", WHOLE, SMALL)
    for name in (*UNSIGNED.split(), "bitwise_right_shift"):
        for kind in ("uint16", "uint32", "uint64"):
            add(name, LARGE.astype(kind), SMALL.astype(kind))
            add(name, SMALL.astype(kind), np.uint8(3))
    for name in ["sum", "prod", "cumulative_sum", "max", "argmin", "sort", "unique_counts"]:
        for kind in ("uint8", "uint16", "uint32", "uint64"):
            more = {"axis": 0} if name == "cumulative_sum" else {}
            add(name, LARGE.astype(kind), **more)
    for name in ["sum", "prod", "std", "all", "count_nonzero"]:
        add(name, TRUTH if name == "all" else REAL, axis=())
    for name in BITS.split():
        add(name, WHOLE, SMALL)
        add(name, TRUTH, ~TRUTH)
    for name in SHIFTS.split():
        add(name, SMALL, SMALL)
    add("bitwise_invert", WHOLE)
    add("bitwise_invert", TRUTH)
    for name in ["logical_and", "logical_or", "logical_xor"]:
        add(name, TRUTH, TRUTH[0])
    add("logical_not", TRUTH)
    add("clip", REAL, -0.5, 0.5)
    add("clip", REAL, min=0.0)
    add("clip", WHOLE, max=2)
    for name in ["all", "any", "max", "min", "mean", "sum", "prod", "std", "var", "argmax", "argmin", "count_nonzero"]:
        x = TRUTH if name in ("all", "any") else REAL
        one = name.startswith("arg")
        for axis in (None, 0, -1) if one else (None, 0, -1, (0, 1), (1,)):
            for keepdims in (False, True):
                add(name, x, axis=axis, keepdims=keepdims)
        if name in ("sum", "prod"):
            add(name, SMALL.astype(np.int32))
            add(name, REAL.astype(np.float32), axis=0)
            add(name, REAL[:0], axis=0)
            add(name, COMPLEX, axis=1)
            add(name, TRUTH.astype(np.int8), dtype="int32")
        if name in ("std", "var"):
            add(name, REAL, axis=1, correction=1.0)
            add(name, REAL[0, 0])
    for name in ("cumulative_sum", "cumulative_prod"):
        add(name, REAL, axis=0)
        add(name, REAL[0])
        add(name, SMALL, axis=-1, include_initial=True)
    add("diff", REAL)
    add("diff", REAL, axis=0, n=2)
    add("diff", REAL, prepend=REAL[:, :1], append=REAL[:, :2])
    for descending in (False, True):
        add("sort", REAL, axis=0, descending=descending)
        add("argsort", REAL, descending=descending)
        add("argsort", SMALL, descending=descending)
    add("searchsorted", np.sort(REAL[0]), OTHER)
    add("searchsorted", np.sort(WHOLE[0]), WHOLE, side="right")
    add("searchsorted", REAL[0], OTHER, sorter=np.argsort(REAL[0]))
    add("nonzero", TRUTH)
    add("where", TRUTH, REAL, OTHER)
    add("where", TRUTH, REAL, 0.0)
    add("take", REAL, INDEX, axis=0)
    add("take", REAL[0], INDEX)
    add("take_along_axis", REAL, np.argsort(REAL, axis=0), axis=0)
    for name in ["unique_all", "unique_counts", "unique_inverse", "unique_values"]:
        add(name, SMALL)
        add(name, np.array([1.0, np.nan, 1.0, np.nan]))
        add(name, SMALL[:0])
    add("isin", WHOLE, SMALL)
    add("concat", [REAL, OTHER])
    add("concat", [REAL, CUBE], axis=None)
    add("stack", [REAL, OTHER], axis=-1)
    add("expand_dims", REAL, axis=1)
    for axis in (None, 0, (0, 1)):
        add("flip", REAL, axis=axis)
    add("moveaxis", CUBE, 0, -1)
    add("moveaxis", CUBE, (0, 1), (1, 2))
    add("permute_dims", CUBE, (2, 0, 1))
    add("repeat", REAL, 2)
    add("repeat", REAL, INDEX, axis=0)
    add("reshape", REAL, (2, -1))
    add("reshape", REAL, (12,), copy=True)
    add("roll", REAL, 2)
    add("roll", REAL, (1, -1), axis=(0, 1))
    add("squeeze", REAL[:, None], 1)
    add("squeeze", REAL[None, :, None], (0, 2))
    add("tile", REAL, (2, 1, 2))
    add("unstack", REAL, axis=1)
    add("broadcast_to", REAL, (2, 3, 4))
    add("broadcast_arrays", REAL, REAL[0])
    add("tril", REAL, k=1)
    add("triu", CUBE, k=-1)
    for name in ("zeros", "ones"):
        add(name, (2, 3))
        add(name, 4, dtype="float64")
        add(f"{name}_like", WHOLE)
    add("full", (2,), 3)
    add("full", (2,), 3.5, dtype="float64")
    add("full_like", REAL, 2)
    add("eye", 3, 4, k=1)
    add("eye", 3, k=-1, dtype="int64")
    for args in ((5,), (1, 5), (5, 1, -2), (1.0, 2.0, 0.25), (3, 3), (3, 1)):
        add("arange", *args)
    add("linspace", 0.0, 1.0, 5, dtype="float64")
    add("linspace", 0.0, 1.0, 4, dtype="float64", endpoint=False)
    add("meshgrid", REAL[0], REAL[1])
    add("meshgrid", REAL[0], REAL[1], indexing="ij")
    add("asarray", [[1, 2], [3, 4]])
    add("matmul", SQUARE, SQUARE)
    add("matmul", REAL, OTHER[0])
    add("matrix_transpose", SQUARE)
    add("tensordot", CUBE, CUBE, axes=((0, 1), (0, 1)))
    add("tensordot", REAL, OTHER.T, axes=1)
    add("vecdot", COMPLEX, COMPLEX, axis=-2)
    for name in ["det", "inv", "slogdet", "svdvals", "pinv", "matrix_rank", "qr", "eigvals"]:
        add(f"linalg.{name}", SQUARE)
    for name in ["cholesky", "eigvalsh"]:
        add(f"linalg.{name}", SYMMETRIC)
    add("linalg.cholesky", SYMMETRIC, upper=True)
    add("linalg.qr", SQUARE, mode="complete")
    add("linalg.cross", REAL[:, :3], OTHER[:, :3])
    add("linalg.diagonal", CUBE, offset=1)
    add("linalg.trace", SQUARE, offset=-1)
    add("linalg.trace", WHOLE)
    add("linalg.matrix_power", SQUARE, 3)
    for order in ("fro", "nuc", 1, 2, np.inf, -np.inf):
        add("linalg.matrix_norm", SQUARE, ord=order)
    add("linalg.matrix_norm", SQUARE, keepdims=True)
    for order in (2, 1, 0, 3, np.inf, -np.inf):
        add("linalg.vector_norm", REAL, ord=order, axis=1, keepdims=True)
    add("linalg.vector_norm", REAL)
    add("linalg.vector_norm", CUBE, axis=(0, 2))
    add("linalg.outer", REAL[0], OTHER[1])
    add("linalg.solve", SQUARE, CUBE[:, :, :2])
    add("linalg.solve", SQUARE[0], REAL[0, :3])
    for name in ["fft", "ifft", "hfft"]:
        add(f"fft.{name}", COMPLEX, axis=0)
        add(f"fft.{name}", COMPLEX, n=6, norm="ortho")
    for name in ["rfft", "ihfft"]:
        add(f"fft.{name}", REAL, n=3)
    add("fft.irfft", COMPLEX)
    for name in ["fftn", "ifftn"]:
        add(f"fft.{name}", COMPLEX)
        add(f"fft.{name}", COMPLEX, axes=(1,))
    add("fft.rfftn", REAL)
    add("fft.irfftn", COMPLEX)
    add("fft.fftshift", REAL, axes=1)
    add("fft.ifftshift", REAL)
    add("fft.fftfreq", 5, d=0.5)
    add("fft.rfftfreq", 6)
    return found


CASES = _cases()


def _call(space: Any, name: str, args: Any, kwargs: Any) -> Any:
    """A function of a namespace on arrays of that namespace."""

    def given(x: Any) -> Any:
        if isinstance(x, (np.ndarray, np.generic)):
            return space.asarray(np.array(x))
        return [given(each) for each in x] if isinstance(x, list) and any(map(_is_array, x)) else x

    at = space
    for part in name.split("."):
        at = getattr(at, part)
    named = {key: getattr(space, x) if key == "dtype" else given(x) for key, x in kwargs.items()}
    return at(*map(given, args), **named)


def _is_array(x: Any) -> bool:
    return isinstance(x, np.ndarray)


def _same(made: Any, want: Any, loose: float) -> None:
    if isinstance(want, (tuple, list)):
        assert isinstance(made, (tuple, list))
        assert getattr(made, "_fields", None) == getattr(want, "_fields", None)
        for a, b in zip(made, want, strict=True):
            _same(a, b, loose)
        return
    assert isinstance(made, pb.Tensor)
    got, wanted = made.numpy(), np.asarray(want)
    assert got.shape == wanted.shape
    assert str(made.dtype).removeprefix("torch.") == str(want.dtype).rpartition(".")[2]
    rtol = 3e-6 if want.dtype in (strict.float32, strict.complex64) else loose
    np.testing.assert_allclose(got, wanted, rtol=rtol, atol=rtol)




@pytest.mark.parametrize("k", range(len(CASES)), ids=[f"{k}-{case[0]}" for k, case in enumerate(CASES)])
def test_results_are_those_of_the_standard(k: int) -> None:
    name, args, kwargs = CASES[k]
    with np.errstate(all="ignore"):
        want = _call(strict, name, args, kwargs)
    _same(_call(xp, name, args, kwargs), want, 1e-12)


def test_every_function_has_a_case() -> None:
    tried = {name for name, _, _ in CASES}
    elsewhere = {"__array_namespace_info__", "astype", "can_cast", "empty", "empty_like", "finfo", "from_dlpack",
                 "iinfo", "isdtype", "result_type", "broadcast_shapes", "linalg.eig", "linalg.eigh", "linalg.svd",
                 "linalg.matmul", "linalg.matrix_transpose", "linalg.tensordot", "linalg.vecdot"}  # fmt: skip
    functions = {name for name, each in FUNCTIONS.items() if inspect.isfunction(each)}
    assert functions <= tried | elsewhere, functions - tried - elsewhere


def test_decompositions_give_their_matrix_back() -> None:
    x = xp.asarray(SYMMETRIC)
    made = xp.linalg.eigh(x)
    np.testing.assert_allclose((made.eigenvectors * made.eigenvalues[:, None, :]) @ made.eigenvectors.mT, SYMMETRIC)
    u, s, vh = xp.linalg.svd(xp.asarray(CUBE), full_matrices=False)
    np.testing.assert_allclose((u * s[:, None, :]) @ vh, CUBE, rtol=1e-12)
    made = xp.linalg.eig(xp.asarray(SQUARE))
    vectors, values = made.eigenvectors.numpy(), made.eigenvalues.numpy()
    np.testing.assert_allclose(SQUARE @ vectors, vectors * values[:, None, :], rtol=1e-12)


def test_dtypes() -> None:
    x = xp.asarray(REAL)
    assert xp.astype(x, xp.float32).dtype is xp.float32 and xp.astype(x, xp.float64, copy=False) is x
    with pytest.raises(TypeError, match="imaginary"):
        xp.astype(xp.asarray(COMPLEX), xp.float64)
    assert xp.can_cast(xp.int8, xp.int16) and not xp.can_cast(xp.int16, xp.int8)
    assert xp.isdtype(xp.int8, "signed integer") and xp.isdtype(xp.uint8, ("bool", "integral"))
    assert not xp.isdtype(xp.bool, "numeric") and xp.isdtype(xp.float32, xp.float32)
    with pytest.raises(ValueError, match="the kinds are"):
        xp.isdtype(xp.int8, "whole")
    assert xp.result_type(xp.int8, xp.float32) is xp.float32
    assert xp.result_type(xp.asarray(REAL, dtype=xp.float32), 2.0) is xp.float32
    assert xp.finfo(x).eps == np.finfo(np.float64).eps and xp.finfo(xp.float32).smallest_normal > 0
    assert xp.iinfo(xp.int8).max == 127 and xp.iinfo(xp.uint64).max == 2**64 - 1
    assert xp.finfo(xp.complex64).dtype is xp.float32 and xp.iinfo(x.to(xp.uint16)).dtype is xp.uint16
    assert xp.result_type(xp.uint16, xp.int8) is xp.int32 and xp.result_type(xp.uint8, xp.uint32) is xp.uint32
    assert xp.broadcast_shapes((2, 1), (3,)) == (2, 3)
    assert xp.empty((2, 3)).shape == (2, 3) and xp.empty_like(x).shape == x.shape
    shared = REAL.copy()
    xp.from_dlpack(shared)[0, 0] = 9.0
    assert shared[0, 0] == 9.0


def test_what_the_namespace_says_of_itself() -> None:
    info = xp.__array_namespace_info__()
    assert info.default_device() in info.devices()
    assert info.dtypes(kind="real floating") == {"float32": xp.float32, "float64": xp.float64}
    assert info.default_dtypes()["integral"] is xp.int64
    assert info.capabilities()["boolean indexing"]
    assert xp.__array_api_version__ == "2024.12"
    with pytest.raises(ValueError, match="array API"):
        pb.ones(1).__array_namespace__(api_version="1999.12")
    assert pb.ones(1).to_device("cpu").device == pb.ones(1).device


def test_gradients_flow() -> None:
    x = pb.tensor([1.0, 2.0, 3.0], requires_grad=True)
    space: Any = x.__array_namespace__()
    space.sum(space.square(space.flip(x)) * space.asarray([1.0, 2.0, 3.0])).backward()
    assert x.grad is not None
    assert x.grad.tolist() == [6.0, 8.0, 6.0]
