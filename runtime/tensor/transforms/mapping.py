"""`autograd.Function`s inside `vmap`: by the user's rule, or by mapping their parts."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..ops.arranging.shapes import movedim
from ..value.cells import newest
from ..value.core import Core
from .crossings import enter, has_lanes, leave
from .lanes import Level


class VmapInfo(NamedTuple):
    """What a function's `vmap` is told."""

    batch_size: int
    randomness: str


def mapped_by(cls: Any, args: tuple[Any, ...], own: bool) -> Level | None:
    """The level of `vmap` that the user's rule is for; None if forward and backward themselves are mapped."""
    level = newest([a._read() for a in args if isinstance(a, Core)])
    if not isinstance(level, Level) or not level.open:
        return None
    if own and cls.generate_vmap_rule:
        raise RuntimeError(
            f"You tried to vmap over {cls.__name__}, but it has both generate_vmap_rule=True and an overridden vmap"
            " staticmethod. Please set generate_vmap_rule=False or delete the overridden vmap staticmethod to avoid"
            " ambiguity."
        )
    if not own and not cls.generate_vmap_rule:
        raise RuntimeError(
            f"You tried to vmap over {cls.__name__}, but it does not have vmap support. Please override and implement"
            " the vmap staticmethod or set generate_vmap_rule=True."
        )
    return level if own else None


def in_lanes(cls: Any, args: tuple[Any, ...], level: Level) -> Any:
    """The function of a batch, by the user's rule."""
    wide = [isinstance(a, Core) and has_lanes(a, level) for a in args]
    whole = [leave(a, level) if w else a for a, w in zip(args, wide, strict=True)]
    info = VmapInfo(level.size, level.randomness)
    returned = cls.vmap(info, tuple([0 if w else None for w in wide]), *whole)
    if not isinstance(returned, tuple) or len(returned) != 2:
        raise RuntimeError(f"Expected the vmap staticmethod of {cls.__name__} to have two returns, (output, out_dims)")
    made, dims = returned
    results = made if isinstance(made, tuple) else (made,)
    places = dims if isinstance(dims, tuple) else (dims,) * len(results)
    one = [y if d is None else enter(movedim(y, d, 0), level) for y, d in zip(results, places, strict=True)]
    return tuple(one) if isinstance(made, tuple) else one[0]


__all__ = ["in_lanes", "mapped_by"]
