"""From a graph to native code in memory."""

from __future__ import annotations

import functools
import itertools
import math
import re
import weakref
from collections.abc import Sequence

import numpy as np

from .. import watch
from ..ir.graph import Graph, evaluate
from ..ir.primitive import REGISTRY
from ..ir.text import show
from ..ir.types import Type
from ..ir.verify import verify
from ..lowering import lower
from ..lowering.program import Program, Site, is_long
from ..lowering.show import show_program
from ..passes import optimize
from ..settings import settings
from . import blas, pool, process
from .emit import EmittedKernel, emit
from .entries.calls import launcher
from .machine import assembly, compile_object, has_fma, vector_bits
from .module import Linked, link

_numbers = itertools.count()


class Kernel:
    """A compiled graph: arrays in, arrays out."""

    def __init__(
        self, graph: Graph, program: Program, emitted: EmittedKernel, linked: Linked, level: int
    ) -> None:
        self.graph, self.program, self.emitted, self.level = graph, program, emitted, level
        self.linked, self.name = linked, emitted.name
        self.address = linked.address(emitted.name)
        self.inputs = [p.type for p in graph.params]
        self._fresh = [_layout(r.type) for r in graph.results]
        self.long = is_long(program)
        self._launch = launcher(len(self.inputs) + len(self._fresh), self.long)
        if emitted.arena:
            memory = linked.address(f"{emitted.name}.arena")
            weakref.finalize(self, _free_arena, memory, linked).atexit = False

    def run(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        """The results for C-contiguous arrays of the parameters' types; raises what the kernel reports."""
        self._check(arrays)
        outs = [pool.empty(*layout) for layout in self._fresh]
        failure = self._launch(self.address, *arrays, *outs)
        if failure is not None:
            raise self.error(*failure)
        return outs

    def _check(self, arrays: Sequence[np.ndarray]) -> None:
        if len(arrays) != len(self.inputs):
            raise TypeError(f"@{self.graph.name} takes {len(self.inputs)} arrays, got {len(arrays)}")
        for k, (a, t) in enumerate(zip(arrays, self.inputs, strict=True)):
            if a.dtype != t.numpy or a.shape != t.shape:
                raise TypeError(f"@{self.graph.name}: array {k} is {a.dtype}{list(a.shape)}, not {t}")

    def error(self, status: int, report: Sequence[int]) -> Exception:
        """What to raise when a call returned `status` and `report`."""
        return site_error(self.program.sites, status, report)

    def text(self, stage: str) -> str:
        """The kernel at a stage: optimized, loops, llvm or asm."""
        if stage == "optimized":
            return show(self.graph)
        if stage == "loops":
            return show_program(self.program)
        if stage == "llvm":
            return self.emitted.text
        if stage == "asm":
            return assembly(self.emitted.text, self.level)
        raise ValueError(f"no stage {stage!r}: a kernel has optimized, loops, llvm and asm")


def _layout(type: Type) -> tuple[tuple[int, ...], np.dtype, int]:
    """Shape, dtype and bytes of a result."""
    shape, dtype = type.static_shape(), type.numpy
    return shape, dtype, math.prod(shape) * dtype.itemsize


def site_error(sites: Sequence[Site], status: int, report: Sequence[int]) -> Exception:
    """The exception for a kernel's status: what failed, and the user's line."""
    if status < 0:
        return MemoryError("there is no memory for the temporaries of a compiled function")
    site = sites[status - 1]
    error = REGISTRY[site.kind].error(report[0], *site.facts)  # type: ignore[attr-defined]
    if site.where is not None:
        error.add_note(f"in the compiled code of {site.where.file}, line {site.where.line}")
    return error


def compile_graph(graph: Graph, name: str = "") -> Kernel:
    """Optimise `graph`, lower it, and link it into the process."""
    title = name or graph.name
    with watch.timed("optimized", title):
        graph = optimize(graph, after=_checked if settings.check else None)
    watch.show("optimized", lambda: show(graph), title)
    with watch.timed("loops", title):
        bits = settings.vector_bits or vector_bits()
        program = lower(graph, bits, blas=bool(blas.symbols()))
    watch.show("loops", lambda: show_program(program), title)
    with watch.timed("llvm", title):
        emitted = emit(program, _symbol(title), has_fma())
    watch.show("llvm", lambda: emitted.text, title)
    with watch.timed("asm", title):
        linked = link_text(emitted)
    watch.show("asm", lambda: assembly(emitted.text, settings.level), title)
    return Kernel(graph, program, emitted, linked, settings.level)


def link_text(emitted: EmittedKernel, extra: str = "", symbols: dict[str, int] | None = None,
              exports: Sequence[str] = ()) -> Linked:
    """Generate code for a kernel, with more text beside it, and load it."""
    objects = compile_object(emitted.text + extra, settings.level)
    names = [emitted.name, *([f"{emitted.name}.arena"] if emitted.arena else []), *exports]
    return link(objects, library_symbols() | (symbols or {}), names)


@functools.cache
def library_symbols() -> dict[str, int]:
    """The functions of the C, mathematical and BLAS libraries that kernels call."""
    found = dict(process.allocator_symbols()) | blas.symbols()
    library = process.open_library()
    for name in ("sin", "cos", "sinf", "cosf", "tan", "tanf", "fma", "fmaf", "fmod", "fmodf"):
        found[name] = process.library_symbol(library, name)
    return found


def _symbol(title: str) -> str:
    """A name of its own for the kernel's function."""
    plain = re.sub(r"[^A-Za-z0-9_]", "_", title)
    return f"{'_' if plain[:1].isdigit() else ''}{plain}_{next(_numbers)}"


def _free_arena(memory: int, linked: Linked) -> None:
    """Free what a kernel kept between calls; `linked` is here so that it is still in memory."""
    block = process.take_word(memory)
    if block:
        process.free(block)


def _checked(name: str, before: Graph, after: Graph) -> None:
    """Verify a pass and compare its result with what it was given, on numbers.

    Passes change no bit, but NumPy sums the products of a contraction in an order that depends on how the
    operands lie, so graphs with contractions may differ by rounding.
    """
    verify(after)
    rng = np.random.default_rng(0)
    args = [_sample(rng, p.type) for p in before.params]
    try:
        wanted = evaluate(before, args)
    except IndexError:
        return
    rounds = any(op.prim.name == "contract" for op in before.body)
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


def _sample(rng: np.random.Generator, type) -> np.ndarray:
    if type.is_float:
        return rng.uniform(-2, 2, type.static_shape()).astype(type.numpy)
    return rng.integers(0, 2, type.static_shape()).astype(type.numpy)


__all__ = ["Kernel", "compile_graph", "library_symbols", "link_text", "site_error"]
