"""Functions as users write them, with arguments: what the tests of generated code run.

    CASES["softmax"] -> Written(function, arguments, orders)
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


class Written(NamedTuple):
    """A function, its arguments, and up to which derivative it is tested."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    orders: int = 1


CASES: dict[str, Written] = {}
_rng = np.random.default_rng(3)


def _f8(*shape: int, scale: float = 1.0) -> np.ndarray:
    return _rng.normal(size=shape) * scale


def _f4(*shape: int) -> np.ndarray:
    return _rng.normal(size=shape).astype(np.float32)


def _case(name: str, *args: Any, orders: int = 1) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        assert name not in CASES
        CASES[name] = Written(function, args, orders)
        return function

    return add


# ---- rows: softmax and its kin


@_case("softmax", _f8(7, 33), orders=2)
@_case("softmax, many short rows, f32", _f4(300, 5))
@_case("softmax, one row", _f8(1, 130))
def _softmax(x):
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


@_case("softmax over axis 0", _f8(31, 17))
def _softmax_of_columns(x):
    e = np.exp(x - np.max(x, axis=0))
    return e / np.sum(e, axis=0)


@_case("log-sum-exp", _f8(1000), orders=2)
@_case("log-sum-exp, f32", _f4(777))
@_case("log-sum-exp of a matrix", _f8(20, 45))
def _log_sum_exp(x):
    m = np.max(x)
    return m + np.log(np.sum(np.exp(x - m)))


@_case("cross-entropy", _f4(16, 100), _rng.integers(0, 100, 16))
@_case("cross-entropy, 3 classes", _f8(65, 3), _rng.integers(0, 3, 65))
def _cross_entropy(logits, labels):
    m = np.max(logits, axis=1, keepdims=True)
    lse = np.log(np.sum(np.exp(logits - m), axis=1)) + m[:, 0]
    return np.mean(lse - logits[np.arange(logits.shape[0]), labels])


@_case("layer norm", _f8(9, 40), _f8(40), _f8(40))
@_case("layer norm, f32, prime", _f4(13, 67), _f4(67), _f4(67))
@_case("layer norm of short rows", _f8(70, 4), _f8(4), _f8(4), orders=2)
def _layer_norm(x, gain, bias):
    mean = np.mean(x, axis=-1, keepdims=True)
    d = x - mean
    return d / np.sqrt(np.mean(d * d, axis=-1, keepdims=True) + 1e-5) * gain + bias


@_case("batch norm", _f8(50, 13), _f8(13), _f8(13))
@_case("batch norm, f32, wide", _f4(8, 260), _f4(260), _f4(260))
def _batch_norm(x, gain, bias):
    mean, var = np.mean(x, axis=0), np.var(x, axis=0)
    return (x - mean) / np.sqrt(var + 1e-5) * gain + bias


@_case("standardised images", _f4(5, 3, 6, 7))
def _channel_norm(x):
    mean = np.mean(x, axis=(0, 2, 3), keepdims=True)
    var = np.mean((x - mean) ** 2, axis=(0, 2, 3), keepdims=True)
    return (x - mean) / np.sqrt(var + 1e-3)


@_case("attention", _f8(2, 9, 8), _f8(2, 9, 8), _f8(2, 9, 8))
@_case("attention, f32", _f4(3, 17, 16), _f4(3, 17, 16), _f4(3, 17, 16))
def _attention(q, k, v):
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    e = np.exp(scores - np.max(scores, axis=-1, keepdims=True))
    return (e / np.sum(e, axis=-1, keepdims=True)) @ v


@_case("causal attention", _f8(11, 4), _f8(11, 4), _f8(11, 4))
def _causal(q, k, v):
    scores = np.where(np.tri(11, dtype=bool), q @ k.T, -1e9)
    e = np.exp(scores - np.max(scores, axis=-1, keepdims=True))
    return (e / np.sum(e, axis=-1, keepdims=True)) @ v


@_case("several statistics of rows", _f8(24, 35))
def _statistics(x):
    mean = np.mean(x, axis=1)
    d = x - mean[:, None]
    return mean, np.sum(d**2, axis=1), np.max(np.abs(d), axis=1), np.sum(d**3, axis=1) / (1 + np.sum(d**2, axis=1))


@_case("normalised rows and columns", _f8(12, 19))
def _sinkhorn(x):
    e = np.exp(x)
    for _ in range(3):
        e = e / np.sum(e, axis=1, keepdims=True)
        e = e / np.sum(e, axis=0, keepdims=True)
    return e


# ---- networks


@_case("MLP", _f8(32, 10), _f8(10, 33), _f8(33), _f8(33, 7), _f8(7))
@_case("MLP, f32", _f4(16, 64), _f4(64, 64), _f4(64), _f4(64, 10), _f4(10))
@_case("MLP, one example", _f8(1, 5), _f8(5, 9), _f8(9), _f8(9, 1), _f8(1), orders=2)
def _mlp(x, w1, b1, w2, b2):
    h = np.tanh(x @ w1 + b1)
    return np.mean((h @ w2 + b2) ** 2)


@_case("deep relu network", _f4(9, 15), _f4(15, 15), _f4(15))
def _deep(x, w, b):
    for _ in range(4):
        x = np.maximum(x @ w + b, 0) * np.float32(0.5)
    return x


@_case("recurrent network", _f8(6, 4, 3), _f8(3, 8), _f8(8, 8))
def _recurrent(x, wx, wh):
    h = np.zeros((4, 8))
    for t in range(6):
        h = np.tanh(x[t] @ wx + h @ wh)
    return h


@_case("transformer block", _f4(2, 7, 16), _f4(16, 48), _f4(16, 16), _f4(16, 32), _f4(32, 16))
def _block(x, qkv, out, up, down):
    def norm(x):
        d = x - np.mean(x, axis=-1, keepdims=True)
        return d / np.sqrt(np.mean(d * d, axis=-1, keepdims=True) + np.float32(1e-5))

    b, n, d = x.shape
    parts = (norm(x) @ qkv).reshape(b, n, 3, 2, 8).transpose(2, 0, 3, 1, 4)
    q, k, v = parts[0], parts[1], parts[2]
    s = q @ np.swapaxes(k, -1, -2)
    e = np.exp(s - np.max(s, axis=-1, keepdims=True))
    a = (e / np.sum(e, axis=-1, keepdims=True)) @ v
    x = x + a.transpose(0, 2, 1, 3).reshape(b, n, d) @ out
    return x + np.maximum(norm(x) @ up, 0) @ down


@_case("image filters", _f8(2, 9, 10), _f8(3, 3))
def _filters(x, w):
    return sum(w[i, j] * x[:, i : i + 7, j : j + 8] for i in range(3) for j in range(3))


@_case("convolution", _f8(40), _f8(7))
@_case("convolution, f32", _f4(133), _f4(16))
def _convolve(x, w):
    return np.convolve(x, w, mode="valid")


@_case("mixture of Gaussians", _f8(57, 3), _f8(5), _f8(5, 3), _f8(5, 3))
def _mixture(x, weights, means, logs):
    z = (x[:, None, :] - means) * np.exp(logs)
    each = weights + np.sum(logs, axis=1) - 0.5 * np.sum(z * z, axis=2)
    m = np.max(each, axis=1)
    return np.sum(m + np.log(np.sum(np.exp(each - m[:, None]), axis=1)))


# ---- batches of tiny problems


@_case("quaternion products", _f8(67, 4), _f8(67, 4))
@_case("quaternion products, f32", _f4(33, 4), _f4(33, 4))
def _quaternions(p, q):
    a, b, c, d = (p[:, k] for k in range(4))
    e, f, g, h = (q[:, k] for k in range(4))
    return np.stack([a * e - b * f - c * g - d * h, a * f + b * e + c * h - d * g,
                     a * g - b * h + c * e + d * f, a * h + b * g - c * f + d * e], axis=1)


@_case("cross products", _f8(41, 3), _f8(41, 3))
def _cross(a, b):
    x, y, z = a[:, 0], a[:, 1], a[:, 2]
    u, v, w = b[:, 0], b[:, 1], b[:, 2]
    return np.stack([y * w - z * v, z * u - x * w, x * v - y * u], axis=-1)


@_case("rotations", _f8(50, 3), _f8(50, 3))
def _rotate(r, p):
    angle = np.sqrt(np.sum(r * r, axis=1, keepdims=True) + 1e-12)
    k = r / angle
    cross = np.stack([k[:, 1] * p[:, 2] - k[:, 2] * p[:, 1], k[:, 2] * p[:, 0] - k[:, 0] * p[:, 2],
                      k[:, 0] * p[:, 1] - k[:, 1] * p[:, 0]], axis=1)
    dot = np.sum(k * p, axis=1, keepdims=True)
    return p * np.cos(angle) + cross * np.sin(angle) + k * dot * (1 - np.cos(angle))


@_case("chain of 4x4 matrices", _f8(19, 4, 4), _f8(19, 4, 4), _f8(19, 4))
@_case("chain of 3x3 matrices, f32", _f4(70, 3, 3), _f4(70, 3, 3), _f4(70, 3))
def _chain(a, b, v):
    return (a @ b @ a @ v[:, :, None])[:, :, 0]


@_case("inverses of 2x2 matrices", _f8(21, 2, 2) + 3 * np.eye(2), _f8(21, 2), orders=2)
def _solve(a, b):
    det = a[:, 0, 0] * a[:, 1, 1] - a[:, 0, 1] * a[:, 1, 0]
    x = (a[:, 1, 1] * b[:, 0] - a[:, 0, 1] * b[:, 1]) / det
    y = (a[:, 0, 0] * b[:, 1] - a[:, 1, 0] * b[:, 0]) / det
    return np.stack([x, y], axis=1)


@_case("Kalman filter", _f8(4), np.eye(4), _f8(3, 2))
def _kalman(x, p, seen):
    f = np.eye(4) + np.eye(4, k=2) * 0.1
    h = np.eye(2, 4)
    total = 0.0
    for t in range(len(seen)):
        x, p = f @ x, f @ p @ f.T + 0.01 * np.eye(4)
        y, s = seen[t] - h @ x, h @ p @ h.T + 0.1 * np.eye(2)
        det = s[0, 0] * s[1, 1] - s[0, 1] * s[1, 0]
        inverse = np.stack([np.stack([s[1, 1], -s[0, 1]]), np.stack([-s[1, 0], s[0, 0]])]) / det
        gain = p @ h.T @ inverse
        x, p = x + gain @ y, (np.eye(4) - gain @ h) @ p
        total = total + np.log(det) + y @ inverse @ y
    return total


@_case("pairs of atoms", _f8(23, 3))
def _pairs(x):
    d = x[:, None, :] - x[None, :, :]
    r2 = np.sum(d * d, axis=-1) + np.eye(23)
    return np.sum(np.where(r2 < 4.0, r2**-3 - 2 * r2**-1.5, 0.0))


@_case("many 3-vectors", _f8(2001, 3))
def _unit_vectors(x):
    return x / np.sqrt(np.sum(x * x, axis=1, keepdims=True))


@_case("points on their planes", _f8(130, 3), _f8(3), _f8(3, 3))
def _planes(x, c, a):
    y = (x - c) @ a
    return np.sum(np.sqrt(1 + np.sum(y * y, axis=1)))


@_case("reprojection", _f8(6, 8, scale=0.1), _f8(20, 3) + 9.0, _rng.integers(0, 6, 90), _rng.integers(0, 20, 90))
def _reprojection(cameras, points, i, j):
    c, p = cameras[i], points[j]
    angle = np.sqrt(np.sum(c[:, :3] ** 2, axis=1, keepdims=True) + 1e-9)
    k = c[:, :3] / angle
    cross = np.stack([k[:, 1] * p[:, 2] - k[:, 2] * p[:, 1], k[:, 2] * p[:, 0] - k[:, 0] * p[:, 2],
                      k[:, 0] * p[:, 1] - k[:, 1] * p[:, 0]], axis=1)
    y = p * np.cos(angle) + cross * np.sin(angle) + c[:, 3:6]
    u = y[:, :2] / y[:, 2:]
    r2 = np.sum(u * u, axis=1, keepdims=True)
    return np.sum((u * (1 + c[:, 6:7] * r2 + c[:, 7:8] * r2 * r2)) ** 2)


# ---- moving elements


@_case("cumulative sum", _f8(6, 21))
def _cumulative(x):
    return np.cumsum(x, axis=1)


@_case("differences and neighbours", _f8(77), orders=2)
def _differences(x):
    return np.sum((x[1:] - x[:-1]) ** 2) + np.sum(x[2:] * x[1:-1] * x[:-2])


@_case("strided and reversed", _f8(31, 18))
def _strided(x):
    return x[::-1, ::3] * x[:, 1::3] + x[::-1, ::-3]


@_case("parts joined", _f8(5, 7), _f8(5, 3), _f8(2, 10))
def _joined(a, b, c):
    whole = np.concatenate([np.concatenate([a, b], axis=1), c, np.tanh(c)])
    return whole * np.sum(whole, axis=1, keepdims=True)


@_case("transposed and broadcast", _f8(5, 6, 7), _f8(7, 1), _f8(6))
def _broadcast(x, y, z):
    return np.transpose(x, (2, 0, 1)) * y[:, :, None] + z + np.transpose(x, (2, 0, 1))[:, ::-1, :]


@_case("reshaped", _f8(12, 10))
def _reshaped(x):
    return x.reshape(8, 15).T.reshape(3, 40) + np.sin(x).T.reshape(3, 40)


@_case("gather with repeats", _f8(11, 6), np.array([3, -1, 3, 0, 10, -11, 3, 3, 5]), orders=2)
@_case("gather with repeats, f32", _f4(40, 33), _rng.integers(-40, 40, 70))
def _gather(x, i):
    return np.sin(x[i]) * x[i]


@_case("gather of single elements", _f8(90), _rng.integers(-90, 90, 300))
@_case("gather of few elements", _f8(3), _rng.integers(0, 3, 200))
def _pick(x, i):
    return x[i] ** 2


@_case("gather of columns", _f8(7, 12), _rng.integers(0, 12, 20))
def _columns(x, i):
    return x[:, i] * np.arange(20.0)


@_case("gather in both axes", _f8(8, 9), _rng.integers(0, 8, 50), _rng.integers(-9, 9, 50))
def _both(x, i, j):
    return np.exp(x[i, j])


@_case("embedding", _f4(50, 16), _rng.integers(0, 50, (4, 7)), _f4(16, 3))
def _embedding(table, tokens, w):
    return np.mean(table[tokens], axis=1) @ w


@_case("segment sums", _f8(100), _rng.integers(0, 9, 100))
def _segments(x, i):
    return np.sqrt(np.sum(np.where(i == np.arange(9)[:, None], x * x, 0.0), axis=1) + 1)


@_case("interpolation", _f8(40), np.sort(_rng.uniform(0, 38.9, 60)))
def _interpolate(table, at):
    k = np.floor(at).astype(np.int64)
    part = at - np.floor(at)
    return table[k] * (1 - part) + table[k + 1] * part


# ---- extremes, masks, kinds


_TIES = np.round(_f8(9, 14) * 2) / 2
_HOLES = np.where(_rng.uniform(size=(9, 14)) < 0.1, np.nan, _TIES)


@_case("extremes with ties", _TIES)
@_case("extremes with NaN", _HOLES)
@_case("extremes, f32", _TIES.astype(np.float32))
def _extremes(x):
    return np.max(x, axis=0), np.min(x, axis=1), np.max(x), np.min(x), np.maximum(x, x[::-1])


@_case("places of extremes", np.round(_f8(13, 37)))
@_case("places of extremes with NaN", np.where(_rng.uniform(size=(40, 5)) < 0.1, np.nan, 1.0))
@_case("places of extremes of integers", _rng.integers(-3, 3, (7, 65)))
def _places(x):
    return np.argmax(x, axis=0), np.argmin(x, axis=1), np.argmax(x)


@_case("masks", _f8(10, 23), orders=2)
def _masked(x):
    return np.where(x > 0, np.sqrt(np.where(x > 0, x, 1.0)), np.where(x < -1, -x, x**2)), np.sum(x[None] > 0, axis=2)


@_case("special values", np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, 1.8e308, 1.0, -1.0, 710.0, 1e-300]))
def _special(x):
    return x + x, x * x, np.exp(x), np.abs(x), np.maximum(x, -0.0), np.sum(x[:2]), np.max(x[:2]), np.sign(x)


@_case("empty results", _f8(6, 8), np.zeros((0, 4)))
def _empty(x, nothing):
    total, rows = np.sum(np.sin(x)), np.sum(x, axis=1)
    return np.broadcast_to(total, (0,)), np.broadcast_to(rows[None], (0, 6)) * 2, x[:0] @ x.T, np.sum(nothing, axis=0)


@_case("integers", _rng.integers(-50, 50, (11, 13)), _rng.integers(1, 9, 13))
@_case("integers of 32 bits", *(_rng.integers(1, 50, s).astype(np.int32) for s in ((11, 13), (13,))))
def _integers(x, y):
    return x // y, x % y, np.sum(x * y, axis=0), np.max(x, axis=1), x @ y, np.sum(x), np.minimum(x, y)


@_case("mixed kinds", _f4(15), _f8(15), _rng.integers(0, 9, 15))
def _mixed(a, b, n):
    return a * b + n, np.sum(a) * np.sum(b), np.sum(a * n), (a > b) & (n > 3), np.where(n > 4, a, b)


@_case("elementary functions", _f8(3, 41))
@_case("elementary functions, f32", _f4(3, 41))
def _elementary(x):
    y = np.abs(x) + 0.5
    return (np.exp(x), np.log(y), np.sin(x), np.cos(x), np.tanh(x), np.sqrt(y), np.arctan(x), np.log1p(y), y**1.5,
            np.expm1(x))


@_case("Black-Scholes", _f8(37) ** 2 + 1, _f8(37) ** 2 + 1, _f8(37) ** 2 + 0.1)
def _black_scholes(s, k, t):
    d = (np.log(s / k) + 0.02 * t) / np.sqrt(t)
    return s / (1 + np.exp(-1.7 * d)) - k * np.exp(-0.01 * t) / (1 + np.exp(-1.7 * (d - np.sqrt(t))))


@_case("a function of numbers", 0.3, 1.7, orders=2)
def _numbers(x, y):
    for _ in range(5):
        x, y = x * np.cos(y) + 0.1, np.tanh(x * y) + y / (1 + x * x)
    return x * y


@_case("a scalar", np.float32(1.5))
def _scalar(x):
    return np.sin(x) * x


# ---- folds


def _all_axes(name: str, x: np.ndarray) -> None:
    axes = [a for n in range(1, x.ndim + 1) for a in itertools.combinations(range(x.ndim), n)]
    CASES[f"every sum of {name}"] = Written(lambda x: tuple(np.sum(np.sin(x), axis=a) for a in axes), (x,))
    CASES[f"every maximum of {name}"] = Written(lambda x: tuple(np.max(x, axis=a) for a in axes), (x,))


_all_axes("a matrix", _f8(17, 33))
_all_axes("a wide matrix, f32", _f4(3, 300))
_all_axes("a tall matrix", _f8(301, 2))
_all_axes("three axes", _f8(5, 9, 8))
_all_axes("four axes, f32", _f4(3, 4, 2, 17))
_all_axes("four axes with ones", _f8(1, 6, 1, 9))


@_case("folds of products", _f8(9, 16, 11), _f8(16), _f8(9, 11))
def _products(x, y, z):
    y, z = y[:, None], z[:, None, :]
    return np.sum(x * y, axis=1), np.sum(x * z, axis=(0, 2)), np.sum(x * y * z)


# ---- products


@_case("quadratic form", _f8(15), _f8(15, 15), orders=2)
def _quadratic(x, a):
    return x @ a @ x + np.sum(a @ a.T)


@_case("products of vectors", _f8(37), _f8(37), _f8(5))
def _vectors(a, b, c):
    return a @ b, np.outer(a, c), np.outer(c, c) @ c


@_case("contractions", _f8(4, 5, 6), _f8(6, 5, 3), _f8(4, 3))
def _contractions(a, b, c):
    return np.einsum("ijk,kjl->il", a, b), np.einsum("ijk,il->kl", a, c), np.einsum("ijk,kjl,il->", a, b, c)


@_case("batched products", _f8(5, 7, 9), _f8(5, 9, 8), _f8(9, 8))
def _batched(a, b, c):
    return a @ b, a @ c, np.swapaxes(a, 1, 2) @ a


@_case("bias and activation", _f4(31, 17), _f4(17, 33), _f4(33))
def _activated(x, w, b):
    y = x @ w + b
    return y / (1 + np.exp(-y)), np.sum(y, axis=0)


def _turned(ta: bool, tb: bool) -> Callable[..., Any]:
    return lambda a, b: (a.T if ta else a) @ (b.T if tb else b)


_SIZES = [(1, 7, 9), (7, 1, 8), (8, 9, 1), (15, 16, 17), (31, 33, 32), (13, 64, 5), (2, 3, 100)]
for _k, (_m, _n, _p) in enumerate(_SIZES):
    for _ta, _tb in itertools.product((False, True), repeat=2):
        _make = _f4 if (_k + _ta) % 2 else _f8
        _a, _b = _make(*((_p, _m) if _ta else (_m, _p))), _make(*((_n, _p) if _tb else (_p, _n)))
        _how = f"{_m}x{_n}x{_p}{' left' * _ta}{' right' * _tb}"
        CASES[f"product {_how}"] = Written(_turned(_ta, _tb), (_a, _b), 1 if _k % 3 == 0 else 0)

#: functions whose sizes are large: where folds are cut into blocks, and statements into chunks
LONG: dict[str, Written] = {
    f"a fold of {n}": Written(lambda x: (np.sum(np.tanh(x)), np.max(x)), (_f8(n),)) for n in (131071, 131072, 131073)
}
LONG["many 3-vectors"] = Written(_unit_vectors, (_f8(70001, 3),))
LONG["rows"] = Written(_softmax, (_f4(400, 257),))
LONG["columns"] = Written(_batch_norm, (_f8(3001, 33), _f8(33), _f8(33)))
LONG["a product"] = Written(_activated, (_f4(201, 130), _f4(130, 190), _f4(190)))
LONG["a gather"] = Written(_gather, (_f8(500, 8), _rng.integers(-500, 500, 20011)))

__all__ = ["CASES", "LONG", "Written"]
