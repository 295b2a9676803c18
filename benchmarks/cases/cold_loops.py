"""A loop of 800 steps, from a new function to its first gradient: captured as a loop, and written out step by step."""

from __future__ import annotations

from collections.abc import Iterator

import peers
from harness import Case

from cases import cold

PATIENCE = 30.0
"""Seconds that a peer gets for the loop written out."""


def cases(size: str) -> Iterator[Case]:
    yield cold.case("swing", "800-step loop, cold gradient", (("at most", 50.0), ("jax", 1.0)), 120.0, 1e-8)
    name = "swing, unrolled"
    ways = {"pullback": cold.in_a_process(name, "pullback", 120.0, PULLBACK_CACHE="0")}
    if peers.jax() and size != "tiny":
        ways["jax"] = cold.in_a_process(name, "jax", PATIENCE)
    goals = (("at most", 500.0),)
    yield Case("800-step loop, written out, cold gradient", ways, "ms", 1e3, goals, 1e-8, seconds=True)
