"""Additions at places that are traced: where the places, what is added and what is added to are one another."""

from __future__ import annotations

import numpy as np
import pytest

import pullback


@pytest.mark.parametrize("given", ["%1, %1, %1", "%1, %2, %1", "%1, %1, %b", "%b, %1, %1", "%1, %1, %2"])
def test_additions_at_places_that_are_read_from_what_is_added_to(given: str) -> None:
    """What is added to may be the same numbers as the places, and as what is added: all are read as they were."""
    lines = ["%0: i64[3] = neg %a", "%1: i64[3] = abs %0", "%2: i64[3] = add %1, %b"]
    lines.append(f"%3: i64[3] = scatter_add {given} {{axis=0}}")
    f = pullback.parse("graph @f(%a: i64[3], %b: i64[3]) {\n  " + "\n  ".join(lines) + "\n  return %3\n}\n")
    compiled, rng = pullback.compile(f), np.random.default_rng(0)
    for _ in range(20):
        a, b = (rng.integers(0, 3, 3) for _ in "ab")
        known = {"%1": a, "%2": a + b, "%b": b}
        base, at, more = (known[name] for name in given.split(", "))
        want = base.copy()
        np.add.at(want, np.minimum(at, 2), more)
        np.testing.assert_array_equal(compiled(a, b), want)
