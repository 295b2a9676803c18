"""From a graph to native code in memory, found on disk or made (`stages`)."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import watch
from ..ir.graph import Graph
from ..ir.primitive import REGISTRY
from ..ir.text import show
from ..ir.types import Type
from ..later import later
from ..locks import cached_property
from ..settings import settings
from . import pool, process, threads, tiers
from .code import Code, Facts
from .disk import cache
from .entries.calls import launcher
from .entries.runner import Run, runner
from .start import Start

if TYPE_CHECKING:
    from ..lowering.program import Program, Site
    from . import annotated, stages
    from .emit import EmittedKernel
    from .stages import Stages
else:
    annotated, stages = later(__package__, ".annotated"), later(__package__, ".stages")


class Way:
    """From what a kernel starts with to its text, which is begun when somebody asks for it."""

    def __init__(self, start: Start) -> None:
        self._start = start

    @cached_property
    def stages(self) -> Stages:
        """The stages in between."""
        return stages.Stages(self._start)

    def made(self) -> tuple[Facts, str]:
        """What must be known of the text, and the text."""
        return self.stages.made()


class Kernel:
    """A compiled graph: arrays in, arrays out."""

    def __init__(self, graph: Graph, title: str) -> None:
        start = Start(graph, title)
        self._way = way = Way(start)
        self.title, self.name, self.times = title, start.name, start.times
        self.inputs = [p.type for p in graph.params]
        self._fresh = [layout(r.type) for r in graph.results]
        shown = [stage for stage in ("optimized", "loops", "llvm", "asm") if watch.wants(stage)]
        key = start.key if cache.enabled() and not shown else None
        plan = functools.partial(tiers.plan, graph, settings.level)
        self.code = Code(self.name, len(self.inputs) + len(self._fresh) + 1, plan, self.times, way.made, key)
        self.code.find()
        for stage in shown:
            watch.show(stage, functools.partial(self.text, stage), title)

    @property
    def stages(self) -> Stages:
        """Its way from the graph to text."""
        return self._way.stages

    @property
    def graph(self) -> Graph:
        """The optimised graph."""
        return self.stages.graph

    @property
    def program(self) -> Program:
        """Its loops."""
        return self.stages.program

    @property
    def emitted(self) -> EmittedKernel:
        """Its text."""
        return self.stages.emitted

    def text(self, stage: str) -> str:
        """The kernel at a stage: optimized, loops, llvm or asm."""
        if stage == "optimized":
            return show(self.graph)
        if stage in ("loops", "llvm"):
            return self._annotated[stage == "llvm"]
        if stage == "asm":
            return annotated.annotated_assembly(self._annotated[1], self.code.level)
        raise ValueError(f"no stage {stage!r}: a kernel has optimized, loops, llvm and asm")

    @cached_property
    def _annotated(self) -> tuple[str, str]:
        """The loops and the LLVM text, with the user's lines."""
        return annotated.annotated(self.stages)

    @property
    def outputs(self) -> list[tuple[tuple[int, ...], np.dtype, int]]:
        """Shape, dtype and bytes of each result."""
        return self._fresh

    @property
    def long(self) -> bool:
        """Whether a call takes long enough to let other threads run Python."""
        return self.code.facts.long

    @property
    def aliases(self) -> dict[int, int]:
        """Which results may be the memory of which inputs, by number."""
        pairs = self.code.facts.aliases
        return {pair[0]: pair[1] for pair in pairs}

    @cached_property
    def address(self) -> int:
        """Where the kernel is entered, for as long as this object lives."""
        return self.code.address()

    @property
    def entered(self) -> tuple[int, bool]:
        """A word for native code that enters the kernel, and whether it is that of `shared.Sized`."""
        return self.address, False

    @cached_property
    def _launch(self) -> Any:
        return launcher(len(self.inputs) + len(self._fresh), self.long)

    def runner(self, donated: Mapping[int, int] = MappingProxyType({})) -> Run:
        """A native function of a list of arrays: the list of results; (status, report) for `error` if the kernel
        failed; None if these are not arrays that it runs on, which `run` tells why.

        Result k is the very array of parameter donated[k], updated in place: for pairs out of `aliases`.
        """
        if any(self.aliases.get(k) != j for k, j in donated.items()):
            raise ValueError(f"@{self.title}: only results {self.aliases} may lie in parameters, not {dict(donated)}")
        inputs = [(t.static_shape(), t.numpy) for t in self.inputs]
        outputs = [(shape, dtype) for shape, dtype, _ in self._fresh]
        return runner(self.address, inputs, outputs, donated, self.long, self.code)

    @cached_property
    def _run(self) -> Run:
        return self.runner()

    def run(
        self, arrays: Sequence[np.ndarray], into: Mapping[int, np.ndarray] = MappingProxyType({})
    ) -> list[np.ndarray]:
        """The results for C-contiguous arrays of the parameters' types; raises what the kernel reports.

        `into` has arrays for some results: of their types, C-contiguous, and apart from the others and the parameters,
        but that result k may be the very array of parameter `aliases[k]`, which is then updated in place.
        """
        if not into:
            made = self._run([*arrays])  # a list that no other thread changes meanwhile
            if type(made) is list:
                return made
            if made is not None:
                raise self.error(*made)
        self._check(arrays)
        outs = [into[k] if k in into else pool.empty(*layout) for k, layout in enumerate(self._fresh)]
        failure = self._launch(self.address, *arrays, *outs)
        if failure is not None:
            raise self.error(*failure)
        return outs

    def _check(self, arrays: Sequence[np.ndarray]) -> None:
        if len(arrays) != len(self.inputs):
            raise TypeError(f"@{self.title} takes {len(self.inputs)} arrays, got {len(arrays)}")
        for k, (a, t) in enumerate(zip(arrays, self.inputs, strict=True)):
            if a.dtype != t.numpy or a.shape != t.shape:
                raise TypeError(f"@{self.title}: array {k} is {a.dtype}{list(a.shape)}, not {t}")

    def error(self, status: int, report: Sequence[int]) -> BaseException:
        """What to raise when a call returned `status` and `report`."""
        return site_error(self.program.sites, status, report)


def layout(type: Type) -> tuple[tuple[int, ...], np.dtype, int]:
    """Shape, dtype and bytes of a result."""
    shape, dtype = type.static_shape(), type.numpy
    return shape, dtype, math.prod(shape) * dtype.itemsize


def site_error(sites: Sequence[Site], status: int, report: Sequence[int]) -> BaseException:
    """The exception for a kernel's status: what failed, and the user's line."""
    if status == threads.INTERRUPTED:
        return threads.interruption()
    if status < 0:
        return MemoryError("there is no memory for the temporaries of a compiled function")
    site = sites[status - 1]
    error = REGISTRY[site.kind].error(report[0], *site.facts)  # type: ignore[attr-defined]
    if site.where is not None:
        error.add_note(f"in the compiled code of {site.where.file}, line {site.where.line}")
    return error


def compile_graph(graph: Graph, name: str = "", load: bool = True) -> Kernel:
    """Optimise `graph`, lower it, and link it into the process, at once or when it is first called."""
    with process.uncollected(), watch.progress(name or graph.name):
        kernel = Kernel(graph, name or graph.name)
        if load:
            kernel.code.load()
    return kernel


__all__ = ["Kernel", "compile_graph", "site_error"]
