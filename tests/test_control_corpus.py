"""Functions with control flow and assignment, as people write them: equal to plain Python.

Every function of tests/control, with every set of its arguments, compiled and under the reference executor: the value,
the arguments afterwards, the gradient (against the complex step of plain Python) and a product with the Hessian.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from pullback import grad, jit
from pullback.compiler.settings import settings
from pullback.runtime.compiled.derive import inner
from tests.control.case import Case, floats, weights, with_floats
from tests.control.complexified import complexified
from tests.control.reference import Derivatives, directions, numbers, outcome

MODULES = ("branches", "loops", "assignment", "sequences", "calls", "scalars", "numerics", "models")
LEAST = 200
"""Functions that the corpus has at least."""

BY_VALUES = {
    "assignment: windows": "a window of known width that lies inside the array",
    "loops: range_with_three_arguments": "a range whose step is traced",
    "loops: loop_over_elements": "the length of this slice depends on traced values",
    "sequences: list_of_unknown_length": "a list grows in a loop whose number of passes depends on values",
    "sequences: list_as_memory": "a list grows in a loop whose number of passes depends on values",
}
"""Functions whose graphs serve some calls only, and why."""

Entry = tuple[Case, Callable[..., Any]]


def _collected() -> dict[str, Entry]:
    """Every case by name, with the function for complex numbers."""
    found: dict[str, Entry] = {}
    for name in MODULES:
        module = importlib.import_module(f"tests.control.{name}")
        twin = complexified(module)
        for case, other in zip(module.corpus.cases, twin.corpus.cases, strict=True):
            title = f"{name}: {case.name}"
            assert title not in found
            found[title] = case, other.function
    return found


CASES = _collected()
DIFFERENTIATED = [name for name, (case, _) in CASES.items() if case.orders]
TWICE = [name for name, (case, _) in CASES.items() if case.orders > 1]
EXECUTORS = ("native", "reference")


@contextmanager
def executed(executor: str) -> Iterator[None]:
    with settings.override(reference=executor == "reference"), np.errstate(all="ignore"):
        yield


def along(case: Case) -> Callable[..., Any]:
    """The function's results, multiplied with the last argument and summed."""

    made = case.function

    def function(*args: Any) -> Any:
        return inner(made(*args[:-1]), args[-1])

    return function


def cotangent(case: Case, args: tuple[Any, ...]) -> Any:
    """Numbers like the result: what it is multiplied with."""
    _, value, _ = outcome(case.function, args)
    return with_floats(value, iter(weights(len(floats(value)))), float) if floats(value) else 1.0


def same(got: Any, want: Any, path: str = "result") -> None:
    """Equal structure, kinds and shapes, and equal floats but for the order of a sum."""
    if isinstance(want, dict):
        assert isinstance(got, dict) and list(got) == list(want), path
        for key in want:
            same(got[key], want[key], f"{path}[{key!r}]")
    elif isinstance(want, list | tuple):
        assert isinstance(got, type(want)) and len(got) == len(want), f"{path}: {got!r}, expected {want!r}"
        for k, (a, b) in enumerate(zip(got, want, strict=True)):
            same(a, b, f"{path}[{k}]")
    elif isinstance(want, str | None):
        assert got == want, path
    else:
        a, b = np.asarray(got), np.asarray(want)
        if a.dtype.kind == "f" and b.dtype.kind == "i":  # an int on this path, a float on another
            b = b.astype(a.dtype)
        assert (a.dtype, a.shape) == (b.dtype, b.shape), f"{path}: {got!r}, expected {want!r}"
        size = np.max(np.abs(b), initial=0.0, where=np.isfinite(b)) if b.dtype.kind == "f" else 0.0
        if size:
            good = np.isclose(a, b, rtol=1e-13, atol=1e-14 * size, equal_nan=True)
        else:
            good = (a == b) | (a != a) & (b != b)
        assert np.all(good), f"{path}: {got!r}, expected {want!r}"


def near(got: np.ndarray, want: np.ndarray, tolerance: float) -> None:
    assert got.shape == want.shape
    allowed = tolerance * (np.abs(want) + np.max(np.abs(want), initial=0.0)) + 1e-300
    assert np.all(np.abs(got - want) <= allowed), f"{got}, expected {want}, off by {got - want}"


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("name", CASES)
def test_values(name: str, executor: str) -> None:
    case, _ = CASES[name]
    function = jit(case.function, static_argnums=case.static)
    with executed(executor):
        for args in case.args:
            want, got = outcome(case.function, args), outcome(function, args)
            assert want[0] is None and got[0] is None, got[1]
            same(got[1], want[1])
            same(got[2], want[2], "arguments")


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("name", DIFFERENTIATED)
def test_gradients(name: str, executor: str) -> None:
    case, twin = CASES[name]
    function = grad(along(case), argnums=case.wrt, static_argnums=case.static)
    with executed(executor):
        for args in case.args:
            got = function(*args, cotangent(case, args))
            near(np.array(floats(got)), Derivatives(case, twin, args).gradient(), case.tolerance)


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("name", TWICE)
def test_second_derivatives(name: str, executor: str) -> None:
    case, twin = CASES[name]
    slope = grad(along(case), argnums=case.wrt, static_argnums=case.static)

    def slope_along(*args: Any) -> Any:
        return inner(slope(*args[:-1]), args[-1])

    function = grad(slope_along, argnums=case.wrt, static_argnums=case.static)
    with executed(executor):
        for args in case.args:
            first, then = directions(len(numbers(case, args)))
            direction = tuple(with_floats([args[k] for k in case.wrt], iter(first), float))
            got = np.array(floats(function(*args, cotangent(case, args), direction)))
            want = Derivatives(case, twin, args).second(first, then)
            scale = max(np.abs(got) @ np.abs(then), abs(want), 1e-3)
            assert abs(got @ then - want) <= max(1e-7, 100 * case.tolerance) * scale, f"{got @ then}, expected {want}"


@pytest.mark.parametrize("name", CASES)
def test_captured(name: str) -> None:
    """One graph serves all values, but for those that the list above names."""
    case, _ = CASES[name]
    function = jit(case.function, static_argnums=case.static)
    with executed("reference"):
        for args in case.args:
            outcome(function, args)
    forms = function.report().forms
    frozen = [str(decision) for form in forms for decision in form.frozen]
    reasons = "; ".join(reason for form in forms for reason in form.reasons)
    assert bool(frozen) == (name in BY_VALUES), (frozen, reasons)
    assert BY_VALUES.get(name, "") in f"{reasons}; {'; '.join(frozen)}"


def test_the_corpus_is_large_and_its_references_hold() -> None:
    """Complex steps agree with central differences, so a wrong twin is noticed."""
    assert len(CASES) >= LEAST
    for name, (case, twin) in CASES.items():
        if case.orders == 2:
            derivatives = Derivatives(case, twin, case.args[0])
            first, then = directions(len(derivatives.at))
            a, b = derivatives.second(first, then), derivatives.second(then, first)
            assert abs(a - b) <= 1e-6 * (abs(a) + 1), name
