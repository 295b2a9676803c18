"""Functions with control flow raise what plain Python raises, compiled or not: the same class from the same arguments.

Where they return, values and gradients are right, before an exception and after it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pullback import grad, jit
from pullback.compiler.settings import settings
from tests.control import errors
from tests.control.case import Raising, floats, weights
from tests.control.complexified import complexified
from tests.control.reference import Derivatives, outcome

EXECUTORS = ("native", "reference")
CASES = {
    each.case.name: (each, twin.case.function)
    for each, twin in zip(errors.errors.cases, complexified(errors).errors.cases, strict=True)
}


def assert_raises_alike(function: Callable[..., Any], raising: Raising, args: tuple[Any, ...]) -> None:
    kind, want, _ = outcome(raising.case.function, args)
    found, error, _ = outcome(function, args)
    assert kind is not None and found is kind, f"{error!r} instead of {want!r}"
    assert re.search(raising.says, str(error), re.DOTALL), str(error)


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("name", CASES)
def test_values_and_exceptions(name: str, executor: str) -> None:
    raising, _ = CASES[name]
    function = jit(raising.case.function)
    with settings.override(reference=executor == "reference"):
        for _ in range(2):
            for args in raising.case.args:
                assert np.allclose(function(*args), raising.case.function(*args), rtol=1e-13, atol=0)
            for args in raising.raises:
                assert_raises_alike(function, raising, args)


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("name", CASES)
def test_gradients_and_exceptions(name: str, executor: str) -> None:
    raising, twin = CASES[name]
    function = grad(raising.case.function, argnums=raising.case.wrt)
    with settings.override(reference=executor == "reference"):
        for args in raising.raises:
            assert_raises_alike(function, raising, args)
        for args in raising.case.args:
            want = Derivatives(raising.case, twin, args).gradient()
            assert np.allclose(floats(function(*args)), want / weights(1), rtol=1e-11, atol=1e-13)
