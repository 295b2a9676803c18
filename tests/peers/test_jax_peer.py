"""The same NumPy functions under pullback and under jax: values, gradients, Hessian products."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pullback
from tests.compare import assert_close

jax.config.update("jax_enable_x64", True)


def logistic(m, w, x, y):
    z = x @ w
    return m.mean(m.logaddexp(0.0, z) - y * z)


def layers(m, p, x):
    h = m.tanh(x @ p["w"] + p["b"])
    return m.sum(m.exp(-m.square(h @ p["v"])))


def softmax_entropy(m, x):
    z = x - m.max(x, axis=1, keepdims=True)
    p = m.exp(z) / m.sum(m.exp(z), axis=1, keepdims=True)
    return -m.sum(p * m.log(p))


def waves(m, x):
    d = x[1:] - x[:-1]
    return m.sum(m.sin(x) * m.cos(2 * x)) + m.sum(d * d) + x[::-2] @ x[::2]


def gathered(m, table, w):
    rows = m.take(table, np.array([3, 0, 3, 1]), axis=0)
    return m.sum(m.sqrt(1 + rows**2) @ w)


def contracted(m, a, b):
    return m.sum(m.einsum("bij,bjk->ik", a, b) ** 2)


def pieces(m, x):
    return m.sum(m.where(x > 0, m.log1p(m.abs(x)), m.expm1(x))) + m.sum(m.clip(x, -0.5, 0.5) ** 3)


def joined(m, x, y):
    whole = m.concatenate([x, y.T, x * 2], axis=1)
    return m.prod(m.mean(whole, axis=1)) + m.var(whole)


def powers(m, x, y):
    return m.sum(x**y + m.sinh(x) / m.cosh(y) + m.hypot(x, y) + m.log(x) ** 2)


RNG = np.random.default_rng(5)
N = RNG.normal
POSITIVE = RNG.uniform(0.3, 2.0, (4, 3))
CASES = {
    "logistic": (logistic, (N(size=6), N(size=(40, 6)), (N(size=40) > 0).astype(float))),
    "layers": (layers, ({"w": N(size=(5, 7)), "b": N(size=7), "v": N(size=(7, 2))}, N(size=(9, 5)))),
    "softmax_entropy": (softmax_entropy, (N(size=(8, 11)),)),
    "waves": (waves, (N(size=31),)),
    "gathered": (gathered, (N(size=(5, 4)), N(size=4))),
    "contracted": (contracted, (N(size=(3, 4, 5)), N(size=(3, 5, 2)))),
    "pieces": (pieces, (N(size=(6, 5)),)),
    "joined": (joined, (N(size=(3, 4)), N(size=(2, 3)))),
    "powers": (powers, (POSITIVE, POSITIVE + 0.25)),
}
FIRST = {name: args[0] for name, (_, args) in CASES.items()}


def bind(name, module):
    function, _ = CASES[name]
    return lambda *args: function(module, *args)


def pairs(ours, theirs):
    theirs = jax.tree_util.tree_map(np.asarray, theirs)
    return list(zip(jax.tree_util.tree_leaves(ours), jax.tree_util.tree_leaves(theirs), strict=True))


@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients(name):
    _, args = CASES[name]
    numbers = tuple(range(len(args)))
    ours = pullback.value_and_grad(bind(name, np), argnums=numbers)(*args)
    theirs = jax.value_and_grad(bind(name, jnp), argnums=numbers)(*args)
    for a, b in pairs(ours, theirs):
        assert_close(np.asarray(a), b, relative=1e-11, floor=1e-12)


@pytest.mark.parametrize("name", [n for n in CASES if isinstance(FIRST[n], np.ndarray)])
def test_hessian_products(name):
    _, args = CASES[name]
    v = np.random.default_rng(1).normal(size=args[0].shape)
    ours = pullback.hvp(lambda x: bind(name, np)(x, *args[1:]))(args[0], v)
    _, theirs = jax.jvp(jax.grad(lambda x: bind(name, jnp)(x, *args[1:])), (args[0],), (v,))
    assert_close(np.asarray(ours), np.asarray(theirs), relative=1e-9, floor=1e-10)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dtypes_are_kept(dtype):
    x = np.linspace(-1, 1, 12).astype(dtype)
    ours = pullback.grad(bind("waves", np))(x)
    theirs = np.asarray(jax.grad(bind("waves", jnp))(x))
    assert ours.dtype == theirs.dtype == dtype
    assert_close(ours, theirs, relative=1e-5, floor=1e-5)
