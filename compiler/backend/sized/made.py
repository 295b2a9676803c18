"""Code that is told numbers: text goes in, or what disk keeps of it, and code in memory comes out."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ... import watch
from ...ir.graph import Graph
from ...settings import settings
from .. import tiers
from ..code import Code, Facts
from ..disk import cache, store

if TYPE_CHECKING:
    from ...lowering import pattern as patterns
    from .. import emit as emitting


class Made:
    """Code that is told numbers.

    digest   a hash of its text
    count    how many pointers it takes
    pattern  of the program that it was written from, and what was written; None where it came from disk
    """

    __slots__ = ("name", "digest", "count", "facts", "pattern", "emitted", "code", "lost")

    def __init__(self, name: str, digest: str, count: int, facts: Facts) -> None:
        self.name, self.digest, self.count, self.facts = name, digest, count, facts
        self.pattern: patterns.Pattern | None = None
        self.emitted: emitting.EmittedKernel | None = None
        self.code: Code | None = None
        self.lost = False

    def load(self, graph: Callable[[], Graph], times: watch.Times) -> Code | None:
        """The code, in memory; None where neither it nor its text is on disk any more."""
        if self.code is None and not self.lost:
            key = (lambda: ("sized", self.name, self.digest)) if cache.enabled() else None
            level = settings.level
            try:
                code = Code(self.name, self.count, lambda: tiers.plan(graph(), level), times, self._text, key)
                code.find()
                code.load()
                self.code = code
            except FileNotFoundError:
                self.lost = True
        return self.code

    def _text(self) -> tuple[Facts, str]:
        if self.emitted is not None:
            return self.facts, self.emitted.text
        found = store.read(_place_of_text(self.digest))
        if found is None:
            raise FileNotFoundError("the text of code that is to be made is not on disk any more")
        return self.facts, zlib.decompress(found.objects).decode()

    def keep(self) -> dict[str, Any]:
        """What disk keeps of it; its text is put there by itself."""
        place = _place_of_text(self.digest)
        if self.emitted is not None and not store.has(place):
            store.write(place, zlib.compress(self.emitted.text.encode(), 1))
        return {"name": self.name, "digest": self.digest, "count": self.count, "facts": self.facts._asdict()}


def _place_of_text(digest: str) -> str:
    return cache.key_of("text", digest)


__all__ = ["Made"]
