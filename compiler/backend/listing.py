"""The listing of a long graph by native code: what `ir.key.by_list` makes goes out, in a tenth of the time.

    measure(body, counts) -> 1     how many arguments and results all operations have; 0 if the objects are others
    write(words, lists) -> 1       the numbers, into the arrays whose addresses stand in the words

It reads the slots of operations and values, whose places are found by looking into one of each. It calls nothing but
`PyList_Append`, and holds the interpreter's lock. Whatever is not as expected is left to `by_list`.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..ir.graph import Graph, Op, Value
from ..ir.key import Listing, by_list
from . import cache, process
from .listing_text import WORDS, text
from .module import Linked, link
from .once import once
from .python_abi import SUPPORTED, symbol

LONG = 1000
"""Operations from which native code is worth being loaded."""

_OP, _VALUE = ("prim", "args", "attrs", "regions", "results"), ("type",)


def listing(graph: Graph) -> Listing:
    """What the operations of a graph refer to."""
    found = _native(graph) if len(graph.body) >= LONG and SUPPORTED else None
    return by_list(graph) if found is None else found


def _native(graph: Graph) -> Listing | None:
    body, params, results = tuple(graph.body), tuple(graph.params), tuple(graph.results)
    functions, counts = _functions(), np.zeros(2, np.int64)
    if functions is None or not functions.measure(body, counts.ctypes.data):
        return None
    arguments, made = map(int, counts)
    values = len(params) + made
    mask = (1 << (2 * values + 1).bit_length()) - 1  # tables are at most half full
    lists: tuple[list[Any], ...] = ([], [], [], [])
    n = len(body)
    numbers = [np.empty(size, np.uint32) for size in (n, n, n, arguments, len(results), values, n, n)]
    tables = [np.zeros(2 * mask + 3, np.int64) for _ in range(3)]
    words = np.array([mask, *[each.ctypes.data for each in (*tables, *numbers)]], np.int64)
    assert len(words) == len(WORDS), "the text names each word"
    if not functions.write(body, params, results, words.ctypes.data, *lists):
        return None
    whole = Listing(*lists, *numbers)
    return whole._replace(having=whole.having[: len(whole.attrs)], branching=whole.branching[: len(whole.regions)])


class _Functions(NamedTuple):
    measure: Callable[..., int]
    write: Callable[..., int]


@once
def _functions() -> _Functions | None:
    """The functions, if the slots of operations and values could be found."""
    op = Op(*map(_Mark, range(6)))  # type: ignore[arg-type]
    places = _places(op, _OP), _places(Value(_Mark(0)), _VALUE)  # type: ignore[arg-type]
    if places[0] is None or places[1] is None:
        return None
    linked = _linked(*places[0], *places[1])
    word, value = ctypes.c_void_p, ctypes.py_object
    return _Functions(
        process.python_callable(linked.address("measure"), ctypes.c_int64, value, word),
        process.python_callable(linked.address("write"), ctypes.c_int64, *[value] * 3, word, *[value] * 4),
    )


class _Mark:
    """An object that stands in one slot."""

    def __init__(self, number: int) -> None:
        self.number = number


def _places(owner: Any, names: Sequence[str]) -> list[int] | None:
    """Where in an object its slots lie; None if they are not found."""
    size = type(owner).__basicsize__ // 8
    words = struct.unpack(f"{size}Q", process.read_bytes(id(owner), 8 * size))
    wanted = [id(getattr(owner, name)) for name in names]
    return [8 * words.index(each) for each in wanted] if all(words.count(each) == 1 for each in wanted) else None


@once
def _linked(*places: int) -> Linked:
    known = {"PyTuple_Type": symbol("PyTuple_Type"), "PyDict_Type": symbol("PyDict_Type"), "Op": id(Op),
             "Value": id(Value), "PyList_Append": symbol("PyList_Append")}
    return link(cache.kept_object(text(*places), 2), known, _Functions._fields)


__all__ = ["LONG", "listing"]
