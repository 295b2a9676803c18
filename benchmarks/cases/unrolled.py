"""Long programs without loops: a pendulum's path, written out by Python while it is traced; cold, gradient included."""

from __future__ import annotations

from collections.abc import Iterator

from harness import Case

from cases import cold

GOALS = {10_000: 1000.0, 100_000: 10_000.0}
COUNTS = {"tiny": (60,), "quick": (300, 10_000), "full": (300, 10_000, 100_000)}


def cases(size: str) -> Iterator[Case]:
    for count in COUNTS[size]:
        goals = (("at most", GOALS[count]),) if count in GOALS else ()
        name = f"{count:,} unrolled scalar operations, cold, with gradient"
        yield cold.case(str(count), name, goals, 300.0, 1e-6, with_jax=count <= 300)
