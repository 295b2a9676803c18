"""Twenty programs as tutorials have them, after a hundred steps: the same program with either module."""

from __future__ import annotations

from collections.abc import Iterator

import tutorials_further
from harness import Case

from cases.unrepeated import case


def cases(size: str) -> Iterator[Case]:
    names = list(tutorials_further.TUTORIALS)
    for name in names[:1] if size == "tiny" else names:
        yield case(name, tutorials_further.TUTORIALS[name], 3 if size == "tiny" else 100)
