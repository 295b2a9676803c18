"""What becomes of a random program: whether values and gradients are those of plain Python.

examine(module, seed) -> "equal" | "refused: ..." | "by values: ..." | "raises"     or a Difference
"""

from __future__ import annotations

import itertools
from types import ModuleType
from typing import Any

import numpy as np

from pullback import grad, jit
from pullback.compiler.frontend.errors import TraceError
from pullback.runtime.compiled.derive import inner
from tests.control.case import Case, floats, weights, with_floats
from tests.control.complexified import complexified
from tests.control.reference import Derivatives, outcome

TRIES = 4
LARGEST = 1e6
"""Results beyond it are left out of the comparison of gradients: rounding errors have grown too."""


class Difference(AssertionError):
    """A program that means something else when it is compiled."""


def arguments(seed: int) -> list[tuple[Any, ...]]:
    """Arguments for a program: two numbers, a count, two arrays."""
    rng = np.random.default_rng(seed)
    counts = itertools.cycle([2, 0, 3, 1])
    return [
        (float(rng.normal()), float(rng.normal()), next(counts), rng.normal(size=4), rng.normal(size=4))
        for _ in range(TRIES)
    ]


def examine(module: ModuleType, seed: int) -> str:
    """The verdict on a program; raises Difference."""
    case = Case("f", module.f, tuple(arguments(seed)), (0, 1, 3, 4))
    twin = complexified(module).f
    f = module.f
    compiled = jit(f)

    def along(*args: Any) -> Any:
        return inner(f(*args[:-1]), args[-1])

    slope = grad(along, argnums=case.wrt)
    verdicts = [compare(case, twin, compiled, slope, args) for args in case.args]
    refusals = [verdict for verdict in verdicts if verdict.startswith("refused")]
    if refusals:
        return refusals[0]
    if reason := by_values(compiled):
        return f"by values: {reason}"
    return "equal" if "equal" in verdicts else "raises"


def compare(case: Case, twin: Any, compiled: Any, slope: Any, args: tuple[Any, ...]) -> str:
    kind, want, after = outcome(case.function, args)
    got_kind, got, got_after = outcome(compiled, args)
    if got_kind is not None and issubclass(got_kind, TraceError):
        return "refused: " + str(got).split(":")[0]
    if got_kind is not kind:
        raise Difference(f"{name_of(got_kind)} instead of {name_of(kind)}: {got!r} instead of {want!r} for {args}")
    if kind is not None:
        return "raises"
    close("value", floats(got), floats(want), 1e-12)
    close("arguments", floats(list(got_after)), floats(list(after)), 1e-12)
    results = floats(want)
    if not np.all(np.abs(results) < LARGEST):
        return "equal"
    cotangent = with_floats(want, iter(weights(len(results))), float)
    failed, made, _ = outcome(slope, (*args, cotangent))
    if failed is not None and issubclass(failed, TraceError):
        return "refused: " + str(made).split(":")[0]
    if failed is not None:
        raise Difference(f"the gradient raises {made!r} for {args}")
    close("gradient", floats(made), Derivatives(case, twin, args).gradient(), 1e-8)
    return "equal"


def name_of(kind: type | None) -> str:
    return kind.__name__ if kind else "a value"


def close(what: str, got: Any, want: Any, tolerance: float) -> None:
    a, b = np.asarray(got, float), np.asarray(want, float)
    good = a.shape == b.shape
    if good:
        size = np.max(np.abs(b), initial=1.0, where=np.isfinite(b))
        good = bool(np.all(np.isclose(a, b, rtol=tolerance, atol=tolerance * size, equal_nan=True)))
    if not good:
        raise Difference(f"{what}: {a}, expected {b}")


def by_values(function: Any) -> str:
    """What was frozen, if a function was not captured but traced on the values of its calls."""
    frozen = [decision for form in function.report().forms for decision in form.frozen]
    return frozen[0].what if frozen else ""
