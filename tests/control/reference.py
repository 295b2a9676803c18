"""What plain Python says: values, first derivatives by complex step, second ones by differences of those.

Functions of many results are summed with `weights` first. Derivatives come as flat lists, an element for every float
of the arguments that are differentiated.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.control.case import Case, floats, weights, with_floats
from tests.control.complexified import STEP, Number

Function = Callable[..., Any]


def outcome(function: Function, args: tuple[Any, ...]) -> tuple[Any, Any, tuple[Any, ...]]:
    """What a call gives: the class of an exception or None, the value or the exception, the arguments afterwards."""
    args = copy.deepcopy(args)
    with np.errstate(all="ignore"):
        try:
            return None, function(*args), args
        except Exception as error:
            return type(error), error, args


def numbers(case: Case, args: tuple[Any, ...]) -> np.ndarray:
    """The floats that are differentiated."""
    return np.array(floats([args[k] for k in case.wrt]), float)


def placed(case: Case, args: tuple[Any, ...], at: np.ndarray, scalar: Callable[[Any], Any] = float) -> tuple[Any, ...]:
    """The arguments with other floats in the places that are differentiated."""
    made = list(copy.deepcopy(args))
    left = iter(at)
    for k in case.wrt:
        made[k] = with_floats(args[k], left, scalar)
    return tuple(made)


def total(function: Function, args: tuple[Any, ...]) -> Any:
    """The weighted sum of all floats of the result."""
    with np.errstate(all="ignore"):
        made = floats(function(*args))
    return sum((w * r for w, r in zip(weights(len(made)), made, strict=True)), 0.0)


class Derivatives:
    """The derivatives of a case's function at one set of arguments; `twin` is the function for complex numbers."""

    def __init__(self, case: Case, twin: Function, args: tuple[Any, ...]) -> None:
        self.case, self.twin, self.args = case, twin, args
        self.at = numbers(case, args)

    def along(self, direction: np.ndarray, at: np.ndarray | None = None) -> float:
        """The derivative in a direction."""
        at = self.at if at is None else at
        if not self.case.numeric:
            moved = placed(self.case, self.args, at + 1j * STEP * direction, Number)
            return complex(total(self.twin, moved)).imag / STEP
        return central(lambda h: total(self.case.function, placed(self.case, self.args, at + h * direction)), 2.0**-8)

    def gradient(self) -> np.ndarray:
        return np.array([self.along(unit) for unit in np.eye(len(self.at))])

    def second(self, first: np.ndarray, then: np.ndarray) -> float:
        """The derivative in the direction `then` of that in the direction `first`."""
        return central(lambda h: self.along(first, self.at + h * then), 2.0**-10)


def central(f: Callable[[float], float], step: float) -> float:
    """The slope of f at zero by Richardson's extrapolation of three central differences."""
    rows = [(f(h) - f(-h)) / (2 * h) for h in (step, step / 2, step / 4)]
    rows = [(4 * fine - rough) / 3 for rough, fine in itertools.pairwise(rows)]
    return (16 * rows[1] - rows[0]) / 15


def directions(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Two fixed directions without a zero."""
    k = np.arange(count)
    return np.cos(0.3 + 1.1 * k) + 0.05, np.sin(0.9 + 0.7 * k) + 0.04
