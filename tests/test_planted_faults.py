"""Every fault that `make mutants` plants can still be planted: what it changes stands where it says, once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tools.faults import FAULTS

ROOT = Path(__file__).parents[1]
LEAST = 40


@pytest.mark.parametrize("number", range(len(FAULTS)))
def test_a_fault_can_be_planted(number: int) -> None:
    fault = FAULTS[number]
    text = (ROOT / fault.file).read_text(encoding="utf-8")
    assert text.count(fault.old) == 1, f"{fault.old!r} stands {text.count(fault.old)} times in {fault.file}"
    compile(text.replace(fault.old, fault.new), fault.file, "exec")
    assert all((ROOT / test).is_file() for test in fault.tests.split() if test.startswith("tests/"))


def test_there_are_enough() -> None:
    assert len(FAULTS) >= LEAST and len(set(FAULTS)) == len(FAULTS)
