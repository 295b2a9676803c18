"""A graph on its way to the text of a kernel: passes, loops, LLVM, each when it is asked for.

It is loaded when the first graph goes this way: where the machine code is on disk, none does.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .. import watch
from ..ir.graph import Graph, Op, evaluate
from ..ir.text import show
from ..ir.verify import verify
from ..locks import cached_property
from ..lowering import lower
from ..lowering.nests.roots import is_long
from ..lowering.program import Program
from ..ops.contract import contract
from ..ops.control import loop
from ..ops.convolve import correlate
from ..ops.external import external, recipes_of
from ..passes.pipeline import optimize
from . import tiers
from .code import Facts
from .emit import EmittedKernel, emit
from .processor import has_fma
from .start import Start

CHECKED = 100_000
"""Nanoseconds up to which a function with loops is run by the reference executor to check a pass."""


class Stages:
    """A graph on its way to text; each stage is made when it is asked for, and `times` has its milliseconds."""

    def __init__(self, start: Start, optimised: bool = False) -> None:
        self.source, self.title, self.name, self.times = start.graph, start.title, start.name, start.times
        self._start, self._optimised = start, optimised

    @cached_property
    def graph(self) -> Graph:
        """The optimised graph."""
        if self._optimised:
            return self.source
        with watch.timed("passes", self.title, self.times):
            return optimize(self.source, after=_checked if self._start.checked else None)

    @cached_property
    def program(self) -> Program:
        """Its loops."""
        graph = self.graph
        with watch.timed("lowering", self.title, self.times):
            return lower(graph, self._start.bits, called=self._start.called)

    @property
    def known(self) -> tuple[Program | None, str | None]:
        """Its loops and its text, as far as they have been made."""
        emitted = self.__dict__.get("emitted")
        return self.__dict__.get("program"), emitted and emitted.text

    def lowered(self) -> Program:
        """The loops made anew, which are its own if there were none."""
        made = lower(self.graph, self._start.bits, called=self._start.called)
        self.__dict__.setdefault("program", made)
        return made

    @cached_property
    def emitted(self) -> EmittedKernel:
        """Its text."""
        program = self.program
        with watch.timed("emit", self.title, self.times):
            return emit(program, self.name, has_fma())

    def made(self) -> tuple[Facts, str]:
        """All of them."""
        program, emitted = self.program, self.emitted
        long = is_long(program) or "external" in emitted.calls  # Python may run meanwhile in either
        recipes = sorted(set(recipes_of(self.graph))) if "external" in emitted.calls else ()
        return Facts(long, emitted.arena, emitted.calls, program.aliases, recipes), emitted.text


def _checked(name: str, before: Graph, after: Graph) -> None:
    """Verify a pass and compare its result with what it was given, on numbers.

    Passes change no bit, but NumPy sums the products of a contraction in an order that depends on how the
    operands lie, so graphs with contractions may differ by rounding.
    """
    verify(after)
    inside = list(_operations(before))
    long = any(op.regions for op in inside) and tiers.expected(before) > CHECKED
    if long or any(op.prim in (loop, external) for op in inside):
        return  # on numbers of our own a loop may never end, and an opaque function may mind
    rng = np.random.default_rng(0)
    args = [_sample(rng, p.type) for p in before.params]
    try:
        wanted = evaluate(before, args)
    except Exception:  # what the function itself raises on these numbers
        return
    rounds = any(op.prim in (contract, correlate) for op in inside)
    for k, (a, b) in enumerate(zip(wanted, evaluate(after, args), strict=True)):
        inexact = a.dtype.kind == "f"
        same = np.array_equal(a, b, equal_nan=inexact)
        if not same and inexact and rounds:
            eps = float(np.finfo(a.dtype).eps)
            same = np.allclose(a, b, rtol=1e4 * eps, atol=1e4 * eps, equal_nan=True)
        if not same:
            raise AssertionError(
                f"pass {name} changed result {k} of @{before.name}: a bug in pullback\n{show(after)}"
            )


def _operations(graph: Graph) -> Iterator[Op]:
    """All operations, those in regions among them."""
    for op in graph.body:
        yield op
        for region in op.regions:
            yield from _operations(region)


def _sample(rng: np.random.Generator, type) -> np.ndarray:
    if type.is_float:
        return rng.uniform(-2, 2, type.static_shape()).astype(type.numpy)
    return rng.integers(0, 2, type.static_shape()).astype(type.numpy)


__all__ = ["Stages"]
