"""What functions with several results return: named tuples that print as PyTorch's."""

from __future__ import annotations

from collections import namedtuple
from typing import Any


def returned(name: str, *fields: str) -> Any:
    """A class of named tuples with these fields, called `name` when they print."""
    made = namedtuple(name, fields)  # type: ignore[misc]

    def text(self: Any) -> str:
        shown = ",\n".join(f"{f}={getattr(self, f)!r}" for f in fields)
        return f"torch.return_types.{name}(\n{shown})"

    made.__repr__ = text  # type: ignore[method-assign]
    return made


def extreme(name: str) -> Any:
    """A class of pairs of values and where they were found."""
    return returned(name, "values", "indices")
