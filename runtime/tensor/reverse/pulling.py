"""Backward through one call, which is the same wherever the call stands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..ops.elementwise.arithmetic import ADD
from ..trace.fragments.fragment_cache import fragment_for
from ..trace.fragments.fragments import COTANGENT, INPUT, Fragment
from ..trace.states import ABSOLUTE, Template
from ..value.cells import Kind
from .nodes import NOTHING
from .pulled import VALUE, ZERO, Pulled, Read, ends_of, kind_of_read


class _Pulling:
    """Backward through one call.  Results of steps are numbered from ABSOLUTE on until it is known what is read."""

    def __init__(self, template: Template) -> None:
        self.template = template
        self.reads: dict[Read, int] = {}
        self.steps: list[tuple[Fragment, tuple[int, ...], int]] = []
        self.gives: list[tuple[int, tuple[int, int], int]] = []
        self.kinds: list[Kind] = []
        self.reached: set[int] = set()
        self.flows: dict[tuple[int, int], int] = {}

    def read(self, what: Any, which: Any) -> int:
        return self.reads.setdefault((what, which), len(self.reads))

    def record(self, fragment: Fragment, reads: tuple[int, ...], step: int) -> int:
        first = ABSOLUTE + len(self.kinds)
        self.kinds += fragment.results
        self.steps.append((fragment, reads, step))
        return first

    def kind(self, n: int) -> Kind:
        if n >= ABSOLUTE:
            return self.kinds[n - ABSOLUTE]
        return kind_of_read(self.template, list(self.reads)[n])

    def give(self, way: tuple[int, int], flow: int) -> None:
        if way[0] < 0:
            self.gives.append((len(self.steps), way, flow))
            return
        have = self.flows.get(way)
        if have is not None:
            fragment = fragment_for((ADD, (), self.kind(have), self.kind(flow)))
            flow = self.record(fragment, (have, flow), -1)
        self.flows[way] = flow

    def finish(self) -> Pulled:
        """What was found, numbered."""
        count = len(self.reads)

        def number(n: int) -> int:
            return n - ABSOLUTE + count if n >= ABSOLUTE else n

        steps = [(f, tuple(map(number, reads)), step) for f, reads, step in self.steps]
        gives = [(after, way, number(n)) for after, way, n in self.gives]
        return Pulled(self.template, [*self.reads], steps, gives, self.kinds, self.reached)

    def run(self, given: Sequence[bool]) -> Pulled:
        template, flows = self.template, self.flows
        for k, (way, has) in enumerate(zip(ends_of(template), given, strict=True)):
            if has:
                flows[way] = self.read(COTANGENT, k)
        for number in range(len(template.nodes) - 1, -1, -1):  # type: ignore[arg-type]
            known = template.nodes[number]  # type: ignore[index]
            fragment, refs, first, _ = template.steps[known.step]
            here = [flows.pop((number, k), None) for k in range(len(fragment.results))]
            if here == [None] * len(here):
                continue
            self.reached.add(number)
            if known.pull is NOTHING:
                continue
            pull, reads = fragment.pull_some(known.ways, known.pull, here), []
            for what, k in pull.reads:
                if what != COTANGENT:
                    reads.append(self.read(VALUE, refs[k] if what == INPUT else first + k))
                elif (flow := here[k]) is not None:
                    reads.append(flow)
                else:
                    reads.append(self.read(ZERO, fragment.results[k]))
            made = self.record(pull.fragment, tuple(reads), known.step)
            for k, n in pull.gives:
                if known.ways[k] is not None:
                    self.give(known.ways[k], made + n)
        return self.finish()


def pull_call(template: Template, given: tuple[bool, ...]) -> Pulled:
    """The pullback of calls that follow a template, for those of its ends that have a cotangent."""
    return _Pulling(template).run(given)


__all__ = ["pull_call"]
