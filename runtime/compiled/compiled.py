"""One signature of a function, compiled, and what its hidden inputs were when it was traced."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds

from ...compiler.backend.entries.hidden import Guard
from ...compiler.backend.entries.native import NativeFunction
from ...compiler.backend.entries.specs import ScalarSpec, StaticSpec, input_specs
from ...compiler.backend.entries.text import Named
from ...compiler.frontend import tree
from ...compiler.frontend.results import from_arrays
from ...compiler.frontend.state.guards import holds, native_guards
from ...compiler.frontend.state.hidden import Hidden
from ...compiler.frontend.trace import Trace
from ...compiler.ir.graph import Graph, Op
from ...compiler.locks import cached_property
from ...compiler.ops.require import UNTOLD, require
from ..interop import torch_leaves
from . import kernels
from .out import NAME
from .signatures import Way, is_native, native_spec
from .variants import Variants

tree.LATE["torch"] = torch_leaves.register

WORDS: dict[int, Any] = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}
SMALL = 4096
"""Bytes up to which arrays are compared as bytes."""

MISS = object()
"""What a core returns for arguments that it was not made for."""


class Core(NativeFunction):
    """A kernel that takes a function's arguments and then its extra arrays."""

    def __init__(self, kernel: kernels.Runnable) -> None:
        self.kernel = kernel
        self.outs: set[Any] = set()

    def __slow__(self, *args: Any, **kwargs: Any) -> Any:
        return MISS

    def __failed__(self, site: int, report: tuple[int, ...]) -> None:
        raise kernels.failure([self.kernel], site, report)


class Content:
    """A hidden array, and its bits if someone may write into it."""

    __slots__ = ("array", "bits", "kept")

    def __init__(self, array: np.ndarray) -> None:
        self.array, self.bits, self.kept = array, array, None
        if mutable(array):
            word = WORDS.get(array.dtype.itemsize) if not array.dtype.hasobject else None
            if array.dtype == np.complex128 and array.ndim and array.flags.c_contiguous:
                word = np.uint64  # two of them
            self.bits = array if word is None else array.view(word)
            self.kept = self.bits.tobytes() if array.nbytes <= SMALL or word is None else self.bits.copy()

    def holds(self, now: np.ndarray) -> bool:
        """Whether `now` is that array, with the same bits."""
        if now is not self.array:
            return False
        if self.kept is None:
            return not mutable(now)
        if isinstance(self.kept, bytes):
            return self.bits.tobytes() == self.kept
        return bool((self.bits == self.kept).all())


@dataclass
class Compiled:
    """The compiled form of one signature for one state of the hidden inputs.

    contents   the hidden arrays, as they were
    reasons    why it was compiled, and for which sizes
    times      milliseconds of tracing and differentiating
    core       the kernel behind a native entry, for functions whose hidden inputs are read at each call
    ways       how it has been called by name, and with what `out`, and how often
    waiting    calls after which it gets a native entry: most sizes are met only a few times
    variants   the forms of this signature, if it was traced on the values of a call
    met        the number of the call that met it last
    parts      what transforms have made of its graph
    watched    what stood at the hidden places when they were last read, if identity tells of every change
    """

    traced: Trace
    graph: Graph
    result: Any
    kernel: kernels.Runnable
    hidden: Hidden
    key: Any
    contents: list[Content]
    reasons: tuple[str, ...] = ()
    times: dict[str, float] = field(default_factory=dict)
    core: Core | None = field(default=None)
    ways: dict[tuple[Way, Any], int] = field(default_factory=dict)
    waiting: int = 0
    variants: Variants | None = None
    met: int = 0
    parts: Any = None
    watched: tuple[Guard, ...] | None = None

    @cached_property
    def asks(self) -> bool:
        """Whether a call may need Python: it fails then, and nothing has happened."""
        return may_ask(self.graph)

    def run(self, leaves: list[Any]) -> Any:
        """Call the kernel from Python."""
        return from_arrays(self.result, self.kernel.run(self.arrays(leaves)))

    def arrays(self, leaves: list[Any]) -> list[np.ndarray]:
        """What the kernel takes."""
        params = self.traced.graph.params
        given = [*leaves, *map(tree.canonical, self.traced.extras)]
        return [np.asarray(x, p.type.numpy) for x, p in zip(given, params, strict=True)]

    def unchanged(self, arrays: list[np.ndarray]) -> bool:
        """Whether the hidden arrays are what they were when the function was traced."""
        return all(content.holds(now) for now, content in zip(arrays, self.contents, strict=True))

    def current(self) -> bool:
        """Whether all hidden inputs are what they were."""
        if self.watched is not None and all(map(holds, self.watched)):
            return True
        watched = native_guards(self.hidden)  # before they are read: what changes meanwhile is found at the next call
        key, arrays = self.hidden.read()
        same = key == self.key and (not self.contents or self.unchanged(arrays))
        self.watched = watched if same else None
        return same

    def bound(self, guards: Sequence[Guard]) -> Sequence[np.ndarray]:
        """The extra arrays as kernels take them: copies of those that lie otherwise, if guards tell of every change."""
        return self._canonical([each.holder for each in guards if each.kind == "array"])

    @cached_property
    def given(self) -> Sequence[np.ndarray]:
        """What a core is given as extra arrays, once their contents are known to be what they were."""
        return self._canonical([each.array for each in self.contents])

    def _canonical(self, watched: Sequence[Any]) -> Sequence[np.ndarray]:
        return [tree.canonical(x) if any(_within(x, y) for y in watched) else x for x in self.traced.extras]

    def specs(self, bound: Sequence[np.ndarray] | None = None) -> tuple[Any, ...] | None:
        """What a native entry would read, if native code can read the arguments and make the result.

        After the arguments come the extra arrays, or what is `bound` for them.
        """
        bound = self.traced.extras if bound is None else bound
        *args, kwargs = self.traced.signature[1]
        wholes = kernels.takes_complex(self.kernel)
        native = [native_spec(each, wholes) for each in (*args, *kwargs[2])]
        if not is_native(self.result) or any(each is None for each in native):
            return None
        if any(tree.canonical(each) is not each for each in bound):
            return None
        if kernels.is_packed(self.kernel) and any(isinstance(s, ScalarSpec) for s in input_specs(tuple(native))):
            return None
        return (*native, *(native_spec(tree.flatten(each, [])) for each in bound))

    def follow(self, before: Compiled) -> None:
        """Be called as one was that has the same kernel: arrays that change are not worth an entry for each content."""
        self.core, self.ways, self.waiting = before.core, before.ways, before.waiting
        if self.core is None and not self.waiting:
            self.make_core()

    def make_core(self, into: Any = None) -> None:
        """Put a native entry before the kernel, to be called once the hidden inputs have been read.

        It takes everything by position, but for an `out` of the specification `into`.
        """
        args = self.specs(self.given)
        if args is None or not kernels.has_entries(self.kernel) or self.traced.signature[1][-1][1]:
            return
        core = self.core = self.core or Core(self.kernel)
        into = None if into == StaticSpec(None) else into
        if into not in core.outs and not (into and self.asks):
            core.outs.add(into)
            named = into and Named((NAME,), tuple(range(len(args))), into)
            retries = bool(self.traced.frozen) or self.asks
            kernels.install_entry(core, self.kernel, 0, args, self.result, named=named, retries=retries)


def _bases(array: Any) -> Iterator[np.ndarray]:
    """An array, and those of whose memory it is a view."""
    while isinstance(array, np.ndarray):
        yield array
        array = array.base


def _within(array: Any, whole: Any) -> bool:
    """Whether whoever knows that one array has not changed knows it of another one."""
    if not (isinstance(array, np.ndarray) and isinstance(whole, np.ndarray)):
        return False
    if any(each is whole for each in _bases(array)):  # a view of a view names the owner of the memory only
        return True
    (first, last), (start, end) = byte_bounds(array), byte_bounds(whole)
    return whole.flags.c_contiguous and start <= first and last <= end and array.size > 0


def mutable(array: Any) -> bool:
    """Whether someone may write into an array."""
    last = array
    for each in _bases(array):
        if each.flags.writeable:
            return True
        last = each.base
    return last is not None and not isinstance(last, bytes)


def warns(graph: Graph) -> bool:
    """Whether native code may find that something is to be printed, logged or warned of."""
    return may_ask(graph, "")


def may_ask(graph: Graph, prefix: str = UNTOLD) -> bool:
    """Whether native code may find that Python is needed."""
    pending: list[Op] = list(graph.body)
    while pending:
        op = pending.pop()
        if op.prim is require and (op.attrs["error"] == "Warned" or (prefix and op.attrs["error"].startswith(prefix))):
            return True
        for region in op.regions:
            pending += region.body
    return False


__all__ = ["MISS", "Compiled", "Content", "Core", "mutable"]
