"""Loops that store what guards hide into arrays and read it back, and branches beside them, against differences.

A cotangent of an array is zero, element by element, where nothing was read of it, where it was overwritten, and where
what was read was hidden: an infinite slope behind such an element is no NaN, in first and second derivatives.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pullback import grad, hessian
from pullback.compiler.settings import settings

#: what is before the loop, a round, and what is returned
STORED: dict[str, tuple[str, str, str]] = {
    "a vector of which one element is written": ("v = np.array([0.4 * a[1], 0.0, 0.1 * a[0]])", """
        v[1] = np.sqrt(np.maximum(v[0], 0.0)) * (a[0] - z[k])
        v[0] = np.where(v[0] > 0.0, 0.5 * v[0] + 0.3 * v[1] + z[k], 0.0)""", "v[0] + v[2]"),
    "rows": ("x = np.zeros((n + 1, 2)); x[0] = np.array([0.4 * a[1], a[0]])", """
        t = np.sqrt(max(x[k, 0], 0.0)) * 0.7 - s
        x[k + 1, 0] = np.maximum(0.6 * x[k, 0] - np.tanh(t) + 0.4 * z[k], 0.0)
        x[k + 1, 1] = x[k, 0] * x[k, 1]""", "s + x[n, 0]"),
    "a root of a root": ("x = np.zeros(n + 1); x[0] = 0.4 * a[1]", """
        t = np.sqrt(max(np.sqrt(np.clip(x[k], 0.0, 3.0)), 0.0))
        x[k + 1] = np.maximum(0.6 * x[k] - np.tanh(t) + 0.4 * z[k], 0.0)
        s = s + np.sin(np.abs(x[k]) ** 1.5 - a[0] * s - z[k])""", "s"),
    "an element that was zero always": ("x = np.zeros(n + 1); x[0] = 0.4 * a[1]", """
        t = np.sqrt(np.maximum(np.sqrt(max(x[k - 1], 0.0)) * 0.7, 0.0))
        x[k + 1] = 0.5 * x[k] + 0.3 * np.tanh(t) + 0.3 * z[k]
        s = s + x[k] * z[k]""", "s"),
    "an array made in each round": ("v = 0.4 * a[1]", """
        w = np.zeros(2)
        w[0], w[1] = v * z[k], v
        t = np.sqrt(np.sqrt(np.clip(w[1], 0.0, 3.0)) + np.abs(a[0]) ** 0.5)
        v = np.maximum(0.6 * v - np.tanh(t) + 0.4 * z[k], 0.0)
        s = s + t""", "v"),
    "a vector made anew": ("v = np.array([0.4 * a[1], 0.2 * a[0], 0.0])", """
        t = s + z[k]
        v = np.array([0.5 * v[0] + 0.3 * np.tanh(t) + 0.3 * z[k], np.sqrt(max(v[2], 0.0)), v[1]])
        s = s + np.sin(np.sqrt(max(v[2], 0.0)))""", "v[1]"),
    "slices": ("x = np.array([0.4 * a[1], 0.3 * a[0], -0.2 * a[0] * a[1], 0.0])", """
        t = np.sqrt(np.maximum(x[1:], 0.0)) - x[1:] - np.clip(np.sqrt(np.abs(x[:-1])), 0.0, 3.0) ** 1.5
        x[:-1] = 0.5 * x[1:] + 0.3 * np.tanh(t) + 0.3 * z[k]""", "np.sum(x)"),
    "a branch": ("x = np.zeros(n + 1); x[0] = 0.4 * a[1]", """
        t = np.sqrt(np.maximum(x[k], 0.0)) * (2 * a[0] - z[k])
        if x[k] > 0:
            x[k + 1] = 0.5 * x[k] + 0.3 * np.tanh(t) + 0.3 * z[k]
            s = s + np.sqrt(x[k])
        else:
            x[k + 1] = 0.0""", "s + x[n]"),
    "a branch of numbers": ("x = a[1]", """
        t = np.sqrt(np.maximum(x, 0.0)) * a[0]
        if x > 0:
            x = np.tanh(t) + z[k]
        else:
            x = 0.0""", "x + s"),
    "complex elements": ("x = np.zeros(n + 1, complex); x[0] = 0.4 * a[1] + 0.1j * a[0]", """
        t = np.sqrt(np.where(x[k].real > 0.0, x[k].real, 0.0)) * np.exp(1j * a[0])
        x[k + 1] = np.where(x[k].real > 0.0, 0.5 * x[k] + 0.3 * t + 0.5 * z[k], 0.0)
        s = s + np.where(np.abs(x[k]) > 0.3, x[k] / np.abs(x[k]), 0.0).imag""", "s + np.sum(np.abs(x) ** 2)"),
}

SIGNS = np.array([(1, 1), (1, -1), (-1, 1), (-1, -1)])


def _function(name: str, path: Path) -> Callable[..., Any]:
    before, lines, end = STORED[name]
    first = "range(1, n)" if "k - 1" in lines else "range(n)"
    head = f"import numpy as np\n\ndef f(a, z, n):\n    s = 0.1 * a[0]\n    {before}\n    for k in {first}:"
    path.write_text(f"{head}{lines}\n    return {end}\n")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.f


@pytest.mark.parametrize("reference", [False, True], ids=["native", "reference"])
@pytest.mark.parametrize("name", STORED)
def test_what_a_guard_hides_of_an_array_is_no_nan(name: str, reference: bool, tmp_path: Path) -> None:
    f = _function(name, tmp_path / "stored.py")
    a, h, compared = np.array([0.6, 0.8]), 1e-4 * np.eye(2), 0
    first, second = (transform(lambda a, z: f(a, z, 5)) for transform in (grad, hessian))  # one kernel for all z
    with settings.override(reference=reference), np.errstate(all="ignore"):
        for seed in range(4):
            z = np.random.default_rng(seed).standard_normal(5)

            def of_a(a: Any, z: np.ndarray = z) -> Any:
                return f(a, z, 5)

            def slope(d: np.ndarray, of_a: Callable[..., Any] = of_a) -> float:
                return (of_a(a + d) - of_a(a - d)) / (2 * np.sum(d))

            got, curved = first(a, z), second(a, z)
            want = [slope(d) for d in h]
            corners = [[[of_a(a + i * d + j * e) for i, j in SIGNS] for d in h] for e in h]
            bent = np.array(corners) @ SIGNS.prod(1) / 4e-8
            if np.max(np.abs(bent)) < 100:  # no kink is between the points
                np.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-3)
                np.testing.assert_allclose(curved, bent, rtol=1e-2, atol=1e-2)
                compared += 1
    assert compared >= 2
