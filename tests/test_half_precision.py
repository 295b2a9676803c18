"""Floats of 16 bits in NumPy functions: stored in them, computed in float32, rounded once by each function."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pullback import check, external, grad, hessian, jacobian, jit, jvp, value_and_grad, vmap
from pullback.compiler.backend.kernel import compile_graph
from pullback.compiler.frontend.numpy.ufuncs import RULES
from pullback.compiler.ir.graph import Builder
from pullback.compiler.ir.types import HALVES, STORED, Type
from pullback.compiler.ops.casting import astype
from pullback.compiler.ops.elementwise import cast

ALL = np.arange(2**16, dtype=np.uint16)
HALF = ALL.view(np.float16)
RNG = np.random.default_rng(0)
X = RNG.uniform(0.2, 1.5, (4, 5)).astype(np.float16)
A = RNG.normal(size=(5, 3)).astype(np.float16)


def same(got, want):
    got, want = np.asarray(got), np.asarray(want)
    assert got.dtype == want.dtype and got.shape == want.shape
    np.testing.assert_array_equal(got, want)
    if want.dtype.kind == "f":
        numbers = ~np.isnan(want)
        np.testing.assert_array_equal(np.signbit(got)[numbers], np.signbit(want)[numbers])


def wide(dtype):
    """Numbers between and around all of a dtype's, and far beyond."""
    each = astype(ALL.view(HALVES[dtype]), "f64")
    each = np.sort(each[np.isfinite(each)])
    near = (each[:-1] + each[1:]) / 2
    with np.errstate(over="ignore"):
        around = [np.nextafter(near, np.inf), np.nextafter(near, -np.inf), near.astype(np.float32).astype(float)]
    far = [65519.99, 65520.0, 65520.01, 3.3e38, 3.4028235677973366e38, 3.5e38, 1e300, 5e-324, 1e-46, np.inf, 0.0]
    return np.concatenate([each, near, *around, far, np.negative(far), [np.nan]])


# ---- conversions


def converted(x, dtype):
    """What native code makes of an array."""
    code = next(name for name, kind in STORED.items() if kind == x.dtype)
    b = Builder("cast", [Type(code, x.shape)], ["x"])
    return compile_graph(b.finish(b.emit(cast, b.params[0], dtype=dtype))).run([x])[0]


@pytest.mark.filterwarnings("ignore:.*encountered in cast")
@pytest.mark.parametrize("source", [np.float32, np.float64])
def test_float16_of_wider_floats_is_that_of_numpy(source):
    x = wide("f16").astype(source)
    same(jit(lambda x: x.astype(np.float16))(x), x.astype(np.float16))
    same(astype(x, "f16"), x.astype(np.float16))


@pytest.mark.filterwarnings("ignore:.*encountered in cast")
@pytest.mark.parametrize("target", [np.float32, np.float64, np.int32, np.int64, np.bool_])
def test_float16_becomes_what_numpy_makes_of_it(target):
    x = HALF if np.dtype(target).kind != "i" else HALF[np.isfinite(HALF)]
    same(jit(lambda x: x.astype(target))(x), x.astype(target))


@pytest.mark.parametrize("source", [np.int16, np.int32, np.int64, np.uint8, np.uint64, np.bool_])
@pytest.mark.filterwarnings("ignore:.*encountered in cast")
def test_float16_of_integers(source):
    x = RNG.integers(-70_000, 70_000, 2_000).astype(source)
    same(jit(lambda x: x.astype(np.float16))(x), x.astype(np.float16))


def test_bfloat16_is_the_upper_half_of_float32():
    x = converted(ALL.view(HALVES["bf16"]), "f32")
    np.testing.assert_array_equal(x.view(np.uint32), ALL.astype(np.uint32) << 16)
    back = converted(x, "bf16").view(np.uint16)
    quiet = np.where(np.isnan(x), ALL | 0x40, ALL)
    np.testing.assert_array_equal(back, quiet)


@pytest.mark.filterwarnings("ignore:.*encountered in cast")
@pytest.mark.parametrize("source", [np.float32, np.float64])
def test_bfloat16_is_the_nearest_even_one_to_a_float32(source):
    x = wide("bf16").astype(source)
    with np.errstate(over="ignore"):
        made, said = converted(x, "bf16"), astype(x.astype(np.float32), "bf16")
    np.testing.assert_array_equal(made.view(np.uint16), said.view(np.uint16))


# ---- functions

UFUNCS = sorted(
    name for name in RULES
    if isinstance(u := getattr(np, name, None), np.ufunc) and u.nin <= 2
    and any(set(t.split("->")[0]) == {"e"} for t in u.types) and name not in ("nextafter", "spacing")
)  # fmt: skip
LAST = 4
"""Units in float32's last place by which NumPy and we may differ, who both round to halves what was computed there."""


def _differ(a, b):
    return ~((a == b) | (np.isnan(a) & np.isnan(b)) if a.dtype.kind == "f" else a == b)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", UFUNCS)
def test_a_ufunc_of_all_halves_is_that_of_numpy(name):
    """But for the few whose float32 lies so near to the middle of two halves that its last digits decide."""
    ufunc = getattr(np, name)
    args = (HALF, np.random.default_rng(1).permutation(HALF))[: ufunc.nin]
    got, want = jit(lambda *args: ufunc(*args))(*args), ufunc(*args)
    single = ufunc(*[x.astype(np.float32) for x in args])
    for a, b, c in zip(*[x if isinstance(x, tuple) else (x,) for x in (got, want, single)], strict=True):
        assert a.dtype == b.dtype
        apart = _differ(a, b)
        assert apart.sum() <= 32
        for x, y, z in zip(a[apart], b[apart], c[apart], strict=True):
            ends = [np.float16(z + sign * LAST * np.spacing(z)) for sign in (-1, 1)]
            assert min(ends) <= min(x, y) and max(x, y) <= max(ends) and min(ends) < max(ends)


def loop(x):
    t = x[0, 0]
    for i in range(3):
        t = t * x[i, i] + 0.1
    return t


def branch(x):
    s = x.sum()
    return s * 2 if s > 3 else s


def repeated(x):
    s = x[0, 0] * 1
    while s < 50:
        s = s * s + 1
    return s


def stored(x):
    y = np.zeros_like(x)
    y[1:] = x[:-1] * 2
    y[:, 0] += x[:, 1]
    return y


FUNCTIONS = {
    "sum": lambda x: x.sum(), "sum of rows": lambda x: x.sum(1), "mean": lambda x: x.mean(), "var": lambda x: x.var(),
    "prod": lambda x: x.prod(), "cumsum": lambda x: np.cumsum(x), "max": lambda x: x.max(0), "matmul": lambda x: x @ A,
    "einsum": lambda x: np.einsum("ij,jk->ik", x, A), "sort": lambda x: np.sort(x), "median": lambda x: np.median(x),
    "where": lambda x: np.where(x > 1, x, 0), "pad": lambda x: np.pad(x, 1, mode="edge"), "index": lambda x: x[[0, 2]],
    "a Python float": lambda x: x * 2.1 + 1, "float32": lambda x: x * np.float32(2.1), "power": lambda x: x**2.5,
    "float64": lambda x: x * np.float64(2.1), "int64": lambda x: x * np.arange(5), "bool": lambda x: x * (x > 1),
    "int8": lambda x: x * np.arange(5, dtype=np.int8), "remainder": lambda x: x % 0.3, "norm": np.linalg.norm,
    "interp": lambda x: np.interp(0.5, np.arange(5.0), x[0]), "outer": lambda x: np.outer(x[0], x[1]),
    "quantile": lambda x: np.quantile(x, 0.3), "convolve": lambda x: np.convolve(x[0], x[1]), "loop": loop,
    "branch": branch, "while": repeated, "writing": stored, "trapezoid": lambda x: np.trapezoid(x),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_have_numpys_dtype_and_numbers_and_the_gradient_of_float64(name):
    f = FUNCTIONS[name]
    got, want = np.asarray(jit(f)(X)), np.asarray(f(X))
    assert got.dtype == want.dtype
    np.testing.assert_allclose(got.astype(float), want.astype(float), rtol=2e-3, atol=1e-3)
    slope = grad(lambda x: np.sum(f(x)))
    assert slope(X).dtype == np.float16
    np.testing.assert_allclose(slope(X), slope(X.astype(float)), rtol=1e-2, atol=1e-2)


def test_second_derivatives_and_the_other_modes():
    def f(x):
        return np.sum(np.exp(x) * x**2)

    v = np.linspace(-1, 1, 6).astype(np.float16)
    value, slope = value_and_grad(f)(v)
    assert type(value) is np.float16 and slope.dtype == np.float16
    assert hessian(f)(v).dtype == np.float16
    np.testing.assert_allclose(hessian(f)(v), hessian(f)(v.astype(float)), rtol=1e-2, atol=1e-2)
    made = jvp(lambda x: np.sin(x) * x, (v,), (v,))[1]
    assert made.dtype == np.float16
    np.testing.assert_allclose(made, (np.cos(v) * v + np.sin(v)) * v, rtol=1e-2, atol=1e-3)
    np.testing.assert_allclose(vmap(grad(lambda r: np.sum(r**3)))(X), 3 * X**2, rtol=2e-3)
    sparse = jacobian(lambda x: x[1:] * x[:-1], sparse=True)(v)  # SciPy has no matrices of float16
    np.testing.assert_allclose(sparse.toarray(), jacobian(lambda x: x[1:] * x[:-1])(v), rtol=1e-3)
    assert sparse.dtype == np.float32
    check(lambda x: np.sum(np.sin(x) * x), v)


def test_containers_externals_and_sums_beyond_ten_bits():
    parts = {f"w{k}": np.float16(k) for k in range(100)}
    made = grad(lambda p: np.sum(np.stack(list(p.values())) ** 2))(parts)
    assert made["w3"] == 6 and type(made["w3"]) is np.float16
    turned = jit(lambda x: external(lambda y: np.sort(y)[::-1], lambda y: y)(x) * 2)
    same(turned(X[0]), np.sort(X[0])[::-1] * np.float16(2))
    assert jit(lambda x: np.sum(x))(np.ones(60_000, np.float16)) == 60_000  # computed in float32
    mixed = grad(lambda p: np.sum(p["a"] * p["b"]))({"a": X, "b": X.astype(float)})
    assert mixed["a"].dtype == np.float16 and mixed["b"].dtype == np.float64


def test_what_float16_is_not_taken_for():
    square: Any = np.eye(3, dtype=np.float16)
    with pytest.raises(TypeError, match=r"np\.linalg\.inv of float16(.|\n)*astype\(np\.float32\)"):
        jit(np.linalg.inv)(square)
    with pytest.raises(TypeError, match=r"spacing of float16"):
        jit(lambda x: np.spacing(x))(X)
    with pytest.raises(TypeError, match="float16, which C has no name for"):
        jit(lambda x: x * 2).cfunc(X)
    assert np.fft.fft(X).dtype == jit(np.fft.fft)(X).dtype == np.complex64
