"""What is made for given numbers, by formulas: numbers go in, and those of what is made for them come out.

The second sizes for which something is wanted it is made with SymInts for them (`ir.symint`). That gives formulas for
the numbers in it, which hold wherever its guards do.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from contextlib import suppress
from typing import Any

from .....compiler.ir.formulas import Formulas
from .....compiler.ir.symint import SymSizes
from .....compiler.locks import lock
from .....compiler.settings import settings
from ..background import maker
from .outlines import Form

SEEN, WAYS = 8, 64
"""Of one dynamic thing: sizes that are kept, and ways to make it."""

PATIENCE, WORTH = 8, 2
"""So many ways of it are learned, or not, and then one for so many times that it has been given."""

Make = Callable[[list[Any]], tuple[list[Any], Any]]
"""(numbers, of which some are SymInts) -> the numbers of what is made for them, and what has those."""


class Dynamic:
    """What is made for all sizes: the forms of the numbers that it was made for, and how it is made in each.

    seen    the numbers that have come, the newest first
    forms   which of them are sizes, the newest first
    ways    by what is wanted, and the form
    """

    def __init__(self, given: list[Any]) -> None:
        self.seen = [given]
        self.forms: list[Form] = []
        self.ways: dict[Hashable, Formulas] = {}
        self.tried = self.given = 0
        self.lock = lock()

    def at(self, given: list[Any], wanted: Hashable = None) -> tuple[tuple[Any, ...], Any] | None:
        """The numbers for these, and what has them; None where it is not known how it is made."""
        for form in self.forms:
            sizes = form.sizes(given)
            ways = None if sizes is None else self.ways.get((wanted, form.key))
            found = None if ways is None or sizes is None else ways.at(sizes)
            if found is not None:
                self.given += 1
                return found
        return None

    def ask(self, given: list[Any], make: Make, wanted: Hashable = None) -> None:
        """Let it be learned soon how it is made."""
        if self.tried < PATIENCE + self.given // WORTH:
            self.tried += 1
            if settings.background:
                maker.ask(lambda: self.learn(given, make, wanted), short=True)
            else:
                self.learn(given, make, wanted)

    def learn(self, given: list[Any], make: Make, wanted: Hashable = None) -> None:
        """Make it with SymInts for those of the numbers that change."""
        with self.lock:
            if self.at(given, wanted) is not None:
                return
            form = Form.of([given, *[seen for seen in self.seen if seen != given]])
            form = next((f for f in self.forms if f.key == form.key), form)
            self.seen = [given, *[seen for seen in self.seen if seen != given]][:SEEN]
            with suppress(Exception):  # it asks for what stands for a number
                symbols, sizes = SymSizes(tables=False), form.sizes(given)
                assert sizes is not None
                numbers, way = make(form.numbers([symbols.symbol(n) for n in sizes]))
                ways = self.ways.get((wanted, form.key))
                if ways is None or ways.count == WAYS:
                    ways = Formulas()
                ways.add(symbols, numbers, way)
                self.ways[wanted, form.key] = ways
                self.forms = [form, *[f for f in self.forms if f is not form]][:SEEN]


__all__ = ["Dynamic"]
