"""A small training loop with one ordinary ingredient more, one at a time: the same program with either module."""

from __future__ import annotations

from collections.abc import Iterator

import ingredients
import peers
from harness import Case

import pullback

SHOWN = 9
"""Every so many are tried where figures mean nothing."""


def cases(size: str) -> Iterator[Case]:
    names = list(ingredients.INGREDIENTS)
    for name in names[::SHOWN] if size == "tiny" else names:
        ways = {"pullback": ingredients.step(pullback, name)}
        if torch := peers.torch():
            ways["torch"] = ingredients.step(torch, name)
        steps = 2 * ingredients.READ
        yield Case(f"Tensors: {name}", ways, goals=(("torch", 1.0),), agree=1e-3, checked=steps)
