"""One kernel for many sizes: the code of a pattern, and the kernels that tell it their numbers.

A graph is lowered with SymInts for its sizes. That gives a pattern, whose code is told numbers, formulas for them, and
guards: at every size for which the guards hold, lowering would do the same (`ir.symint`), so the code computes the bits
that code for that size alone would. What a further size costs is to evaluate the formulas.
"""

from __future__ import annotations

import functools
import hashlib
import struct
import zlib
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import watch
from ..ir.formulas import Formulas
from ..ir.graph import Graph, extents
from ..ir.symint import SymSizes
from ..ir.types import Type
from ..later import later
from ..locks import cached_property
from ..settings import settings
from . import cache, pool, store, tiers
from .code import Beside, Code, Facts
from .entries.calls import launcher
from .kernel import Kernel, Start, layout, written_for
from .module import Linked
from .processor import has_fma

if TYPE_CHECKING:
    from .. import lowering
    from ..lowering import pattern as patterns
    from ..lowering.nests import roots
    from ..lowering.program import Program
    from ..passes import pipeline
    from . import emit as emitting
    from . import stages
else:  # where all ways that are gone are on disk, none of this is loaded
    lowering, patterns = later(__package__, "..lowering"), later(__package__, "..lowering.pattern")
    roots, pipeline = later(__package__, "..lowering.nests.roots"), later(__package__, "..passes.pipeline")
    emitting, stages = later(__package__, ".emit"), later(__package__, ".stages")

MAX_PATTERNS = 8
"""Pieces of code for one graph that a new way is compared with."""

MAX_WAYS = 256
"""Ways of lowering one graph that are kept: with more it is begun anew."""

PATIENCE = 3
"""Sizes that could not share code, after which none is tried."""


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
        if self.emitted is not None and self.code is not None:
            store.write(place, zlib.compress(self.emitted.text.encode(), 1))
        return {"name": self.name, "digest": self.digest, "count": self.count, "facts": self.facts._asdict()}


def _place_of_text(digest: str) -> str:
    return cache.key_of("text", digest)


class Wanted(NamedTuple):
    """A graph at its sizes: the types of its parameters and results, and how it is made, which few are asked for."""

    inputs: Sequence[Type]
    results: Sequence[Type]
    graph: Callable[[], Graph]


class Shared:
    """The kernels of one graph at many sizes.

    refused   why the latest size has got code of its own, if it has
    count     how many pieces of code have been made
    """

    def __init__(self, title: str, optimised: bool) -> None:
        self.title, self.optimised = title, optimised
        self.refused = ""
        self._failures = 0
        self.count = 0
        self._made: list[Made] = []
        self._ways: dict[Hashable, Formulas] = {}

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
        return Sized(self, made, code, wanted, numbers, time > 1)

    @property
    def ways(self) -> int:
        """How many ways of lowering it are known."""
        return sum(formulas.count for formulas in self._ways.values())

    def kept(self, forms: Iterable[Hashable]) -> dict[str, Any]:
        """What can be kept of these forms; those that have none are left out."""
        ways = {form: found for form in forms if (found := self._ways.get((form, *written_for())))}
        made = {made: k for k, made in enumerate({end: None for each in ways.values() for end in each.made()})}
        return {
            "forms": [*ways],
            "codes": [each.keep() for each in made],
            "ways": [each.packed(made) for each in ways.values()],
        }

    def restore(self, kept: Mapping[str, Any], forms: Sequence[Hashable]) -> None:
        """Know what was kept; the forms are given, as what was kept has lists for tuples."""
        made = [Made(c["name"], c["digest"], c["count"], Facts(**c["facts"])) for c in kept["codes"]]
        for form, ways in zip(forms, kept["ways"], strict=True):
            self._ways[form, *written_for()] = Formulas.unpacked(ways, made)
        self._made = made[:MAX_PATTERNS]

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
                for stage in ("optimized", "loops", "llvm", "asm"):
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
            formulas = self._ways.get((form, start.bits, start.called))
            if formulas is None or formulas.count == MAX_WAYS:
                formulas = self._ways[form, start.bits, start.called] = Formulas()
            formulas.add(symbols, [roots.length(program), *numbers], made, extents(made_of))
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


def _bits(number: float) -> int:
    """A number as it is told."""
    return number if type(number) is int else struct.unpack("<q", struct.pack("<d", number))[0]


class Sized(Kernel):
    """A kernel at given sizes, with the code of a pattern."""

    def __init__(
        self, shared: Shared, made: Made, code: Code, wanted: Wanted, numbers: Sequence[int], long: bool
    ) -> None:
        self.title, self.name, self.times = shared.title, code.name, code.times
        self.inputs, self._fresh = wanted.inputs, [layout(type) for type in wanted.results]
        self._wanted, self._optimised, self._long = wanted, shared.optimised, long
        self.numbers = np.array([_bits(n) for n in numbers], np.int64)
        self._made, self._shared = made, code
        self.code = Telling(code, self.numbers)

    @cached_property
    def stages(self) -> stages.Stages:
        """The way of the graph at its sizes."""
        return stages.Stages(Start(self._wanted.graph(), self.title), self._optimised)

    @property
    def emitted(self) -> emitting.EmittedKernel:
        """The text of the pattern's code; that of its sizes, where the code came from disk."""
        return self._made.emitted or self.stages.emitted

    @property
    def long(self) -> bool:
        """As `Kernel.long`: it depends on the sizes."""
        return self._long

    @cached_property
    def address(self) -> int:
        """Where the kernel is entered without its numbers, for as long as this object lives."""
        return self.code.address()

    @cached_property
    def _launch(self) -> Any:
        launch = launcher(len(self.inputs) + len(self._fresh) + 1, self.long)
        return functools.partial(launch, self._shared.address(), self.numbers)

    def run(
        self, arrays: Sequence[np.ndarray], into: Mapping[int, np.ndarray] = MappingProxyType({})
    ) -> list[np.ndarray]:
        """As `Kernel.run`."""
        self._check(arrays)
        outs = [into[k] if k in into else pool.empty(*layout) for k, layout in enumerate(self._fresh)]
        failure = self._launch(*arrays, *outs)
        if failure is not None:
            raise self.error(*failure)
        return outs


class Telling:
    """The code of a pattern as a kernel without numbers to tell: it has them from an array that outlives it.

    Text knows the array by a name: with its address it would be another one in each process, and never found on disk.
    """

    def __init__(self, code: Code, numbers: np.ndarray) -> None:
        self._code, self._numbers = code, numbers
        self.name, self.count = code.name, code.count - 1
        self._told = f"{code.name}.told"
        self.facts, self.times = code.facts, code.times
        self._linked: Linked | None = None

    @property
    def level(self) -> int:
        return self._code.level

    @property
    def cached(self) -> list[str]:
        return self._code.cached

    @property
    def problem(self) -> str:
        return self._code.problem

    @property
    def tiered(self) -> bool:
        return self._code.tiered

    def load(self, beside: Beside | None = None) -> Linked:
        """As `Code.load`."""
        if beside is None:
            return self._code.load()
        known = f"@{self._told} = external global i64\n"
        symbols = {**beside.symbols, self._told: self._numbers.ctypes.data}
        text, following = known + beside.text, beside.next and known + beside.next
        return self._code.load(Beside(text, symbols, beside.exports, following))

    def call_text(self, given: str, tiered: bool | None = None) -> str:
        """As `Code.call_text`."""
        return self._code.call_text(f"ptr @{self._told}, {given}", tiered)

    def address(self) -> int:
        """Where it is entered."""
        if self._linked is None:
            given = ", ".join(f"ptr %a{k}" for k in range(self.count))
            name = f"{self.name}.telling"
            text = f"define i64 @{name}({given}) nounwind {{\n{self.call_text(given)}\n  ret i64 %status\n}}\n"
            self._linked = self.load(Beside(text, {}, (name,)))
        return self._linked.address(f"{self.name}.telling")


__all__ = ["Shared", "Sized"]
