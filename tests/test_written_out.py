"""Small array work that is written out: elements along an axis are lanes of a vector, with the bits of single ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pullback import hessian, jit, value_and_grad
from pullback.compiler.lowering.nests import straight
from pullback.compiler.settings import settings

RNG = np.random.default_rng(0)
MOVE, START = np.eye(4) + 0.1 * RNG.normal(size=(4, 4)), RNG.normal(size=(4, 4)) * 0.3
XS = RNG.normal(size=(12, 4, 4)) * 0.1


def by_rows(a: Any, b: Any) -> Any:
    for x in XS:
        a = np.tanh(a @ b) + 0.1 * b.T * x
    return np.sum(a * b)


def transposed(a: Any, b: Any) -> Any:
    for x in XS:
        a, b = b.T @ a - 0.2 * a.T, a @ b.T * 0.3 + x
    return np.sum(a**2) + np.trace(b)


def solved(a: Any, b: Any) -> Any:
    for x in XS:
        b = np.linalg.solve(a @ a.T + 3 * np.eye(4), b + 0.1 * a * x)
    return np.sum(b**2) + np.linalg.det(b + 2 * np.eye(4))


def vectors(a: Any, b: Any) -> Any:
    x = a[0]
    for y in XS:
        x = b @ x + a[1] * x[::-1] - np.sum(x) * b[:, 2] + y[0]
        x = x / (1.0 + np.abs(x[0]))
    return x @ x


def chosen(a: Any, b: Any) -> Any:
    for x in XS:
        a = np.where(a > b, a @ b, b - a) * 0.3 + np.maximum(a, 0.1 * b) * x
    return np.sum(a)


def of_eight(a: Any, b: Any) -> Any:
    wide = np.concatenate([a, b], 1)
    for x in XS:
        wide = 0.5 * wide + 0.1 * (a + x) @ wide + np.outer(wide[:, 0], wide[1]) * 0.1
    return np.sum(wide**2)


def of_three(a: Any, b: Any) -> Any:
    small, total = a[:3, :3], 0.0
    for x in XS:
        small = small @ b[:3, :3] * 0.5 + x[:3, 1:]
        total = total + np.sum(np.tanh(small) @ a[:3])
    return total


PROGRAMS = [by_rows, transposed, solved, vectors, chosen, of_eight, of_three]


def results(function: Callable[..., Any]) -> list[np.ndarray]:
    with settings.override(cache=False):
        value, slopes = value_and_grad(function, (0, 1))(START, MOVE)
        return [np.asarray(value), *slopes, hessian(function)(START, MOVE)]


@pytest.mark.parametrize("function", PROGRAMS)
def test_lanes_have_the_bits_of_single_elements(function: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    made = results(lambda a, b: function(a, b))
    monkeypatch.setattr(straight, "LANES", ())
    for got, want in zip(made, results(lambda a, b: function(a, b)), strict=True):
        np.testing.assert_array_equal(got.view(np.int64), want.view(np.int64))
    np.testing.assert_allclose(made[0], function(START, MOVE), rtol=1e-12)


@pytest.mark.parametrize("function", PROGRAMS)
def test_slopes_are_those_of_differences(function: Callable[..., Any]) -> None:
    _, first, second, _ = results(function)
    h = 1e-6
    for i, j in ((0, 0), (1, 3), (3, 2)):
        step = np.zeros((4, 4))
        step[i, j] = h
        for slope, moved in ((first, (step, 0 * step)), (second, (0 * step, step))):
            up, down = (function(START + s * moved[0], MOVE + s * moved[1]) for s in (1, -1))
            assert abs(slope[i, j] - (up - down) / (2 * h)) < 1e-6 * max(1.0, abs(slope[i, j]))


def test_products_of_four_by_four_are_made_of_vectors() -> None:
    def walk(a: Any, xs: Any) -> Any:
        p = a
        for x in xs:
            p = a @ p @ a.T + x
        return p

    function: Any = jit(walk)
    function(MOVE, RNG.normal(size=(50, 4, 4)))
    assert str(function.ir("loops")).count("by 4 = 1 x <4>") >= 2


def test_what_cannot_be_in_lanes_keeps_nothing_else_from_it() -> None:
    """The solutions for a matrix are vectors, though the loop that makes them puts four numbers together, too."""

    def walk(a: Any, zs: Any) -> Any:
        x, p = zs[0], a
        for z in zs:
            s = p + np.eye(4)
            x, p = x + p @ np.linalg.solve(s, z - x), p - p @ np.linalg.solve(s, p) + 0.1 * a
        return x @ p @ x

    function: Any = jit(walk)
    given = MOVE @ MOVE.T, RNG.normal(size=(50, 4))
    np.testing.assert_allclose(function(*given), walk(*given), rtol=1e-9)
    in_lanes = str(function.ir("loops")).split("by 4 = 1 x <4>")[1:]
    assert any(part.split("for ")[0].count("select") > 4 for part in in_lanes)
