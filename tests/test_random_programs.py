"""Random programs with and without recognition of calls: everything that can be seen must be the same.

Templates that one program leaves behind are met by the next, which has other structures and other values; so the
programs of a block run one after the other.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import pullback
from pullback.runtime.tensor.trace.opened import set_irregular
from tests.random_programs import RandomProgram, attempt, same

SEEDS, BLOCK, STEPS, VALUES = 120, 15, 25, 2


@contextmanager
def recognising(wanted: bool) -> Iterator[None]:
    set_irregular("random programs", not wanted)
    try:
        yield
    finally:
        set_irregular("random programs", False)


class Watched(RandomProgram):
    """A program that counts what was made, and how much of it by calls that were recognised."""

    made = late = 0

    def kept(self, made: Any) -> Any:
        self.made += 1
        self.late += made._is_late
        return made


def ran(seed: int, values: int, recognised: bool) -> dict[str, Any]:
    """All that can be seen of a program."""
    with recognising(recognised):
        p = Watched(pullback, seed, values)
        errors = [p.step() for _ in range(STEPS)]
        return {
            "errors": errors,
            "tensors": p.tensors(),
            "gradients": p.gradients(),
            "arrays": [array.copy() for array in p.arrays],
            "observed": p.observed,
            "backward of all": attempt(lambda: p.loss().backward()),
            "gradients of all": p.gradients(),
            "steps": p.log,
            "counts": (p.made, p.late),
        }


@pytest.mark.parametrize("first", range(0, SEEDS, BLOCK))
def test_recognised_calls_are_calls(first: int) -> None:
    made = late = 0
    for seed in range(first, first + BLOCK):
        for values in range(VALUES):
            want = ran(seed, values, recognised=False)
            have = ran(seed, values, recognised=True)
            counts = have.pop("counts")
            made, late = made + counts[0], late + counts[1]
            assert want.pop("counts")[1] == 0
            if type(want["backward of all"]) is str and "Error" in want["backward of all"]:
                del want["gradients of all"]  # which leaves have got their share before an error, nobody promises
            for name in want:
                assert same(have[name], want[name]), f"seed {seed}, values {values}: {differing(have, want, name)}"
    assert late > made / 3


def differing(have: dict[str, Any], want: dict[str, Any], name: str) -> str:
    a, b = have[name], want[name]
    pairs = zip(a, b, strict=False) if isinstance(b, list) else [(a, b)]
    return "\n".join(f"{name} {k}: recognised {x}, else {y}" for k, (x, y) in enumerate(pairs) if not same(x, y))
