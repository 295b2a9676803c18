"""Functions that were traced on the values at hand: several forms of one signature, each for the way that a call took.

A form holds for the calls that take the decisions it was made for; on others its guards fail, and nothing has happened.
So the forms are tried, the one that was right last first, and a call for which none holds is traced again. Where whole
numbers among the arguments decide (a loop over range(n), an item of a list of texts), the form that was right for the
same numbers is found by them, and of the others only the latest are tried: the trace tells which form it is.

How many forms are made, and kept, is in the table below. The first forms are compiled at once. After that a way is
compiled when it is taken a second time, and calls on a way that is new are traced and run op by op: a function whose
calls never take the same way twice costs the time of a trace and of NumPy, not that of the compiler. When there is no
room, a form that has not been right for long goes; as long as there is none, calls on other ways are run op by op.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...compiler.backend import process
from ...compiler.frontend.athand import guarded_by
from ...compiler.frontend.errors import TraceError, message
from ...compiler.frontend.patched.askers import instead
from ...compiler.frontend.results import from_arrays
from ...compiler.frontend.trace import Trace
from ...compiler.ir.graph import Graph, Op
from ...compiler.later import later
from ...compiler.locks import lock
from ...compiler.ops.control import scan
from ...compiler.ops.custom import stop_gradient
from ...compiler.ops.guard import Stale, guard
from ...compiler.passes.loops.lengths import LEAST, length
from ...compiler.passes.packing import PackedLayout, apart, packed, together
from . import out
from .kernels import Reference

if TYPE_CHECKING:
    from ...compiler.frontend.athand import Frozen
    from ...compiler.passes import tidied
    from ...compiler.passes.loops import known, reroll
else:
    known = later(__package__, "...compiler.passes.loops.known")
    reroll = later(__package__, "...compiler.passes.loops.reroll")
    tidied = later(__package__, "...compiler.passes.tidied")

EAGER = 8
"""Forms of a signature that are compiled at their first call, and that are tried for numbers that are new."""

MOST = 256
"""Forms of a signature that are kept."""

IDLE = 1024
"""Calls for which a form has not been right before it goes for another."""

SEEN = 1024
"""Ways that are remembered as taken once, and whole numbers whose form is remembered."""

LOOPS = 8
"""Loops one after the other from which they may be rounds of one."""

Way = tuple[tuple[Any, ...], ...]


def way_of(traced: Trace) -> Way:
    """The decisions of a trace, as a key."""
    return tuple([tuple(each[:3]) for each in traced.frozen])


def whole_numbers(leaves: Sequence[Any]) -> tuple[int, ...]:
    """The whole numbers among the leaves of a call."""
    return tuple([int(x) for x in leaves if type(x) is int or (type(x) is np.ndarray and not x.ndim and _is_whole(x))])


def _is_whole(x: Any) -> bool:
    return x.dtype.kind in "biu"


def settled(traced: Trace) -> bool:
    """Whether the whole numbers of a call decide alone if a trace is for it."""
    needed = guarded_by(traced.graph)
    return all(p.type.dtype in _WHOLE and not p.type.shape for p in traced.graph.params[: traced.inputs] if p in needed)


_WHOLE = ("bool", "i32", "i64")


@dataclass(eq=False)
class Held:
    """A form, the way it is for, whether whole numbers decide about it alone, and the call when it was right last."""

    form: Any
    way: Way
    settled: bool
    call: int


class Variants:
    """The forms of one signature.

    held      the forms, the one that was right last at the end
    ways      which form is for a way
    known     which form was right for the whole numbers of a call
    seeks     whether a form for more calls may be found that is not there yet
    seen      ways that were taken once, and not compiled
    failures  how often each decision, by its number and line, was another one
    calls     that have looked for a form
    runs      calls that ran op by op
    """

    def __init__(self, first: Any) -> None:
        self.held: dict[Held, None] = {}
        self.ways: dict[Way, Held] = {}
        self.known: dict[tuple[int, ...], Held] = {}
        self.seeks = first.traced.seeks
        self.seen: dict[Way, None] = {}
        self.failures: Counter[tuple[int, Any]] = Counter()
        self.calls = self.runs = 0
        self._lock = lock()
        self.add(first)

    @property
    def forms(self) -> tuple[Any, ...]:
        """The forms, the one that was right last first."""
        with self._lock:
            return tuple([each.form for each in reversed(self.held)])

    def run(self, leaves: list[Any]) -> tuple[Any, list[np.ndarray]] | None:
        """The form that holds for a call, and what its kernel gives; None if no form holds."""
        self.calls += 1
        known = self.known.get(whole_numbers(leaves))
        left = self._likely() if known is None else [known]
        while left:
            each = left.pop(0)
            made = self.made(each, leaves)
            if not isinstance(made, int):
                return each.form, made
            if each is known:
                left = [other for other in self._likely() if other is not known]
            left = self._others(each.form, made, left)
        return None

    def _likely(self) -> list[Held]:
        """The latest forms, and of the others those about which more than whole numbers decides."""
        with self._lock:
            return [each for k, each in enumerate(reversed(self.held)) if k < EAGER or not each.settled]

    def made(self, held: Held, leaves: list[Any]) -> list[np.ndarray] | int:
        """What a form gives, if it holds for a call; else the number of the guard that failed."""
        try:
            made = held.form.kernel.run(held.form.arrays(leaves))
        except Exception as error:
            stale = _stale(held.form, leaves, error)
            if stale is None:
                raise
            return stale
        with self._lock:
            held.call = self.calls
            if self.held.pop(held, self) is None:
                self.held[held] = None
                self._put(self.known, whole_numbers(leaves), held)
        return made

    def _others(self, form: Any, stale: int, left: Sequence[Held]) -> list[Held]:
        """The forms that may hold where one was stale: those that decide as it did, up to there, do not."""
        at = next((k for k, each in enumerate(form.traced.frozen) if each.number == stale), None)
        if at is None:
            return list(left)
        failed = form.traced.frozen[: at + 1]
        self.failures[at, failed[at][:3]] += 1
        return [each for each in left if not _begins(each.form.traced.frozen, failed)]

    def add(self, form: Any) -> Held:
        """Another form, which is right now."""
        with self._lock:
            way = way_of(form.traced)
            held = self.ways[way] = Held(form, way, settled(form.traced), self.calls)
            self.held[held] = None
            self.seen.pop(way, None)
            while len(self.held) > MOST:
                self._drop(next(iter(self.held)))
            return held

    def _drop(self, oldest: Held) -> None:
        del self.held[oldest]
        self.ways.pop(oldest.way, None)
        for numbers in [numbers for numbers, each in self.known.items() if each is oldest]:
            del self.known[numbers]

    @staticmethod
    def _put(seen: dict[Any, Any], key: Any, value: Any) -> None:
        """Remember something as the latest of so many."""
        seen.pop(key, None)
        seen[key] = value
        while len(seen) > SEEN:
            del seen[next(iter(seen))]

    def is_due(self, way: Way) -> bool:
        """Whether a way that no form is made for gets one."""
        with self._lock:
            if len(self.held) >= MOST and self.calls - next(iter(self.held)).call <= IDLE:
                return False
            if len(self.held) < EAGER or way in self.seen:
                return True
            self._put(self.seen, way, None)
            return False


def _begins(frozen: Sequence[Frozen], failed: Sequence[Frozen]) -> bool:
    return len(frozen) >= len(failed) and all(a.same(b) for a, b in zip(failed, frozen, strict=False))


def _stale(form: Any, leaves: list[Any], error: Exception) -> int | None:
    """The number of the guard that failed; None if the error is the call's own.

    A kernel checks in another order than the function: an index may be found out of range that another decision
    would not have read. The reference executor has the function's order.
    """
    if isinstance(error, Stale):
        return error.number
    try:
        Reference(form.graph).run(form.arrays(leaves))
    except Stale as stale:
        return stale.number
    except Exception:
        return None
    return None


def rerolled(traced: Trace) -> Trace:
    """The trace with loops for its repeated stretches, which may read from tables beside the arguments."""
    lost = any(each.prim is guard and len(each.args) > 2 for each in traced.graph.body)
    if lost or any(not isinstance(n, int) for p in traced.graph.params for n in p.type.shape):
        return traced
    graph, tables = _rolled(traced.graph)
    rolled = replace(traced, graph=graph, extras=(*traced.extras, *tables))
    joined = known.put_together(traced.graph, traced.extras) if length(graph) >= LEAST else None
    if joined is not None:
        graph, tables = _rolled(joined[0])
        if reroll.SHORTER * length(graph) <= length(rolled.graph):
            return replace(traced, graph=graph, extras=(*joined[1], *tables))
    return rolled


def _rolled(graph: Graph) -> tuple[Graph, list[np.ndarray]]:
    """The graph with loops; where it has many small parameters, over these as elements of a vector if that helps.

    Loops one after the other (an unrolled loop of loops) are made array work first, of which rounds are alike.
    """
    if length(graph) >= LEAST and sum([op.prim is scan for op in graph.body]) >= LOOPS:
        graph = tidied.tidied(graph)
    layout = together(graph.params)
    if layout.groups and len(graph.body) >= LEAST:
        rolled, tables = reroll.reroll(packed(graph, layout, PackedLayout((), tuple(range(len(graph.results))))))
        if 2 * len(rolled.body) < len(graph.body):
            return apart(rolled, layout, graph.params), tables
    return reroll.reroll(graph) if length(graph) >= LEAST else (graph, [])


class Varying:
    """What a compiled function does where it has variants."""

    __name__: str
    plan: Any
    _lock: Any
    _latest: Any | None
    _times: dict[str, float]
    _trace: Callable[..., Trace]
    _build: Callable[..., Any]
    _enter: Callable[..., None]

    def _varied(self, found: Any, leaves: list[Any], into: Any) -> Any:
        """Call a function of which there are variants, `found` being one of them."""
        variants = found.variants
        assert variants is not None
        ran = variants.run(leaves)
        form, made = self._anew(found, variants, leaves) if ran is None else ran
        self._latest = form
        if into is None:
            return from_arrays(form.result, made)
        return out.Places(self.__name__, form.result, into).filled(made)

    def _anew(self, found: Any, variants: Variants, leaves: list[Any]) -> tuple[Any, list[np.ndarray]]:
        """Trace for a call that no form holds for; compile, or run it op by op."""
        with self._lock, process.uncollected():
            self._times = {}
            traced = self._trace(found.traced.signature, found.hidden, values=leaves, seeks=variants.seeks)
            way = way_of(traced)
            held = variants.ways.get(way)
            if held is not None and not isinstance(made := variants.made(held, leaves), int):
                return held.form, made
            compiles = held is None and variants.is_due(way)
            if compiles:
                traced = rerolled(traced)
                graph, result, kernel = self._build(traced, None)
            else:
                graph, result = self.plan.derive(traced, self)
                kernel = Reference(unguarded(graph))
            form = replace(found, traced=traced, graph=graph, result=result, kernel=kernel, core=None, ways={},
                           reasons=("a call decided otherwise", *traced.notes), times=self._times)
            if compiles:
                held = variants.add(form)
                variants.seeks = traced.seeks
                if len(variants.held) <= EAGER:
                    self._enter(form)
        if held is not None and not isinstance(made := variants.made(held, leaves), int):
            return form, made
        variants.runs += 1  # other bits than those it was traced on: both are right
        return form, Reference(unguarded(graph)).run(form.arrays(leaves))


def refuse_unseen(graph: Graph, wrt: Sequence[int], frozen: Sequence[Frozen]) -> None:
    """Refuse a derivative where a Python number was made of a value that depends on what it is taken for."""
    asked = {each.where: each.what for each in frozen if each.what.startswith("float()")}
    active = {graph.params[k] for k in wrt}
    for op in graph.body:
        if op.prim is not stop_gradient and not active.isdisjoint(op.args):
            active.update(r for r in op.results if r.type.is_float)
            if op.prim is guard and not active.isdisjoint(op.args[2:]):
                what = asked.get(op.where, "float()")
                verdict = f"{what} of a traced value: a derivative would not see what becomes of the number"
                fix = "use NumPy's functions in place of math's; if no derivative is wanted, float(stop_gradient(x))"
                if what != "float()":
                    fix = instead(what.removeprefix("float() for ").removesuffix("()"))
                raise TraceError(message(verdict, op.where, fix))


def unguarded(graph: Graph) -> Graph:
    """The graph without its guards: right for the call that it was traced for."""
    body = tuple([_unguarded(op) if op.regions else op for op in graph.body if op.prim is not guard])
    return Graph(graph.name, graph.params, body, graph.results)


def _unguarded(op: Op) -> Op:
    return Op(op.prim, op.args, op.attrs, tuple(map(unguarded, op.regions)), op.results, op.where)


__all__ = ["EAGER", "MOST", "Variants", "Varying", "refuse_unseen", "rerolled", "unguarded", "way_of"]
