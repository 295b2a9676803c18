"""One kernel for many sizes: the code of a pattern, and the kernels that tell it their numbers.

A graph at given sizes is lowered as it would be alone. If its program is of a known pattern, the pattern's code runs,
told the numbers in which the programs differ; it computes the bits that code of its own would.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from .. import watch
from ..ir.graph import Graph
from ..locks import cached_property
from ..lowering.nests.roots import is_long
from ..lowering.pattern import Pattern, generalise
from ..settings import settings
from . import cache, pool, tiers
from .code import Beside, Code, Facts
from .emit import EmittedKernel, emit
from .entries.calls import launcher
from .kernel import Kernel, Start, layout
from .module import Linked
from .processor import has_fma
from .stages import Stages

MAX_PATTERNS = 8
"""Patterns of one graph: beyond, sizes get code of their own."""

PATIENCE = 3
"""Sizes without a pattern after which none is looked for."""


class Shared:
    """The kernels of one graph with named sizes.

    patience  after how many sizes without a pattern none is looked for
    refused   why the latest size has got code of its own, if it has
    """

    def __init__(self, title: str, patience: int = PATIENCE) -> None:
        self.title, self.patience = title, patience
        self.refused = ""
        self._failures = 0
        self._made: list[tuple[Pattern, EmittedKernel, Code]] = []

    @property
    def count(self) -> int:
        """How many pieces of code there are."""
        return len(self._made)

    def kernel(self, graph: Graph, others: Callable[[], Iterator[Graph]]) -> Kernel:
        """A kernel for the graph at its sizes; `others` are the same graph at further ones, to find a pattern with."""
        stages = Stages(Start(graph, self.title), optimised=True)
        if self._made or self._failures < self.patience:
            program = stages.program
            for k, (pattern, emitted, code) in enumerate(self._made):
                numbers = pattern.match(program)
                if numbers is not None:
                    self.refused = ""
                    self._made.insert(0, self._made.pop(k))  # the next size is likely of the same one
                    return Sized(stages, emitted, code, numbers)
        if self._failures < self.patience:
            made = self._new(stages, others)
            if made is not None:
                self.refused = ""
                return made
            self._failures += 1
        return Kernel(graph, self.title)

    def _new(self, stages: Stages, others: Callable[[], Iterator[Graph]]) -> Kernel | None:
        """A kernel with code for a new pattern."""
        if len(self._made) == MAX_PATTERNS:
            self.refused = f"its loops take more than {MAX_PATTERNS} forms"
            return None
        for other in others():
            found = generalise(stages.program, Stages(Start(other, self.title), optimised=True).program)
            if found is None:
                continue
            try:
                emitted, code = self._code(stages, found)
            except Exception as error:  # what is written asked for a number that is only told
                self.refused = f"its code needs the number of a size ({type(error).__name__}: {error})"
                return None
            numbers = found.match(stages.program)
            if numbers is not None:
                self._made.append((found, emitted, code))
                kernel = Sized(stages, emitted, code, numbers)
                for stage in ("optimized", "loops", "llvm", "asm"):
                    watch.show(stage, functools.partial(kernel.text, stage), self.title)
                return kernel
        self.refused = "its loops at other sizes have another form"
        return None

    def _code(self, stages: Stages, pattern: Pattern) -> tuple[EmittedKernel, Code]:
        name = f"{stages.name}.sized{len(self._made)}"
        with watch.timed("emit", self.title, stages.times):
            emitted = emit(pattern.program, name, has_fma(), pattern.told)
        facts = Facts(is_long(stages.program), emitted.arena, emitted.calls, pattern.program.aliases)
        count = len(stages.source.params) + len(stages.source.results) + 2
        plan = functools.partial(tiers.plan, stages.source, settings.level)
        key = (lambda: ("sized", name, emitted.text)) if cache.enabled() else None
        code = Code(name, count, plan, stages.times, lambda: (facts, emitted.text), key)
        code.find()
        code.load()
        return emitted, code


class Sized(Kernel):
    """A kernel at given sizes, with the code of a pattern."""

    def __init__(self, stages: Stages, emitted: EmittedKernel, code: Code, numbers: tuple[int, ...]) -> None:
        self._stages, self.title, self.name, self.times = stages, stages.title, code.name, stages.times
        self.inputs = [p.type for p in stages.source.params]
        self._fresh = [layout(r.type) for r in stages.source.results]
        self._long = is_long(stages.program)
        del stages.program  # most sizes are never looked at: it is made again for those that are
        self.numbers = np.array(numbers, np.int64)
        self._emitted, self._shared = emitted, code
        self.code = Telling(code, self.numbers)

    @property
    def stages(self) -> Stages:
        """The way of the graph at its sizes."""
        return self._stages

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
