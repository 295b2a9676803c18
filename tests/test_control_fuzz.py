"""Random structured programs mean what they mean to plain Python, in values, effects, exceptions and gradients."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies

from pullback.compiler.settings import settings as ours
from tests.control.programs import Writer, loaded
from tests.control.verdicts import Difference, examine

PROGRAMS = {"native": 60, "reference": 100}
CAPTURED = 0.7
"""The share of programs that must be captured: neither refused nor traced on the values at hand."""


@pytest.mark.parametrize("executor", PROGRAMS)
def test_programs_mean_the_same_and_most_are_captured(executor: str, tmp_path: Path) -> None:
    counts: Counter[str] = Counter()
    with ours.override(reference=executor == "reference"), np.errstate(all="ignore"):
        for number in range(PROGRAMS[executor]):
            source = Writer(Random(number), rich=number % 2 == 1).program()
            module = loaded(source, tmp_path, f"program_{number}")
            try:
                counts[examine(module, number).split(":")[0]] += 1
            except Difference as difference:
                raise AssertionError(f"program {number}: {difference}\n{source}") from None
    assert counts["equal"] + counts["raises"] >= CAPTURED * PROGRAMS[executor], counts


@given(strategies.randoms(use_true_random=False), strategies.booleans(), strategies.integers(0, 99))
@settings(
    max_examples=40,
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_programs_that_shrink(tmp_path_factory: pytest.TempPathFactory, random: Random, rich: bool, seed: int) -> None:
    source = Writer(random, rich).program()
    module = loaded(source, tmp_path_factory.mktemp("programs"), "program")
    with ours.override(reference=True), np.errstate(all="ignore"):
        examine(module, seed)
