"""Kernels of graphs of complex arrays: each array goes in and comes out as it lies in memory, not as two of its parts.

    graph f(%z_real: f64[n], %z_imag: f64[n])    becomes    graph f(%z: f64[n,2])  { parts of %z; ... }

So native code is entered with the caller's arrays, nothing is copied, and what works on a whole array, as a Fourier
transform does, gets its memory. Derivatives know nothing of it: it is done when a graph becomes a kernel.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from ...compiler.backend.entries import specs
from ...compiler.frontend import tree
from ...compiler.frontend.complexes import Parts
from ...compiler.frontend.results import items_of
from ...compiler.ir.graph import Builder, Graph, Op, Value
from ...compiler.ops.complex.complexes import WHOLE, whole
from ...compiler.ops.shape import concatenate, reshape, slice_
from .packed import Rearranged


class Wholes(NamedTuple):
    """Of which parameters and results, by number, the next one is the imaginary part."""

    params: frozenset[int]
    results: frozenset[int]


def wholes_of(signature: tree.Signature, result: Any, graph: Graph) -> Wholes | None:
    """The complex arrays among arguments and results; None if there are none."""
    if not tree.has_parts(signature) and not any(True for _ in _pairs(result)):
        return None
    params = frozenset(_params(signature))
    uses: dict[int, set[tuple[int, ...]]] = {}
    _note(result, uses)
    results = {k for k, _ in _pairs(result) if uses[k] == uses[k + 1] == {(k, k + 1)}}
    fits = all(graph.params[k].type == graph.params[k + 1].type for k in params)
    return Wholes(params, frozenset(results)) if fits and (params or results) else None


def _params(signature: tree.Signature) -> list[int]:
    found, pending, leaves = [], [signature], 0
    while pending:
        node = pending.pop()
        if array_of(node) is not None:
            found.append(leaves)
        if node[0] in tree.CONTAINERS:
            pending += reversed(node[-1])
        elif node[0] != "static":
            leaves += 1
    return found


def array_of(node: tree.Signature) -> specs.ArraySpec | None:
    """What stands for a complex array in a signature; None for anything else."""
    if node[0] != "named" or node[1] is not Parts or node[2][0][0] != "array" or node[2][0] != node[2][1]:
        return None
    _, dtype, shape = node[2][0]
    return specs.ArraySpec(WHOLE[dtype], shape)


def _is_array(result: Any) -> bool:
    """Whether a part of a result is a complex array."""
    if not isinstance(result, specs.MadeResult) or result.make is not Parts:
        return False
    re, im = result.items
    return isinstance(re, specs.ArrayResult) and isinstance(im, specs.ArrayResult) and im.index == re.index + 1


def _pairs(result: Any) -> list[tuple[int, int]]:
    if _is_array(result):
        return [(result.items[0].index, result.items[1].index)]
    return [pair for each in items_of(result) or () for pair in _pairs(each)]


def _note(result: Any, uses: dict[int, set[tuple[int, ...]]]) -> None:
    """Which kernel results make which parts of the result."""
    if _is_array(result):
        numbers = tuple([each.index for each in result.items])
        for k in numbers:
            uses.setdefault(k, set()).add(numbers)
        return
    for each in items_of(result) or ():
        _note(each, uses)
    if (k := getattr(result, "index", None)) is not None:
        uses.setdefault(k, set()).add((k,))


def in_memory(graph: Graph, wholes: Wholes) -> Graph:
    """The graph of complex arrays as they lie in memory."""
    b, env = Builder(graph.name), dict[Value, Value]()
    pairs = []
    for k, param in enumerate(graph.params):
        if k in wholes.params:
            made = b.param(param.type.with_shape((*param.type.shape, 2)), param.hint.removesuffix("_real"))
            pairs.append((made, graph.params[k : k + 2]))
        elif k - 1 not in wholes.params:
            env[param] = b.param(param.type, param.hint)
    for made, parts in pairs:
        shape = parts[0].type.shape
        for k, part in enumerate(parts):
            cut = slice_(b, made, start=(*[0] * len(shape), k), step=(1,) * (len(shape) + 1), shape=(*shape, 1))
            env[part] = reshape(b, cut, shape=shape)
    for op in graph.body:
        args = tuple([env.get(a, a) for a in op.args])
        b.append(op if args == op.args else Op(op.prim, args, op.attrs, op.regions, op.results, op.where))
    results = [env.get(r, r) for r in graph.results]
    made = []
    for k, value in enumerate(results):
        if k in wholes.results:
            shape = value.type.shape
            parts = [reshape(b, each, shape=(*shape, 1)) for each in results[k : k + 2]]
            made.append(concatenate(b, *parts, axis=len(shape)))
        elif k - 1 not in wholes.results:
            made.append(value)
    return b.finish(made)


class ComplexKernel(Rearranged):
    """A kernel that is called as the graph is, and runs on complex arrays as they lie in memory."""

    def __init__(self, source: Graph, wholes: Wholes, kernel: Any) -> None:
        super().__init__(source, kernel)
        self.wholes = wholes

    def run(
        self, arrays: Sequence[np.ndarray], into: Mapping[int, np.ndarray] = MappingProxyType({})
    ) -> list[np.ndarray]:
        """The results; `into` has arrays for some of them."""
        params, results = self.wholes
        given = []
        for k, array in enumerate(arrays):
            if k in params:
                given.append(whole(array, arrays[k + 1])[..., None].view(array.dtype))
            elif k - 1 not in params:
                given.append(array)
        found: list[np.ndarray] = []
        for array in self.kernel.run(given):
            found += [array[..., 0], array[..., 1]] if len(found) in results else [array]
        for k, array in into.items():
            array[...] = found[k]
            found[k] = array
        return found

    def result(self, tree: Any) -> Any:
        """What an entry makes: the result, with complex arrays for the pairs that are made of parts."""
        places, number = {}, 0
        for k in range(len(self.source.results)):
            if k - 1 not in self.wholes.results:
                places[k], number = number, number + 1
        return _renumbered(tree, places, self.wholes.results)


def _renumbered(result: Any, places: Mapping[int, int], wholes: frozenset[int]) -> Any:
    if _is_array(result) and result.items[0].index in wholes:
        re = result.items[0]
        return specs.ArrayResult(places[re.index], WHOLE[re.dtype], re.shape)
    items = items_of(result)
    if items is not None:
        made = tuple([_renumbered(each, places, wholes) for each in items])
        return replace(result, items=made)
    return replace(result, index=places[result.index]) if hasattr(result, "index") else result


__all__ = ["ComplexKernel", "Wholes", "array_of", "in_memory", "wholes_of"]
