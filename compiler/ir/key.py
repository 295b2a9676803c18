"""What a graph computes in a few bytes, for keys: from a graph to bytes that equal graphs share, and no others.

    graph_key(graph)     numbers of primitives, types, arguments and results as arrays, then the texts they stand for

It says what `show(graph, bare=True)` says, and floats by their bits. A graph is looked up at each first call of a
process, and ten thousand operations are to cost less than it takes to read the file: so what is done for each operation
is listing what it refers to, by number, which `by_list` does here and native code does for long graphs; all else is
done once for each different object.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Callable, Mapping, Sequence
from itertools import chain, compress, count
from operator import not_
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from .graph import Graph
from .primitive import Primitive
from .rows import show_attr
from .types import Type

Numbers: TypeAlias = "array[int] | np.ndarray"
"""32-bit numbers, whose bytes are part of the key."""


class Attributes(NamedTuple):
    """What operations have beside their arguments, of those that have some; numbers count objects as in `Listing`.

    fields       how many each one has
    of_names     the number of each name
    floats       whether each value is a float
    values       its bits if it is one, else its number among the others
    """

    names: Sequence[str]
    others: Sequence[Any]
    fields: Numbers
    of_names: Numbers
    floats: Numbers
    values: Numbers


class Listing(NamedTuple):
    """What the operations of a graph refer to; numbers count different objects from 0 in the order they come first.

    of_prims     the number of each operation's primitive
    arguments    how many arguments each operation has
    made         how many results each operation has
    args         the values of all arguments: parameters are the first ones, then come the results of all operations
    results      the values that the graph returns
    of_types     the number of each value's type
    having       the operations that have attributes
    branching    the operations that have regions
    """

    prims: Sequence[Primitive]
    types: Sequence[Type]
    regions: Sequence[Sequence[Graph]]
    of_prims: Numbers
    arguments: Numbers
    made: Numbers
    args: Numbers
    results: Numbers
    of_types: Numbers
    having: Numbers
    branching: Numbers
    attributes: Attributes


def by_list(graph: Graph) -> Listing:
    """The listing of a graph; what is done for each operation is a step of a comprehension."""
    body = graph.body
    args, results = [op.args for op in body], [op.results for op in body]
    values = [*graph.params, *chain.from_iterable(results)]
    numbers = dict(zip(values, range(len(values)), strict=True))
    prims, of_prims = _numbered([op.prim for op in body])
    types, of_types = _numbered([value.type for value in values])
    having = [*compress(count(), [op.attrs for op in body])]
    branching = [*compress(count(), [op.regions for op in body])]
    return Listing(
        prims, types, [body[k].regions for k in branching],
        of_prims, array("I", map(len, args)), array("I", map(len, results)),
        array("I", map(numbers.__getitem__, chain.from_iterable(args))),
        array("I", map(numbers.__getitem__, graph.results)), of_types, array("I", having), array("I", branching),
        _attributes_by_list([body[k].attrs for k in having]),
    )


def _attributes_by_list(attrs: Sequence[Mapping[str, Any]]) -> Attributes:
    """The same of attributes."""
    names, of_names = _numbered([*chain.from_iterable(attrs)])
    values = [*chain.from_iterable(each.values() for each in attrs)]
    floats = [value.__class__ is float for value in values]
    bits = iter(array("q", array("d", compress(values, floats)).tobytes()))
    others, of_others = _numbered([*compress(values, map(not_, floats))])
    following = iter(of_others)
    numbers = array("q", [next(bits) if each else next(following) for each in floats])
    return Attributes(names, others, array("I", map(len, attrs)), of_names, array("B", floats), numbers)


def _numbered(objects: Sequence[Any]) -> tuple[list[Any], array[int]]:
    """The different objects, and the number of each one's place among them."""
    ids = [*map(id, objects)]
    known = dict(zip(ids, objects, strict=True))
    number = dict(zip(known, range(len(known)), strict=True))
    return [*known.values()], array("I", map(number.__getitem__, ids))


def graph_key(graph: Graph, listing: Callable[[Graph], Listing] = by_list) -> bytes | None:
    """The name, parameters, operations and results of a graph, without hints and lines.

    None for one with operations that mean something in this process only.
    """
    parts: list[bytes] = []
    pending = [graph]
    while pending:  # regions follow in order: how many each operation has is among its attributes
        inner = pending.pop()
        listed = listing(inner)
        if any(prim.opaque for prim in listed.prims) and any(map(_is_only_here, listed.attributes.others)):
            return None
        _write(inner, listed, parts)
        pending.extend(region for regions in reversed(listed.regions) for region in reversed(regions))
    return b"".join(chain.from_iterable((len(part).to_bytes(8, "little"), part) for part in parts))


def _is_only_here(attribute: Any) -> bool:
    """Whether an attribute, as the number of a user's function, means something in this process only."""
    return getattr(attribute, "only_here", False)


def _write(graph: Graph, listed: Listing, parts: list[bytes]) -> None:
    """Add what a graph is to the parts, without its regions."""
    counts = len(graph.params), len(graph.body), len(graph.results)
    parts += [graph.name.encode(errors="surrogatepass"), array("I", counts).tobytes()]
    _write_texts([prim.name for prim in listed.prims], listed.of_prims, parts)
    _write_texts([*map(str, listed.types)], listed.of_types, parts)
    parts += map(_bytes, (listed.arguments, listed.made, listed.args, listed.results, listed.having, listed.branching))
    parts.append(array("I", map(len, listed.regions)).tobytes())
    _write_attributes(listed.attributes, parts)


def _write_attributes(listed: Attributes, parts: list[bytes]) -> None:
    """Add what operations have beside their arguments, of each one sorted by name; floats by their bits."""
    fields, floats, values = np.asarray(listed.fields), np.asarray(listed.floats), np.array(listed.values)
    names, of_names = _ranked(listed.names, np.asarray(listed.of_names))
    others = np.flatnonzero(floats == 0)
    texts, values[others] = _ranked([*map(text_of, listed.others)], values[others])
    order = np.argsort(np.repeat(np.arange(len(fields)) * len(names), fields) + of_names, kind="stable")
    parts += ["\n".join(each).encode(errors="surrogatepass") for each in (names, texts)]
    parts += [_bytes(fields), _bytes(of_names[order]), _bytes(floats[order]), values[order].tobytes()]


def _ranked(texts: Sequence[str], numbers: np.ndarray) -> tuple[list[str], np.ndarray]:
    """Different texts, sorted, and for numbers of texts those of what is the same there."""
    found = sorted({*texts})
    rank = dict(zip(found, count(), strict=False))
    return found, np.array([rank[text] for text in texts], np.int64)[numbers]


def text_of(value: Any) -> str:
    """An attribute as text that no other one has: NaN by its bits, also in tuples."""
    if isinstance(value, tuple):
        return f"({','.join(map(text_of, value))},)"
    if isinstance(value, float) and value != value:
        return f"nan {struct.pack('>d', value).hex()}"
    return show_attr(value)


def _write_texts(texts: Sequence[str], numbers: Numbers, parts: list[bytes]) -> None:
    """Add the texts that numbers stand for, in the order in which they come first, and the numbers of these."""
    found: dict[str, int] = {}
    merged = [found.setdefault(text, len(found)) for text in texts]
    if len(found) < len(texts):  # objects that say the same are one
        numbers = np.array(merged, np.uint32)[np.asarray(numbers)]
    parts += ["\n".join(found).encode(errors="surrogatepass"), _bytes(numbers)]


def _bytes(numbers: Numbers) -> bytes:
    """Numbers in one byte each, if all have room there, else in four, and which: a key is hashed."""
    given = np.asarray(numbers)
    narrow = not len(given) or given.max() < 256
    return (b"1" if narrow else b"4") + given.astype(np.uint8 if narrow else np.uint32, copy=False).tobytes()


__all__ = ["Attributes", "Listing", "by_list", "graph_key", "text_of"]
