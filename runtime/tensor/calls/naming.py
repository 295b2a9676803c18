"""Keywords in, keywords out: under the names that a function has for them, and with floats as Python has them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

ALIASES = {"axis": "dim", "keepdims": "keepdim", "x": "input", "a": "input", "x1": "input", "x2": "other"}
"""NumPy's names of arguments, which PyTorch takes in every function that has its own name for them."""

ALIASES |= {
    "split_size": "split_size_or_sections", "sections": "indices_or_sections", "indices": "indices_or_sections",
    "tensor_indices_or_sections": "indices_or_sections", "axis0": "dim0", "axis1": "dim1", "element": "elements",
    "test_element": "test_elements", "tensor": "input",
}  # fmt: skip
"""Names that an argument has in one of several forms of a function of PyTorch's, where it has one name here."""


def renamed(function: Callable[..., Any], given: dict[str, Any]) -> dict[str, Any]:
    """The keywords of a call of `function`; the same object where there is nothing to change."""
    made = given
    if not ALIASES.keys().isdisjoint(given):
        own = _parameters(function)
        other = {n: ALIASES[n] for n in given if n in ALIASES and n not in own and ALIASES[n] in own}
        if other and not any(name in given for name in other.values()) and len(set(other.values())) == len(other):
            made = {other.get(n, n): a for n, a in given.items()}
    if any(type(a) is np.float64 for a in made.values()):
        made = {n: float(a) if type(a) is np.float64 else a for n, a in made.items()}
    return made


@cache
def _parameters(function: Callable[..., Any]) -> frozenset[str]:
    """The names that a function has for its arguments."""
    return frozenset(inspect.signature(function).parameters)


__all__ = ["renamed"]
