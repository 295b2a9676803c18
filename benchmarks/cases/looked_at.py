"""Steps that look at values in their middle: the same program with either module."""

from __future__ import annotations

from collections.abc import Iterator

from harness import Case
from looked_at import LOOKED_AT

from cases.unrepeated import case


def cases(size: str) -> Iterator[Case]:
    for name, program in LOOKED_AT.items():
        if size != "tiny" or name == "descent with backtracking":
            yield case(name, program, 3 if size == "tiny" else 200)
