"""Calls of NumPy's and SciPy's functions by name, by subject: what `tests/test_numpy_functions.py` runs each of.

A subject is a module with a list CASES. A function counts as known if a case of it is there.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from pullback.compiler.settings import settings


class Case(NamedTuple):
    """One call.

    of        the function's name as users write it, "np.linalg.solve", and perhaps what is tried of it, "np.pad wrap"
    function  of traced arguments; to be handed to grad it may return arrays, or a tuple or list of arrays
    args      f64 arrays, away from kinks
    order     up to which derivatives are compared with numbers: 0 where there are none (values only)
    f32       whether f32 arguments give NumPy's values within single precision, too
    rtol      of values in f64
    """

    of: str
    function: Callable[..., Any]
    args: tuple[Any, ...]
    order: int = 2
    f32: bool = True
    rtol: float = 1e-12

    @property
    def name(self) -> str:
        """The function's name alone."""
        return self.of.partition(" ")[0]


def subjects() -> dict[str, list[Case]]:
    """The cases of all modules of this folder."""
    names = [each.name for each in pkgutil.iter_modules(__path__)]
    return {name: importlib.import_module(f"{__name__}.{name}").CASES for name in sorted(names)}


def executed(case: Case) -> Any:
    """Within it the first case of each function runs on native code, and the others on the reference executor.

    What is tried of a function differs in its graph. That native code means what graphs mean is compared for the values
    of every case, and in tests/test_primitives.py for every primitive, its adjoint and the adjoint of that.
    """
    return settings.override(reference=_first()[case.name] != case.of)


@functools.cache
def _first() -> dict[str, str]:
    """What is tried first of each function, among what has derivatives if anything has."""
    cases = [case for of_subject in subjects().values() for case in of_subject]
    cases.sort(key=lambda case: case.order == 0)
    return {case.name: case.of for case in reversed(cases)}


def spread(*shape: int, low: float = -1.9, high: float = 2.3, seed: int = 0) -> np.ndarray:
    """Numbers of which no two are equal, in random order, evenly spread."""
    size = int(np.prod(shape))
    return np.random.default_rng(seed).permutation(np.linspace(low, high, size)).reshape(shape)


__all__ = ["Case", "executed", "spread", "subjects"]
