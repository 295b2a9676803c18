"""Lists, dicts and tuples: modelled as their items, or as a buffer and a count where a list grows in a loop."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ....ops import memory
from ...array import FUNCTIONS, Array
from .. import numbers
from ..arrays.access import lift, read, wrap
from ..arrays.parts import checked, native
from ..machine import Machine
from ..ranges import LEAST, MOST
from ..schema import Held, Leaf, join_types, schema
from ..values import Grown, Iter, Picked, Ref, Steps, is_array, is_dict, is_list, is_number, is_scalar, same, traced
from .growing import append, cast_rows, columns, grown, item_of
from .tables import Table

Items = tuple[Any, ...]


def new_list(m: Machine, items: Any) -> Ref:
    return m.new("list", tuple(items))


def new_dict(m: Machine, keys: Any, values: Any) -> Ref:
    return m.new("dict", Table(tuple(keys), tuple(values)))


def content_truth(m: Machine, ref: Ref) -> Any:
    held = m.content(ref.box)
    if isinstance(held, Grown):
        return numbers.binary(m, operator.gt, held.count, 0) if isinstance(held.count, Array) else held.count > 0
    return bool(held.keys if isinstance(held, Table) else held)


numbers.CONTENT_TRUTH[0] = content_truth


# ---- items


def get_item(m: Machine, base: Any, key: Any) -> Any:
    """An item of a list, tuple, dict, or of any Python object."""
    key = frozen_key(m, key)
    if is_dict(base):
        return lookup(m, m.items(base.box), key)
    held = m.items(base.box) if is_list(base) else base
    if isinstance(held, Grown):
        if not isinstance(key, slice):
            return item_of(m, held, key)
        if isinstance(held.count, int):
            return new_list(m, [item_of(m, held, k) for k in range(*key.indices(held.count))])
        m.refuse("a slice of a list whose length is not known", "use an array and a count")
    if is_scalar(key):
        if not isinstance(held, (tuple, list)):
            m.refuse(f"a traced index into a {type(held).__name__}", "use an array")
        item = columns(m, tuple(held))
        if item is None:
            fix = "let all items be numbers, arrays of one shape, or tuples of these"
            m.refuse("a traced index into a list or tuple of unlike items", fix)
        return item(key)
    if is_array(key):
        key = native(m, lambda: operator.index(read(m, key)))
    if isinstance(key, slice) and any(is_scalar(k) for k in (key.start, key.stop, key.step)):
        m.refuse("a slice of a list or tuple with traced ends", "use an array")
    out = native(m, lambda: held[key])
    return new_list(m, out) if is_list(base) and isinstance(key, slice) else out


def frozen_key(m: Machine, key: Any) -> Any:
    """A key with the numbers of one call, if the walk is for those."""
    if isinstance(key, slice):
        return slice(*[m.known(k, "a slice") for k in (key.start, key.stop, key.step)])
    return m.known(key, "an index or size") if is_scalar(key) else key


def lookup(m: Machine, table: Table, key: Any) -> Any:
    """The value of a key of a dict."""
    if isinstance(key, Picked):
        return _picked(m, table, key)
    if is_scalar(key) and (found := _found(m, table, key)) is not None:
        return found
    at = place_of(m, table, key)
    if at is None:
        m.fail(KeyError(key))
    return table.value(at)


def _found(m: Machine, table: Table, key: Array) -> Any:
    """The value of a traced whole number, where all keys are such and the values are alike; else None."""
    if key.type.dtype != "i64" or any(type(k) is not int or not LEAST <= k <= MOST for k in table.keys):
        return None
    item = columns(m, table.values)
    if item is None:
        return None
    if table.keys == tuple(range(len(table.keys))):
        if not m.ranges.inside(key, 0, len(table.keys)):
            inside = [numbers.binary(m, operator.ge, key, 0), numbers.binary(m, operator.lt, key, len(table.keys))]
            m.require(numbers.logic(m, "and", *inside), KeyError, named=True)
        return item(m.ranges.note(key, 0, len(table.keys) - 1))
    hits = Array(m.now, m.value(np.array(table.keys))) == key
    m.require(FUNCTIONS[np.any](hits), KeyError, named=True)
    return item(m.ranges.note(FUNCTIONS[np.argmax](hits), 0, len(table.keys) - 1))


def _picked(m: Machine, table: Table, key: Picked) -> Any:
    """The value of one of many keys, all of which are there."""
    if key.texts is table.keys:
        values: Items = table.values
    else:
        places = [table.place(each) for each in key.texts]
        values = tuple([table.values[at] for at in places if at is not None])
    item = columns(m, values) if len(values) == len(key.texts) else None
    if item is None:
        m.refuse("items of a dict that are unlike, or are missing, are read in a loop", "loop over arrays")
    return item(key.index)


def place_of(m: Machine, table: Table, key: Any) -> int | None:
    if traced(key):
        m.refuse("a dict key that depends on traced values", "index an array, or choose with np.where")
    return native(m, lambda: table.place(key))


def set_item(m: Machine, ref: Ref, key: Any, v: Any) -> None:
    key = frozen_key(m, key)
    held = m.items(ref.box)
    if isinstance(held, Table):
        at = place_of(m, held, key)
        if at is None and ref.box not in m.edits:
            m.store(ref.box, held.extended(key, v))
        else:
            m.edited(ref.box, "" if at is None else f"[{key!r}]").put(at, key, v)
        return
    if isinstance(held, (tuple, list)) and not is_scalar(key):
        given = list(all_items(m, v)) if isinstance(key, slice) else v
        items = m.edited(ref.box, f"[{key!r}]")
        native(m, lambda: operator.setitem(items, key, given))
        return
    if isinstance(key, slice):
        m.refuse("a store into a slice of a list that grows", "use an array")
    held = held if isinstance(held, Grown) else grown(m, tuple(held))
    if not isinstance(held.count, int):
        m.refuse("a store into a list whose length is not known", "use an array and a count")
    item, row = schema(m, v), held.buffer.type.with_shape(held.buffer.type.shape[1:])
    if not isinstance(item, (Leaf, Held)) or join_types(row, item.type) != row:
        m.refuse(f"an item of another type is put into a list of {row} at a traced index", "use an array")
    at = checked(m, key, 0, held.count) if isinstance(key, Array) else key % held.count
    value = lift(m, v) if item.type == row else cast_rows(Array(m.now, lift(m, v)), row.numpy).value
    new = m.now.emit(memory.update, m.value(held.buffer), value, m.value(at), axes=(0,), widths=(memory.DROPPED,))
    m.store(ref.box, Grown(Array(m.now, new), held.count, held.weak, held.low, held.high, held.managed))


def all_items(m: Machine, v: Any) -> Items:
    """The items of a sequence whose length is known."""
    if isinstance(v, Ref) and v.box.kind == "dict":
        return m.content(v.box).keys
    if isinstance(v, Ref):
        held = m.content(v.box)
        if not isinstance(held, Grown):
            return held
        if isinstance(held.count, int):
            return tuple([item_of(m, held, k) for k in range(held.count)])
        m.refuse("a list whose length depends on values is unpacked or copied", "use an array and a count")
    if isinstance(v, (Iter, Steps)):
        return tuple(ITERATE[0](m, v))
    return tuple(v)


def contains(m: Machine, container: Any, x: Any) -> Any:
    """x in container."""
    if isinstance(container, Ref) and container.box.kind == "dict":
        return place_of(m, m.content(container.box), x) is not None
    if not traced(container) and not traced(x):
        return native(m, lambda: x in container)
    items = all_items(m, container) if not is_array(container) else None
    if items is None:
        made = numbers.binary(m, operator.eq, container, x)
        return numbers.truth(m, wrap(m, np.any(read(m, made))))
    found: Any = False
    for i in items:
        if traced(i) or traced(x):
            comparable = _numeric(i) and _numeric(x)
            hit = same(i, x) or (comparable and numbers.truth(m, numbers.binary(m, operator.eq, i, x)))
        else:
            hit = i is x or native(m, lambda i=i: bool(i == x))
        found = numbers.logic(m, "or", found, hit)
    return found


def _numeric(x: Any) -> bool:
    return is_scalar(x) or is_number(x)


def _is_count(x: Any) -> bool:
    """Whether Python repeats a sequence this many times."""
    return isinstance(x, (int, np.integer)) or (is_scalar(x) and x.type.dtype in ("i64", "i32", "bool"))


def sequence_operator(m: Machine, fn: Any, a: Any, b: Any) -> Any:
    """+, * and comparisons of lists and tuples; NotImplemented if NumPy should see them as arrays."""
    if fn is operator.add and is_list(a) and is_list(b):
        return new_list(m, [*all_items(m, a), *all_items(m, b)])
    if fn is operator.add and isinstance(a, tuple) and isinstance(b, tuple):
        return a + b
    if fn is operator.mul and (_is_count(a) or _is_count(b)):
        times: Any = a if _is_count(a) else b
        seq: Any = b if times is a else a
        if isinstance(times, Array):
            times = m.known(times, "an index or size")
            if isinstance(times, Array):
                fix = "declare the argument static: static_argnames=('n',), or static_argnums"
                m.refuse("a list or tuple is repeated a traced number of times", fix)
        items = all_items(m, seq) * int(times)
        return new_list(m, items) if is_list(seq) else items
    if fn in (operator.eq, operator.ne):
        x, y = (all_items(m, v) if is_list(v) or isinstance(v, tuple) else None for v in (a, b))
        if x is not None and y is not None and is_list(a) == is_list(b):
            equal: Any = len(x) == len(y)
            for i, j in zip(x, y, strict=False):
                equal = numbers.logic(m, "and", equal, contains(m, (i,), j)) if equal is not False else False
            return equal if fn is operator.eq else numbers.negate(m, equal)
    return NotImplemented


# ---- methods


def list_method(m: Machine, ref: Ref, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
    if name == "append" and not kwargs:
        return append(m, ref, *args)
    held = m.content(ref.box)
    if kwargs and name != "sort":
        m.fail(TypeError(f"list.{name}() takes no keyword arguments"))
    if name == "extend":
        for i in ITERATE[0](m, args[0]):
            append(m, ref, i)
        return None
    if name == "copy":
        return m.new("list", held.copied() if isinstance(held, Grown) else held)
    if isinstance(held, Grown):
        m.refuse(f"list.{name} of a list that grows in a loop", "use an array and a count")
    items = list(held)
    if name in ("pop", "insert", "clear", "reverse") and not any(is_scalar(a) for a in args[:1]):
        items = m.edited(ref.box)
        return native(m, lambda: getattr(items, name)(*args))
    if name in ("index", "count", "remove", "sort") and not traced(tuple(items)) and not traced(tuple(args)):
        out = native(m, lambda: getattr(items, name)(*args, **kwargs))
        if name in ("remove", "sort"):
            m.store(ref.box, tuple(items))
        return out
    m.refuse(f"list.{name} with traced values", "use an array")


def dict_method(m: Machine, ref: Ref, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
    held: Table = m.items(ref.box) if name in ("get", "setdefault") else m.content(ref.box)
    if name in ("keys", "values", "items", "copy"):
        if name == "copy":
            return m.new("dict", held)
        pairs = tuple(zip(held.keys, held.values, strict=True))
        return {"keys": held.keys, "values": held.values, "items": pairs}[name]
    if name in ("get", "pop", "setdefault"):
        at = place_of(m, held, args[0])
        found = args[1] if len(args) > 1 else None
        if at is not None:
            found = held.value(at)
            if name == "pop":
                m.store(ref.box, held.without(at))
        elif name == "pop" and len(args) == 1:
            m.fail(KeyError(args[0]))
        elif name == "setdefault":
            set_item(m, ref, args[0], found)
        return found
    if name == "update":
        for each in args:
            if is_dict(each):
                table = m.content(each.box)
                pairs = tuple(zip(table.keys, table.values, strict=True))
            else:
                pairs = tuple([all_items(m, p) for p in all_items(m, each)])
            for k, v in pairs:
                set_item(m, ref, k, v)
        for k, v in kwargs.items():
            set_item(m, ref, k, v)
        return None
    m.refuse(f"dict.{name} in a function with loops or branches", "build a new dict")


ITERATE: list[Any] = [None]
"""All items of an iterable: registered by the module that knows them."""
