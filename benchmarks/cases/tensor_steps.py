"""Whole training steps of Tensors: modules, a loss, backward and an optimiser, the same program with either module."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import peers
import programs
from harness import Case, Goal

import pullback

STEPS = 4
"""Steps before losses are compared: what the optimiser has remembered must agree, too."""


def case(name: str, program: Callable[[Any], programs.Step], *goals: Goal, agree: float = 1e-4) -> Case:
    """A step with either module."""
    ways = {"pullback": program(pullback)}
    if torch := peers.torch():
        ways["torch"] = program(torch)
    return Case(name, ways, goals=goals, agree=agree, checked=STEPS)


def mlp(width: int, hidden: int, classes: int, batch: int, optimiser: str, *goals: Goal) -> Case:
    name = f"Tensors: MLP {width}-{hidden}-{classes}, batch {batch}, {optimiser}"
    return case(name, lambda torch: programs.mlp(torch, width, hidden, classes, batch, optimiser), *goals)


def cases(size: str) -> Iterator[Case]:
    if size == "tiny":
        yield mlp(5, 4, 3, 6, "SGD")
        yield mlp(5, 4, 3, 6, "Adam")
        yield case("Tensors: logistic regression", lambda torch: programs.logistic(torch, 10, 3))
        return
    yield mlp(64, 64, 10, 32, "SGD", ("torch", 15.0))
    yield mlp(64, 64, 10, 32, "Adam", ("torch", 15.0))
    yield mlp(784, 256, 10, 128, "SGD", ("torch", 1.2))
    name = "Tensors: logistic regression, 1,000 x 25"
    yield case(name, lambda torch: programs.logistic(torch, 1000, 25), ("torch", 10.0))
