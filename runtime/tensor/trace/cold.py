"""A trace run step by step: the arrays of what it reads go in, and those that are wanted come out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .fragments.fragments import Fragment


def run_cold(plan: Any, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Run each fragment of a `Plan` by itself, dropping values after their last use."""
    values: Any = [None] * len(plan.program.kinds)
    for (n, _), array in zip(plan.sources, arrays, strict=True):
        values[n] = array
    if plan.unused is None:
        plan.unused = unused_after(plan.steps, plan.results)
    for (fragment, numbers, first, _), unused in zip(plan.steps, plan.unused, strict=True):
        run_step(fragment, [values[k] for k in numbers], values, first)
        for n in unused:
            values[n] = None
    return [values[k] for k in plan.results]


def unused_after(steps: Sequence[Any], wanted: Sequence[int]) -> list[list[int]]:
    """For each step the values that it is the last to read, but for those that are wanted."""
    last, found = set(wanted), []
    for step in reversed(steps):
        unused = [n for n in dict.fromkeys(step.numbers) if n not in last]
        last.update(unused)
        found.append(unused)
    return found[::-1]


class Interpreted:
    """A plan that goes on step by step, though it is known."""

    def __init__(self, plan: Any) -> None:
        self.plan = plan

    def run(self, arrays: Sequence[np.ndarray], /) -> list[np.ndarray]:
        return run_cold(self.plan, arrays)


def run_step(fragment: Fragment, arrays: list[Any], values: list[Any], first: int) -> None:
    """Run one step; its results become values from `first` on."""
    quick = fragment.alone.quick
    made = quick(arrays) if quick is not None else None
    if type(made) is not list:
        made = fragment.run(arrays)  # which raises the error if there was one
    if len(made) == 1:
        values[first] = made[0]
    else:
        values[first : first + len(made)] = made


__all__ = ["Interpreted", "run_cold", "run_step"]
