"""A function of one for many at once: vmap.

    distances = vmap(lambda x, y: np.sqrt(np.sum((x - y) ** 2)), in_axes=(0, None))
    distances(points, origin)                   one distance for each row of points

The function is traced for one lane, and its graph batched: array work over all lanes (`passes.batch`). Where lanes take
different numbers of rounds, or part at a branch that may fail, they run one after the other in a compiled loop.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np

from ..compiler.frontend import region as R
from ..compiler.frontend import tracing, tree
from ..compiler.frontend.array import Array
from ..compiler.frontend.promotion import lift
from ..compiler.frontend.region import Leaf
from ..compiler.frontend.sizes import Length, freeze
from ..compiler.frontend.static_keys import static_key
from ..compiler.frontend.tracing import Tracing
from ..compiler.ir.primitive import NotBatchable
from ..compiler.passes.batch import batched, widened
from . import control, solvers  # noqa: F401  # the latter registers what SciPy's solvers mean
from .compiled.byname import made_of
from .compiled.chosen import EVERY
from .compiled.derive import Jit
from .compiled.function import Function
from .compiled.tracebacks import boundary

Axes = Any
SHARED = None
"""The axis of what is the same for all lanes."""


class Mapped(Function):
    """A function of many lanes. Tensors, whose history a compiled function would lose, are mapped in their own way."""

    def __init__(
        self, function: Callable[..., Any], in_axes: Axes, out_axes: Axes, options: dict[str, Any],
        static_argnums: Any = (), static_argnames: Any = (),
    ) -> None:
        self.one, self.options = (function, in_axes, out_axes), options

        @functools.wraps(function)
        def mapped(*args: Any, **kwargs: Any) -> Any:
            now = tracing.current()
            assert now is not None, "jit traces"
            return _mapped(now, function, (args, kwargs), (in_axes, out_axes), self._static)

        super().__init__(mapped, Jit("vmap", opens=EVERY), static_argnums, static_argnames)
        self.plain = functools.partial(_lane_by_lane, function, in_axes, self._static)
        made_of(self, function, in_axes, out_axes, options, static_argnums, static_argnames)

    def _opened(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments, those with lanes taken apart, whatever containers they are."""
        axes = self.one[1] if isinstance(self.one[1], (tuple, list)) else [self.one[1]] * len(args)
        opened = [x if axis is SHARED or k in self._static else tree.opened(x)
                  for k, (x, axis) in enumerate(zip(args, axes, strict=False))]  # fmt: skip
        return (*opened, *args[len(opened) :]), {name: tree.opened(x) for name, x in kwargs.items()}

    def __slow__(self, *args: Any, **kwargs: Any) -> Any:
        if tree.EAGER and tracing.current() is None:
            leaves = _leaves((args, kwargs))
            for kind, mapped in tree.EAGER.items():
                if any(isinstance(x, kind) for x in leaves):
                    return mapped(*self.one, **self.options)(*args, **kwargs)
        if self.options:
            raise TypeError(f"vmap of {self.__name__}: {next(iter(self.options))} is for functions of Tensors")
        return super().__slow__(*args, **kwargs)


def _leaves(given: Any) -> list[Any]:
    """The leaves of nested containers."""
    if isinstance(given, dict):
        given = tuple(given.values())
    return [leaf for each in given for leaf in _leaves(each)] if isinstance(given, (tuple, list)) else [given]


@boundary
def vmap(
    function: Callable[..., Any], in_axes: Axes = 0, out_axes: Axes = 0, *, static_argnums: Any = (),
    static_argnames: Any = (), has_aux: bool = False, **dims: Any,
) -> Callable[..., Any]:
    """`function` for every lane: along an axis of its arguments, which it does not see.

    in_axes    the axis of the lanes in each argument: an int, None for what all lanes share, or a tuple with one for
               each argument, which may hold trees of axes in place of an int
    out_axes   where that axis stands in the results
    static_argnums, static_argnames
               arguments whose values decide how the program looks, see `grad`: all lanes share them, whatever in_axes
               says
    has_aux    f returns (value, aux): out_axes says where the lanes are in the value, in aux they are along axis 0

    PyTorch's names `in_dims` and `out_dims` do, too, and for functions of Tensors `randomness` and `chunk_size`; these
    keep their history, and share what is given by name. Keyword arguments of others have their lanes along axis 0.
    Works within compiled functions, on functions under `grad` and other transforms, and on itself. TypeError where an
    argument has no such axis, ValueError where lengths differ.

    >>> vmap(grad(lambda x: x ** 2))(np.array([1.0, 2.0, 3.0]))
    array([2., 4., 6.])
    """
    if not callable(function):
        raise TypeError(f"vmap takes a function, got {type(function).__name__}: {function!r:.60}")
    in_axes, out_axes = dims.pop("in_dims", in_axes), dims.pop("out_dims", out_axes)
    options = {name: dims.pop(name) for name in ("randomness", "chunk_size") if name in dims}
    if dims:
        raise TypeError(f"vmap has no argument {next(iter(dims))}; it takes in_axes and out_axes, or in_dims, out_dims")
    if has_aux:
        out_axes = (out_axes, 0)
    return Mapped(function, in_axes, out_axes, options, static_argnums, static_argnames)


def _taken(
    args: Sequence[Any], kwargs: dict[str, Any], in_axes: Axes, static: Collection[int | str],
) -> tuple[list[str], list[tree.Signature], list[Any], list[int | None]]:
    """The arguments taken apart: their titles, signatures, leaves, and the axis of the lanes in each leaf."""
    axes = in_axes if isinstance(in_axes, (tuple, list)) else (in_axes,) * len(args)
    if len(axes) != len(args):
        raise ValueError(f"vmap: in_axes has {len(axes)} axes for {len(args)} arguments")
    leaves: list[Any] = []
    places: list[int | None] = []
    structures: list[tree.Signature] = []
    titles: list[int | str] = [*range(len(args)), *kwargs]
    given = [*zip(axes, args, strict=True), *((0, v) for v in kwargs.values())]
    for title, (axis, each) in zip(titles, given, strict=True):
        if title in static:
            structures.append(("static", static_key(each)))
            continue
        structures.append(R.flatten(each, leaves, f"vmap: argument {title}"))
        _spread_axes(axis, structures[-1], places, f"argument {title}")
    return [str(each) for each in titles], structures, leaves, places


def _lane_by_lane(
    function: Callable[..., Any], in_axes: Axes, static: Collection[int | str], *args: Any, **kwargs: Any
) -> None:
    """Python's way: what a lane raises is raised, and its warnings come."""
    _, structures, leaves, places = _taken(args, kwargs, in_axes, static)
    columns = [x if place is None else np.moveaxis(x, place, 0) for x, place in zip(leaves, places, strict=True)]
    for k in range(next(len(x) for x, place in zip(columns, places, strict=True) if place is not SHARED)):
        lane = iter([x if place is SHARED else x[k] for x, place in zip(columns, places, strict=True)])
        made = [tree.rebuild(s, lane) for s in structures]
        function(*made[: len(args)], **dict(zip(kwargs, made[len(args) :], strict=True)))


def _mapped(
    now: Tracing, function: Any, given: tuple[Any, Any], axes: tuple[Axes, Axes], static: Collection[int | str]
) -> Any:
    (args, kwargs), (in_axes, out_axes) = given, axes
    titles, structures, leaves, places = _taken(args, kwargs, in_axes, static)
    wide = [k for k, place in enumerate(places) if place is not SHARED]
    paths = _paths(titles, structures)
    columns = [_in_front(leaves[k], places[k], paths[k]) for k in wide]
    size = _lanes(columns)

    def one(*lane: Any) -> Any:
        whole = list(leaves)
        for k, x in zip(wide, lane, strict=True):
            whole[k] = x
        parts = iter(whole)
        made = [tree.rebuild(s, parts) for s in structures]
        return R.call(function, *made[: len(args)], **dict(zip(kwargs, made[len(args) :], strict=True)))

    stacked = _batched(now, one, columns, size)
    if stacked is None:
        _, stacked = control.scan(lambda carry, x: (carry, one(*x)), (), tuple(columns))
    return _moved(stacked, out_axes)


def _spread_axes(axis: Axes, structure: tree.Signature, places: list[int | None], what: str) -> None:
    """The axis of every leaf of an argument."""
    if axis is None or (isinstance(axis, int) and not isinstance(axis, bool)):
        if axis is not None and any(tree.is_table_node(node) for _, node in tree.nodes(structure)):
            fix = "pass np.asarray(...) of it, or give it in_axes=None"
            raise TypeError(f"vmap: {what} is a table of pandas, which is not taken apart into lanes: {fix}")
        places += [axis] * sum(node[0] != "static" for _, node in tree.nodes(structure))
        return
    inner = list(axis.values()) if isinstance(axis, dict) else axis
    if not isinstance(inner, (tuple, list)) or structure[0] not in tree.CONTAINERS or len(inner) != len(structure[-1]):
        raise TypeError(f"vmap: in_axes of {what} is {axis!r}, expected an int, None, or a tree of them like it")
    for k, (each, node) in enumerate(zip(inner, structure[-1], strict=True)):
        _spread_axes(each, node, places, f"{what}[{k}]")


def _paths(titles: Sequence[str], structures: Sequence[tree.Signature]) -> list[str]:
    """How a user would write each traced part of the arguments."""
    pairs = zip(titles, structures, strict=True)
    return [f"argument {title}{path}" for title, s in pairs for path, node in tree.nodes(s) if node[0] != "static"]


def _in_front(x: Any, axis: int | None, path: str) -> Any:
    """An argument with the axis of its lanes in front."""
    rank = np.ndim(x) if not isinstance(x, Array) else x.ndim
    array: Any = x
    assert axis is not None
    if not -rank <= axis < rank:
        raise TypeError(f"vmap: {path} has {rank} axes, and none with number {axis}; in_axes of None hands it on whole")
    return np.moveaxis(array, axis, 0) if axis % rank else x


def _lanes(columns: Sequence[Any]) -> int:
    if not columns:
        raise ValueError("vmap needs an argument with lanes: in_axes is None for all of them")
    sizes = []
    for each in columns:
        if isinstance(each.shape[0], Length):
            freeze(each.shape[0], "vmap() over it")
        sizes.append(int(each.shape[0]))
    if len(set(sizes)) > 1:
        raise ValueError(f"vmap: the arguments have different numbers of lanes: {', '.join(map(str, sizes))}")
    return sizes[0]


def _batched(now: Tracing, one: Callable[..., Any], columns: Sequence[Any], size: int) -> Any:
    """The results with the lanes in front; None if they cannot be made for all lanes at once."""
    rows = [Leaf(t.with_shape(t.shape[1:]), weak) for t, weak in map(R.leaf_of, columns)]
    region = R.trace_region(now, "lane", rows, one)
    extras, (places,) = R.arguments(now, (region,))
    given = [*(lift(now, x) for x in columns), *(extras[p] for p in places)]
    flags = [True] * len(columns) + [False] * len(places)
    mark = len(now.builder.body)
    try:
        values, wide = batched(now.builder, region.graph, given, flags, size)
        made = [v if w else widened(now.builder, v, size) for v, w in zip(values, wide, strict=True)]
    except NotBatchable:
        del now.builder.body[mark:]
        return None
    return R.rebuild(region.signature, [Array(now, v) for v in made])


def _kind_of(made: Any) -> str:
    return f"{len(made)} results" if isinstance(made, (tuple, list)) else "one result"


def _moved(stacked: Any, out_axes: Axes) -> Any:
    if isinstance(out_axes, int):
        arrays: list[Any] = []
        structure = R.flatten(stacked, arrays, "vmap: the result")
        return R.rebuild(structure, [np.moveaxis(x, 0, out_axes) for x in arrays]) if out_axes else stacked
    if isinstance(out_axes, (tuple, list)) and isinstance(stacked, (tuple, list)) and len(out_axes) == len(stacked):
        return type(stacked)([_moved(x, axis) for x, axis in zip(stacked, out_axes, strict=True)])
    verdict = f"vmap: out_axes is {out_axes!r}, expected an int, or a tuple with one for each result"
    raise TypeError(f"{verdict}, got {_kind_of(stacked)}")


__all__ = ["vmap"]
