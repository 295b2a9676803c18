"""How a graph is run: by native code, or by the reference executor under PULLBACK_REFERENCE=1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from ..compiler.backend.entries.hidden import Guard
from ..compiler.backend.entries.native import NativeFunction, install
from ..compiler.backend.entries.text import entry_text
from ..compiler.backend.kernel import Kernel, compile_graph
from ..compiler.backend.machine import compile_object
from ..compiler.backend.module import link
from ..compiler.backend.python_abi import SUPPORTED
from ..compiler.ir.graph import Graph
from ..compiler.ir.text import show
from ..compiler.passes import optimize
from ..compiler.settings import settings


class Runnable(Protocol):
    """What a compiled graph can do."""

    def run(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]: ...

    def text(self, stage: str) -> str: ...


class Reference:
    """A graph run by its primitives' NumPy meanings."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    def run(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        env = dict(zip(self.graph.params, arrays, strict=True))
        with np.errstate(all="ignore"):
            for op in self.graph.body:
                try:
                    out = op.prim.evaluate([env[a] for a in op.args], op.attrs, op.regions)
                except IndexError as error:
                    if op.where is not None:
                        error.add_note(f"in the compiled code of {op.where.file}, line {op.where.line}")
                    raise
                for value, made in zip(op.results, out, strict=True):
                    env[value] = np.asarray(made, value.type.numpy)
        return [np.array(env[r]) for r in self.graph.results]

    def text(self, stage: str) -> str:
        if stage == "optimized":
            return show(optimize(self.graph))
        raise ValueError(f"no stage {stage!r} under PULLBACK_REFERENCE=1: nothing is compiled")


def make(graph: Graph, name: str) -> Runnable:
    """A runnable for a graph, as the settings want it."""
    return Reference(graph) if settings.reference else compile_graph(graph, name)


def has_entries(kernel: Runnable) -> bool:
    """Whether native entries can be put before a kernel."""
    return isinstance(kernel, Kernel) and SUPPORTED and not settings.disable_native_entry


def install_entry(
    function: NativeFunction,
    kernel: Runnable,
    number: int,
    args: tuple[Any, ...],
    result: Any,
    guards: tuple[Guard, ...] = (),
) -> None:
    """Let calls with arguments of these specifications enter the kernel directly.

    `number` tells the kernel from others of the function: `failure` finds it in the status of a failed call.
    """
    assert isinstance(kernel, Kernel)
    shim = f"{kernel.name}.numbered"
    entry = entry_text(f"{kernel.name}.entry", shim, args, result, release_gil=kernel.long, guards=guards)
    # straight-line guards and calls run as fast at level 0, and are made in a third of the time
    text = _numbered(shim, kernel, number) + entry.text
    linked = link(
        compile_object(text, 0),
        {**entry.symbols, kernel.name: kernel.address},
        (entry.name, entry.cells),
    )
    entry.keep.append(kernel)
    install(function, linked, entry)


def _numbered(name: str, kernel: Kernel, number: int) -> str:
    """A function that calls the kernel, and puts a number into the upper half of the status of a failure."""
    count = len(kernel.inputs) + len(kernel.graph.results) + 1
    types = ", ".join(["ptr"] * count)
    given = ", ".join(f"ptr %a{k}" for k in range(count))
    return f"""\
declare i64 @{kernel.name}({types})
define i64 @{name}({given}) {{
  %status = call i64 @{kernel.name}({given})
  %failed = icmp sgt i64 %status, 0
  %marked = or i64 %status, {number << 32}
  %told = select i1 %failed, i64 %marked, i64 %status
  ret i64 %told
}}
"""


def failure(kernels: Sequence[Runnable], status: int, report: Sequence[int]) -> Exception:
    """What to raise when an entry of one of the numbered `kernels` returned `status`."""
    number = status >> 32 if status > 0 else 0
    kernel = kernels[number]
    assert isinstance(kernel, Kernel)
    return kernel.error(status & 0xFFFFFFFF if status > 0 else status, report)


__all__ = ["Reference", "Runnable", "failure", "has_entries", "install_entry", "make"]
