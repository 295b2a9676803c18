"""The listing of a long graph by native code: what `ir.key.by_list` makes goes out, in a tenth of the time.

    measure(body, counts) -> 1     how many arguments, results and attributes all operations have; 0 if the objects
                                   are others
    write(words, lists) -> 1       the numbers, into the arrays whose addresses stand in the words
    fields(words, lists) -> 1      those of the attributes

It reads the slots of operations and values, whose places are found by looking into one of each. It calls nothing but
`PyList_Append` and `PyDict_Next`, and holds the interpreter's lock. Whatever is not as expected is left to `by_list`.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...ir.graph import Graph
from ...ir.key import Attributes, Listing, by_list
from .. import process
from ..entries import native_text
from ..once import once
from ..python_abi import SUPPORTED
from . import listing_tables_text, listing_text

LONG = 1000
"""Operations from which native code is worth being called."""


def listing(graph: Graph) -> Listing:
    """What the operations of a graph refer to."""
    found = _native(graph) if len(graph.body) >= LONG and SUPPORTED else None
    return by_list(graph) if found is None else found


def _native(graph: Graph) -> Listing | None:
    body, params, results = tuple(graph.body), tuple(graph.params), tuple(graph.results)
    functions, counts = _functions(), np.zeros(3, np.int64)
    if functions is None or not functions.measure(body, counts.ctypes.data):
        return None
    arguments, made, fields = counts.tolist()
    values = len(params) + made
    lists: tuple[list[Any], ...] = ([], [], [], [])
    n = len(body)
    numbers = [np.empty(size, np.uint32) for size in (n, n, n, arguments, len(results), values, n, n)]
    words = _words(listing_tables_text.WORDS, values, 3, numbers)
    if not functions.write(body, params, results, words.ctypes.data, *lists):
        return None
    prims, types, attrs, regions = lists
    attributes = _attributes(functions, tuple(attrs), fields)
    if attributes is None:
        return None
    of_prims, given, got, args, returned, of_types, having, branching = numbers
    return Listing(prims, types, regions, of_prims, given, got, args, returned, of_types, having[: len(attrs)],
                   branching[: len(regions)], attributes)


def _attributes(functions: _Functions, attrs: tuple[Any, ...], fields: int) -> Attributes | None:
    """What the attributes of operations are, all of them `fields`."""
    names, others, counts = [], [], np.empty(len(attrs), np.uint32)
    of_names, floats, values = np.empty(fields, np.uint32), np.empty(fields, np.uint8), np.empty(fields, np.int64)
    words = _words(listing_tables_text.FIELD_WORDS, fields, 2, [counts, of_names, floats, values])
    if not functions.fields(attrs, words.ctypes.data, names, others):
        return None
    return Attributes(names, others, counts, of_names, floats, values)


class _Words(NamedTuple):
    """Words, and what they have the addresses of."""

    ctypes: Any
    keep: Any


def _words(names: Sequence[str], most: int, tables: int, arrays: Sequence[np.ndarray]) -> _Words:
    """A mask, the addresses of tables with room for so many objects, and those of arrays."""
    mask = (1 << (2 * most + 1).bit_length()) - 1  # tables are at most half full
    kept = [*[np.zeros(2 * mask + 3, np.int64) for _ in range(tables)], *arrays]
    words = np.array([mask, *[each.ctypes.data for each in kept]], np.int64)
    assert len(words) == len(names), "the text names each word"
    return _Words(words.ctypes, (words, kept))


class _Functions(NamedTuple):
    measure: Callable[..., int]
    write: Callable[..., int]
    fields: Callable[..., int]


@once
def _functions() -> _Functions | None:
    """The functions, if the slots of operations and values could be found."""
    if not listing_text.text():
        return None
    word, value, number = ctypes.c_void_p, ctypes.py_object, ctypes.c_int64
    measure, write, fields = map(native_text.address, listing_text.EXPORTED)
    return _Functions(
        process.python_callable(measure, number, value, word),
        process.python_callable(write, number, *[value] * 3, word, *[value] * 4),
        process.python_callable(fields, number, value, word, value, value),
    )


__all__ = ["LONG", "listing"]
