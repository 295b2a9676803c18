"""Explicit control flow and custom rules under pullback and under jax: the same programs, the same numbers."""

from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pullback
from tests.compare import assert_close

jax.config.update("jax_enable_x64", True)

OURS = SimpleNamespace(
    np=np, cond=pullback.cond, switch=pullback.switch, scan=pullback.scan, while_loop=pullback.while_loop,
    fori_loop=pullback.fori_loop, checkpoint=pullback.checkpoint, custom_vjp=pullback.custom_vjp,
    custom_jvp=pullback.custom_jvp, stop_gradient=pullback.stop_gradient,
)
THEIRS = SimpleNamespace(
    np=jnp, cond=jax.lax.cond, switch=jax.lax.switch, scan=jax.lax.scan, while_loop=jax.lax.while_loop,
    fori_loop=jax.lax.fori_loop, checkpoint=jax.checkpoint, custom_vjp=jax.custom_vjp, custom_jvp=jax.custom_jvp,
    stop_gradient=jax.lax.stop_gradient,
)
X = np.array([0.4, 1.3, -0.7])


def branches(m: Any, x: Any) -> Any:
    y = m.cond(m.np.sum(x) > 0.5, lambda x: {"v": m.np.sin(x), "n": 2.0}, lambda x: {"v": x * x, "n": 3.0}, x)
    z = m.switch(2, [lambda v: v, lambda v: -v, lambda v: v * v * v], y["v"])
    return m.np.sum(z) * y["n"]


def recurrence(m: Any, x: Any) -> Any:
    def step(carry, row):
        h, k = carry
        h = m.np.tanh(h * row["w"] + m.np.sum(row["u"]))
        return (h, k + 1), {"h": h, "k": k * h}

    rows = {"w": x, "u": m.np.stack([x, x * 2.0, x[::-1]])}
    (last, count), ys = m.scan(step, (0.1, 0), rows)
    return last + m.np.sum(ys["h"] ** 2) + m.np.sum(ys["k"]) * count


def backwards(m: Any, x: Any) -> Any:
    last, ys = m.scan(lambda c, r: (c * 0.9 + m.np.sin(r), c), 0.5, x, reverse=True)
    return last * ys[0] - ys[2]


def counted(m: Any, x: Any) -> Any:
    def body(i, s):
        v, total = s
        return v * m.np.cos(v) + i, total + m.np.sum(v)

    v, total = m.fori_loop(1, 5, body, (x, 0.0))
    return total + m.np.sum(v * v)


def nested(m: Any, x: Any) -> Any:
    def outer(i, s):
        inner = m.fori_loop(0, 3, lambda j, t: t * x[j] + i, s)
        return m.cond(inner > 1.0, lambda t: m.np.log(t), lambda t: t * t, inner)

    return m.fori_loop(0, 4, outer, 0.3)


def checkpointed(m: Any, x: Any) -> Any:
    step = m.checkpoint(lambda c, r: (m.np.sin(c * r) + m.np.exp(-c * c), c))
    return m.scan(step, 0.4, x)[0]


def stopped(m: Any, x: Any) -> Any:
    return m.np.sum(x * m.stop_gradient(x * x)) + m.scan(lambda c, r: (m.stop_gradient(c) * r, None), 1.0, x)[0]


def clipping(m: Any, x: Any) -> Any:
    f = m.custom_vjp(lambda x, low: x * 1.0, nondiff_argnums=(1,))
    f.defvjp(lambda x, low: (f(x, low), m.np.sum(x)), lambda low, s, ct: (m.np.clip(ct, low, 1.0) * s,))
    return m.np.sum(f(x, -0.5) * m.np.array([3.0, -2.0, 0.25]) * x)


def pulled(m: Any, x: Any) -> Any:
    f = m.custom_vjp(lambda p: {"s": m.np.sum(p[0] * p[1]), "t": p[1]})

    def bwd(saved, ct):
        a, b = saved
        return ((ct["s"] * b * 2.0, ct["s"] * a + ct["t"] * m.np.sin(b)),)

    f.defvjp(lambda p: (f(p), p), bwd)
    made = f((x, x[::-1] * 2.0))
    return made["s"] ** 2 + m.np.sum(made["t"] * x)


def pushed(m: Any, x: Any) -> Any:
    @m.custom_jvp
    def f(x, y):
        return m.np.sum(m.np.sin(x) * y)

    @f.defjvp
    def rule(primals, tangents):
        (x, y), (tx, ty) = primals, tangents
        return f(x, y), m.np.sum(m.np.cos(x) * y * tx) + m.np.sum(m.np.sin(x) * ty)

    return f(x, x * x) * m.scan(lambda c, r: (c + f(r * x, x), None), 0.0, x)[0]


def pushed_one_by_one(m: Any, x: Any) -> Any:
    f = m.custom_jvp(lambda x, y: x * y)
    f.defjvps(lambda t, ans, x, y: t * y * 2.0, lambda t, ans, x, y: ans / y * t)
    return m.np.sum(f(m.np.exp(x), x + 2.0))


PROGRAMS = [branches, recurrence, backwards, counted, nested, checkpointed, stopped, clipping, pulled, pushed,
            pushed_one_by_one]


@pytest.mark.parametrize("program", PROGRAMS)
def test_values_and_derivatives(program: Any) -> None:
    def ours(x):
        return program(OURS, x)

    def theirs(x):
        return program(THEIRS, x)

    value, slope = pullback.value_and_grad(ours)(X)
    x = jnp.asarray(X)
    assert_close(np.asarray(value), np.asarray(theirs(x)), relative=1e-12)
    assert_close(np.asarray(ours(X)), np.asarray(theirs(x)), relative=1e-12)
    assert_close(slope, np.asarray(jax.grad(theirs)(x)), relative=1e-11, floor=1e-12)
    hessian = jax.jacrev(jax.grad(theirs))(x)
    assert_close(pullback.hessian(ours)(X), np.asarray(hessian), relative=1e-10, floor=1e-11)


def test_while_loops_forward() -> None:
    def program(m: Any, x: Any) -> Any:
        return m.while_loop(lambda s: s[0] < 20.0, lambda s: (s[0] * s[0] + 1.0, s[1] + m.np.sin(s[0])), (x, 0.0))[1]

    for x in (0.3, 1.7, 30.0):
        value, moved = pullback.jvp(lambda x: program(OURS, x), (x,), (1.0,))
        want, slope = jax.jvp(lambda x: program(THEIRS, x), (x,), (1.0,))
        assert_close(np.asarray(value), np.asarray(want), relative=1e-13)
        assert_close(np.asarray(moved), np.asarray(slope), relative=1e-12)
        assert_close(np.asarray(pullback.grad(lambda x: program(OURS, x))(x)), np.asarray(slope), relative=1e-12)
