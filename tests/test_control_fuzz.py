"""Random structured programs mean what they mean to plain Python, in values, effects, exceptions and gradients.

`python -m tests.fuzz control 2000 0` runs thousands, and makes small what is wrong.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random

import numpy as np
import pytest

from pullback.compiler.settings import settings as ours
from tests.control.programs import Writer, loaded
from tests.control.verdicts import Difference, examine

PROGRAMS = {"native": 60, "reference": 60}
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
