"""What a traced function can do wrong, said on one screen: verdict first, the way out last.

TraceError: bool() of a traced value
  at train.py:12: if x > 0:
  value: bool[], made from the arguments of 'loss'
  fix: choose between values with np.where(condition, a, b)
"""

from __future__ import annotations

import numpy as np

from ..ir.explained import Explained
from ..ir.graph import Where


class TraceError(Explained, TypeError, page="TraceError"):
    """Something that a traced value cannot do, or that pullback does not know."""


class TraceAttributeError(TraceError, AttributeError):
    """An attribute that an ndarray has and a traced array has not."""


class TraceIndexError(TraceError, IndexError):
    """An index that a traced array cannot take."""


class TraceAxisError(TraceIndexError, np.exceptions.AxisError):
    """An axis that an array does not have."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        np.exceptions.AxisError.__init__(self, text)


class TraceValueError(TraceError, ValueError):
    """Shapes or values that do not fit."""


class TooManyOperations(TraceError):
    """A function that goes on and on: another way to trace it would meet the same."""


class NeedsValues(TraceError):
    """What cannot be said of all values, only of those of one call: a number where it decides, or what has no form.

    A function that raises it is traced on the values of the call, if they are at hand.
    """


class Uncaptured(NeedsValues):
    """Control flow, or a store, that has no region."""


class UnknownFunction(TraceError, NotImplementedError, page="UnknownFunction"):
    """A NumPy function, or a way to call one, that pullback does not know."""


def message(verdict: str, where: Where | None = None, fix: str = "", /, **facts: object) -> str:
    """The text of an error: the verdict, the user's line, facts, and the way out."""
    lines = [verdict]
    if where is not None:
        lines.append(f"  at {where.told()}")
    lines += [f"  {name}: {value}" for name, value in facts.items()]
    if fix:
        lines.append(f"  fix: {fix}")
    return "\n".join(lines)
