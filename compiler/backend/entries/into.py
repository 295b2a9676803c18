"""The arrays of an `out=` argument: which results go there, and what happens where they overlap an input.

    f(x, out=y)   f(p, out=(None, {"w": w, "b": b}))
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from . import overlap_text
from .arguments import Arguments, Found, Path
from .specs import (
    CONTAINERS,
    ArraySpec,
    Input,
    Result,
    Spec,
    Target,
    children_first,
    targets,
)
from .writer import EntryWriter


class Into:
    """The guards on an `out=` argument, and the pointers that a kernel takes for it."""

    def __init__(self, writer: EntryWriter, result: Result, out: Spec, aliases: Mapping[int, int]) -> None:
        self.targets: list[Target | None] = targets(result, out)
        self._nodes = list(children_first(result))
        self._writer, self._out, self._aliases = writer, out, aliases
        self._found: dict[Path, Found] = {}
        self._places: dict[int, int] = {}  # from numbers of the kernel's results to words of the table
        self._table, self._counts = "", ("", "", "")

    def read(self, arguments: Arguments, index: int, inputs: Sequence[Input]) -> None:
        """Emit the guards, and choose memory for the results; `index` is the argument's number."""
        self._found = arguments.read_out(index, self._out)
        outs = {self._number(n): t for n, t in enumerate(self.targets) if t and isinstance(t.spec, ArraySpec)}
        self._places = {number: word for word, number in enumerate(outs, 1)}
        arrays = [k for k, spec in enumerate(inputs) if isinstance(spec, ArraySpec)]
        given = [self._found[target.path][2] for target in outs.values()]
        others = [self._other(k, arguments.inputs[k], outs) for k in arrays]
        sizes = [t.spec.nbytes for t in outs.values() if isinstance(t.spec, ArraySpec)]
        sizes += [spec.nbytes for spec in inputs if isinstance(spec, ArraySpec)]
        writer = self._writer
        words = [*given, *others, *given]
        self._table = writer.slot(f"[{len(words) + 1} x ptr]")
        for word, pointer in enumerate(words, 1):
            writer.store(f"ptr {pointer}", self._table, 8 * word)
        self._counts = (f"ptr {writer.shape(tuple(sizes))}", f"i64 {len(given)}", f"i64 {len(given) + len(others)}")
        writer.go_on_if(self._call("i1", "place"))

    def _number(self, node: int) -> int:
        return getattr(self._nodes[node], "index", -1)

    def _other(self, k: int, pointer: str, outs: Mapping[int, Target]) -> str:
        """The pointer of an input, or null if it is that of a result that may share its memory."""
        for number, target in outs.items():
            if self._aliases.get(number) == k:
                same = self._writer.value(f"icmp eq ptr {pointer}, {self._found[target.path][2]}")
                return self._writer.value(f"select i1 {same}, ptr null, ptr {pointer}")
        return pointer

    def pointer(self, number: int) -> str | None:
        """Emit the pointer that the kernel takes for a result; None if the result is made fresh."""
        word = self._places.get(number)
        return None if word is None else self._writer.field(self._table, 8 * word)

    def settle(self, copy: bool) -> None:
        """Emit the way of results from scratch memory to their places, or without `copy` its end."""
        self._call("void", "settle", f"i1 {int(copy)}")

    def _call(self, result: str, function: str, *more: str) -> str:
        address = overlap_text.address(function)
        return self._writer.call_at(address, result, function, f"ptr {self._table}", *self._counts, *more)

    def value(self, node: int) -> str | None:
        """The object of the caller that stands for a node of the result; None if a fresh one does."""
        target = self.targets[node]
        return self._found[target.path][0] if target and target.whole else None

    def skipped(self, node: int) -> bool:
        """Whether a container of the caller stands for what the node is in."""
        target = self.targets[node]
        return target is not None and target.within

    def nested(self) -> list[str]:
        """The objects that only a container of the caller keeps alive."""
        kinds = (ArraySpec, *CONTAINERS)
        return [value for path, (value, spec, _) in self._found.items() if path and isinstance(spec, kinds)]


__all__ = ["Into"]
