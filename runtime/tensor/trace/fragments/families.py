"""Kernels of operations that come with other sizes each time: one piece of code for all of them.

The first size of an operation is compiled for itself. For a second one the graph is lowered with names for the sizes
that have changed (`backend.sized`): one code is told them, which computes the same bits, and what further sizes cost
is no compilation. What was learned of a family is kept on disk, so that later processes compile for none.
"""

from __future__ import annotations

import functools
from collections.abc import Hashable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from .....compiler.backend import process
from .....compiler.backend.kernel import Kernel, compile_graph
from .....compiler.ir.graph import Graph
from .....compiler.later import later
from .....compiler.locks import lock
from .outlines import Form, is_opaque, outline, text_of_outline

if TYPE_CHECKING:
    from .....compiler.backend.sized import shared as sharing
else:
    sharing = later(__package__, ".....compiler.backend.sized.shared")

KEPT = 1024
"""Families that are kept; the oldest goes first."""

SEEN = 8
"""Earlier sizes by which it is seen which numbers of a graph change together."""


class Family:
    """Graphs that are alike but for sizes, and the code that they share; `key` is what they have in common.

    seen    the numbers of earlier graphs, the newest first
    forms   which of the numbers are sizes, the newest first
    """

    def __init__(self, title: str, numbers: Sequence[int], key: Hashable) -> None:
        self.shared = sharing.Shared(title, optimised=False, key=lambda: _text(key))
        self.seen, count = self.shared.more or [numbers], len(numbers)
        self.forms = [Form(key[:count], key[count:]) for key in self.shared.forms]  # type: ignore[index]
        self.lock = lock()

    def known(self, numbers: Sequence[int], wanted: sharing.Wanted) -> Kernel | None:
        """A kernel for a graph of these numbers, if lowering it has been gone through."""
        for form in self.forms:
            sizes = form.sizes(numbers)
            made = None if sizes is None else self.shared.known(sizes, form.key, wanted)
            if made is not None:
                return made
        return None

    def learned(self, graph: Graph, numbers: Sequence[int]) -> Kernel | None:
        """The same where it has not: go through it now. None for what cannot share code."""
        if numbers in self.seen and not self.forms:
            return None
        if not self.lock.acquire(blocking=False):  # another thread compiles, which takes longer than to do so here
            return None
        try:
            with process.uncollected():
                form = Form.of([numbers, *[seen for seen in self.seen if seen != numbers]])
                form = next((f for f in self.forms if f.key == form.key), form)
                self.forms = [form, *[f for f in self.forms if f is not form]][:SEEN]
                self.seen = [numbers, *self.seen[: SEEN - 1]]
                sizes = form.sizes(numbers)
                assert sizes is not None
                self.shared.more = self.seen
                return self.shared.learned(graph, sizes, functools.partial(form.at, graph), form.key)
        finally:
            self.lock.release()


def _text(key: Hashable) -> list[str] | None:
    with suppress(TypeError):  # it means something in this process only
        return [text_of_outline(key)]
    return None


_families: dict[Any, Family] = {}
_lock = lock()


def kernel_of(graph: Graph) -> Kernel:
    """A compiled graph, with the code of its family if that has some."""
    if is_opaque(graph):
        return compile_graph(graph)
    numbers: list[int] = []
    family = family_of((graph.name, outline(graph, numbers)), graph.name, numbers)
    if family is None:
        return compile_graph(graph)
    wanted = sharing.Wanted([p.type for p in graph.params], [r.type for r in graph.results], lambda: graph)
    return family.known(numbers, wanted) or family.learned(graph, numbers) or compile_graph(graph)


def family_of(key: Hashable, title: str, numbers: Sequence[int]) -> Family | None:
    """The family with this outline; None if these numbers are the first of it, and nothing of it is on disk."""
    with _lock:
        family = _families.get(key)
        if family is not None:
            return family
        while len(_families) >= KEPT:
            _families.pop(next(iter(_families)))
        family = _families[key] = Family(title, numbers, key)
    return family if family.forms else None


__all__ = ["Family", "family_of", "kernel_of"]
