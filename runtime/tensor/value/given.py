"""A number that a recorded call was given and that may be another the next time: it stands in the number's place.

    huber_loss(x, y, delta=NumberInput(0.53))     `delta <= 0` is false wherever delta > 0: the call holds for those
                                            the operation gets delta as an input of its fragment

What only hands the number on to operations has it as an input; what compares it with numbers tells for which others the
answer is the same, which are a region.  Whatever else asks for the number gets it, and then the call holds for
no other.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf, nextafter
from typing import Any

import numpy as np

from ....compiler.ir import symint
from .cells import Cell

Region = tuple[float, float, tuple[float, ...]]
"""Numbers between two others, but for some."""


class NumberInput:
    """A float among the arguments of a call. It is no instance of `float`, so that C code cannot read it unseen, though
    `isinstance` says so.

    value      the number
    low, high  between which numbers comparisons so far would have had the same answers, but for the numbers `apart`
    asked      whether its value was asked for
    link       (value, dtype) -> the cell of it as an argument of the call, if it is one; None where it is a number only
    """

    __slots__ = ("apart", "asked", "high", "link", "low", "value")

    def __init__(self, value: float, link: Callable[[NumberInput, str], Cell | None] | None = None) -> None:
        self.value, self.link = value, link
        self.low, self.high, self.asked = -inf, inf, value != value  # what is no number compares like none
        self.apart: set[float] = set()

    __class__: Any = property(lambda self: float)

    def ask(self) -> float:
        """The number, to whoever does something with it that another number would have to be asked again for."""
        self.asked = True
        return self.value

    def __float__(self) -> float:
        return self.ask()

    def __bool__(self) -> bool:
        return self != 0.0

    def __hash__(self) -> int:
        return hash(self.ask())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.ask(), dtype)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__array"):  # which floats do not have
            raise AttributeError(name)
        return getattr(self.ask(), name)

    def __lt__(self, other: Any) -> bool:
        return self._compared(other, self.value < other, True, False)

    def __ge__(self, other: Any) -> bool:
        return self._compared(other, self.value >= other, False, False)

    def __le__(self, other: Any) -> bool:
        return self._compared(other, self.value <= other, True, True)

    def __gt__(self, other: Any) -> bool:
        return self._compared(other, self.value > other, False, True)

    def __eq__(self, other: object) -> bool:
        same = self.value == other
        if type(other) not in (int, float):
            self.asked = True
        elif same:
            self.low = self.high = self.value
        else:
            self.apart.add(float(other))  # type: ignore[arg-type]
        return same

    def __ne__(self, other: object) -> bool:
        return not self == other

    def _compared(self, other: Any, answer: bool, below: bool, with_other: bool) -> bool:
        """The answer to whether this is `below` the other number, or else above it; `with_other` says on which side
        of the border the other number itself lies: that of what is below."""
        if type(other) not in (int, float):
            self.asked = True
        elif answer == below:
            self._hold(other, True, with_other)
        else:
            self._hold(other, False, not with_other)
        return answer

    def region(self) -> Region:
        """For which numbers the call holds."""
        return self.low, self.high, tuple(sorted(x for x in self.apart if self.low <= x <= self.high))

    def _hold(self, border: float, below: bool, with_border: bool) -> None:
        """Note that the answer holds on one side of a border."""
        at = float(border)
        if at != border:
            self.asked = True
        elif below:
            self.high = min(self.high, at if with_border else nextafter(at, -inf))
        else:
            self.low = max(self.low, at if with_border else nextafter(at, inf))


def _asking(name: str) -> Callable[..., Any]:
    """The method of floats that has this name, which asks for the number."""

    def method(self: NumberInput, *args: Any) -> Any:
        plain = [a.ask() if type(a) is NumberInput else a for a in args]
        return getattr(self.ask(), name)(*plain)

    return method


for _name in (
    "add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv", "floordiv", "rfloordiv", "mod", "rmod",
    "pow", "rpow", "divmod", "rdivmod", "neg", "pos", "abs", "int", "trunc", "floor", "ceil", "round", "repr", "str",
    "format", "reduce", "complex",
):  # fmt: skip
    if hasattr(float, f"__{_name}__"):
        setattr(NumberInput, f"__{_name}__", _asking(f"__{_name}__"))


def real(value: Any) -> Any:
    """A number as a float, for an operation that it is handed on to."""
    return value if type(value) is NumberInput else symint.real(value)


def asked(value: Any) -> Any:
    """What stands in the place of a number, or of some in tuples and lists, as the number."""
    if type(value) is NumberInput:
        return value.ask()
    if type(value) in (tuple, list):
        return type(value)([asked(v) for v in value])
    return value


def holds_given(values: Any) -> bool:
    """Whether there is such a number within tuples or lists among these."""
    for v in values:  # asked for each operation, and a generator takes three times as long
        cls = type(v)
        if cls is NumberInput or ((cls is tuple or cls is list) and holds_given(v)):
            return True
    return False


def lies_in(x: float, region: Region) -> bool:
    """Whether a number is one of these.

    >>> lies_in(0.5, (0.0, 1.0, (0.25,))), lies_in(0.25, (0.0, 1.0, (0.25,)))
    (True, False)
    """
    low, high, apart = region
    return low <= x <= high and x not in apart


__all__ = ["NumberInput", "Region", "asked", "holds_given", "lies_in", "real"]
