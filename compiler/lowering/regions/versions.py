"""Which updates of arrays happen in place: where the new version takes over the buffer of the old one.

    %1 = update %x, %v, %i        %1 may lie where %x did if nobody reads %x, or what is read through it, later:
    %2 = exp %x                   here somebody does, so %1 begins as a copy of %x
    %3 = update %1, %w, %j        %3 takes the buffer of %1 over: a chain of updates is one buffer, written to in order

What is not stored is made where it is read, from what it reads: an element of %x that is read before an update, but
used after it, must be stored before it. That is done where it takes less memory than the copy.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ...ir.graph import Graph, Op, Value
from ...ir.measure import volume
from ...loops import Check, Form, Map, Product, Reduce, Relabel, Scatter


@dataclass(frozen=True)
class Versions:
    """taken: for each new version that lies where the old one did, the old one; stored: what must be stored for it."""

    taken: dict[Value, Value] = field(default_factory=dict)
    stored: set[Value] = field(default_factory=set)


def versions(graph: Graph, forms: Mapping[Value, Form], owned: Iterable[Value]) -> Versions:
    """The versions of `graph` that are made in place; `owned` are the parameters that may be overwritten."""
    if not any(isinstance(form, Scatter) for form in forms.values()):
        return Versions()
    return _Versions(graph, forms, set(owned)).found


class _Versions:
    def __init__(self, graph: Graph, forms: Mapping[Value, Form], owned: set[Value]) -> None:
        self.graph, self.forms, self.owned = graph, forms, owned
        self.found = Versions()
        self.base: dict[Value, Value] = {}
        self.last: dict[Value, int] = {}
        self.uses: dict[Value, int] = {}
        for k, op in enumerate(graph.body):
            for a in op.args:
                self.last[a] = k
                self.uses[a] = self.uses.get(a, 0) + 1
            for r in op.results:
                self.base[r] = self._base(op.args[0]) if isinstance(forms[r], Relabel) else r
        self.last |= dict.fromkeys(graph.results, len(graph.body))
        #: under what other names a buffer is read, and what reads it where that is read itself
        self.names: dict[Value, list[Value]] = {}
        for v, base in self.base.items():
            if v is not base:
                self.names.setdefault(base, []).append(v)
        changed = {self._base(op.args[0]) for op in graph.body if isinstance(forms[op.results[0]], Scatter)}
        self.lazy: dict[Value, list[Value]] = {v: [] for v in changed}
        self.through: dict[Value, frozenset[Value]] = {}
        for k, op in enumerate(graph.body):
            self._visit(k, op)

    def _base(self, value: Value) -> Value:
        """The value whose buffer another one names."""
        return self.base.get(value, value)

    def _through(self, value: Value) -> frozenset[Value]:
        """The buffers that are read where a value is read."""
        base = self._base(value)
        return self.through.get(base) or (frozenset((base,)) if base in self.lazy else frozenset())

    def _visit(self, k: int, op: Op) -> None:
        form = self.forms[op.results[0]] if op.results else None
        if isinstance(form, Scatter):
            self._update(k, op)
        elif all(isinstance(self.forms[r], Map) for r in op.results):
            below = frozenset().union(*map(self._through, op.args))
            for r in op.results if below else ():
                self.through[r] = below | ({r} if r in self.lazy else set())
                for base in below:
                    self.lazy[base].append(r)

    def _update(self, k: int, op: Op) -> None:
        """Take the old version's buffer over if that is right, and no more is stored for it than would be copied."""
        old, stored = self._base(op.args[0]), self.found.stored
        if not self._is_own(old) or any(self.last.get(v, 0) > k for v in (old, *self.names.get(old, ()))):
            return
        late = [v for v in self.lazy[old] if self.last.get(v, 0) > k and v not in stored]
        if sum(map(_size, late)) > _size(old):
            return
        if isinstance(self.forms.get(old), Map):
            if op.args[0] is old and self.uses[old] == 1:
                return  # it is made in the buffer of the new version, and nowhere else
            stored.add(old)
        for v in late:
            stored.add(v)
            self.through[v] = frozenset((v,)) & self.lazy.keys()
        self.found.taken[op.results[0]] = old

    def _is_own(self, value: Value) -> bool:
        """Whether the buffer of a value may be overwritten: it is made here, and no view."""
        form = self.forms.get(value)
        if form is None:
            return value in self.owned
        return isinstance(form, Reduce | Product | Scatter | Check) or (isinstance(form, Map) and not form.view)


def _size(value: Value) -> int:
    return volume(value.type.static_shape())


__all__ = ["Versions", "versions"]
