"""What is hard to compile is as in plain Python, effects included, or refused where it stands; never silently wrong."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pullback import grad, jit
from pullback.compiler.frontend.errors import TraceError
from pullback.compiler.settings import settings
from tests.compare import assert_close
from tests.control.awkward import CASES, Awkward
from tests.control.case import floats
from tests.control.reference import central, outcome

EXECUTORS = ("native", "reference")
Made = tuple[Any, Any, tuple[Any, ...], Any]


def observed(make: Callable[[], Any], ours: bool, args: tuple[Any, ...]) -> Made:
    """What a call gives: exception, value, arguments afterwards; and the state of what lies outside."""
    function, outside = make()
    return *outcome(jit(function) if ours else function, args), copy.deepcopy(outside)


def equal(got: Any, want: Any) -> bool:
    a, b = floats(got), floats(want)
    return len(a) == len(b) and bool(np.allclose(a, b, rtol=1e-13, atol=0, equal_nan=True)) and repr_of(got, want)


def repr_of(got: Any, want: Any) -> bool:
    """Whether what is no float is the same too."""
    if isinstance(want, dict):
        return list(got) == list(want) and all(repr_of(got[k], want[k]) for k in want)
    if isinstance(want, list | tuple):
        return len(got) == len(want) and all(map(repr_of, got, want))
    if isinstance(want, np.ndarray | float):
        return np.shape(got) == np.shape(want)
    return got == want


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_same_or_refused(case: Awkward, executor: str) -> None:
    refused = ""
    with settings.override(reference=executor == "reference"):
        for args in case.args:
            kind, value, after, outside = observed(case.make, True, args)
            want = observed(case.make, False, args)
            if kind is not None and (issubclass(kind, TraceError) or kind is OverflowError):
                refused = "\n".join([str(value), *getattr(value, "__notes__", ())])
                assert re.search(r"awkward\.py(:|, line )\d+", refused), refused
                continue
            assert kind is want[0], f"{value!r} instead of {want[1]!r}"
            assert equal((after, outside), want[2:]), f"effects of {args}: {after}, {outside} instead of {want[2:]}"
            assert kind is not None or equal(value, want[1]), f"{value!r} instead of {want[1]!r}"
    assert bool(case.refuses) == bool(refused), refused or "not refused"
    assert re.search(case.refuses, refused, re.DOTALL), refused


@pytest.mark.parametrize("case", [case for case in CASES if not case.refuses], ids=lambda case: case.name)
def test_gradients(case: Awkward) -> None:
    """At the first arguments, in the direction of all ones, by differences; where the function has a derivative."""
    args = case.args[0]
    if not isinstance(observed(case.make, False, args)[1], float):
        return
    wrt = tuple(k for k, a in enumerate(args) if isinstance(a, float | np.ndarray))
    function = grad(case.make()[0], argnums=wrt)

    def moved(h: float) -> float:
        return observed(case.make, False, tuple(a + h if k in wrt else a for k, a in enumerate(args)))[1]

    slopes = function(*copy.deepcopy(args))
    assert_close(np.float64(sum(floats(slopes))), np.float64(central(moved, 2.0**-10)), relative=1e-8, floor=1e-8)
