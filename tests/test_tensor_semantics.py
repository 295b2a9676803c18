"""Programs about gradients, hooks, writing in place, custom functions and transforms give what torch gave.

The golden data are torch's: `make test-peers` compares them with torch itself.
"""

from typing import Any

import pytest

import pullback
from tests.semantics import Program, difference, golden, plain, programs

PROGRAMS = programs()


@pytest.fixture(scope="module")
def wanted() -> dict[str, Any]:
    return golden()


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.label)
def test_program(program: Program, wanted: dict[str, Any]) -> None:
    result = program.run(pullback)
    want = wanted[program.label]
    if isinstance(result, Exception) and "error" not in want:
        raise AssertionError(program.label) from result
    wrong = difference(plain(result, program.named), want)
    assert wrong is None, wrong


def test_there_are_many_and_each_has_its_golden(wanted: dict[str, Any]) -> None:
    labels = [program.label for program in PROGRAMS]
    assert len(labels) == len(set(labels)) >= 150
    assert sorted(labels) == sorted(wanted)


@pytest.mark.parametrize(
    ("got", "want"),
    [
        (1.0, 1.001),
        (1.0, float("nan")),
        (1, 1.0),
        ([1.0], [1.0, 2.0]),
        ({"dtype": "torch.float64", "values": [1.0]}, {"dtype": "torch.float64", "values": [1.000001]}),
        ({"grad_fn": "A"}, {"grad_fn": "B"}),
        ({"grad_fn": None}, {"is_leaf": None}),
        (True, 1),
    ],
)
def test_the_comparison_finds(got: Any, want: Any) -> None:
    assert difference(got, want) is not None and difference(want, want) is None
