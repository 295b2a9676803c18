"""Where the elements of a tensor lie: the shape of the memory that it is a part of, and the way from there to the part.

Of a late view the calls that recorded it tell so.  It stays one, for who asks how a tensor lies, as a dropout does or
`x.contiguous()`, wants neither its value nor its history.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from ..trace.states import Call
from ..trace.tape import Tape, tapes
from .core import Core
from .memory import made_by
from .paths import Path, is_dense, strided
from .slots import PART, SPECIAL

Located = tuple[tuple[int, ...], Path]


def located(x: Core) -> Located:
    """The shape of the memory that a tensor is a part of, and the way to the part."""
    tape: Any = tapes.tape
    if x._is_late and x._flags & SPECIAL and x._serial == tape.serial and not tape.depth and tape.again is None:
        found = _as_recorded(x, tape)
        if found is not None:
            return found
    path = x._path
    storage = x._storage
    return (x._kind_of().shape if not path or storage is None else storage.shape()), path


def _as_recorded(x: Core, tape: Tape) -> Located | None:
    """The same of a late view, from one call to the one before; None where they do not tell."""
    n, path, owner = x._number, (), x
    while owner._is_late and owner._flags & SPECIAL:
        event = made_by(n, tape).event
        part = event.template.parts.get(n - event.base) if type(event) is Call else None
        if part is None:
            return None
        path = part.path + path
        if part.of >= 0:  # memory of the call's own
            return event.template.kinds[part.of].shape, path  # type: ignore[union-attr]
        n = event.number(part.of)  # type: ignore[union-attr]
        owner = tape.value(n)
        if owner is None or owner._serial != tape.serial or owner._number != n:  # it was written to since, or is gone
            return None
    if owner._flags & PART:
        return None
    whole = located(owner)
    return whole[0], whole[1] + path


def order_in_memory(x: Core) -> tuple[int, ...] | None:
    """The axes of a tensor from the one with the longest steps on, None where that is the axes' own order."""
    owner = x._owner
    if owner is None:
        whole, path = located(x)
    else:  # an alias, or a part, that is none yet, and stays so
        whole, path = owner._kind_of().shape, x._key[1] if type(x._key) is tuple else ()
    return None if not path or is_dense(whole, path) else _order(whole, path)


@lru_cache(maxsize=4096)
def _order(whole: tuple[int, ...], path: Path) -> tuple[int, ...] | None:
    """PyTorch's order of axes for results of a part: where elements lie upon each other, the axes' own."""
    part = strided(whole, path)
    steps, shape = [abs(s) for s in part.strides], part.shape
    axes = list(range(len(steps)))[::-1]  # the shortest steps first
    for k in range(1, len(axes)):
        here = k
        for n in range(k - 1, -1, -1):
            a, b = axes[n], axes[here]
            if not steps[a] or not steps[b]:  # an axis that is spread has no place of its own, and stays
                continue
            if steps[a] > steps[b] or (steps[a] == steps[b] and shape[a] > shape[b]):
                axes[n], axes[here], here = b, a, n
            elif steps[a] < steps[b]:
                break
    axes.reverse()
    return None if axes == list(range(len(steps))) else tuple(axes)


__all__ = ["Located", "located", "order_in_memory"]
