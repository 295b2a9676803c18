"""Errors that have a page in the docs: below its text each names the command that prints it.

    class ParseError(Explained, ValueError, page="ParseError"): ...

    pullback.ParseError: 1:1: expected 'graph'
      more: python -m pullback explain ParseError
"""

from typing import Any


class Explained(Exception):
    """An error whose class, or one that it derives from, has a page: docs/errors/parse-error.md is ParseError's."""

    page = ""

    def __init_subclass__(cls, page: str = "", **more: Any) -> None:
        super().__init_subclass__(**more)
        cls.page = page or cls.page

    def __init__(self, *args: object) -> None:
        super().__init__(*args)
        self.add_note(f"  more: python -m pullback explain {self.page}")


__all__ = ["Explained"]
