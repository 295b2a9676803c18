"""What packages import of `torch.optim` beside what is public: how LBFGS searches, and a default for what has none."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from .lbfgs import Point, lowest, search
from .state import group_tensors

ParamsT = Iterable[Any]
"""What an optimiser takes: parameters, groups of them, or pairs of a name and a parameter."""


class Required:
    """The default of an option that has none."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = Required()


def cubic_interpolate(x1: Any, f1: Any, g1: Any, x2: Any, f2: Any, g2: Any, bounds: Any = None) -> Any:
    """The place within bounds at which the cubic through two points and their slopes is least."""
    first, second = (Point(x, float(f), None, float(g)) for x, f, g in ((x1, f1, g1), (x2, f2, g2)))  # type: ignore
    return lowest(first, second, bounds)


def strong_wolfe(
    obj_func: Callable[..., Any], x: Any, t: Any, d: Any, f: Any, g: Any, gtd: Any, c1: float = 1e-4, c2: float = 0.9,
    tolerance_change: float = 1e-9, max_ls: int = 25,
) -> tuple[Any, Any, Any, int]:  # fmt: skip
    """The loss, the gradient and the step that meet Wolfe's strong conditions, and how many points were looked at."""
    if (c1, c2) != (1e-4, 0.9):
        raise NotImplementedError(f"_strong_wolfe has c1=1e-4 and c2=0.9, not {c1} and {c2}")

    def look(step: Any) -> Point:
        loss, gradient = obj_func(x, step, d)
        return Point(step, float(loss), gradient, float(gradient.dot(d)))

    start = Point(0.0, float(f), g, float(gtd))
    found, count = search(look, start, float(t), max_ls, float(d.abs().max()), tolerance_change)
    return found.loss, found.gradient, found.t, count


def has_foreach(*args: Any) -> bool:
    """Whether functions of lists of tensors, `_foreach_add` and its like, take tensors of a device: all are there."""
    return True


__all__ = ["ParamsT", "cubic_interpolate", "group_tensors", "has_foreach", "required", "strong_wolfe"]
