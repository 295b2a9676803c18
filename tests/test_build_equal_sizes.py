"""Modules with sizes known by name, where these are the numbers of other axes, too: served, or refused when built."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pullback import build, grad
from tests.built import LINKER

pytestmark = pytest.mark.skipif(LINKER is None, reason="there is no linker")
SIZES = (0, 1, 2, 3, 4, 5, 6, 7, 11)


def classified(w, x, y):
    z = x @ w
    return np.mean(np.log(np.exp(z).sum(axis=1)) - z[np.arange(len(y)), y])


def lower(w, x, y):
    k = np.arange(len(y))
    return np.sum(np.where(k[:, None] >= np.arange(5), x @ w, 0.0) * np.arange(1.0, 6.0))


def waves(w, x, y):
    k = np.arange(len(y))
    return np.sum(np.cos(2 * np.pi * k[:, None] * k / len(y)) @ (x @ w))


def filled(w, x, y):
    return np.sum(np.ones((len(y), 3)) * x + np.arange(len(y))[::-1, None] * 0.5) + np.sum(w)


PRIMES = np.array([2.0, 3.0, 5.0, 7.0, 11.0])


def weighted(w, x, y):
    return np.sum((x @ w) * PRIMES) + np.sum(np.arange(len(y)) * x[:, 0])


def _given(n: int) -> tuple[Any, ...]:
    rng = np.random.default_rng(n)
    return rng.normal(size=(3, 5)), rng.normal(size=(n, 3)), rng.integers(0, 5, size=n)


def _built(name: str, functions: dict[str, Callable[..., Any]], path: Path) -> Any:
    given = dict.fromkeys(functions, _given(9))
    made = build(functions, given, name=name, out=path, sizes={"x": ("n", 3), "y": ("n",)})
    spec = importlib.util.spec_from_file_location(name, made)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.filterwarnings("ignore:Mean of empty slice", "ignore:invalid value encountered")
@pytest.mark.parametrize("function", [classified, lower, waves, filled, weighted])
def test_every_size_is_served(function: Callable[..., Any], tmp_path: Path) -> None:
    name = f"equal_{function.__name__}"
    slopes = grad(function, argnums=(0, 1))
    module = _built(name, {"value": function, "slopes": slopes}, tmp_path)
    for n in SIZES:
        given = _given(n)
        np.testing.assert_allclose(module.value(*given), function(*given), rtol=1e-12)
        for mine, expected in zip(module.slopes(*given), slopes(*given), strict=True):
            np.testing.assert_allclose(mine, expected, rtol=1e-11, atol=1e-13)


def test_numbers_of_other_axes_have_no_code_of_their_own(tmp_path: Path) -> None:
    """`np.arange(n)` is an operation where n is open, and an array of NumPy's where it is a number: the same graph."""
    module = _built("equal_shared", {"value": classified}, tmp_path)
    assert b"n == 0" in Path(module.__file__).read_bytes()
    assert b"n == 5" not in Path(module.__file__).read_bytes()


def test_a_size_at_which_another_form_is_returned_is_refused_when_built(tmp_path: Path) -> None:
    def form(w, x, y):
        return x.sum(axis=0) if len(y) != 7 else x

    with pytest.raises(TypeError, match=r"cannot be built with the size n known by name: for n = 7"):
        _built("equal_form", {"value": form}, tmp_path)
