"""Steps that are never the same twice, and gradients that nobody reads yet: the same program with either module."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import peers
import unrepeated
from harness import Case
from programs import Step

import pullback

AGREED = 5
"""Results of so many steps are compared: sampled actions become others sooner or later, by the last bit."""


def cases(size: str) -> Iterator[Case]:
    if size == "tiny":
        yield case("random slices", unrepeated.VARYING["random slices"], 3)
        return
    for name, program in unrepeated.UNREAD.items():
        yield case(name, program, 10)
    for name, program in unrepeated.VARYING.items():
        yield case(name, program, 500)


def case(name: str, program: Callable[[Any], Step], steps: int) -> Case:
    """A program that is timed after so many steps."""
    ways = {"pullback": _shown(program(pullback))}
    if torch := peers.torch():
        ways["torch"] = _shown(program(torch))
    return Case(f"Tensors: {name}", ways, goals=(("torch", 1.0),), agree=1e-3, checked=steps)


def _shown(step: Step) -> Step:
    """The step, which gives the result that is compared from when there is one."""
    found: list[float] = []

    def run() -> float:
        value = step()
        if len(found) < AGREED:
            found.append(value)
        return found[-1]

    return run
