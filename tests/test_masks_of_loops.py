"""Loops whose rounds guard a root, a logarithm or a quotient, against the same code without a loop.

Source that cannot be read is run, so its rounds are operations one after the other, which masks go through; a loop has
to hand them from round to round, and from tape to tape. Both are to have the same numbers, and NaN in the same places.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from pullback import grad, hessian, jvp
from pullback.compiler.ir.graph import Builder, evaluate
from pullback.compiler.ir.types import Type
from pullback.compiler.ops.term import Terms
from pullback.compiler.passes.loops.chains import last
from pullback.compiler.settings import settings

#: Heston's variance, truncated where it is read and where it is kept, and guards of other kinds
GUARDED: dict[str, str] = {
    "read": """
        low = np.maximum(v, 0.0)
        s = s - 0.05 * low + np.sqrt(low * 0.1) * z[k]
        v = v + a[0] * (0.04 - low) * 0.1 + a[1] * np.sqrt(low * 0.1) * z[k]""",
    "kept": """
        s = s + np.sqrt(v * 0.1) * z[k]
        v = np.maximum(v + a[0] * (0.04 - v) * 0.1 + a[1] * np.sqrt(v * 0.1) * z[k], 0.0)""",
    "absorbed": """
        v = np.where(v > 0.0, v + 0.3 * a[1] * np.sqrt(np.where(v > 0.0, v, 0.0)) * z[k] - 0.1, 0.0)
        s = s + v * z[k]""",
    "clipped": """
        v = np.clip(v + 0.5 * a[1] * np.clip(v, 0.0, 1.0) ** 0.5 * z[k], 0.0, 2.0)
        s = s + v * v""",
    "logarithm": """
        s = s + np.where(v > 0.0, np.log(v), 0.0) * a[1]
        v = np.minimum(v - 0.4 * a[0] * np.abs(z[k]), 0.9) + 0.01 / np.maximum(v, 0.3)""",
    "length": """
        s = s + np.sqrt(np.maximum(v * v - 0.2, 0.0))
        v = np.abs(0.5 * v + a[1] * z[k]) * np.sqrt(np.maximum(s - 1.0, 0.0))""",
}


def _both(lines: str, path: Path, end: str = "s") -> list[Callable[..., Any]]:
    """The function of a body of rounds, with a loop and without one."""
    head = "import numpy as np\n\ndef f(a, z, n):\n    s, v = 0.0 * a[0], 0.4 * a[1]\n    for k in range(n):"
    source = f"{head}{lines}\n    return {end}\n"
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    with_loop, without = importlib.util.module_from_spec(spec), ModuleType("without")
    spec.loader.exec_module(with_loop)
    exec(compile(source, "<no source>", "exec"), without.__dict__)
    return [with_loop.f, without.f]


def _compared(functions: list[Callable[..., Any]], a: np.ndarray, z: np.ndarray) -> None:
    derived = []
    for f in functions:
        def of_a(a: Any, f: Callable[..., Any] = f) -> Any:
            return f(a, z, len(z))

        derived.append([grad(of_a)(a), jvp(of_a, (a,), (np.array([0.3, -1.1]),))[1], hessian(of_a)(a)])
    for looped, straight in zip(*derived, strict=True):
        size = np.max(np.abs(straight), initial=1, where=np.isfinite(straight))
        np.testing.assert_allclose(looped, straight, rtol=1e-8, atol=1e-9 * size)


@pytest.mark.parametrize("reference", [False, True], ids=["native", "reference"])
@pytest.mark.parametrize("name", GUARDED)
def test_guards_in_loops_are_guards_in_straight_code(name: str, reference: bool, tmp_path: Path) -> None:
    functions = _both(GUARDED[name], tmp_path / "guarded.py")
    z = np.random.default_rng(3).standard_normal(7) * 3
    with settings.override(reference=reference), np.errstate(all="ignore"):
        _compared(functions, np.array([1.0, 1.5]), z)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_truncated_variance_has_the_gradient_of_differences(dtype: Any, tmp_path: Path) -> None:
    f, _ = _both(GUARDED["read"], tmp_path / "heston.py")
    z = (np.random.default_rng(0).standard_normal(20) * 2).astype(dtype)
    a = np.array([1.0, 1.5])
    states = []
    for k in range(1, 20):
        states.append(_both(GUARDED["read"], tmp_path / "v.py", "v")[1](a, z.astype(float), k))
    assert min(states) < 0 < max(states)
    got = grad(lambda a: f(a, z, 20))(a.astype(dtype))
    want = [(f(a + e, z.astype(float), 20) - f(a - e, z.astype(float), 20)) / 2e-6 for e in 1e-6 * np.eye(2)]
    assert np.isfinite(got).all() and got.dtype == dtype
    np.testing.assert_allclose(got, want, rtol=1e-4 if dtype is np.float64 else 1e-2)


def _expression(r: Random, depth: int = 0) -> str:
    if depth > 2 or r.random() < 0.25:
        return r.choice(["v", "s", "a[0]"])
    e, kind = _expression(r, depth + 1), r.random()
    if kind < 0.3:
        return f"({e} {r.choice(['+', '-', '*'])} {r.choice([_expression(r, depth + 1), 'z[k]', '0.7'])})"
    guard = r.choice(["np.maximum({}, 0.0)", "np.where({0} > 0.0, {0}, 0.0)", "np.clip({}, 0.0, 3.0)", "np.abs({})"])
    root = r.choice(["np.sqrt({})", "np.sqrt({})", "({}) ** 0.5", "({}) ** 1.5", "{}"])
    if kind > 0.85:
        return f"np.where({e} > 0.0, np.log({e}), 0.1)"
    return root.format(guard.format(e))


def _program(r: Random) -> str:
    ends = ["0.5 * v + 0.3 * np.tanh(t) + 0.3 * z[k]", "np.maximum(0.6 * v - np.tanh(t) + 0.4 * z[k], 0.0)",
            "np.where(v > 0.0, 0.5 * v - 0.3 * np.sin(t) + 0.2 * z[k], 0.0)"]
    return f"""
        t = {_expression(r)}
        v = {r.choice(ends)}
        s = s + {r.choice(['v', f'np.sin({_expression(r)})', 'v * z[k]'])}"""


def test_random_guarded_loops(tmp_path: Path) -> None:
    finite = 0
    with settings.override(reference=True), np.errstate(all="ignore"):
        for seed in range(40):
            r = Random(seed)
            lines, end = _program(r), r.choice(["s", "s + v", "np.maximum(s, 0.0) + v", "v"])
            a, z = np.array([0.5 * (seed % 3 > 0), 0.8]), np.random.default_rng(seed).standard_normal(5)
            functions = _both(lines, tmp_path / f"program_{seed}.py", end)
            try:
                _compared(functions, a, z)
            except AssertionError as error:
                raise AssertionError(f"program {seed} {error}\n{lines}\n        return {end}") from None
            finite += bool(np.isfinite(grad(lambda a, f=functions[0], z=z: f(a, z, 5))(a)).all())
    assert finite > 25


@pytest.mark.parametrize("ct", [np.inf, np.nan, 2.0])
def test_what_a_choice_hides_is_zero_for_any_cotangent(ct: float) -> None:
    b = Builder("back", [Type("f64"), Type("f64"), Type("bool"), Type("bool")], ["ct", "a", "p", "q"])
    m = Terms(b)
    t, a, p, q = map(m, b.params)
    hidden = m.select(p, 0, t * a) * 3
    both = hidden + m.select(q, t, 0)
    graph = b.finish([hidden.value, both.value, m.select(q, hidden, -t).value])
    made = last(graph, graph.params[:1])
    for holds in np.ndindex(2, 2):
        args = [np.float64(ct), np.float64(5.0), *map(np.bool_, holds)]
        np.testing.assert_equal(evaluate(made, args), evaluate(graph, args))
