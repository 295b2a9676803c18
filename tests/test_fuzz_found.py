"""Programs that the fuzzer found wrong once, made small."""

from __future__ import annotations

import pytest

from tests.fuzz.compositions import examine
from tests.fuzz.nests import Program

FOUND = {
    "a number that waits for another one, beside array work": (
        """
def scaled(z):
    z = z * np.sum(z)
    return z[np.argmax(z)] * z

main = jit(lambda x: cond(np.sum(x) > 0.0, scaled, lambda z: z, x))
""",
        ["(np.array([1.0, 2.0]),)", "(np.array([-1.0, 0.5]),)"],
    ),
    "a checkpoint on which nothing asked for depends, after a scan": (
        """
def f(x):
    once = checkpoint(lambda p: p * 1.5)(x)
    rows = np.sum(scan(lambda c, r: (once, once), x, x)[1], axis=0)
    return np.dot(rows, rows)

main = lambda x: jvp(lambda z: hvp(f)(z, z), (x,), (x,))
""",
        ["(np.array([-0.544, 0.359, -2.148]),)"],
    ),
    "a tape behind numbers that are at hand": (
        """
def f(x, y):
    again = lambda k: (k[0] + 1, k[1] * 1.3, (lambda s: np.sin(s / (1.0 + np.sum(s * s))))(k[2]))
    last = while_loop(lambda k: (k[0] < 2) & (k[1] < 2.11), again, (0, x, y))
    return y[np.argmax(y)] + x + np.sum(last[2])

def g(x, y):
    if np.sum(x) > 0.29:
        return f(x, y) * 0.5
    return f(np.sin(x), y)

slope = grad(g, argnums=1)
main = lambda x, y: jvp(lambda z: slope(z, y), (x,), (0.5 * x,))[1]
""",
        ["(-1.85, np.array([-0.643, 0.558], np.float32))", "(0.85, np.array([-0.643, 0.558], np.float32))"],
    ),
    "a value pushed twice": (
        """
f = lambda x: np.sum(cond(x[0] > 0.0, lambda x: x * np.exp(x), lambda x: x, x))
main = grad(lambda X: np.sum(vmap(grad(f))(X)))
""",
        ["(np.array([[0.5, -1.0], [-0.5, 2.0]]),)"],
    ),
    "a slice of what was tiled": (
        "main = grad(lambda y: np.sum(np.tile(y, 2)[:3] * y))\n",
        ["(np.array([2.5, 1.4, 0.7]),)"],
    ),
}


@pytest.mark.parametrize("name", FOUND)
def test_it_means_what_it_says(name: str) -> None:
    source, calls = FOUND[name]
    assert examine(Program(source, calls, {}, 2)) == "equal"
