"""Functions that were traced on the values at hand: several forms of one signature, each for the way that a call took.

A form holds for the calls that take the decisions it was made for; on others its guards fail, and nothing has happened.
So the forms are tried, the one that was right last first, and a call for which none holds is traced again.

The first `EAGER` forms are compiled at once. After that a way is compiled when it is taken a second time, and calls on
a way that is new are traced and run op by op: a function whose calls never take the same way twice (a loop over
range(int(n)) whose n never returns) costs the time of a trace and of NumPy, not that of the compiler. At most `MOST`
forms are kept; the one that has not been right for the longest time goes first.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..compiler.backend import process
from ..compiler.backend.kernel import compile_graph
from ..compiler.frontend.askers import instead
from ..compiler.frontend.errors import TraceError, message
from ..compiler.frontend.results import from_arrays
from ..compiler.frontend.trace import Trace
from ..compiler.ir.graph import Builder, Graph, Op, Value
from ..compiler.ops.custom import stop_gradient
from ..compiler.ops.guard import Stale, guard
from ..compiler.ops.index import check_indices
from ..compiler.ops.memory import bump, read, update
from ..compiler.ops.require import require
from ..compiler.passes.cleanup import attrs_key
from ..compiler.passes.reroll import reroll
from ..compiler.settings import settings
from . import out
from .kernels import Reference

if TYPE_CHECKING:
    from ..compiler.frontend.athand import Frozen
    from .compiled import Compiled

EAGER = 8
"""Forms of a signature that are compiled at their first call."""

MOST = 64
"""Forms of a signature that are kept."""

SEEN = 1024
"""Ways that are remembered as taken once."""

Way = tuple[tuple[Any, ...], ...]


def way_of(traced: Trace) -> Way:
    """The decisions of a trace, as a key."""
    return tuple([tuple(each[:3]) for each in traced.frozen])


class Variants:
    """The forms of one signature, the one that was right last first.

    seen      ways that were taken once, and not compiled
    failures  how often each decision, by its number and line, was another one
    runs      calls that ran op by op
    """

    def __init__(self, first: Compiled) -> None:
        self.forms: tuple[Compiled, ...] = (first,)
        self.seen: dict[Way, None] = {}
        self.failures: Counter[tuple[int, Any]] = Counter()
        self.runs = 0
        self._lock = threading.Lock()

    def run(self, leaves: list[Any]) -> tuple[Compiled, list[np.ndarray]] | None:
        """The form that holds for a call, and what its kernel gives; None if no form holds."""
        left = list(self.forms)
        while left:
            form = left.pop(0)
            try:
                made = form.kernel.run(form.arrays(leaves))
            except Exception as error:
                stale = _stale(form, leaves, error)
                if stale is None:
                    raise
                left = self._others(form, stale, left)
                continue
            if form is not self.forms[0]:
                with self._lock:
                    self.forms = (form, *(each for each in self.forms if each is not form))
            return form, made
        return None

    def _others(self, form: Compiled, stale: int, left: Sequence[Compiled]) -> list[Compiled]:
        """The forms that may hold where one was stale: those that decide as it did, up to there, do not."""
        at = next((k for k, each in enumerate(form.traced.frozen) if each.number == stale), None)
        if at is None:
            return list(left)
        failed = form.traced.frozen[: at + 1]
        self.failures[at, failed[at][:3]] += 1
        return [each for each in left if not _begins(each.traced.frozen, failed)]

    def add(self, form: Compiled) -> None:
        """Another form, which is right now."""
        with self._lock:
            self.forms = (form, *self.forms[: MOST - 1])
            self.seen.pop(way_of(form.traced), None)

    def is_due(self, way: Way) -> bool:
        """Whether a way that no form is made for gets one."""
        if len(self.forms) < EAGER or way in self.seen:
            return True
        self.seen[way] = None
        while len(self.seen) > SEEN:
            del self.seen[next(iter(self.seen))]
        return False

    def holds(self, way: Way) -> bool:
        """Whether a form is made for this way."""
        return any(way_of(each.traced) == way for each in self.forms)


def _begins(frozen: Sequence[Frozen], failed: Sequence[Frozen]) -> bool:
    return len(frozen) >= len(failed) and all(a.same(b) for a, b in zip(failed, frozen, strict=False))


def _stale(form: Compiled, leaves: list[Any], error: Exception) -> int | None:
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
    graph, tables = reroll(traced.graph)
    return replace(traced, graph=graph, extras=(*traced.extras, *tables))


class Varying:
    """What a compiled function does where it has variants."""

    __name__: str
    plan: Any
    _lock: Any
    _latest: Compiled | None
    _times: dict[str, float]
    _trace: Callable[..., Trace]
    _build: Callable[..., Any]
    _enter: Callable[..., None]

    def _varied(self, found: Compiled, leaves: list[Any], into: Any) -> Any:
        """Call a function of which there are variants, `found` being one of them."""
        variants = found.variants
        assert variants is not None
        ran = variants.run(leaves)
        form, made = self._anew(found, variants, leaves) if ran is None else ran
        self._latest = form
        if into is None:
            return from_arrays(form.result, made)
        return out.Places(self.__name__, form.result, into).filled(made)

    def _anew(self, found: Compiled, variants: Variants, leaves: list[Any]) -> tuple[Compiled, list[np.ndarray]]:
        """Trace for a call that no form holds for; compile, or run it op by op."""
        with self._lock, process.uncollected():
            self._times = {}
            traced = self._trace(found.traced.signature, found.hidden, values=leaves)
            way = way_of(traced)
            compiles = not variants.holds(way) and variants.is_due(way)
            if compiles:
                traced = rerolled(traced)
                graph, result, kernel = self._build(traced, None)
            else:
                graph, result = self.plan.derive(traced, self)
                kernel = Reference(unguarded(graph))
            form = replace(found, traced=traced, graph=graph, result=result, kernel=kernel, core=None, ways={},
                           reasons=("a call decided otherwise", *traced.notes), times=self._times)
            if compiles:
                variants.add(form)
                if len(variants.forms) <= EAGER:
                    self._enter(form)
        arrays = form.arrays(leaves)
        if compiles:
            try:
                return form, kernel.run(arrays)
            except Stale:  # other bits than those it was traced on: both are right
                kernel = Reference(unguarded(graph))
        variants.runs += 1
        return form, kernel.run(arrays)


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
    return Graph(graph.name, graph.params, tuple([op for op in graph.body if op.prim is not guard]), graph.results)


# ---- one operation


_PLAIN = frozenset({guard, check_indices, require, read, update, bump})
"""Primitives that check, or move a part: NumPy's bits are ours, too."""

_KEPT = 1024
_kernels: dict[Any, Any] = {}


def execute(op: Op, arrays: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
    """One operation with the bits that it has in compiled code: decisions are made on these."""
    if op.prim.exact or op.prim in _PLAIN or settings.reference:
        with np.errstate(all="ignore"):
            return op.prim.evaluate(arrays, op.attrs, op.regions)
    if any(v.type.is_tape for v in (*op.args, *op.results)):
        return _with_tapes(op, arrays)
    key = (op.prim, tuple([a.type for a in op.args]), attrs_key(op.attrs), op.regions)
    kernel = _kernels.get(key)
    if kernel is None:
        with process.uncollected():
            kernel = compile_graph(_alone(op))
        while len(_kernels) >= _KEPT:
            _kernels.pop(next(iter(_kernels)), None)
        _kernels[key] = kernel
    given = zip(arrays, op.args, strict=True)
    return kernel.run([np.ascontiguousarray(a).reshape(v.type.static_shape()) for a, v in given])


class Taped(NamedTuple):
    """A tape, which no kernel hands out: what makes it once more, in the kernel that reads it."""

    op: Op
    given: Sequence[Any]
    place: int


def _with_tapes(op: Op, given: Sequence[Any]) -> Sequence[Any]:
    """One operation after those that make the tapes it takes; a tape that it makes is `Taped`."""
    b, arrays = Builder(op.prim.name), list[np.ndarray]()
    made: dict[int, Sequence[Value]] = {}

    def put(op: Op, given: Sequence[Any]) -> Sequence[Value]:
        if id(op) not in made:
            args = []
            for v, x in zip(op.args, given, strict=True):
                if isinstance(x, Taped):
                    args.append(put(x.op, x.given)[x.place])
                else:
                    arrays.append(np.ascontiguousarray(x).reshape(v.type.static_shape()))
                    args.append(b.param(v.type))
            made[id(op)] = b.emit(op.prim, *args, regions=op.regions, **op.attrs)
        return made[id(op)]

    results = put(op, given)
    shown = [r for r in results if not r.type.is_tape]
    with process.uncollected():
        found = iter(compile_graph(b.finish(shown)).run(arrays) if shown else ())
    return [Taped(op, given, k) if r.type.is_tape else next(found) for k, r in enumerate(results)]


def _alone(op: Op) -> Graph:
    """A graph of one operation."""
    b = Builder(op.prim.name, [a.type for a in op.args])
    return b.finish(b.emit(op.prim, *b.params, regions=op.regions, **op.attrs))


__all__ = ["EAGER", "MOST", "Variants", "Varying", "execute", "refuse_unseen", "rerolled", "unguarded", "way_of"]
