"""The faults of faults.txt, which some test must find.

`python tests/tools/mutants.py` plants them one at a time;
`tests/test_planted_faults.py` looks that each can still be planted.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

TABLE = Path(__file__).with_name("faults.txt")


class Fault(NamedTuple):
    """A change of one place of one file, which stands there exactly once, and the arguments of pytest to find it."""

    file: str
    tests: str
    old: str
    new: str


def _read(text: str) -> list[Fault]:
    found = []
    for block in text.split("==== ")[1:]:
        head, _, rest = block.partition("\n")
        old, _, new = rest.partition("\n----\n")
        file, _, tests = head.partition(" : ")
        found.append(Fault(file, tests, old, new.removesuffix("\n")))
    return found


FAULTS = _read(TABLE.read_text(encoding="utf-8"))
