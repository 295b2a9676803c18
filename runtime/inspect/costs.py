"""A function and the arguments of a call in, its profile out: the call and each of its sweeps are run and timed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np

from ...compiler.backend.tiers import BETTER
from ...compiler.ir.graph import Graph
from ...compiler.passes.pipeline import optimize
from ...compiler.settings import settings
from ..compiled import kernels
from ..derivatives.blame import MOST
from .profile import Profile, Sweep, measured, sweep_of, uncounted


def profile(
    name: str, value: Graph, derived: Graph, inputs: Sequence[np.ndarray], call: Callable[[], Any]
) -> Profile:
    """What a call costs, of which `value` is the graph of the function and `derived` that which is compiled."""
    graphs = [("value", value)] + ([("gradient", derived)] if derived is not value else [])
    sweeps, counted = zip(*(_sweep(each, graph, inputs) for each, graph in graphs), strict=True)
    left = list(dict.fromkeys(name for graph in counted for name in uncounted(graph)))
    notes = [f"flops of {', '.join(left)} are not counted"] if left else []
    notes += [f"{s.name}: only the first {MOST:,} operations are counted" for s in sweeps if not s.whole]
    return Profile(name, measured(call), sweeps, tuple(notes))


def _sweep(name: str, graph: Graph, inputs: Sequence[np.ndarray]) -> tuple[Sweep, Graph]:
    """A sweep as it is measured, and the graph that is counted: the optimised one."""
    with settings.override(level=BETTER) if settings.level is None else nullcontext():  # as after many calls
        kernel = kernels.make(graph, graph.name)
    given = [np.ascontiguousarray(x).reshape(np.shape(x)) for x in inputs]
    seconds = measured(lambda: kernel.run(given))
    machine = kernels.native(kernel)
    counted = machine.graph if machine is not None and machine is kernel else optimize(graph)
    return sweep_of(name, counted, inputs, seconds, machine and machine.code.level), counted


__all__ = ["profile"]
