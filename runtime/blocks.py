"""Jacobians as blocks: one for each leaf of the result and each leaf of the argument, in containers like both.

    jacrev(lambda p: (p["w"] * p["b"], np.sum(p["w"])))({"w": w, "b": b})

    ({"w": the derivative of the first result for w, "b": ... for b},
     {"w": ... of the second for w,                  "b": ... for b})

Containers are dicts, lists, tuples and named tuples, nested. A block has the shape of the result's leaf and then that
of the argument's; it is made row by row, `ROWS` rows at a time, the lanes of one kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..compiler.frontend import tree
from ..compiler.frontend.array import Array
from ..compiler.frontend.errors import message
from ..compiler.ir.types import DTYPES
from .compiled.derive import owner_line
from .compiled.function import Function
from .compiled.out import filled
from .vmap import rows_of

ROWS = 64
"""Rows that one call makes: their temporaries are in memory together."""


NONE = ("static", tree.static_key(None))


class Floats(NamedTuple):
    """A tree of floats: its signature, and its leaves as arrays."""

    signature: tree.Signature
    leaves: list[Any]

    def like(self, values: Sequence[Any]) -> Any:
        """The tree with other leaves."""
        return tree.rebuild(self.signature, iter(values))


def floats(transform: str, owner: Function, given: Any, result: bool = False) -> Floats:
    """The first argument of a function, or its result, if its leaves are floats; TypeError for one that is not."""
    title, leaves = f"{transform} of {owner.__name__}", []
    name, what = ("", "the result") if result else (owner.argument_names(1)[0], "argument ")
    try:
        signature = tree.flatten(given, leaves)
    except tree.BadLeaf as error:
        raise TypeError(f"{title}: {what}{name}{error.path} {error.problem}; {error.fix}") from None
    known = [(path, node) for path, node in tree.nodes(signature, name) if node != NONE]
    for path, node in known:
        if node[0] in ("static", "leaf") or tree.dtype_of(node) not in ("f32", "f64"):
            said = f"a {node[1].__name__}" if node[0] == "leaf" else tree.spelled(node)
            way = "pass" if not result else "return"
            fix = f"{way} float(...)" if node[0] == "int" else f"{way} np.asarray(...) of it, of a dtype of floats"
            raise TypeError(message(f"{title} needs floats; {what}{path} is {said}", owner_line(owner), fix))
    if (result or transform == "hessian") and tree.has_parts(signature):
        fix = "give it real and imaginary parts: np.stack([z.real, z.imag])"
        raise TypeError(message(f"{title}: {what}{name} is complex", owner_line(owner), fix))
    if not known:
        raise TypeError(message(f"{title} needs floats; {what}{name} is {given!r:.60}", owner_line(owner)))
    return Floats(signature, leaves)


def leaf(given: Any, k: int) -> Any:
    """Leaf k of a tree."""
    leaves: list[Any] = []
    tree.flatten(given, leaves)
    return leaves[k]


def shape_of(x: Any) -> tuple[int, ...]:
    """The shape of a leaf, traced or not."""
    return x.shape if isinstance(x, Array) else np.shape(x)


class Rows:
    """Products with the vectors of a basis, for each leaf that the basis may be one of.

    along      from the number of a leaf, the function of one vector, the argument and more that makes its product
    function   the user's, of which these are
    """

    def __init__(self, along: Callable[[int], Callable[..., Any]], function: Callable[..., Any]) -> None:
        self.along, self.function = along, function
        self._made: dict[int, Callable[..., Any]] = {}

    def of(self, k: int, basis: Any, args: Sequence[Any]) -> tuple[tree.Signature, list[Any]]:
        """The products with all vectors like `basis`, leaf k: a tree with an axis for them in front of each leaf."""
        if k not in self._made:
            self._made.setdefault(k, rows_of(self.along(k), self.function))
        shape = shape_of(basis)
        size = int(np.prod(shape, dtype=int))
        every = np.eye(size, dtype=_dtype(basis)).reshape(size, *shape)
        parts, signature = [], ()
        for start in range(0, size, ROWS):
            parts.append([])
            signature = tree.flatten(self._made[k](every[start : start + ROWS], *args), parts[-1])
        if len(parts) == 1:
            return signature, parts[0]
        return signature, [np.concatenate(each) for each in zip(*parts, strict=True)]


def _dtype(x: Any) -> np.dtype:
    return DTYPES[x.type.dtype] if isinstance(x, Array) else np.asarray(x).dtype


def by_rows(title: str, rows: Rows, results: Floats, given: Floats, args: Sequence[Any], out: Any) -> Any:
    """The blocks from rows like the argument, one for each element of the results."""
    blocks = []
    for k, y in enumerate(results.leaves):
        shapes = [(*shape_of(y), *shape_of(x)) for x in given.leaves]
        if 0 in shape_of(y):
            made: list[Any] = [np.zeros(shape, _dtype(x)) for shape, x in zip(shapes, given.leaves, strict=True)]
        else:
            made = rows.of(k, y, args)[1]
        blocks.append(given.like([np.reshape(m, shape) for m, shape in zip(made, shapes, strict=True)]))
    return filled(title, results.like(blocks), out)


def by_columns(
    title: str, rows: Rows, value: Function, given: Floats, args: Sequence[Any], out: Any
) -> Any:
    """The blocks from rows like the result, one for each element of the argument."""
    columns, signature = [], ()
    for k, x in enumerate(given.leaves):
        shape = shape_of(x)
        if 0 in shape:
            signature, ys = floats(title, value, value(*args), result=True)
            made = [np.zeros((*shape_of(y), *shape), _dtype(y)) for y in ys]
        else:
            signature, ys = rows.of(k, x, args)
            turned = [np.moveaxis(y, 0, -1) for y in ys]
            made = [np.reshape(y, (*y.shape[:-1], *shape)) for y in turned]
        columns.append(made)
    blocks = [given.like(each) for each in zip(*columns, strict=True)]
    return filled(title, tree.rebuild(signature, iter(blocks)), out)


__all__ = ["Floats", "Rows", "by_columns", "by_rows", "floats", "leaf", "shape_of"]
