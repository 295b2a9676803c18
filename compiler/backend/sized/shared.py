"""One kernel for many sizes: the code of a pattern, and the kernels that tell it their numbers.

A graph is lowered with SymInts for its sizes. That gives a pattern, whose code is told numbers, formulas for them, and
guards: at every size for which the guards hold, lowering would do the same (`ir.symint`), so the code computes the bits
that code for that size alone would. What a further size costs is to evaluate the formulas.
"""

from __future__ import annotations

import atexit
import functools
import hashlib
import json
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any

from ... import watch
from ...ir.formulas import Formulas
from ...ir.graph import Graph, extents
from ...ir.symint import SymSizes
from ...later import later
from ...locks import lock
from .. import process
from ..code import Facts
from ..disk import cache, store
from ..kernel import Kernel
from ..processor import has_fma
from ..start import Start, written_for
from .kernels import Sized, Wanted
from .made import Made

if TYPE_CHECKING:
    from ... import lowering
    from ...lowering import pattern as patterns
    from ...lowering.nests import roots
    from ...lowering.program import Program
    from ...passes import pipeline
    from .. import emit as emitting
else:  # where all ways that are gone are on disk, none of this is loaded
    lowering, patterns = later(__package__, "...lowering"), later(__package__, "...lowering.pattern")
    roots, pipeline = later(__package__, "...lowering.nests.roots"), later(__package__, "...passes.pipeline")
    emitting = later(__package__, "..emit")

MAX_PATTERNS = 8
"""Pieces of code for one graph that a new way is compared with."""

MAX_WAYS = 256
"""Ways of lowering one graph that are kept: with more it is begun anew."""

PATIENCE = 3
"""Sizes that could not share code, after which none is tried."""

SHARE = 4
"""One part in so many of what was learned of a graph may be new before all of it is written to disk again."""

Key = Callable[[], Sequence[str | bytes] | None]
"""Makes what tells a graph from others in any process; None where it means something in this one only."""

STAGES = ("optimized", "loops", "llvm", "asm")
"""Where these are shown nothing is found on disk, which has none of them."""


class Shared:
    """The kernels of one graph at many sizes.

    refused   why the latest size has got code of its own, if it has
    count     how many pieces of code have been made
    forms     of which ways are known
    more      what is kept with them
    unsaved   how many ways were learned that are not on disk
    """

    def __init__(self, title: str, optimised: bool, key: Key | None = None) -> None:
        """Begin with what earlier processes have learned of a graph with this key, if it has one."""
        self.title, self.optimised = title, optimised
        self.refused = ""
        self._failures = 0
        self.count = self.unsaved = 0
        self.more: Any = None
        self._made: list[Made] = []
        self._ways: dict[tuple[Hashable, int, int], Formulas] = {}
        self._folder, self._place, self._lock = store.folder(), None, lock()
        if key is not None and cache.enabled() and not any(map(watch.wants, STAGES)):
            parts = key()
            self._place = None if parts is None else cache.key_of("sizes", title, *parts, *map(str, written_for()))
            with process.uncollected():  # of thousands of new objects none is to go
                self._restore()

    @property
    def forms(self) -> list[Hashable]:
        """The forms of which ways are known."""
        return [form for form, *_ in [*self._ways]]

    @property
    def ways(self) -> int:
        """How many ways of lowering it are known."""
        return sum(formulas.count for formulas in [*self._ways.values()])

    def _restore(self) -> None:
        found = store.read(self._place) if self._place else None
        if found is None:
            return
        kept = json.loads(found.objects)
        made = [Made(c["name"], c["digest"], c["count"], Facts(**c["facts"])) for c in kept["codes"]]
        for form, ways in zip(kept["forms"], kept["ways"], strict=True):
            key = tuple(form) if isinstance(form, list) else form
            self._ways[key, *written_for()] = Formulas.unpacked(ways, made)
        self._made, self.more = made[:MAX_PATTERNS], kept["more"]

    def save(self) -> None:
        """Keep what was learned for later processes."""
        if self._place and cache.enabled() and self._folder == store.folder():
            with self._lock:
                store.write(self._place, json.dumps(self._kept()).encode())
        self.unsaved = 0
        _unsaved.discard(self)

    def _kept(self) -> dict[str, Any]:
        ways = {form: found for (form, *written), found in self._ways.items() if (*written,) == written_for()}
        made = {made: k for k, made in enumerate({end: None for each in ways.values() for end in each.made()})}
        codes, packed = [each.keep() for each in made], [each.packed(made) for each in ways.values()]
        return {"more": self.more, "forms": [*ways], "codes": codes, "ways": packed}

    def _learned_one(self) -> None:
        """Keep what was learned, but not all of it for each way."""
        if self._place:
            self.unsaved += 1
            _unsaved.add(self)
            if _ending or self.unsaved * SHARE > self.ways:
                self.save()

    def known(self, sizes: Sequence[int], form: Hashable, wanted: Wanted) -> Kernel | None:
        """A kernel for the graph, if lowering it at these sizes has been gone through; `form` says which those are."""
        formulas = self._ways.get((form, *written_for()))
        found = None if formulas is None else formulas.at(sizes)
        if found is None:
            return None
        (time, *numbers), made = found
        code = made.load(wanted.graph, {})
        if code is None:
            return None
        self.refused = ""
        return Sized(self.title, self.optimised, made, code, wanted, numbers, time > 1)

    def kernel(
        self, graph: Graph, sizes: Sequence[int], at: Callable[[Sequence[Any]], Graph], form: Hashable = None
    ) -> Kernel:
        """A kernel for the graph, which is `at` these sizes; `at` makes it of SymInts, too, and of SymFloats."""
        kernel = self.learned(graph, sizes, at, form)
        return Kernel(graph, self.title) if kernel is None else kernel

    def learned(
        self, graph: Graph, sizes: Sequence[int], at: Callable[[Sequence[Any]], Graph], form: Hashable = None
    ) -> Kernel | None:
        """The same, or None where it cannot share code."""
        wanted = Wanted([p.type for p in graph.params], [r.type for r in graph.results], lambda: graph)
        kernel = self.known(sizes, form, wanted)
        if kernel is None and self._failures < PATIENCE:
            kernel = self.known(sizes, form, wanted) if self._followed(graph, sizes, at, form) else None
            self._failures = 0 if kernel is not None else self._failures + 1
            if kernel is not None:
                self._learned_one()
                for stage in STAGES:
                    watch.show(stage, functools.partial(kernel.text, stage), self.title)
        return kernel

    def _followed(
        self, graph: Graph, sizes: Sequence[int], at: Callable[[Sequence[Any]], Graph], form: Hashable
    ) -> bool:
        """Lower the graph with SymInts; whether that gives a way."""
        start, symbols = Start(graph, self.title), SymSizes()
        try:
            made_of = at([symbols.symbol(n) for n in sizes])
            with watch.timed("lowering", self.title, start.times):
                graph_of = made_of if self.optimised else pipeline.optimize(made_of)
                program = lowering.lower(graph_of, start.bits, called=start.called)
            made, numbers = self._matching(start, program, symbols)
            told, constants = [roots.length(program), *numbers], extents(made_of)
            with self._lock:
                formulas = self._ways.get((form, start.bits, start.called))
                if formulas is None or formulas.count == MAX_WAYS:
                    formulas = self._ways[form, start.bits, start.called] = Formulas()
                formulas.add(symbols, told, made, constants)
        except Exception as error:  # what is written asked for a number that is only told
            self.refused = self.refused or f"its code needs the number of a size ({type(error).__name__}: {error})"
            return False
        return True

    def _matching(self, start: Start, program: Program, symbols: SymSizes) -> tuple[Made, Sequence[Any]]:
        """Code for the program, known or new, and what it is told."""
        before = len(symbols.guards)
        for made in self._made:
            numbers = made.pattern and made.pattern.match(program)
            if numbers is not None:
                return made, numbers
            symbols.undo(before)
        made = self._new(start, program)
        assert made.pattern is not None
        numbers = made.pattern.match(program)
        assert numbers is not None
        return made, numbers

    def _new(self, start: Start, program: Program) -> Made:
        """Code for a new pattern, or that of one which is on disk; how long it takes is for each kernel to know."""
        pattern = patterns.opened(program)
        name = f"{start.name}.sized"
        with watch.timed("emit", self.title, start.times):
            emitted = emitting.emit(pattern.program, name, has_fma(), pattern.told)
        digest = hashlib.sha256(emitted.text.encode()).hexdigest()
        made = next((each for each in self._made if each.digest == digest), None)
        if made is None:
            facts = Facts(False, emitted.arena, emitted.calls, pattern.program.aliases)
            made = Made(name, digest, len(start.graph.params) + len(start.graph.results) + 2, facts)
            self.count += 1
        made.pattern, made.emitted, made.lost = pattern, emitted, False
        made.load(lambda: start.graph, start.times)
        self._made = [made, *[each for each in self._made if each is not made][: MAX_PATTERNS - 1]]
        return made


_unsaved: set[Shared] = set()
_ending = False


@atexit.register
def _save() -> None:
    """Keep what has not been kept; what is learned from now on is kept at once."""
    global _ending
    _ending = True
    for shared in [*_unsaved]:
        shared.save()


__all__ = ["Shared", "Sized", "Wanted"]
