"""Compiled functions of arrays only, with what other packages ask of a function: derivatives, and itself in lanes.

    f = Flat(lambda x, n: (np.sum(x ** 2) * n,), [("array", "f64", (3,)), ("array", "i64", ())], "f")
    f.results                   (f64[],)
    f.pull((0,))                (x, n, cotangent) -> the cotangent of x
    f.push((0,))                (x, n, tangent of x) -> the tangent of the result
    f.gradient((0,))            (x, n) -> the value, the gradient for x
    f.lanes((True, False), 8)   the same for eight x and one n

Each of them is such a function again, made when it is first asked for and kept, so they can be asked for derivatives
of every order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...compiler.backend.kernel import Kernel
from ...compiler.frontend import tracing, tree
from ...compiler.frontend.array import Array
from ...compiler.frontend.promotion import conform
from ...compiler.frontend.results import from_values
from ...compiler.ir.graph import inline
from ...compiler.ir.text import show
from ...compiler.ir.types import FLOATING, Type
from ...compiler.locks import cached_property
from ..compiled import kernels
from ..compiled.compiled import Compiled, warns
from ..compiled.derive import Jit, inner
from ..compiled.foreign import indices
from ..compiled.function import Function
from ..transforms import grad, jit, value_and_grad
from ..vmap import vmap

Places = tuple[int, ...]
Arrays = tuple[Any, ...]
NO_NAMES = ("dict", (), ())
"""The part of a signature for arguments by name."""


class Flat:
    """A compiled function from arrays of known types to a tuple of arrays.

    run      the function, compiled by itself
    nodes    its arguments, as parts of a signature
    floats   the numbers of those that can be differentiated
    """

    def __init__(self, function: Callable[..., Arrays], nodes: Sequence[tree.Signature], name: str) -> None:
        function.__name__ = name
        self.name, self.nodes = name, tuple(nodes)
        self.run = Function(function, Jit(), sizes="static")
        self.floats = tuple([k for k, node in enumerate(nodes) if tree.dtype_of(node) in FLOATING])
        self._derived: dict[Any, Flat] = {}

    # ---- what was compiled

    @cached_property
    def compiled(self) -> Compiled:
        """The function for arguments of these types, with what it reads from outside as it is now."""
        made = self.run.compiled(("tuple", (*self.nodes, NO_NAMES)), enters=False)
        if warns(made.graph):
            raise TypeError(f"{self.name} prints, logs or warns, which needs Python to call it: take it out")
        return made

    @cached_property
    def extras(self) -> list[np.ndarray]:
        """Copies of the arrays that the function read beside its arguments; its kernel takes them last."""
        return [np.array(tree.canonical(np.asarray(each)), order="C") for each in self.compiled.traced.extras]

    @property
    def kernel(self) -> Kernel:
        """Its machine code."""
        kernel = kernels.plain(self.compiled.kernel)
        if kernel is None:
            raise RuntimeError(f"{self.name} has no machine code{kernels.not_compiled(self.compiled.kernel)}")
        return kernel

    @cached_property
    def order(self) -> list[int]:
        """For each result, its number among those of the kernel."""
        return indices(self.compiled.result)

    @cached_property
    def results(self) -> tuple[Type, ...]:
        """The types of the results."""
        made = self.compiled.graph.results
        return tuple([made[k].type for k in self.order])

    @cached_property
    def float_results(self) -> list[int]:
        """The numbers of the results that have cotangents."""
        return [k for k, type in enumerate(self.results) if type.is_float]

    @cached_property
    def is_scalar(self) -> bool:
        """Whether the one result is a float, so that its gradient is its whole derivative."""
        return len(self.results) == 1 and not self.results[0].shape and self.results[0].is_float

    @cached_property
    def key(self) -> Any:
        """Equal for functions whose kernels do the same."""
        extras = tuple([(each.dtype.str, each.shape, each.tobytes()) for each in self.extras])
        return self.name, show(self.compiled.graph, bare=True), tuple(self.order), extras

    def call(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        """The results for C-contiguous arrays of the arguments' types."""
        made = self.compiled.kernel.run([*arrays, *self.extras])
        return [made[k] for k in self.order]

    def within(self, *given: Any) -> Arrays:
        """The same inside a trace, with what it has read from outside as it was."""
        now, compiled = tracing.current(), self.compiled
        assert now is not None, "this is for functions that are being traced"
        whole = zip([*given, *self.extras], compiled.graph.params, strict=True)
        args = [conform(now, x, p.type.numpy, p.type.shape) for x, p in whole]
        return from_values(compiled.result, now, inline(compiled.graph, now.builder, args))

    # ---- what is derived from it

    def _once(self, key: Any, make: Callable[[], Flat]) -> Flat:
        found = self._derived.get(key)
        if found is None:
            found = self._derived[key] = make()
        return found

    def pull(self, wrt: Places) -> Flat:
        """The arguments, and a cotangent for each float result -> the cotangents of arguments `wrt`."""
        return self._once(("pull", wrt), lambda: self._pull(wrt))

    def _pull(self, wrt: Places) -> Flat:
        count = len(self.nodes)

        def back(*given: Any) -> Arrays:
            only, floats = self._only(given[:count], wrt)
            along = grad(lambda *p: inner(only(*p), given[count:]), argnums=tuple(range(len(wrt))))
            return as_results(along(*floats))

        return Flat(back, [*self.nodes, *map(_node, self._outs())], f"{self.name}_pull")

    def push(self, wrt: Places) -> Flat:
        """The arguments, and a tangent for each of those in `wrt` -> the tangents of the float results."""
        return self._once(("push", wrt), lambda: self._push(wrt))

    def _push(self, wrt: Places) -> Flat:
        count = len(self.nodes)

        def forward(*given: Any) -> Arrays:
            only, floats = self._only(given[:count], wrt)

            def along(cotangents: Arrays) -> Any:
                pulled = grad(lambda *p: inner(only(*p), cotangents), argnums=tuple(range(len(wrt))))
                return inner(pulled(*floats), tuple(given[count:]))

            return as_results(grad(along)(only(*floats)))

        tangents = [_node(_type(self.nodes[k])) for k in wrt]
        return Flat(forward, [*self.nodes, *tangents], f"{self.name}_push")

    def gradient(self, wrt: Places) -> Flat:
        """The arguments -> the value, which is one float, and its gradients for arguments `wrt`."""
        return self._once(("gradient", wrt), lambda: self._gradient(wrt))

    def _gradient(self, wrt: Places) -> Flat:
        both = value_and_grad(lambda *given: self.within(*given)[0], argnums=wrt)

        def run(*given: Any) -> Arrays:
            value, made = both(*given)
            return as_results((value, *made))

        return Flat(run, self.nodes, f"{self.name}_gradient")

    def lanes(self, flags: tuple[bool, ...], size: int) -> Flat:
        """The function for `size` lanes; `flags` says which arguments have their axis in front, all results have."""
        return self._once(("lanes", flags, size), lambda: self._lanes(flags, size))

    def _lanes(self, flags: tuple[bool, ...], size: int) -> Flat:
        dtypes = [type.numpy for type in self.results]
        mapped = vmap(self.within, in_axes=tuple([0 if flag else None for flag in flags]))

        def run(*given: Any) -> Arrays:
            return as_results([x.astype(d) for x, d in zip(mapped(*given), dtypes, strict=True)])

        nodes = [_wide(node, size) if flag else node for node, flag in zip(self.nodes, flags, strict=True)]
        return Flat(run, nodes, f"{self.name}_lanes")

    def _outs(self) -> list[Type]:
        return [self.results[k] for k in self.float_results]

    def _only(self, given: Sequence[Any], wrt: Places) -> tuple[Callable[..., Arrays], list[Any]]:
        """The function of arguments `wrt`, the others being given, that returns the float results; and those `wrt`."""
        kept = self.float_results

        def only(*floats: Any) -> Arrays:
            whole = list(given)
            for k, x in zip(wrt, floats, strict=True):
                whole[k] = x
            made = self.within(*whole)
            return tuple([made[k] for k in kept])

        return jit(only), [given[k] for k in wrt]


def as_results(made: Sequence[Any]) -> Arrays:
    """What a function returns, with an array for every constant among it."""
    return tuple([x if isinstance(x, Array) else np.asarray(tree.canonical(np.asarray(x))) for x in made])


def _type(node: tree.Signature) -> Type:
    return Type(tree.dtype_of(node), tree.shape_of(node))


def _node(type: Type) -> tree.Signature:
    return ("array", type.dtype, type.static_shape())


def _wide(node: tree.Signature, size: int) -> tree.Signature:
    return ("array", tree.dtype_of(node), (size, *tree.shape_of(node)))


__all__ = ["Flat", "as_results"]
