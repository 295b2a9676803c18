"""What a mask selects, `x[mask]`, while a function is walked: the whole array, the mask, and along which axis.

How many elements there are only values tell, so the array keeps its size, and what has no element there holds a copy of
the first that is selected: whatever is computed of it fails, or is no number, only where an element's own is.

    y = x[x > 0]          Selection(values=f64[n], mask=bool[n], axis=0)
    np.sum(y**2)          np.sum(np.where(mask, values**2, 0))
    z[x > 0] = y          z = np.where(mask, values, z)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ...array import Array
from ...errors import Uncaptured, message
from ...tracing import user_line

FIX = "use np.where(mask, x, 0), which keeps the shape"


@dataclass(frozen=True, eq=False)
class Selection:
    """The elements of `values` along an axis where a mask holds; `places` if each is the place where it stands.

    With `view` they share the memory of an array, which may not change while a name or container has them.

    It never changes: stores into it, and what asks for how many there are while tracing, are left to the values of a
    call.
    """

    values: Array
    mask: Array
    axis: int
    places: bool = False
    view: bool = False

    def _refuse(self, *_: Any, **__: Any) -> Any:
        raise Uncaptured(message("the size of x[mask] depends on values", user_line(), FIX))

    __bool__ = __len__ = __iter__ = __getitem__ = __contains__ = __array__ = __float__ = __int__ = _refuse
    __array_ufunc__ = __array_function__ = __index__ = __add__ = __radd__ = __mul__ = __rmul__ = _refuse
    __sub__ = __rsub__ = __truediv__ = __rtruediv__ = __matmul__ = __rmatmul__ = __pow__ = __rpow__ = _refuse
    __lt__ = __gt__ = __le__ = __ge__ = __neg__ = __invert__ = __abs__ = __and__ = __or__ = _refuse

    @property
    def rank(self) -> int:
        return self.values.type.rank

    @property
    def from_end(self) -> int:
        """The axis, counted from the last one, which is 1."""
        return self.rank - self.axis

    @property
    def masks(self) -> dict[int, Array]:
        """The masks by the axes along which they select, counted from the last one."""
        return {self.from_end: self.mask}

    def as_view(self) -> Selection:
        return replace(self, view=True)


class Crossed(Selection):
    """What masks of several axes select: whoever asks for the one mask or axis leaves it to the values of a call."""

    def __init__(self, values: Array, masks: dict[int, Array], view: bool = False) -> None:
        for name, value in (("values", values), ("_masks", masks), ("places", False), ("view", view)):
            object.__setattr__(self, name, value)

    mask = axis = property(Selection._refuse)  # type: ignore[assignment]

    @property
    def masks(self) -> dict[int, Array]:
        return self._masks  # type: ignore[attr-defined]

    def as_view(self) -> Crossed:
        return Crossed(self.values, self.masks, True)
