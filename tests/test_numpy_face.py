"""Plain NumPy under a trace: each function gives NumPy's values and dtypes, and gradients that numbers confirm."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import special

from pullback.compiler.settings import settings
from pullback.runtime.check import check
from pullback.runtime.transforms import grad, jit

A = np.linspace(-1.9, 2.3, 12).reshape(3, 4)
B = np.array([[0.7, -1.2, 2.0, 0.4], [1.5, 0.3, -0.6, 1.1], [-2.1, 0.9, 1.7, -0.2]])
P = np.abs(A) + 0.3
Q = np.abs(B) + 0.2
U = A / 3
V = np.array([0.5, -1.5, 2.5, 0.1])
S = np.array([[2.0, 0.5, -1.0], [0.3, 1.5, 0.7], [-0.4, 0.2, 3.0]])
T = np.linspace(-1, 1.5, 24).reshape(2, 3, 4)

Function = Callable[..., Any]
Case = tuple[str, Function, tuple[Any, ...]]

UNARY = {
    "A": "negative positive absolute fabs sign floor ceil rint trunc square sin cos tanh exp expm1 sinh cosh"
    " exp2 tan arctan cbrt arcsinh deg2rad rad2deg isnan isinf isfinite logical_not",
    "P": "sqrt log log2 log10 log1p reciprocal",
    "U": "arcsin arccos arctanh",
}
BINARY = {
    ("A", "B"): "arctan2 add subtract multiply divide maximum minimum fmax fmin hypot logaddexp logaddexp2 equal"
    " not_equal less less_equal greater greater_equal logical_and logical_or logical_xor heaviside",
    ("P", "Q"): "power floor_divide remainder float_power",
}
GIVEN = {"A": A, "B": B, "P": P, "Q": Q, "U": U}

UFUNCS: list[Case] = [(n, getattr(np, n), (GIVEN[k],)) for k, names in UNARY.items() for n in names.split()]
UFUNCS += [(n, getattr(np, n), (GIVEN[j], GIVEN[k])) for (j, k), names in BINARY.items() for n in names.split()]

SCIPY: list[Case] = [
    ("erf", special.erf, (A,)),
    ("expit", special.expit, (A,)),
    ("log_expit", special.log_expit, (A,)),
    ("logit", special.logit, (U / 2 + 0.5,)),
    ("xlogy", special.xlogy, (A, P)),
    ("xlog1py", special.xlog1py, (A, P)),
    ("entr", special.entr, (P,)),
    ("exp1m", special.expm1, (A,)),
]

NUMBERS: list[Case] = [
    ("operators", lambda x, y: (x + 2) * y - x / 3 + (-x) ** 2 - +y, (A, B)),
    ("reflected", lambda x: 2 - x + 3 / (x + 5) + 2 ** x, (A,)),
    ("floor and mod", lambda x, y: x // y + x % y, (P, Q)),
    ("divmod", lambda x: divmod(x, 0.7)[1], (P,)),
    ("small powers", lambda x: x**0 + x**1 + x**2 + x**3 + x**4 + x**-1 + x**0.5, (P,)),
    ("power", lambda x: x**2.5 + x**-3, (P,)),
    ("abs", lambda x: abs(x), (A,)),
    ("comparison", lambda x, y: (x < y) & (x > -1) | (y >= 1) ^ (x <= 0), (A, B)),
    ("where", lambda x, y: np.where(x > y, x * y, np.exp(x)), (A, B)),
    ("where scalar", lambda x: np.where(x > 0, x, 0), (A,)),
    ("clip", lambda x: np.clip(x, -1, 1) + x.clip(0.1, None), (A,)),
    ("round", lambda x: np.round(x, 1) + x.round(), (A,)),
    ("nan_to_num", lambda x: np.nan_to_num(np.where(x > 1, np.inf, x), posinf=9.0), (A,)),
    ("sinc", np.sinc, (A,)),
    ("outer ufunc", lambda x: np.add.outer(x, x * x), (V,)),
    ("reduce", lambda x: np.add.reduce(x, axis=1) + np.maximum.reduce(x, axis=1), (A,)),
    ("broadcast", lambda x, v: x * v + v[:3, None], (T, V)),
    ("isclose", lambda x, y: np.isclose(x, x + 1e-9) | np.isclose(x, y), (A, B)),
    ("sum", lambda x: np.sum(x) + x.sum(axis=0) + np.sum(x, axis=1, keepdims=True), (A,)),
    ("sum axes", lambda x: x.sum(axis=(0, 2)) + x.sum(axis=(-3, -1)), (T,)),
    ("sum nothing", lambda x: np.sum(x, axis=()), (A,)),
    ("mean", lambda x: np.mean(x) + x.mean(axis=1) + np.mean(x, 1), (A,)),
    ("average", lambda x, w: np.average(x, weights=w), (A, P)),
    ("var std", lambda x: np.var(x, axis=0) + x.std(axis=0, ddof=1) + np.std(x), (A,)),
    ("max min", lambda x: np.max(x) + x.min(axis=0) - np.amax(x, axis=1, keepdims=True), (A,)),
    ("ptp", lambda x: np.ptp(x, axis=1), (B,)),
    ("prod", lambda x: np.prod(x, axis=1) + x.prod(), (P,)),
    ("prod at zero", lambda x: np.prod(x * np.array([1.0, 0, 1, 1])), (V,)),
    ("cumsum", lambda x: np.cumsum(x) + x.cumsum(axis=1).sum(), (A,)),
    ("cumprod", lambda x: np.cumprod(x, axis=0), (P,)),
    ("diff", lambda x: np.diff(x) + np.diff(x, n=2, axis=0).sum(), (A,)),
    ("norm", lambda x: np.linalg.norm(x) + np.linalg.norm(x, axis=1) + np.linalg.norm(x[0], 1), (A[:, :3],)),
    ("norm inf", lambda x: np.linalg.norm(x[0], np.inf) + np.linalg.norm(x[1], 3), (A,)),
    ("nansum", lambda x: np.nansum(np.where(x > 1, np.nan, x)), (A,)),
    ("reshape", lambda x: x.reshape(4, 3) * np.reshape(x, (-1, 3)) + x.ravel().reshape((4, 3)), (A,)),
    ("reshape F", lambda x: np.reshape(x, (2, 6), order="F"), (A,)),
    ("transpose", lambda x: x.T @ x + x.transpose() @ x, (A,)),
    ("transpose axes", lambda x: np.transpose(x, (2, 0, 1)) * x.transpose(2, 0, 1), (T,)),
    ("swapaxes", lambda x: np.swapaxes(x, 0, 2) + x.swapaxes(2, 0) + x.T, (T,)),
    ("moveaxis", lambda x: np.moveaxis(x, 0, -1) + np.moveaxis(x, [0, 1], [2, 0]).transpose(0, 1, 2), (T[:, :, :3],)),
    ("squeeze", lambda x: np.squeeze(x[:, :1]) + x[None].squeeze(0)[:, 0], (A,)),
    ("expand_dims", lambda x: np.expand_dims(x, (0, 2)) * 2, (A,)),
    ("atleast", lambda v: np.atleast_2d(v) + np.atleast_1d(v.sum()), (V,)),
    ("broadcast_to", lambda v: np.broadcast_to(v, (3, 4)) * 2, (V,)),
    ("concatenate", lambda x, y: np.concatenate([x, y * 2]) + np.concatenate((x, y), axis=0), (A, B)),
    ("concatenate flat", lambda x, y: np.concatenate([x, y], axis=None), (A, V)),
    ("stack", lambda x, y: np.stack([x, y, x]) + np.stack((x, y, y), axis=-1).transpose(2, 0, 1), (A, B)),
    ("hstack vstack", lambda x, v: np.hstack([x, x]).sum() + np.vstack([x, v]), (A, V)),
    ("column_stack", lambda v: np.column_stack([v, v * v, np.ones(4, v.dtype)]), (V,)),
    ("append", lambda x, v: np.append(x, v), (A, V)),
    ("flip", lambda x: np.flip(x) + np.flip(x, 1), (A,)),
    ("roll", lambda x: np.roll(x, 2) + np.roll(x, (1, -1), (0, 1)), (A,)),
    ("tile", lambda x: np.tile(x, 2) + np.tile(x, (1, 2)), (A,)),
    ("repeat", lambda x: np.repeat(x, 2) + x.repeat(2, axis=1).ravel(), (A,)),
    ("repeat counts", lambda x: np.repeat(x, [2, 0, 1], axis=0), (A,)),
    ("split", lambda x: np.split(x, 2, axis=1)[0] * np.split(x, [2], axis=1)[1], (A,)),
    ("array_split", lambda x: np.array_split(x, 3, axis=1)[0] + np.array_split(x, 3, axis=1)[2], (A,)),
    ("pad", lambda x: np.pad(x, ((1, 2), (0, 1))) + np.pad(x, ((1, 2), (0, 1)), constant_values=3), (A,)),
    ("matmul", lambda x, y: x @ y.T, (A, B)),
    ("matvec", lambda x, v: x @ v + v @ x.T, (A, V)),
    ("batched", lambda x, y: x @ y, (T, np.moveaxis(T, 1, 2)[:1] + 0.5)),
    ("vector with stack", lambda v, x: v @ x, (V, np.moveaxis(T, 1, 2) + 0)),
    ("stack with matrix", lambda x, y: x @ y, (T, A.T + 0)),
    ("dot", lambda x, y, v: np.dot(x, y.T) * v.dot(v) + np.dot(2.0, v).sum().astype(x.dtype), (A, B, V)),
    ("inner outer", lambda u, v: np.inner(u, v) + np.outer(u, v), (V, V * 2)),
    ("vdot", lambda x, y: np.vdot(x, y), (A, B)),
    ("vecdot", lambda x, y: np.vecdot(x, y), (A, B)),
    ("tensordot", lambda x, y: np.tensordot(x, y, axes=([1, 2], [1, 2])) + np.tensordot(x, y, 3), (T, T * 2)),
    ("kron", lambda x, v: np.kron(x, v), (A[:2, :2] + 0, V)),
    ("cross", lambda x, y: np.cross(x, y), (S, S.T + 1)),
    ("multi_dot", lambda x, y: np.linalg.multi_dot([x, y.T, x]), (A, B)),
    ("einsum product", lambda x, y: np.einsum("ij,kj->ik", x, y), (A, B)),
    ("einsum three", lambda x, y, v: np.einsum("ij,kj,j->ki", x, y, v), (A, B, V)),
    ("einsum batch", lambda x, y: np.einsum("bij,bkj->bik", x, y), (T, T * 2)),
    ("einsum sum", lambda x: np.einsum("ij->j", x) + np.einsum("ij->", x), (A,)),
    ("einsum trace", lambda x: np.einsum("ii->i", x) + np.einsum("ii", x), (S,)),
    ("einsum dots", lambda x, y: np.einsum("...ij,jk->...ik", x, y), (T, A.T + 0)),
    ("einsum implied", lambda x, y: np.einsum("ij,jk", x, y), (A, B.T + 0)),
    ("trace", lambda x: np.trace(x) + x.trace(1) + np.diagonal(x, -1).sum(), (S,)),
    ("diag", lambda x, v: np.diag(v) + np.diag(v[:3], -1) + np.diag(x).sum(), (S, V)),
    ("tril triu", lambda x: np.tril(x) - np.triu(x, 1) + np.tril(x, -1), (S,)),
    ("like", lambda x: np.zeros_like(x) + np.ones_like(x) * x + np.full_like(x, 2) + np.empty_like(x) * 0, (A,)),
    ("linspace", lambda v: np.linspace(v[0], v[2], 5) + np.linspace(v[0], 1.0, 5, endpoint=False), (V,)),
    ("meshgrid", lambda v: np.meshgrid(v, v[:2] * 2)[0] * np.meshgrid(v, v[:2])[1], (V,)),
    ("index", lambda x: x[1] + x[-1, 2] + x[0, :][::-1], (A,)),
    ("slices", lambda x: x[::-1, 1:3] + x[:, ::2] + x[..., -2:], (A,)),
    ("empty slice", lambda x: x[2:1].sum() + x[:, 4:].sum(), (A,)),
    ("new axes", lambda x: x[:, None, 1:] + x[None, ..., :3].transpose(1, 0, 2), (A,)),
    ("index list", lambda x: x[[2, 0]] + x[:, [3, 0, 1, 1]][:2], (A,)),
    ("index arrays", lambda x: x[np.array([0, 2, -1]), np.array([1, -1, 0])], (A,)),
    ("index apart", lambda x: x[np.array([0, 1]), :, np.array([1, 3])] + x[:, 1][[0, 1]][:, :3], (T,)),
    ("index matrix", lambda x: x[:, np.array([[0, 2], [1, 1]])], (T,)),
    ("index beside number", lambda x: x[0, :, np.array([1, 3])], (T,)),
    ("mask", lambda x: x[np.array([True, False, True])] * 2, (A,)),
    ("mask of all", lambda x: x[A > 0], (A,)),
    ("take", lambda x: np.take(x, [1, 0, 1], axis=1) + x.take([0, 1, 2], axis=1), (A,)),
    ("take_along_axis", lambda x: np.take_along_axis(x, np.argsort(B, axis=1), axis=1), (A,)),
    ("rows", lambda x: sum(row * k for k, row in enumerate(x)), (A,)),
    ("methods", lambda x: x.copy().flatten() * x.ravel() + x.size + x.ndim + len(x), (A,)),
    ("in place", lambda x: _in_place(x), (A,)),
    ("numbers", lambda x: np.multiply(x, np.float64(2)) if x.dtype != np.float32 else x * np.float32(2), (A,)),
    ("logsumexp", lambda x: np.log(np.sum(np.exp(x - x.max(axis=1, keepdims=True)), axis=1)), (A,)),
    ("softmax", lambda x: np.exp(x - np.max(x)) / np.exp(x - np.max(x)).sum(), (A,)),
]  # fmt: skip

FLOATS_ONLY = {"reflected", "small powers", "power", "nan_to_num", "heaviside", "prod at zero", "nansum"}
FLOATS_ONLY |= {"arcsin", "arccos", "arctanh", "reciprocal", "float_power", "cosh", "in place"}
FLAT = {"sign", "floor", "ceil", "rint", "trunc", "logical_not", "isnan", "isinf", "isfinite", "heaviside"}
ULPS = {np.dtype(np.float64): 2e-13, np.dtype(np.float32): 2e-5}


def _in_place(x):
    total = np.zeros_like(x)
    for k in range(3):
        total += x * k
        total *= 1.5
    other = total
    other -= 1
    return total


def _arguments(args: tuple[Any, ...], dtype: Any) -> tuple[Any, ...]:
    return tuple(np.ascontiguousarray(a * (1 if dtype != np.int64 else 3)).astype(dtype) for a in args)


def _same(made: Any, want: Any) -> None:
    want = np.asarray(want)
    assert np.asarray(made).dtype == want.dtype
    assert np.shape(made) == want.shape
    if want.dtype.kind == "f":
        np.testing.assert_allclose(made, want, rtol=ULPS[want.dtype], atol=ULPS[want.dtype])
    else:
        np.testing.assert_array_equal(made, want)


CASES = UFUNCS + SCIPY + NUMBERS


@pytest.mark.parametrize(("name", "function", "args"), CASES, ids=[c[0] for c in CASES])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64], ids=["f64", "f32", "i64"])
def test_values_and_dtypes_are_numpys(name: str, function: Function, args: tuple[Any, ...], dtype: Any) -> None:
    if dtype == np.int64 and name in FLOATS_ONLY:
        return
    given = _arguments(args, dtype)
    with np.errstate(all="ignore"):
        want = function(*(a.copy() for a in given))
    _same(jit(function)(*given), want)


@pytest.mark.parametrize(("name", "function", "args"), CASES, ids=[c[0] for c in CASES])
def test_gradients_agree_with_numbers(name: str, function: Function, args: tuple[Any, ...]) -> None:
    out = function(*(a.copy() for a in args))
    if np.asarray(out).dtype.kind != "f":
        return
    check(function, *(np.ascontiguousarray(a) for a in args))


SPECIALS = np.array([0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1e-300, -1e-300, 1e-9, -1e-9, 40.0, -40.0, 700.0, -700.0,
                     1e15, -1e15, 1e300, -1e300, np.inf, -np.inf, np.nan])  # fmt: skip
PAIRS = [g.ravel() for g in np.meshgrid(SPECIALS, SPECIALS)]
ROUGH = {"float_power": 1e-12}


def _agree(made: Any, want: Any, name: str) -> None:
    np.testing.assert_array_equal(np.isnan(made), np.isnan(want), err_msg=name)
    np.testing.assert_allclose(made, want, rtol=ROUGH.get(name, 4e-15), atol=0, err_msg=name)


@pytest.mark.parametrize("name", [n for names in UNARY.values() for n in names.split()] + ["log_expit"])
def test_special_values_of_one_argument(name: str) -> None:
    function = getattr(np, name, None) or getattr(special, name)
    with np.errstate(all="ignore"):
        _agree(jit(function)(SPECIALS), function(SPECIALS), name)


@pytest.mark.parametrize("name", [n for names in BINARY.values() for n in names.split()] + ["xlogy", "xlog1py"])
def test_special_values_of_two_arguments(name: str) -> None:
    function = getattr(np, name, None) or getattr(special, name)
    with np.errstate(all="ignore"):
        _agree(jit(function)(*PAIRS), function(*PAIRS), name)


def test_masked_singularities_give_no_nan() -> None:
    for function, x in (
        (lambda x: np.where(x > 0, np.sqrt(x), 0), np.array([0.0, 4.0])),
        (lambda x: special.xlogy(x, x), np.array([0.0, 1.0])),
        (lambda x: np.hypot(x, 0.0), np.array([0.0, 2.0])),
        (lambda x: np.where(x < 1, np.arcsin(x), np.arctan2(1.0, x)), np.array([1.0, 0.5])),
        (lambda x: np.where(x > 0, np.cbrt(x), np.arctan(x)), np.array([0.0, 2.0])),
        (lambda x: np.sinc(x), np.array([0.0, 0.5])),
        (lambda x: np.logaddexp(x, -np.inf), np.array([-np.inf, 1.0])),
    ):
        assert np.isfinite(grad(lambda x, f=function: np.sum(f(x)))(x)).all()


def test_sinc_has_no_limit_far_out() -> None:
    far = np.array([np.inf, -np.inf])
    assert np.isnan(jit(lambda x: np.sinc(x))(far)).all()
    assert np.isnan(grad(lambda x: np.sum(np.sinc(x)))(far)).all()


EINSUM: Any = np.einsum

CORNERS: list[Case] = [
    ("prod of nothing beside something", lambda x: np.prod(x, axis=0), (np.ones((3, 0)),)),
    ("prod over nothing", lambda x: np.prod(x, axis=1, keepdims=True), (np.ones((3, 0)),)),
    ("tril of a row", lambda x: np.tril(x), (A[0],)),
    ("triu of a row", lambda x: np.triu(x, 1), (A[0],)),
    ("meshgrid of matrices", lambda x, y: np.meshgrid(x, y)[1], (A, B)),
    ("meshgrid of a number", lambda x, y: np.meshgrid(x, y)[0], (A[0], 2.0)),
    ("how many are not zero", lambda x: np.linalg.norm(x, 0, axis=1), (np.floor(A),)),
    ("the largest of nothing", lambda x: np.linalg.norm(x, np.inf), (np.ones(0),)),
    ("reciprocals of whole numbers", lambda x: np.reciprocal(x), (np.array([-3, -2, -1, 1, 2, 7]),)),
    ("nan_to_num of whole numbers", lambda x: np.nan_to_num(x), (np.arange(3),)),
    ("nan_to_num of a mask", lambda x: np.nan_to_num(x), (A > 0,)),
    ("sum of a mask as a mask", lambda x: np.sum(x, axis=0, dtype=bool), (A > 0,)),
    ("einsum of a mask", lambda x: EINSUM("ij->j", x), (A > 0,)),
    ("einsum of masks", lambda x, y: EINSUM("ij,kj->ki", x, y), (A > 0, B > 0)),
    ("vecdot of masks", lambda x, y: np.vecdot(x, y), (A > 0, B > 0)),
    ("isclose of masks", lambda x, y: np.isclose(x, y), (A > 0, B > 0)),
    ("hypot of negative zeros", lambda x, y: np.arctan2(np.hypot(x, y), x), (np.array([-0.0]), -0.0)),
]
CORNERS += [
    (f"{name} of masks", getattr(np, name), (A > 0, B > 0))
    for name in ("less", "less_equal", "greater", "greater_equal", "fmin", "fmax")
]


@pytest.mark.parametrize(("name", "function", "given"), CORNERS, ids=[c[0] for c in CORNERS])
def test_corners_of_numpy(name: str, function: Function, given: tuple[Any, ...]) -> None:
    with np.errstate(all="ignore"):
        _agree(jit(function)(*given), function(*given), name)


def test_the_gradient_of_hypot_at_its_tip_is_zero() -> None:
    assert grad(lambda x, y: np.hypot(x, y), argnums=(0, 1))(0.0, 0.0) == (0.0, 0.0)


def test_a_masked_product_of_square_matrices() -> None:
    """The product has the shape of its operands, but the mask of its elements is not one of theirs."""
    x, y = S, S[::-1] + 0.5
    chosen = np.where(x > 0.4, 2 * (x @ y), 0)
    of_x, of_y = grad(lambda x, y: np.sum(np.where(x > 0.4, x @ y, 0) ** 2), argnums=(0, 1))(x, y)
    np.testing.assert_allclose(of_x, chosen @ y.T, rtol=1e-13)
    np.testing.assert_allclose(of_y, x.T @ chosen, rtol=1e-13)


# ---- random keys and subscripts


def _random_key(rng: np.random.Generator, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """A key for an array of this shape, most often a legal one."""
    key: list[Any] = []
    count = int(rng.integers(1, 4))
    for n in shape:
        kind = rng.integers(0, 9)
        if kind <= 1:
            key.append(int(rng.integers(-n, n)))
        elif kind <= 4:
            a, b, step = (None if rng.random() < 0.3 else int(rng.integers(-n - 1, n + 2)) for _ in range(3))
            key.append(slice(a, b, step or None))
        elif kind == 5:
            key.append([int(k) for k in rng.integers(-n, n, count)])
        elif kind == 6:
            key.append(rng.integers(-n, n, [(count,), (2, 1), (2, count)][rng.integers(0, 3)]))
        elif kind == 7:
            key.append(rng.random(n) < 0.6)
    for extra in (None, Ellipsis):
        if rng.random() < 0.3:
            key.insert(int(rng.integers(0, len(key) + 1)), extra)
    return tuple(key)


def test_random_keys_index_as_in_numpy(rng: np.random.Generator) -> None:
    legal = 0
    with settings.override(reference=True):
        for _ in range(600):
            x = rng.normal(size=tuple(rng.integers(1, 5, int(rng.integers(1, 5)))))
            key = _random_key(rng, x.shape)
            try:
                want = x[key]
            except IndexError:
                with pytest.raises((IndexError, ValueError)):
                    jit(lambda x, key=key: x[key])(x)
                continue
            made = jit(lambda x, key=key: x[key])(x)
            np.testing.assert_array_equal(made, want, err_msg=str(key))
            assert made.shape == want.shape, (x.shape, key)
            legal += 1
    assert legal > 300


def test_random_einsums_are_numpys(rng: np.random.Generator) -> None:
    sizes = dict(zip("ijklm", (2, 3, 4, 1, 5), strict=True))
    with settings.override(reference=True):
        for _ in range(150):
            letters = [rng.choice(list("ijklm"), int(rng.integers(1, 4))) for _ in range(rng.integers(1, 4))]
            known = sorted(set("".join(map("".join, letters))))
            out = rng.permutation(known)[: int(rng.integers(0, len(known) + 1))]
            subscripts = ",".join(map("".join, letters)) + "->" + "".join(out)
            args = [rng.normal(size=[sizes[c] for c in term]) for term in letters]
            made = jit(functools.partial(EINSUM, subscripts))(*args)
            want = EINSUM(subscripts, *args)
            np.testing.assert_allclose(made, want, rtol=1e-10, atol=1e-12, err_msg=subscripts)


@pytest.mark.parametrize("index", [5, -6, -11, 2**40, -(2**40)])
def test_a_bad_index_is_told_as_it_was_given(index):
    f = jit(lambda x, i: x[i])
    for i in (index, np.array([0, index, 1])):
        with pytest.raises(IndexError, match=f"index {index} is out of bounds for axis 0 with size 5"):
            f(np.arange(5.0), i)
