"""Calls of NumPy's and SciPy's functions by name, by subject: what `tests/test_numpy_functions.py` runs each of.

A subject is a module with a list CASES. A function counts as known if a case of it is there.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


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


def spread(*shape: int, low: float = -1.9, high: float = 2.3, seed: int = 0) -> np.ndarray:
    """Numbers of which no two are equal, in random order, evenly spread."""
    size = int(np.prod(shape))
    return np.random.default_rng(seed).permutation(np.linspace(low, high, size)).reshape(shape)


__all__ = ["Case", "spread", "subjects"]
