"""Kernels for sparse derivatives: all entries as one vector, from the products of `grouping`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...compiler.frontend import tracing, tree
from ...compiler.frontend.array import Array
from ...compiler.frontend.promotion import lift
from ...compiler.ops.elementwise import cast
from ...compiler.ops.index import take
from ..compiled.derive import inner
from ..transforms import grad
from .blocks import along_lanes
from .derived import Derived, Site
from .leaves import Floats, dtype_of, shape_of, size_of
from .products import pushed

Value = Callable[[Any], Any]


class Other(Exception):
    """A call has other shapes than those that a plan was made for."""


def _marked(group: Any, lane: Any, like: Floats) -> Any:
    """A tree like another with ones where the group is that of the lane, and zeros elsewhere."""
    parts, at = [], 0
    for x in like.leaves:
        size = size_of(x)
        unit = np.equal(group[at : at + size], lane).astype(dtype_of(x))
        parts.append(np.reshape(unit, shape_of(x)))
        at += size
    return like.like(parts)


def _vector(y: Any, dtype: np.dtype) -> Any:
    """All elements of a tree."""
    leaves: list[Any] = []
    tree.flatten(tree.opened(y), leaves)
    return np.concatenate([np.reshape(x, (-1,)).astype(dtype) for x in leaves])


class CompressedJacobian(Derived):
    """The entries of a Jacobian whose pattern is known, as one vector; after the arguments come `Products.arrays`."""

    title, trailing = "jacobian", 5

    @staticmethod
    def body(site: Site, value: Value, x: Any, *last: Any) -> Any:
        y, given = value(x), site.given(x)
        result = site.result(y)

        def push(tangent: Any) -> Any:
            return pushed(value, x, tangent, y)

        def pull(cotangent: Any) -> Any:
            return grad(lambda x: inner(value(x), cotangent))(x)

        return compressed(given, result, push, pull, last)


class CompressedHessian(Derived):
    """The same for a Hessian."""

    title, trailing = "hessian", 5

    @staticmethod
    def body(site: Site, value: Value, x: Any, *last: Any) -> Any:
        slope, given = grad(value), site.given(x)

        def product(vector: Any) -> Any:
            return grad(lambda x: inner(slope(x), vector))(x)

        return compressed(given, given, product, product, last)


def compressed(given: Floats, result: Floats, push: Value, pull: Value, arrays: tuple[Any, ...]) -> Any:
    """The entries, from the products for all groups of columns and of rows."""
    columns, rows, at, *lanes = arrays
    if (columns.shape[0], rows.shape[0]) != (given.size, result.size):
        raise Other
    dtype = np.result_type(np.float32, *map(dtype_of, (*result.leaves, *given.leaves)))  # SciPy has no float16
    made = []
    for group, tree_, product, each in ((columns, given, push, lanes[0]), (rows, result, pull, lanes[1])):
        if each.shape[0]:
            def one(lane: Any, group: Any = group, like: Floats = tree_, product: Value = product) -> Any:
                return _vector(product(_marked(group, lane, like)), dtype)

            made.append(np.reshape(along_lanes(one, each), (-1,)))
    if not made:
        return np.zeros(0, dtype)
    return taken(made[0] if len(made) == 1 else np.concatenate(made), at)


def taken(flat: Any, at: Any) -> Any:
    """The elements at places that are known to be there, as indices of users are not."""
    now = tracing.current()
    assert now is not None, "transforms are traced"
    places = cast(now.builder, lift(now, at), dtype="i64")
    return Array(now, take(now.builder, lift(now, flat), places, axis=0))


__all__ = ["CompressedHessian", "CompressedJacobian", "Other", "taken"]
