"""How a graph is run: by native code, or op by op by the reference executor.

That runs under PULLBACK_REFERENCE=1, and a graph of so many operations that to compile it would take minutes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ...compiler import watch
from ...compiler.backend.code import Beside
from ...compiler.backend.entries.hidden import Guard
from ...compiler.backend.entries.native import NativeFunction, install
from ...compiler.backend.entries.text import Named, entry_text
from ...compiler.backend.entries.walked import PackedWalk
from ...compiler.backend.kernel import Kernel, compile_graph
from ...compiler.backend.python_abi import SUPPORTED
from ...compiler.backend.tiers import size
from ...compiler.ir.graph import Graph, Value
from ...compiler.ir.text import show
from ...compiler.later import later
from ...compiler.locks import cached_property
from ...compiler.settings import settings
from .complexes import ComplexKernel, Wholes, in_memory
from .packed import PackedKernel, Rearranged, packed, walk_of

if TYPE_CHECKING:
    from ...compiler.backend.sized.shared import Shared
    from ...compiler.passes import pipeline
else:
    pipeline = later(__package__, "...compiler.passes.pipeline")

MOST = 50_000
"""Operations of a graph, those of its loops and branches among them, above which it is not compiled."""


class Runnable(Protocol):
    """What a compiled graph can do."""

    def run(self, arrays: Sequence[np.ndarray], into: Mapping[int, np.ndarray] = ...) -> list[np.ndarray]: ...

    def text(self, stage: str) -> str: ...


class Reference:
    """A graph run by its primitives' NumPy meanings; `why` says why it is, if nobody asked for that."""

    def __init__(self, graph: Graph, why: str = "") -> None:
        self.graph, self.why = graph, why

    @cached_property
    def _last(self) -> list[tuple[Value, ...]]:
        """For each operation, the values that are not needed after it."""
        seen = set(self.graph.results)
        last: list[tuple[Value, ...]] = []
        for op in reversed(self.graph.body):
            over = {*op.args, *op.results} - seen
            last.append(tuple(over))
            seen |= over
        return last[::-1]

    def run(
        self, arrays: Sequence[np.ndarray], into: Mapping[int, np.ndarray] = MappingProxyType({})
    ) -> list[np.ndarray]:
        env = dict(zip(self.graph.params, arrays, strict=True))
        with np.errstate(all="ignore"):
            for op, last in zip(self.graph.body, self._last, strict=True):
                try:
                    out = op.prim.evaluate([env[a] for a in op.args], op.attrs, op.regions)
                except Exception as error:
                    if op.where is not None:
                        error.add_note(f"in the compiled code of {op.where.file}, line {op.where.line}")
                    raise
                for value, made in zip(op.results, out, strict=True):
                    env[value] = made if value.type.is_tape else np.asarray(made, value.type.numpy)
                for value in last:
                    del env[value]
        made = [np.array(env[r]) for r in self.graph.results]
        for k, array in into.items():
            array[...] = made[k]
            made[k] = array
        return made

    def text(self, stage: str) -> str:
        if stage == "optimized":
            return show(pipeline.optimize(self.graph))
        raise ValueError(f"no stage {stage!r}{not_compiled(self)}: nothing is compiled")


def make(graph: Graph, name: str, wholes: Wholes | None = None) -> Runnable:
    """A runnable for a graph, as the settings want it, and as its length allows; `wholes` are its complex arrays."""
    if settings.reference:
        return Reference(graph)
    walk, source = walk_of(graph), graph
    if walk is not None:
        graph = packed(graph, *walk)
    operations = size(graph)
    if operations > MOST:
        graph = pipeline.optimize(graph)
        operations = size(graph)
    if operations > MOST:
        return Reference(source, f"it has {operations:,} operations, and those of more than {MOST:,} are not compiled")
    if walk is None and wholes is not None:
        return ComplexKernel(source, wholes, compile_graph(in_memory(graph, wholes), name, load=False))
    kernel = compile_graph(graph, name, load=False)
    return kernel if walk is None else PackedKernel(source, walk, kernel)


def native(kernel: Runnable) -> Kernel | None:
    """The machine code behind a runnable, if there is some."""
    if isinstance(kernel, Rearranged):
        return kernel.kernel
    return kernel if isinstance(kernel, Kernel) else None


def plain(kernel: Runnable) -> Kernel | None:
    """Machine code that takes arguments and gives results one by one, as the graph does."""
    if isinstance(kernel, Rearranged):
        return kernel.plain
    return kernel if isinstance(kernel, Kernel) else None


def not_compiled(kernel: Runnable) -> str:
    """Why a runnable has no machine code, as the end of a sentence."""
    why = getattr(kernel, "why", "")
    return f": {why}" if why else " under PULLBACK_REFERENCE=1"


def reasons(kernel: Runnable) -> tuple[str, ...]:
    """What is to be told of how a graph is run."""
    why = getattr(kernel, "why", "")
    return (f"runs op by op: {why}",) if why else ()


def make_shared(
    shared: Shared, graph: Graph, sizes: Sequence[int], at: Callable[[Sequence[Any]], Graph]
) -> Runnable:
    """A runnable for an optimised graph, which is `at` these sizes, that others of its kind share their code with."""
    return Reference(graph) if settings.reference else shared.kernel(graph, sizes, at)


def is_packed(kernel: Runnable) -> bool:
    """Whether a kernel takes and gives many values packed into vectors."""
    return isinstance(kernel, PackedKernel)


def packs_last(kernel: Runnable, count: int) -> bool:
    """Whether some of the last `count` parameters lie in vectors with others."""
    if not isinstance(kernel, PackedKernel):
        return False
    first = len(kernel.source.params) - count
    return any(k >= first for group in kernel.walk.params.groups for k in group.numbers)


def takes_complex(kernel: Runnable) -> bool:
    """Whether a kernel takes complex arrays as they lie in memory."""
    return isinstance(kernel, ComplexKernel)


def has_entries(kernel: Runnable) -> bool:
    """Whether native entries can be put before a kernel."""
    return native(kernel) is not None and SUPPORTED and not settings.disable_native_entry


def install_entry(
    function: NativeFunction,
    kernel: Runnable,
    number: int,
    args: tuple[Any, ...],
    result: Any,
    guards: tuple[Guard, ...] = (),
    named: Named | None = None,
    retries: bool = False,
    bound: tuple[np.ndarray, ...] = (),
) -> None:
    """Let calls with arguments of these specifications, by position or as `named` says, enter the kernel directly.

    `number` tells the kernel from others of the function: `failure` finds it in the status of a failed call. With
    `retries` a call that fails goes on as if it had not come here. The last specifications are those of arrays that are
    `bound`: inputs of every call.
    """
    walk = kernel.walk if isinstance(kernel, PackedKernel) else None
    if isinstance(kernel, Rearranged) and named is not None and named.out is not None:
        return  # results go by way of what is made here, from Python
    if isinstance(kernel, ComplexKernel):
        result = kernel.result(result)
    named = named and replace(named, aliases=aliases(kernel))
    machine = native(kernel)
    assert machine is not None
    _install(function, machine, number, args, result, guards, named, retries, walk, bound)


def _install(
    function: NativeFunction, kernel: Kernel, number: int, args: tuple[Any, ...], result: Any,
    guards: tuple[Guard, ...], named: Named | None, retries: bool, walk: PackedWalk | None,
    bound: tuple[np.ndarray, ...],
) -> None:
    shim = f"{kernel.name}.numbered{number}"
    with watch.timed("entry", kernel.title, kernel.times):
        entry = entry_text(
            f"{kernel.name}.entry{number}", shim, args, result, kernel.long, guards, named, retries, walk, bound
        )
    text, following = (_numbered(shim, kernel, number, t) + entry.text for t in (kernel.code.tiered, False))
    linked = kernel.code.load(Beside(text, entry.symbols, (entry.name, entry.cells), following))
    entry.keep.append(kernel)
    install(function, linked, entry)


def aliases(kernel: Runnable) -> Mapping[int, int]:
    """Which results of a kernel may be the memory of which inputs, by number."""
    return getattr(kernel, "aliases", {})


def _numbered(name: str, kernel: Kernel, number: int, tiered: bool) -> str:
    """A function that calls the kernel, and puts a number into the upper half of the status of a failure."""
    given = ", ".join(f"ptr %a{k}" for k in range(kernel.code.count))
    return f"""\
define i64 @{name}({given}) nounwind {{
{kernel.code.call_text(given, tiered)}
  %failed = icmp sgt i64 %status, 0
  %marked = or i64 %status, {number << 32}
  %told = select i1 %failed, i64 %marked, i64 %status
  ret i64 %told
}}
"""


def failure(kernels: Sequence[Runnable], status: int, report: Sequence[int]) -> BaseException:
    """What to raise when an entry of one of the numbered `kernels` returned `status`."""
    number = status >> 32 if status > 0 else 0
    kernel = native(kernels[number])
    assert kernel is not None, "entries are of machine code"
    return kernel.error(status & 0xFFFFFFFF if status > 0 else status, report)


__all__ = [
    "Reference", "Runnable", "aliases", "failure", "has_entries", "install_entry", "make", "make_shared", "native",
    "not_compiled", "plain", "reasons", "takes_complex",
]
