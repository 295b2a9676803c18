"""Loops over the keys, values and items of large dicts, and over texts that are keys, become loops over one array."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pullback import grad, hessian, hvp, tree_map
from tests.work import calls_of

N = 90
"""Leaves: more than are walked one by one."""

P = {f"w{k}": 0.1 + k / N for k in range(N)}
NAMES = list(P)
Params = dict[str, Any]


def values(p: Params) -> Any:
    t = 0.0
    for v in p.values():
        t = t + v * np.sin(v)
    return t


def items(p: Params) -> Any:
    t = 0.0
    for name, v in p.items():
        t = t + v * p[name] ** 2
    return t


def keys(p: Params) -> Any:
    t = 0.0
    for k in p:
        t = 0.9 * t + p[k] ** 3
    return t


def generator(p: Params) -> Any:
    return sum(np.exp(-p[k]) * p[k] for k in p)


def comprehension(p: Params) -> Any:
    return np.sum(np.array([np.sin(p[k]) * p[k] for k in p]) ** 2)


def names_outside(p: Params) -> Any:
    t = 0.0
    for k in NAMES:
        t = t + p[k] ** 2
    return t


def in_order(p: Params) -> Any:
    t = 0.0
    for k in sorted(p):
        t = 0.9 * t + p[k] ** 2
    return t


def counted(p: Params) -> Any:
    t = 0.0
    for k in range(1, len(p)):
        t = t + p[f"w{k}"] * p[f"w{k - 1:d}"] ** 2
    return t


def zipped(p: Params) -> Any:
    t = 0.0
    for (k, v), c in zip(p.items(), np.arange(N) * 0.1, strict=True):
        t = t + v * c * p[k]
    return t


def enumerated(p: Params) -> Any:
    t = 0.0
    for i, v in enumerate(p.values()):
        t = t + v * v * i
    return t


def inner(p: Params) -> Any:
    t = 0.0
    for k in p:
        for j in range(3):
            t = t + p[k] ** 2 * np.sin(p[f"w{j}"])
    return t


def mapped(p: Params) -> Any:
    return sum(tree_map(lambda v: v**3, p).values())


LOOPS = [values, items, keys, generator, comprehension, names_outside, in_order, counted, zipped, enumerated, inner,
         mapped]  # fmt: skip


def compared(p: Params) -> Any:
    t = 0.0
    for k, v in p.items():
        t = t + (10 * v * v if k == "w3" else v**3)
    return t


def asked(p: Params) -> Any:
    t = 0.0
    for k, v in p.items():
        t = t + (v * v if k.endswith("3") else v**3) * len(k)
    return t


def written_after(p: Params) -> Any:
    t, k = 0.0, ""
    for k in p:
        t = t + p[k] ** 2
    return t * p[k]


def stored(p: Params) -> Any:
    q = {}
    for k in p:
        q[k] = p[k] * 2
    q["w0"] = q["w1"] * q["w2"]
    return sum(v * v for v in q.values())


def made(p: Params) -> Any:
    q = {k: np.sin(v) for k, v in p.items()}
    return sum(q[k] * p[k] for k in q)


def in_text(p: Params) -> Any:
    t = 0.0
    for k in range(len(p)):
        t = t + p["w{}".format(k)] ** 2 * p["w" + str(k)]  # noqa: UP032
    return t


def left(p: Params) -> Any:
    t = 0.0
    for v in p.values():
        if t > 3:
            break
        t = t + v * v
    return t


OTHERS = [compared, asked, written_after, stored, made, in_text, left]


@pytest.mark.parametrize("f", LOOPS + OTHERS, ids=lambda f: f.__name__)
def test_gradients_are_those_of_the_loop(f: Callable[[Params], Any]) -> None:
    fn = grad(f)
    got = fn(P)
    assert list(got) == list(P)
    step = 1e-6
    for k in ("w0", "w1", "w3", "w13", f"w{N - 1}"):
        ahead, behind = f({**P, k: P[k] + step}), f({**P, k: P[k] - step})
        np.testing.assert_allclose(got[k], (ahead - behind) / (2 * step), rtol=2e-7, atol=2e-7)


@pytest.mark.parametrize("f", LOOPS, ids=lambda f: f.__name__)
def test_they_are_loops(f: Callable[[Params], Any]) -> None:
    fn = grad(f)
    fn(P)
    assert " scan " in str(fn.ir("graph"))
    assert "unrolled" not in str(fn.report())


@pytest.mark.parametrize("f", [items, counted, in_order], ids=lambda f: f.__name__)
def test_second_derivatives(f: Callable[[Params], Any]) -> None:
    v = {k: np.sin(j) for j, k in enumerate(P)}
    got, step = hvp(f)(P, v), 1e-6
    got = got[-1] if isinstance(got, tuple) else got
    ahead, behind = (grad(f)({k: P[k] + s * v[k] for k in P}) for s in (step, -step))
    for k in P:
        np.testing.assert_allclose(got[k], (ahead[k] - behind[k]) / (2 * step), rtol=1e-6, atol=1e-6)


def test_blocks_of_a_hessian() -> None:
    blocks = hessian(keys)(P)
    for j, k in enumerate(P):
        np.testing.assert_allclose(blocks[k][k], 6 * P[k] * 0.9 ** (N - 1 - j), rtol=1e-12)
    assert blocks["w0"]["w1"] == 0.0


def test_a_missing_key() -> None:
    def f(p: Params) -> Any:
        t = 0.0
        for k in range(len(p) + 1):
            t = t + p[f"w{k}"]
        return t

    with pytest.raises(KeyError, match=f"w{N}"):
        grad(f)(P)


def test_whole_numbers_as_keys() -> None:
    def f(p: dict[int, Any]) -> Any:
        t = 0.0
        for k in p:
            t = t + p[k] ** 2 * k
        return t

    def beyond(p: dict[int, Any], x: Any) -> Any:
        t = 0.0
        for k in range(N + 1):
            t = t + p[k] * x
        return t

    p = {k: 0.5 + k for k in range(N)}
    assert grad(f)(p) == {k: 2 * (0.5 + k) * k for k in range(N)}
    with pytest.raises(KeyError):
        grad(beyond)(p, 1.0)


def test_texts_in_messages_are_the_key_itself() -> None:
    def f(p: Params) -> Any:
        t = 0.0
        for k in p:
            if p[k] < 0:
                raise ValueError(f"{k} is {p[k]}")
            t = t + p[k] ** 2
        return t

    assert grad(f)(P)["w5"] == 2 * P["w5"]
    with pytest.raises(ValueError, match=r"^w5 is -9\.0$"):
        grad(f)({**P, "w5": -9.0})


def test_items_that_are_unlike() -> None:
    p = {**P, "w7": np.array([1.0, 2.0])}

    def f(p: Params) -> Any:
        t = 0.0
        for k in p:
            t = t + np.sum(p[k] ** 2)
        return t

    got = grad(f)(p)
    np.testing.assert_array_equal(got["w7"], [2.0, 4.0])
    assert got["w8"] == 2 * P["w8"]


def test_many_arrays_of_a_list_are_parts_of_one_vector() -> None:
    def f(q: Any) -> Any:
        h = q[0] * 1.0
        for w in q:
            h = np.tanh(h * w + 0.1)
        return np.sum(h)

    q = [np.linspace(0.0, 1.0, 5) + k / 100 for k in range(100)]
    got, step = grad(f)(q), 1e-6
    assert np.array_equal(grad(f)(tuple(q))[50], got[50])
    for k in (0, 1, 98, 99):
        bent = [[x + (s if j == k else 0.0) for j, x in enumerate(q)] for s in (step, -step)]
        np.testing.assert_allclose(np.sum(got[k]), (f(bent[0]) - f(bent[1])) / (2 * step), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("f", [values, keys, counted, in_order, stored, made], ids=lambda f: f.__name__)
def test_work_is_linear_in_the_leaves(f: Callable[[Params], Any]) -> None:
    def work(n: int) -> int:
        p = {f"w{k}": 0.1 + k / n for k in range(n)}
        return calls_of(lambda: grad(f)(p))

    work(50)
    assert work(800) < 5.2 * work(200)
