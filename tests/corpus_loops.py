"""Functions with loops, branches and assignment, for the tests of generated code: as `tests.corpus`, which has none.

    LOOPS["heat"] -> Written(function, arguments, orders)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.corpus import Written

LOOPS: dict[str, Written] = {}
_rng = np.random.default_rng(23)


def _f8(*shape: int, scale: float = 1.0) -> np.ndarray:
    return _rng.normal(size=shape) * scale


def _f4(*shape: int) -> np.ndarray:
    return _rng.normal(size=shape).astype(np.float32)


def _case(name: str, *args: Any, orders: int = 1) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        assert name not in LOOPS
        LOOPS[name] = Written(function, args, orders)
        return function

    return add


# ---- numbers


@_case("a recurrence of floats", 0.3, 1.1, orders=2)
def _recurrence(x, r):
    for k in range(200):
        x = r * x * (1.0 - x) + 0.01 * np.sin(x * k)
    return x


@_case("Newton", 2.7, orders=2)
def _newton(a):
    x = a
    while abs(x * x * x - a) > 1e-13:
        x = x - (x * x * x - a) / (3.0 * x * x)
    return x


@_case("steps of two kinds", 0.2, 0.9)
def _two_kinds(x, y):
    for k in range(150):
        if x > y:
            x = x - 0.1 * np.exp(y)
        elif k % 7 == 3:
            y = y * 0.9
        else:
            x = x + 0.05 * y * y
        if x > 3.0:
            break
    return x + y


@_case("a nest with an inner while", _f8(40))
def _ragged(x):
    total = 0.0
    for k in range(40):
        y = 1.0 + x[k] * x[k]
        while y < 20.0:
            y = y * 1.7 + total * 1e-3
        total = total + np.log(y)
    return total


# ---- arrays by elements


@_case("soft-DTW", _f8(9, 11, scale=0.5))
def _soft_dtw(cost):
    n, m = cost.shape
    table = np.full((n + 1, m + 1), 1e3)
    table[0, 0] = 0.0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            a, b, c = table[i - 1, j - 1], table[i - 1, j], table[i, j - 1]
            low = min(a, b, c)
            soft = low - np.log(np.exp(low - a) + np.exp(low - b) + np.exp(low - c))
            table[i, j] = cost[i - 1, j - 1] + soft
    return table[n, m]


@_case("Gauss-Seidel", _f8(60), _f8(60))
def _gauss_seidel(u, f):
    u = u.copy()
    for _ in range(12):
        for k in range(1, 59):
            u[k] = 0.5 * (u[k - 1] + u[k + 1] + f[k] * u[k] * 0.01)
    return u


@_case("a solver with pivots", _f8(12, 12), _f8(12))
def _solve(a, b):
    a, b = a.copy(), b.copy()
    n = len(b)
    for k in range(n):
        p = k
        for i in range(k + 1, n):
            if abs(a[i, k]) > abs(a[p, k]):
                p = i
        for j in range(n):
            a[k, j], a[p, j] = a[p, j], a[k, j]
        b[k], b[p] = b[p], b[k]
        for i in range(k + 1, n):
            f = a[i, k] / a[k, k]
            for j in range(k, n):
                a[i, j] -= f * a[k, j]
            b[i] -= f * b[k]
    for k in range(n - 1, -1, -1):
        for j in range(k + 1, n):
            b[k] -= a[k, j] * b[j]
        b[k] /= a[k, k]
    return b


@_case("independent rounds", _f8(333), _f8(333), orders=2)
def _independent(x, y):
    out = np.zeros(333)
    for k in range(333):
        if x[k] > 0.0:
            out[k] = np.exp(-x[k]) * y[k]
        else:
            out[k] = y[k] * y[k] + x[k]
    return out


@_case("a dear sum in order, f32", _f4(500))
def _dear_sum(x):
    total = np.float32(0.0)
    for each in x:
        total = total + np.exp(-each * each)
    return total


@_case("a histogram", _f8(200), _rng.integers(0, 9, 200))
def _histogram(w, k):
    bins = np.zeros(9)
    for i in range(200):
        bins[k[i]] += w[i] * w[i]
    return bins


# ---- arrays as a whole


@_case("heat", _f8(21, 35), orders=2)
def _heat(u):
    u = u.copy()
    for _ in range(20):
        u[1:-1, 1:-1] += 0.2 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1])
    return u


@_case("paths", 0.04, 1.5, 0.3, _f8(30, 100), _f8(30, 100))
def _paths(v0, kappa, xi, z, w):
    s, v = np.zeros(100), np.full(100, v0)
    for t in range(30):
        root = np.sqrt(np.maximum(v, 1e-8))
        s = s + root * z[t] * 0.1 - 0.005 * v
        v = v + kappa * (0.04 - v) * 0.01 + xi * root * w[t] * 0.1
    return np.mean(np.exp(s))


@_case("a Kalman filter", _f8(25, 2), _f8(4, 4, scale=0.3), _f8(2, 4))
def _kalman(y, a, h):
    x, p = np.zeros(4), np.eye(4)
    total = 0.0
    for t in range(25):
        x = a @ x
        p = a @ p @ a.T + 0.1 * np.eye(4)
        s = h @ p @ h.T + np.eye(2)
        det = s[0, 0] * s[1, 1] - s[0, 1] * s[1, 0]
        inverse = np.array([[s[1, 1], -s[0, 1]], [-s[1, 0], s[0, 0]]]) / det
        e = y[t] - h @ x
        gain = p @ h.T @ inverse
        x = x + gain @ e
        p = p - gain @ h @ p
        total = total + 0.5 * (np.log(det) + e @ inverse @ e)
    return total


@_case("an LSTM, f32", _f4(30, 8), _f4(8, 64), _f4(16, 64))
def _lstm(x, w, u):
    h, c = np.zeros(16, np.float32), np.zeros(16, np.float32)
    for t in range(30):
        gates = x[t] @ w + h @ u
        i, f = 1.0 / (1.0 + np.exp(-gates[:16])), 1.0 / (1.0 + np.exp(-gates[16:32]))
        c = f * c + i * np.tanh(gates[32:48])
        h = np.tanh(c) / (1.0 + np.exp(-gates[48:]))
    return h


@_case("swapped buffers", _f8(50), _f8(50))
def _swapped(u, v):
    u, v = u.copy(), v.copy()
    for _ in range(7):
        new = np.empty(50)
        new[0], new[49] = u[0], u[49]
        new[1:-1] = 0.5 * (u[:-2] + u[2:]) - v[1:-1] * 0.1
        u, v = new, u
    return u - v


@_case("a branch with arrays", _f8(16), 0.4)
def _branch(x, limit):
    for k in range(10):
        if np.sum(x * x) > limit * k:
            x = x * 0.8 + 0.01
        else:
            x = np.sin(x[::-1])
    return x


@_case("rows in place", _f8(12, 20))
def _rows(a):
    a = a.copy()
    for k in range(1, 12):
        a[k] -= (a[k] @ a[k - 1]) / (1.0 + a[k - 1] @ a[k - 1]) * a[k - 1]
        a[k, 3] = np.tanh(a[k, 4])
    return a


__all__ = ["LOOPS"]
