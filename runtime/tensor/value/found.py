"""What functions with several results return: named tuples that print as PyTorch's."""

from __future__ import annotations

from collections import namedtuple
from functools import cache
from typing import Any


@cache
def returned(name: str, *fields: str) -> Any:
    """The class of named tuples with these fields, called `name` when they print."""
    made = namedtuple(name, fields)  # type: ignore[misc]

    def text(self: Any) -> str:
        shown = ",\n".join(f"{f}={getattr(self, f)!r}" for f in fields)
        return f"torch.return_types.{name}(\n{shown})"

    made.__repr__ = text  # type: ignore[method-assign]
    made.__reduce__ = lambda self: (_again, (name, fields, tuple(self)))  # type: ignore[method-assign]
    return made


def _again(name: str, fields: tuple[str, ...], values: tuple[Any, ...]) -> Any:
    return returned(name, *fields)(*values)


def extreme(name: str) -> Any:
    """A class of pairs of values and where they were found."""
    return returned(name, "values", "indices")
