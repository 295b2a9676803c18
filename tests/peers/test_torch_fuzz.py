"""Random programs of views, writes, hooks, modes, threads, errors and training steps mean what they mean to torch.

`make fuzz-peers` runs thousands, and makes small what is wrong.
"""

import pytest

from tests.fuzz.kinds import run_tensors

PROGRAMS, BLOCK = 200, 20


@pytest.mark.parametrize("first", range(0, PROGRAMS, BLOCK))
def test_programs_mean_what_they_mean_to_torch(first: int) -> None:
    for number in range(first, first + BLOCK):
        verdict, text = run_tensors(number)
        assert not verdict.startswith("WRONG"), f"program {number}: {verdict}\n{text}"
