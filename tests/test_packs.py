"""Many numbers that become an array, and lists and dicts that captured loops change item by item."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback.compiler.ops.packs import pack, unpack

COUNT = 100
GIVEN = {f"w{k}": 0.1 + k / COUNT for k in range(COUNT)}


def _array(p: dict[str, float]) -> Any:
    v = np.array(list(p.values()))
    return np.sum(v * np.sin(v))


def _rows(p: dict[str, float]) -> Any:
    return np.sum(np.array([[v, np.sin(v)] for v in p.values()]) ** 3)


def _single(p: dict[str, float]) -> Any:
    v = np.array([x * x for x in p.values()])
    return v[3] * v[70] + np.sum(v[10:20]) + v[-1]


def _replaced(p: dict[str, float]) -> Any:
    q = dict(p)
    for k in q:
        q[k] = q[k] * p["w1"]
    return sum(q.values()) * q["w2"]


def _edited(p: dict[str, float]) -> Any:
    out, seen = [p["w0"]], 0.0
    for k in p:
        out.append(p[k] ** 2)
        if len(out) > 3:
            out[-2] = out[-1] * out[-3] + 0.5
        if p[k] > 0.505:
            seen = seen + sum(out[-2:])
    out.insert(0, out.pop())
    return sum(out) + seen * out[0]


@pytest.mark.parametrize("f", [_array, _rows, _single, _replaced, _edited])
def test_gradients_and_hessians_along_a_direction(f: Callable[[Any], Any]) -> None:
    rng = np.random.default_rng(0)
    along, h = dict(zip(GIVEN, rng.normal(size=COUNT).tolist(), strict=True)), 1e-5
    ends = [{k: v + s * h * along[k] for k, v in GIVEN.items()} for s in (1, -1)]
    gradient = pb.grad(f)
    made = gradient(GIVEN)
    want = (f(ends[0]) - f(ends[1])) / (2 * h)
    assert sum(made[k] * along[k] for k in GIVEN) == pytest.approx(want, rel=1e-6)
    second = pb.hvp(f)(GIVEN, along)
    there, here = gradient(ends[0]), gradient(ends[1])
    for k in GIVEN:
        assert second[k] == pytest.approx((there[k] - here[k]) / (2 * h), rel=1e-4, abs=1e-5)


def test_many_numbers_are_one_operation() -> None:
    made = pb.grad(_array)
    made(GIVEN)
    text = made.ir("adjoint")
    assert str(text).count(f" = {pack.name} ") == 1
    assert str(text).count(f" = {unpack.name} ") == 1
    assert str(text).count("reshape") == 0


def test_a_batch_of_many_numbers() -> None:
    xs = np.linspace(0.1, 0.4, 5)
    f = pb.grad(lambda x: np.sum(np.array([np.sin(x * k) for k in range(80)]) ** 2))
    np.testing.assert_allclose(pb.vmap(f)(xs), [f(x) for x in xs], rtol=1e-13)


def test_a_list_that_another_name_sees() -> None:
    def f(x: float) -> Any:
        a = [x, 2.0 * x]
        b = a
        a.append(x * x)
        c = list(a)
        b[0] = x**3
        a[1] = c[2] + b[0]
        return a[0] + 2 * b[1] + 3 * c[0] + len(c) * a[-1]

    value, slope = pb.value_and_grad(f)(0.7)
    assert value == pytest.approx(f(0.7))
    assert slope == pytest.approx((f(0.7 + 1e-6) - f(0.7 - 1e-6)) / 2e-6, rel=1e-6)
