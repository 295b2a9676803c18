"""Named sizes inside a traced function: what `x.shape[0]` is when one graph is to serve every size.

A `Length` is a polynomial in named sizes. Sums, differences and products stay one; divided, or beside floats and
arrays, it becomes a traced number. A comparison is decided if it comes out the same for all sizes, else it is
evaluated for this call and noted as a guard. What needs the number itself – int(), range(), an index – freezes the
size: the function is traced again with that number.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple, NoReturn

import numpy as np

from ..ir import measure
from ..ir.graph import Where
from ..ir.measure import Measure, dim_of, names_in
from ..ir.types import Dim, Size, Type, exactly
from .errors import TraceError, message

HOOKS: dict[str, Callable[..., Any]] = {}
"""operate(ufunc, *operands, python=bool), apply(ufunc, method, inputs, kwargs), index(array, key)."""


class Frozen(NamedTuple):
    """Why a size is no name any more."""

    what: str
    where: Where | None

    def __str__(self) -> str:
        return self.what + (f" at {self.where.file}:{self.where.line}" if self.where else "")


@dataclass
class Sizes(measure.Sizes):
    """The named sizes of a trace.

    frozen   those whose numbers matter, and why
    units    those that must be multiples of a number, as far as it is known
    line     tells the user's line
    walked   whether loops may count them, and stores may fill them: what compiles the graph serves every size
    """

    frozen: dict[str, Frozen] = field(default_factory=dict)
    units: dict[str, int] = field(default_factory=dict)
    line: Callable[[], Where | None] = lambda: None
    walked: bool = False

    @contextmanager
    def unasked(self) -> Iterator[list[measure.Guard]]:
        """Guards that are noted inside are taken back, and told."""
        asked: list[measure.Guard] = []
        before = len(self.guards)
        try:
            yield asked
        finally:
            asked += list(self.guards)[before:]
            for guard in asked:
                del self.guards[guard]

    def forget(self) -> None:
        """What has been asked, by a trace that was given up."""
        for name in self.quotients:
            del self.numbers[name], self.least[name]
        for asked in (self.guards, self.quotients, self.frozen, self.units):
            asked.clear()

    def _note(self, dim: Dim, relation: str) -> None:
        assert isinstance(dim, Size)
        self.guards.setdefault(measure.Guard(dim, relation), self.line())


class FrozenSize(TraceError):
    """A named size whose number was asked for; the function is traced again."""


def _operator(name: str, ufunc: np.ufunc) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """An operator that gives lengths for sizes and numbers, and traced values for all else."""
    forward, backward = getattr(Measure, f"__{name}__"), getattr(Measure, f"__r{name}__")

    def ahead(self: Length, other: Any) -> Any:
        made = forward(self, other)
        return HOOKS["operate"](ufunc, self, other) if made is NotImplemented else made

    def behind(self: Length, other: Any) -> Any:
        made = backward(self, other)
        return HOOKS["operate"](ufunc, other, self) if made is NotImplemented else made

    return ahead, behind


def _number(ufunc: np.ufunc) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """An operator that gives traced values."""
    ahead = lambda self, other: HOOKS["operate"](ufunc, self, other)  # noqa: E731
    return ahead, lambda self, other: HOOKS["operate"](ufunc, other, self)


class Length(Measure):
    """A dimension that is known by name."""

    __slots__ = ()
    sizes: Sizes
    __hash__ = Measure.__hash__

    __add__, __radd__ = _operator("add", np.add)
    __sub__, __rsub__ = _operator("sub", np.subtract)
    _times, _times_behind = _operator("mul", np.multiply)
    __truediv__, __rtruediv__ = _number(np.true_divide)
    _divide, __rfloordiv__ = _number(np.floor_divide)
    _remain, __rmod__ = _number(np.remainder)
    _raise, __rpow__ = _number(np.power)

    def __mul__(self, other: Any) -> Any:
        return other * self.__index__() if isinstance(other, (tuple, list)) else self._times(other)

    def __rmul__(self, other: Any) -> Any:
        return other * self.__index__() if isinstance(other, (tuple, list)) else self._times_behind(other)

    def __pow__(self, other: Any) -> Any:
        return product([self] * other) if type(other) is int and 0 < other <= 8 else self._raise(other)

    def __floordiv__(self, other: Any) -> Any:
        quotient = self._divided(other)
        if quotient is None and type(other) is int and other > 0:
            return self._quotient(other)
        return self._divide(other) if quotient is None else quotient

    def __mod__(self, other: Any) -> Any:
        if self._divided(other) is not None:
            return 0
        return self - self._quotient(other) * other if type(other) is int and other > 0 else self._remain(other)

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def _divided(self, other: Any) -> Any:
        """self / other where that is a polynomial again, and other one product."""
        quotient = exactly(self.size, dim_of(other))
        return None if quotient is None else self._made(quotient)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return HOOKS["apply"](ufunc, method, inputs, kwargs)

    def _differs(self, dim: Dim) -> bool:
        if self.sizes.nonzero(dim):
            return True
        if isinstance(dim, Size):  # equal by chance: the graph for other sizes is another one
            self._note_unit(dim)
            freeze(self, f"a comparison of {self.size} with an equal size")
        return False

    def _note_unit(self, dim: Dim) -> None:
        """If it is a remainder that is zero: the size could be named in steps."""
        for name, (dividend, divisor) in self.sizes.quotients.items():
            remainder = dividend - Size.named(name) * divisor
            if dim in (remainder, -remainder) and len(dividend.terms) == 1 and len(dividend.terms[0][0]) == 1:
                (((base,), factor),) = dividend.terms
                self.sizes.units[base] = divisor // math.gcd(factor, divisor)

    # ---- what needs the number

    def __index__(self) -> int:
        freeze(self, "range() or an index of it")

    def __int__(self) -> int:
        freeze(self, "int() of it")

    def __float__(self) -> float:
        freeze(self, "float() or a function of math of it")

    def __round__(self, digits: Any = None) -> Length:
        return self


def freeze(length: Length, what: str) -> NoReturn:
    """Give up the names in a length: their numbers matter."""
    sizes = length.sizes
    why = Frozen(what, sizes.line())
    pending = [length.size]
    while pending:
        for name in sorted(names_in(pending.pop())):
            if name in sizes.quotients:
                pending.append(sizes.quotients[name][0])
            else:
                sizes.frozen.setdefault(name, why)
    raise FrozenSize(message(f"the size {length.size} is frozen: {what}", why.where))


def freeze_all(sizes: Sizes, what: str, where: Where | None) -> NoReturn:
    """Give up all names: the numbers matter."""
    for name in sizes.numbers:
        sizes.frozen.setdefault(name, Frozen(what, where))
    raise FrozenSize(message(f"the sizes are frozen: {what}", where))


def plain(x: Any) -> Any:
    """An attribute with dimensions in place of lengths."""
    if isinstance(x, Length):
        return x.size
    if isinstance(x, tuple):
        return tuple([plain(each) for each in x])
    return x


def typed(dtype: str, shape: Iterable[Any]) -> Type:
    """The type of arrays of a shape that may hold lengths."""
    return Type(dtype, tuple([n.size if isinstance(n, Length) else n for n in shape]))


def greatest(sizes: Iterable[Any]) -> Any:
    """The greatest of some sizes; where it is not the same one for all numbers of the names, that is asked."""
    most, *others = sizes
    for n in others:
        gap = dim_of(n - most)
        if isinstance(gap, int):
            most = n if gap > 0 else most
        elif dim_of(n) != dim_of(most):
            most = n if n > most else most
    return most


def product(numbers: Iterable[Any]) -> Any:
    """Their product; a length where one of them is."""
    total: Any = 1
    for n in numbers:
        total = total * n
    return total


def broadcast_shapes(*shapes: tuple[Any, ...]) -> tuple[Any, ...]:
    """NumPy's, for shapes that may hold lengths."""
    if not any(isinstance(n, Length) for s in shapes for n in s):
        return np.broadcast_shapes(*shapes)
    out: list[Any] = []
    for column in itertools.zip_longest(*(reversed(s) for s in shapes), fillvalue=1):
        wide = [n for n in column if not (isinstance(n, int) and n == 1)] or [1]
        if any(n != wide[0] for n in wide[1:]):
            raise ValueError(f"shapes {' and '.join(map(str, shapes))} do not broadcast")
        out.append(wide[0])
    return tuple(reversed(out))
