"""Jacobians and Hessians as blocks: one for each leaf of the result and each leaf of the argument.

    jacrev(lambda p: (p["w"] * p["b"], np.sum(p["w"])))({"w": w, "b": b})

    ({"w": the derivative of the first result for w, "b": ... for b},
     {"w": ... of the second for w,                  "b": ... for b})

A block has the shape of the result's leaf and then that of the argument's. Its rows, or columns, are products with the
vectors of a basis, `ROWS` at a time: the lanes of one kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...compiler.frontend import region as R
from ...compiler.frontend import tracing, tree
from ...compiler.frontend.array import Array
from ...compiler.ir.graph import Graph
from ...compiler.ir.types import Type
from ...compiler.ops.source import basis
from ...compiler.passes import adjoint, dead
from ..compiled.chosen import Argnums
from ..compiled.derive import Jit, inner
from ..control import scan
from ..transforms import grad
from ..vmap import vmap
from .derived import Blocks, Derived, Site
from .leaves import Floats, dtype_of, leaf, shape_of, size_of
from .trees import tree_map

ROWS = 64
"""Rows that are made together: their temporaries are in memory together."""

Value = Callable[[Any], Any]


def counted(size: int) -> Array:
    """0, 1, 2, ...: made by the kernel, where an array of NumPy's would be handed to it."""
    now = tracing.current()
    assert now is not None, "transforms are traced"
    return Array(now, now.emit(basis, type=Type("i64", (size,)), axis=0))


def along_lanes(product: Callable[[Any], Any], lanes: Any) -> Any:
    """`product` of each of the `lanes`, stacked along a first axis in every leaf; `ROWS` of them together."""
    size, parts = lanes.shape[0], []
    whole = size // ROWS * ROWS if size > ROWS else 0
    if whole:
        _, made = scan(lambda carry, ks: (carry, vmap(product)(ks)), (), lanes[:whole].reshape(-1, ROWS))
        parts.append(tree_map(lambda x: np.reshape(x, (whole, *x.shape[2:])), made))
    if whole < size:
        parts.append(vmap(product)(lanes[whole:]))
    return parts[0] if len(parts) == 1 else tree_map(lambda *xs: np.concatenate(xs), *parts)


def along_basis(product: Callable[[Any], Any], like: Any) -> list[Any]:
    """The leaves of `product` with every vector of the basis for a leaf, with an axis for these in front."""
    shape, size, dtype = shape_of(like), size_of(like), dtype_of(like)

    def one(k: Any) -> tuple[Any, ...]:
        unit = np.reshape(np.equal(counted(size), k).astype(dtype), shape) if shape else np.ones((), dtype)
        leaves: list[Any] = []
        tree.flatten(tree.opened(product(unit)), leaves)
        return tuple(leaves)

    if size == 1:
        return [np.expand_dims(x, 0) for x in one(0)]
    return list(along_lanes(one, counted(size)))


def by_rows(site: Site, value: Value, x: Any, results: Floats) -> Any:
    """The blocks from pullbacks, one for each element of the results."""
    given, blocks = site.given(x), []
    for k, leaf_ in enumerate(results.leaves):
        shapes = [(*shape_of(leaf_), *shape_of(each)) for each in given.leaves]
        if size_of(leaf_):
            def product(row: Any, k: int = k) -> Any:
                return grad(lambda x: inner(leaf(value(x), k), row))(x)

            made = along_basis(product, leaf_)
        else:
            made = [np.zeros(shape, dtype_of(each)) for shape, each in zip(shapes, given.leaves, strict=True)]
        blocks.append(given.like([np.reshape(m, shape) for m, shape in zip(made, shapes, strict=True)]))
    return results.like(blocks)


def by_columns(site: Site, value: Value, x: Any, y: Any) -> Any:
    """The blocks from pushforwards, one for each element of the argument."""
    given, results, columns = site.given(x), site.result(y), []
    for k, leaf_ in enumerate(given.leaves):
        shape = shape_of(leaf_)
        if size_of(leaf_):
            def product(column: Any, k: int = k) -> Any:
                return grad(lambda ct: inner(leaf(grad(lambda x: inner(value(x), ct))(x), k), column))(y)

            made = along_basis(product, leaf_)
            turned = [np.moveaxis(each, 0, -1) for each in made]
            columns.append([np.reshape(each, (*each.shape[:-1], *shape)) for each in turned])
        else:
            columns.append([np.zeros((*shape_of(each), *shape), dtype_of(each)) for each in results.leaves])
    return results.like([given.like(each) for each in zip(*columns, strict=True)])


class Jacrev(Derived):
    """A Jacobian by pullbacks; see `jacrev`."""

    title, order = "jacrev", 1

    def _plan(self, opens: Argnums, has_aux: bool) -> Any:
        return Blocks(self.title, opens=opens, has_aux=has_aux)

    @staticmethod
    def body(site: Site, value: Value, x: Any, *last: Any) -> Any:
        site.given(x)
        return by_rows(site, value, x, site.result(value(x)))


class Jacfwd(Jacrev):
    """A Jacobian by pushforwards; see `jacfwd`."""

    title = "jacfwd"

    @staticmethod
    def body(site: Site, value: Value, x: Any, *last: Any) -> Any:
        site.given(x)
        return by_columns(site, value, x, value(x))


def costs(value: Value, x: Any) -> tuple[int, int]:
    """What one pullback and one pushforward of a function take, in additions, counted in their graphs."""
    now = tracing.current()
    assert now is not None, "transforms are traced"
    leaves: list[Any] = []
    signature = tree.flatten(tree.opened(x), leaves)
    kinds = [R.leaf_of(each) for each in leaves]
    graph = R.trace_region(now, "counted", kinds, lambda *xs: value(tree.rebuild(signature, iter(xs)))).graph
    wrt = [k for k, leaf in enumerate(kinds) if leaf.type.is_float]
    back = adjoint(graph, wrt)
    back = dead(Graph(back.name, back.params, back.body, back.results[len(graph.results) :]))
    forth = adjoint(back, range(len(graph.params), len(back.params)))
    forth = dead(Graph(forth.name, forth.params, forth.body, forth.results[len(wrt) :]))
    return cost(back), cost(forth)


def cost(graph: Graph) -> int:
    """Additions, with every loop run once."""
    total = 1
    for op in graph.body:
        sizes = [v.type.static_size() for v in (*op.args, *op.results) if not v.type.is_tape]
        total += op.prim.cost * max(sizes, default=0) + sum(map(cost, op.regions))
    return total


class Jacobian(Jacrev):
    """A Jacobian by what costs less; see `jacobian`."""

    title = "jacobian"

    @staticmethod
    def body(site: Site, value: Value, x: Any, *last: Any) -> Any:
        y, given = value(x), site.given(x)
        results = site.result(y)
        pull, push = costs(value, x)
        if results.size * pull <= given.size * push:
            return by_rows(site, value, x, results)
        return by_columns(site, value, x, y)


class Holomorphic(Jacrev):
    """The Jacobian of a holomorphic function of complex numbers: the conjugate of that of its real part."""

    title, order = "holomorphic Jacobian", 0

    @staticmethod
    def body(site: Site, value: Value, x: Any, *last: Any) -> Any:
        given, y = site.given(x), value(x)
        for tree_, what in ((given.signature, "the argument"), (tree.flatten(tree.opened(y), []), "the result")):
            if not tree.has_parts(tree_):
                raise TypeError(f"{site.title}: {what} is real; pass z + 0j, or leave holomorphic out")

        def real(x: Any) -> Any:
            return tree_map(np.real, value(x))

        return tree_map(np.conj, by_rows(site, real, x, site.result(real(x))))


def _leaves_of(site: Site, y: Any) -> tree.Signature:
    return tree.flatten(tree.opened(y), [])


class Wirtinger(Jacrev):
    """Both derivatives of a function of complex numbers that need not be holomorphic; see `wirtinger`."""

    title, order = "wirtinger", 0

    def _plan(self, opens: Argnums, has_aux: bool) -> Any:
        return Jit(self.title, opens=opens)

    @staticmethod
    def body(site: Site, value: Value, x: Any, *last: Any) -> Any:
        given = site.given(x)
        if not tree.has_parts(given.signature):
            raise TypeError(f"{site.title}: the argument is real; pass z + 0j")
        u, v = grad(lambda x: np.real(value(x)))(x), grad(lambda x: np.imag(value(x)))(x)
        along = tree_map(lambda a, b: 0.5 * (np.conj(a) + 1j * np.conj(b)), u, v)
        return along, tree_map(lambda a, b: 0.5 * (a + 1j * b), u, v)


class Hessian(Jacrev):
    """All second derivatives of a function; see `hessian`."""

    title, order = "hessian", 2

    @staticmethod
    def body(site: Site, value: Value, x: Any, *last: Any) -> Any:
        given, y = site.given(x, real=True), value(x)
        site.result(y)
        if not isinstance(y, Array) or y.shape:
            def slopes(x: Any) -> Any:
                return by_rows(site, value, x, site.result(value(x)))

            return by_columns(site, slopes, x, slopes(x))
        slope = grad(value)
        if isinstance(x, Array) and not x.shape:
            return grad(slope)(x)
        return by_rows(site, slope, x, given)


__all__ = ["Hessian", "Holomorphic", "Jacfwd", "Jacobian", "Jacrev", "Wirtinger", "along_lanes"]
