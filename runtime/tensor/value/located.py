"""Where the elements of a tensor lie: the shape of the memory that it is a part of, and the way from there to the part.

Of a late view the calls that recorded it tell so.  It stays one, for who asks how a tensor lies, as a dropout does or
`x.contiguous()`, wants neither its value nor its history.
"""

from __future__ import annotations

from typing import Any

from ..trace.states import Call
from ..trace.tape import Tape, tapes
from .cells import Kind
from .memory import made_by
from .orders import Order, order_of_part, whole_order
from .paths import Path
from .slots import PART, SPECIAL

Located = tuple[tuple[int, ...], Order, Path]


def located(x: Any) -> Located:
    """The shape of the memory that a tensor is a part of, the order of that in PyTorch's, and the way to the part."""
    owner = x._owner
    if owner is not None:  # an alias, or a part, that is none yet, and stays so
        kind = owner._kind_of()
        return kind.shape, kind.order, x._key[1] if type(x._key) is tuple else ()
    tape: Any = tapes.tape
    if x._is_late and x._flags & SPECIAL and x._serial == tape.serial and not tape.depth and tape.again is None:
        found = located_by_calls(x, tape)
        if found is not None:
            return found
    path = x._path
    storage = x._storage
    if path and storage is not None:
        return storage.shape(), storage.order, path
    kind = x._kind_of()
    return kind.shape, kind.order, path


def located_by_calls(x: Any, tape: Tape) -> Located | None:
    """The same of a late view, from one call to the one before; None where they do not tell."""
    found = owner_by_calls(x, tape)
    if found is None:
        return None
    owner, path = found
    if type(owner) is Kind:
        return owner.shape, owner.order, path
    if owner._flags & PART:
        return None
    shape, order, way = located(owner)
    return shape, order, way + path


def owner_by_calls(x: Any, tape: Tape) -> tuple[Any, Path] | None:
    """What a late view is a part of, and the way to the part: a tensor that is no late view and that nobody has written
    to since, or the kind of memory that a call made for itself; None where the calls do not tell."""
    n, path, owner = x._number, (), x
    while owner._is_late and owner._flags & SPECIAL:
        event = made_by(n, tape).event
        part = event.template.parts.get(n - event.base) if type(event) is Call else None
        if part is None:
            return None
        path = part.path + path
        if part.of >= 0:
            return event.template.kinds[part.of], path  # type: ignore[union-attr]
        n = event.number(part.of)  # type: ignore[union-attr]
        owner = tape.value(n)
        if owner is None or owner._serial != tape.serial or owner._number != n:  # it was written to since, or is gone
            return None
    return owner, path


def order_in_memory(x: Any) -> Order:
    """The axes of a tensor from the one with the longest steps on, None where that is the axes' own order."""
    return whole_order(x._kind_of().shape, order_of_part(*located(x)))


__all__ = ["Located", "located", "located_by_calls", "order_in_memory", "owner_by_calls"]
