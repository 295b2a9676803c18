"""Modules whose functions loop over sizes known by name, or store into arrays of such: one file for every size."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pullback
from pullback import build, grad, hvp, jit, load_kernel
from tests.built import LINKER
from tests.test_build_sizes import imported

N = ("n",)
SIZES = (0, 1, 2, 3, 4, 7, 8, 9, 16, 17, 33, 100)

pytestmark = pytest.mark.skipif(LINKER is None, reason="there is no linker")


def weighted(x):
    total = 0.0
    for k in range(x.shape[0]):
        total = total + x[k] ** 2 * k
    return total


def smoothed(x):
    out = np.zeros(len(x))
    out[0] = x[0]
    for i in range(1, len(x)):
        out[i] = 0.9 * out[i - 1] + 0.1 * np.sin(x[i])
    return np.sum(out**2)


def garch(r, p):
    h = np.empty(len(r))
    h[0] = 0.1 + r[-1] ** 2
    for t in range(1, len(r)):
        h[t] = p[0] + p[1] * r[t - 1] ** 2 + p[2] * h[t - 1]
    return 0.5 * np.sum(np.log(h) + r**2 / h)


def kalman(y):
    mean, spread, ll = 0.0, 1.0, 0.0
    for v in y:
        spread = spread + 0.1
        gain = spread / (spread + 0.5)
        ll += -0.5 * np.log(spread + 0.5) - 0.5 * (v - mean) ** 2 / (spread + 0.5)
        mean, spread = mean + gain * (v - mean), (1 - gain) * spread
    return ll


def recurrent(a, w):
    states = np.zeros((a.shape[0] + 1, 3))
    for t in range(a.shape[0]):
        states[t + 1] = np.tanh(w @ states[t] + a[t])
    return np.sum(states**2)


def heat(x):
    u = x.copy()
    for _ in range(30):
        u[1:-1] = u[1:-1] + 0.2 * (u[2:] - 2 * u[1:-1] + u[:-2])
    return np.sum(u**2)


def steps(q):
    p = np.ones_like(q) * 0.1
    for _ in range(200):
        p = p - 0.05 * q
        q = q + 0.1 * p
        p = p - 0.05 * q
    return np.sum(q**2 + p**2)


def thomas(a, d):
    n = len(d)
    c, e, x = np.zeros(n), np.zeros(n), np.zeros(n)
    c[0], e[0] = -1.0 / a[0], d[0] / a[0]
    for i in range(1, n):
        m = a[i] + c[i - 1]
        c[i], e[i] = -1.0 / m, (d[i] + e[i - 1]) / m
    x[n - 1] = e[n - 1]
    for i in range(n - 2, -1, -1):
        x[i] = e[i] - c[i] * x[i + 1]
    return np.sum(x**2)


def cholesky(a):
    n = a.shape[0]
    A, L = a @ a.T + n * np.eye(n), np.zeros((n, n))
    for j in range(n):
        L[j, j] = np.sqrt(A[j, j] - np.sum(L[j, :] ** 2))
        for i in range(j + 1, n):
            L[i, j] = (A[i, j] - np.sum(L[i, :] * L[j, :])) / L[j, j]
    return np.sum(np.log(np.diag(L)))


def collected(x):
    out, s = [], 0.0
    for v in x:
        s = 0.5 * s + v
        out.append(s)
    return np.sum(np.array(out) ** 2)


def comprehended(x):
    return np.sum(np.array([x[i] * np.sin(i) for i in range(len(x))]) ** 2)


def backwards(x):
    s = 0.0
    for v in reversed(x):
        s = s * 0.9 + np.sin(v)
    for v in x[::-1]:
        s = s * 0.8 + v
    for i in range(len(x) - 1, -1, -1):
        s = s * 0.7 + x[i] * x[len(x) - 1 - i]
    return s


def windows(x):
    s = 0.0
    for i in range(len(x) - 2):
        s += np.sum(x[i : i + 3]) ** 2
    for i in range(0, len(x), 2):
        s += x[i] ** 2
    for i in range(len(x) // 2):
        s += x[2 * i] * x[2 * i + 1]
    return s


def pairs(x, y):
    s = 0.0
    for i in range(len(x)):
        for j in range(len(y)):
            s += np.exp(-((x[i] - y[j]) ** 2))
    return s


def triangle(a):
    s = 0.0
    for i in range(a.shape[0]):
        for j in range(i):
            s += a[i, j] * a[j, i]
    return s


def broken_off(x):
    s = 0.0
    for v in x:
        s += v
        if s > 3:
            break
    return s


def while_below(x):
    i, s = 0, 0.0
    while i < len(x):
        s, i = s + x[i] * np.exp(-0.1 * i), i + 1
    return s


def halved(x):
    s, k = np.sum(x**2), 0
    while s > 1.0:
        s, k = s * 0.5, k + 1
    return s + k * np.sum(x)


def columns(a):
    b = a.copy()
    b[:, 0] = 1.0
    b[:, -1] *= 2.0
    b[b < -1] = 0.0
    return np.sum(b**2)


def zipped(x, y):
    s = 0.0
    for i, (a, b) in enumerate(zip(x, y, strict=True)):
        s += a * b * i
    return s


def middle(x):
    return x[len(x) // 2] ** 2 + x[len(x) - 1]


def rounds(x):
    return np.sum(pullback.fori_loop(0, 10, lambda k, c: np.sin(c) + x, x * 0.0))


def square(n: int, rng: np.random.Generator) -> tuple[Any, ...]:
    return (rng.normal(size=(n, n)),)


def row(n: int, rng: np.random.Generator) -> tuple[Any, ...]:
    return (rng.normal(size=n),)


Program = tuple[Callable[..., Any], dict[str, tuple[Any, ...]], Callable[[int, np.random.Generator], tuple[Any, ...]]]

PROGRAMS: dict[str, Program] = {
    fn.__name__: (fn, {"x": N}, row)
    for fn in (weighted, smoothed, heat, collected, comprehended, backwards, windows, broken_off, while_below, halved,
               middle, rounds)
} | {
    "garch": (garch, {"r": N}, lambda n, rng: (rng.normal(size=n), np.array([0.1, 0.2, 0.7]))),
    "kalman": (kalman, {"y": N}, row),
    "steps": (steps, {"q": N}, row),
    "recurrent": (recurrent, {"a": ("n", 3)}, lambda n, rng: (rng.normal(size=(n, 3)), rng.normal(size=(3, 3)) / 2)),
    "thomas": (thomas, {"a": N, "d": N}, lambda n, rng: (3 + rng.normal(size=n) ** 2, rng.normal(size=n))),
    "cholesky": (cholesky, {"a": ("n", "n")}, square),
    "triangle": (triangle, {"a": ("n", "n")}, square),
    "pairs": (pairs, {"x": N, "y": ("m",)}, lambda n, rng: (rng.normal(size=n), rng.normal(size=n + 3))),
    "columns": (columns, {"a": ("n", 4)}, lambda n, rng: (rng.normal(size=(n, 4)),)),
    "zipped": (zipped, {"x": N, "y": N}, lambda n, rng: (rng.normal(size=n), rng.normal(size=n))),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_one_module_serves_every_size(tmp_path: Path, name: str) -> None:
    fn, sizes, make = PROGRAMS[name]
    example = make(11, np.random.default_rng(0))
    slope = f"{name}_slope"
    made = imported(build({name: fn, slope: grad(fn)}, {name: example, slope: example}, name=f"k_{name}", out=tmp_path,
                          sizes=sizes))
    rng, taken = np.random.default_rng(1), 0
    for n in SIZES:
        args = make(n, rng)
        try:
            wanted = fn(*args)
        except (IndexError, ValueError):  # it takes no such sizes
            with pytest.raises((IndexError, ValueError)):
                getattr(made, name)(*args)
            continue
        np.testing.assert_allclose(getattr(made, name)(*args), wanted, 1e-9, 1e-11)
        if 1 < n < 40:
            given = grad(fn, sizes="static")(*args)
            np.testing.assert_allclose(getattr(made, slope)(*args), given, 1e-8, 1e-10)
        taken += 1
    assert taken >= len(SIZES) - 2


def test_second_derivatives(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    x, v = rng.normal(size=(2, 11))
    sizes = {"x": N, "vector[0]": N}
    made = imported(build(hvp(smoothed), (x, v), name="k_hvp", out=tmp_path, sizes=sizes))
    for n in (1, 2, 5, 17, 40):
        x, v = rng.normal(size=(2, n))
        step = 1e-5 * v
        wanted = (grad(smoothed)(x + step) - grad(smoothed)(x - step)) / 2e-5
        np.testing.assert_allclose(made.smoothed(x, v), wanted, 1e-6, 1e-9)


def test_a_loaded_module_is_differentiated_again(tmp_path: Path) -> None:
    path = build(jit(kalman), (np.ones(9),), name="k_kalman", out=tmp_path, sizes={"y": N})
    again = load_kernel(path)
    for n in (1, 4, 30):
        y = np.random.default_rng(n).normal(size=n)
        np.testing.assert_allclose(again(y), kalman(y), 1e-10)
        np.testing.assert_allclose(grad(again)(y), grad(kalman)(y), 1e-10)


C = r"""
#include <stdio.h>
#include "kloops.h"
int main(void) {
    static double x[500], slope[500];
    int64_t sizes[1], report[4];
    while (scanf("%ld", sizes) == 1) {
        for (int64_t k = 0; k < sizes[0]; ++k) x[k] = (double)(k % 7) / 5 - 0.5;
        int64_t status = kloops_while_below(sizes, x, slope, report);
        double total = 0;
        for (int64_t k = 0; k < sizes[0]; ++k) total += slope[k] * (double)(k % 3);
        printf("%ld %.17g\n", status, total);
    }
    return 0;
}
"""


def test_from_c(tmp_path: Path) -> None:
    """A tape that grows, and an array of any size."""
    build(grad(while_below), (np.ones(9),), name="kloops", out=tmp_path, sizes={"x": N})
    (tmp_path / "main.c").write_text(C)
    assert LINKER is not None
    subprocess.run([LINKER, "-O1", "-o", "main", "main.c", "kloops.o", "-lm"], cwd=tmp_path, check=True)
    sizes = [0, 1, 2, 9, 100, 500]
    given = "\n".join(map(str, sizes))
    ran = subprocess.run([tmp_path / "main"], input=given, capture_output=True, text=True, check=True)
    for n, line in zip(sizes, ran.stdout.splitlines(), strict=True):
        status, total = line.split()
        wanted = np.sum(np.exp(-0.1 * np.arange(n)) * (np.arange(n) % 3))
        assert (status, float(total)) == ("0", pytest.approx(wanted, rel=1e-12))
