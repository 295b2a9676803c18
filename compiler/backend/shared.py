"""One kernel for many sizes: the code of a pattern, and the kernels that tell it their numbers.

A graph is lowered with SymInts for its sizes. That gives a pattern, whose code is told numbers, formulas for them, and
guards: at every size for which the guards hold, lowering would do the same (`ir.symint`), so the code computes the bits
that code for that size alone would. What a further size costs is to evaluate the formulas.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Callable, Hashable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from .. import watch
from ..ir.formulas import Formulas
from ..ir.graph import Graph, extents
from ..ir.symint import SymSizes
from ..ir.types import Type
from ..locks import cached_property
from ..lowering import lower
from ..lowering.nests.roots import length
from ..lowering.pattern import Pattern, opened
from ..lowering.program import Program
from ..passes.pipeline import optimize
from ..settings import settings
from . import cache, pool, tiers
from .code import Beside, Code, Facts
from .emit import EmittedKernel, emit
from .entries.calls import launcher
from .kernel import Kernel, Start, layout, written_for
from .module import Linked
from .processor import has_fma
from .stages import Stages

MAX_PATTERNS = 8
"""Pieces of code for one graph that a new way is compared with."""

MAX_WAYS = 256
"""Ways of lowering one graph that are kept: with more it is begun anew."""

PATIENCE = 3
"""Sizes that could not share code, after which none is tried."""


class Made(NamedTuple):
    """Code that is told numbers."""

    pattern: Pattern
    emitted: EmittedKernel
    code: Code


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
        self.refused = ""
        (time, *numbers), made = found
        return Sized(self, made, wanted, numbers, time > 1)

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
                program = lower(made_of if self.optimised else optimize(made_of), start.bits, called=start.called)
            made, numbers = self._matching(start, program, symbols)
            formulas = self._ways.get((form, start.bits, start.called))
            if formulas is None or formulas.count == MAX_WAYS:
                formulas = self._ways[form, start.bits, start.called] = Formulas()
            formulas.add(symbols, [length(program), *numbers], made, extents(made_of))
        except Exception as error:  # what is written asked for a number that is only told
            self.refused = self.refused or f"its code needs the number of a size ({type(error).__name__}: {error})"
            return False
        return True

    def _matching(self, start: Start, program: Program, symbols: SymSizes) -> tuple[Made, Sequence[Any]]:
        """Code for the program, known or new, and what it is told."""
        before = len(symbols.guards)
        for made in self._made:
            numbers = made.pattern.match(program)
            if numbers is not None:
                return made, numbers
            symbols.undo(before)
        made = self._new(start, program)
        numbers = made.pattern.match(program)
        assert numbers is not None
        self._made = [made, *self._made[: MAX_PATTERNS - 1]]
        self.count += 1
        return made, numbers

    def _new(self, start: Start, program: Program) -> Made:
        """Code for a new pattern; how long it takes is for each kernel to know."""
        pattern = opened(program)
        name = f"{start.name}.sized{self.count}"
        with watch.timed("emit", self.title, start.times):
            emitted = emit(pattern.program, name, has_fma(), pattern.told)
        facts = Facts(False, emitted.arena, emitted.calls, pattern.program.aliases)
        count = len(start.graph.params) + len(start.graph.results) + 2
        plan = functools.partial(tiers.plan, start.graph, settings.level)
        key = (lambda: ("sized", name, emitted.text)) if cache.enabled() else None
        code = Code(name, count, plan, start.times, lambda: (facts, emitted.text), key)
        code.find()
        code.load()
        return Made(pattern, emitted, code)


def _bits(number: float) -> int:
    """A number as it is told."""
    return number if type(number) is int else struct.unpack("<q", struct.pack("<d", number))[0]


class Sized(Kernel):
    """A kernel at given sizes, with the code of a pattern."""

    def __init__(self, shared: Shared, made: Made, wanted: Wanted, numbers: Sequence[int], long: bool) -> None:
        self.title, self.name, self.times = shared.title, made.code.name, made.code.times
        self.inputs, self._fresh = wanted.inputs, [layout(type) for type in wanted.results]
        self._wanted, self._optimised, self._long = wanted, shared.optimised, long
        self.numbers = np.array([_bits(n) for n in numbers], np.int64)
        self._emitted, self._shared = made.emitted, made.code
        self.code = Telling(made.code, self.numbers)

    @cached_property
    def stages(self) -> Stages:
        """The way of the graph at its sizes."""
        return Stages(Start(self._wanted.graph(), self.title), self._optimised)

    @property
    def emitted(self) -> EmittedKernel:
        """The text of the pattern's code."""
        return self._emitted

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
