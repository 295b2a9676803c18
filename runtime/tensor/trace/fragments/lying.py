"""How the results of an operation lie in PyTorch's memory: a fragment and its key go in, kinds that say so come out.

Views lie at the end of their path, elementwise results as their arguments do, those of layers for pictures with the
channels last if the pictures do, and all others in rows.
"""

from __future__ import annotations

from typing import Any

from .....compiler.ir.graph import Op
from .....compiler.ops.custom import stop_gradient
from .....compiler.ops.elementwise import cast, select
from .....compiler.ops.reduce import spread
from .....compiler.ops.shape import reshape
from .....compiler.ops.source import const
from ...value.cells import Kind, in_order
from ...value.orders import Order, order_of_part, order_of_result, whole_order
from .fragments import Fragment

CHANNELS_LAST = 0, 2, 3, 1

IN_PLACE = {const, spread, cast, select, stop_gradient}
"""Primitives that make an element of those in its place, but for the elementwise ones, which say so."""


def lay_out(fragment: Fragment, key: tuple[Any, ...]) -> None:
    """Let the kinds of a fragment of (operation, attributes, *arguments) say how values lie.

    An operation says how its results do, where its graph does not tell: "part" and "parts" at the paths that are its
    attributes, "rows", in the "order" that is one, as its first argument ("like"), or in the "format" of an argument
    that is pictures, or of all of them ("formats").
    """
    operation, attributes, *arguments = key
    lies, kinds = operation.lies, [a for a in arguments if type(a) is Kind]
    if lies[:4] == "part":
        shape, order = kinds[0].shape, kinds[0].order
        paths = attributes[:1] if lies == "part" else attributes[0]
        orders = [order_of_part(shape, order, path) for path in paths]
    elif lies == "order":
        orders = attributes
    elif all(k.order is None for k in kinds):
        return
    else:
        orders = [_order(fragment, lies, kinds, result) for result in fragment.results]
    own = [a if type(a) is Kind else k for a, k in zip(arguments, fragment.inputs, strict=False)]
    fragment.inputs = (*own, *fragment.inputs[len(own) :])
    fragment.results = tuple([in_order(k, o) for k, o in zip(fragment.results, orders, strict=True)])


def _order(fragment: Fragment, lies: str, kinds: list[Kind], result: Kind) -> Order:
    """The order of a result, where an argument is not in rows."""
    if lies == "like":
        return whole_order(kinds[0].shape, kinds[0].order)
    if lies[:6] == "format":
        last = [k.order == CHANNELS_LAST for k in kinds if len(k.shape) == 4]
        return CHANNELS_LAST if len(result.shape) == 4 and (all if lies == "formats" else any)(last) else None
    graph = fragment.graph if fragment.instance is None else fragment.instance.way.graph
    if lies == "rows" or not all(map(_is_in_place, graph.body)):
        return None
    return order_of_result(result.shape, tuple([(k.shape, k.order) for k in kinds]))


def _is_in_place(op: Op) -> bool:
    if op.prim.elementwise or op.prim in IN_PLACE:
        return True
    if op.prim is not reshape:
        return False
    have, made = ([n for n in v.type.shape if n != 1] for v in (op.args[0], op.results[0]))
    return have == made


__all__ = ["lay_out"]
