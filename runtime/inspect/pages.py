"""The name of an error goes in, its page of the docs comes out: what causes it, an example that does, and the cure.

The pages are shipped with the package; docs/errors holds them in a checkout.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from ...compiler.frontend.errors import TraceError

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "errors"
PLAIN = {"TypeError": "arguments", "ValueError": "arguments"}
"""Pages of Python's own errors."""


def page_of(name: str = "") -> str:
    """The page of an error, by the name of its class; without one, the table of all. ValueError for other names."""
    if not name:
        return _read("index").partition("```{toctree}")[0].rstrip()
    asked = name.rpartition(".")[2]
    named = {cls.__name__: cls.page for cls in _classes(TraceError)}.get(asked, asked)
    page = PLAIN.get(named) or re.sub(r"(?<=[a-z])(?=[A-Z])", "-", named).lower()
    pages = sorted(path.stem for path in FOLDER.glob("*.md"))
    if page not in pages:
        raise ValueError(f"no page tells of {name!r}: pass the name of an error's class; there are {', '.join(pages)}")
    return _read(page)


def _classes(cls: type[TraceError]) -> Iterator[type[TraceError]]:
    """All that derive from a class: which page they share, they know."""
    for each in cls.__subclasses__():
        yield each
        yield from _classes(each)


def _read(page: str) -> str:
    return (FOLDER / f"{page}.md").read_text(encoding="utf-8").rstrip()


__all__ = ["page_of"]
