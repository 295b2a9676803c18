"""Compiled functions inside JAX.

    log_density = pullback.to_jax(f)            # f is NumPy code, or a function under jit, grad and so on
    jax.jit(jax.value_and_grad(log_density))(x)

A call is an operation of JAX's own kind (a primitive), which XLA runs by calling the kernel: no Python runs then.
JAX's transforms find our derivatives: the gradient of a function with one float result comes from one kernel with its
value, other functions have a pullback and a pushforward, and `vmap` is a kernel for many lanes. Derivatives of these
are made in the same way, so every order can be had.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...compiler.frontend import tree
from ...compiler.frontend.array import Array
from ...compiler.frontend.static_keys import static_key, static_value
from ...compiler.ir.types import DTYPES, NAMES
from ...compiler.locks import lock
from ..compiled.function import Function
from ..transforms import jit
from . import packages
from .flat import Flat, Places
from .xla import Handler


class Registered:
    """A function that XLA knows by name. XLA keeps no count of who uses a name, so it stays for ever.

    flat     the function
    target   its name
    linear   the function, its number of arguments and the arguments `wrt`, if this is a pushforward:
             linear in what comes behind the arguments
    """

    def __init__(self, flat: Flat, target: str, linear: tuple[Registered, Places] | None) -> None:
        self.flat, self.target, self.linear = flat, target, linear
        self.handler = Handler(flat)

    def __repr__(self) -> str:
        return self.flat.name

    def pushed(self, wrt: Places) -> Registered:
        return registered(self.flat.push(wrt), (self, wrt))


_known: dict[Any, Registered] = {}
_lock = lock()


def registered(flat: Flat, linear: tuple[Registered, Places] | None = None) -> Registered:
    """The function, known to XLA; one that does the same is registered once."""
    jax = packages.jax()
    with _lock:
        key = flat.key, linear
        found = _known.get(key)
        if found is None:
            found = _known[key] = Registered(flat, f"pullback.{len(_known)}.{flat.name}", linear)
            capsule = jax.ffi.pycapsule(found.handler.address)
            jax.ffi.register_ffi_target(found.target, capsule, platform="cpu")
        return found


# ---- JAX's side of it


@functools.cache
def primitive() -> Any:
    """The operation of JAX that calls a registered function."""
    jax = packages.jax()
    ad, batching, mlir = jax.interpreters.ad, jax.interpreters.batching, jax.interpreters.mlir

    made = jax.extend.core.Primitive("pullback")
    made.multiple_results = True

    @functools.cache
    def compiled(function: Registered) -> Any:
        return jax.jit(lambda *args: made.bind(*args, function=function))

    def run(*args: Any, function: Registered) -> Any:
        with jax.disable_jit(False):
            return compiled(function)(*args)

    def abstract(*args: Any, function: Registered) -> list[Any]:
        return [jax.core.ShapedArray(t.static_shape(), t.numpy) for t in function.flat.results]

    def lowered(ctx: Any, *operands: Any, function: Registered) -> Any:
        return jax.ffi.ffi_lowering(function.target)(ctx, *operands)

    made.def_impl(run)
    made.def_abstract_eval(abstract)
    mlir.register_lowering(made, lowered, platform="cpu")
    ad.primitive_jvps[made] = _pushed
    ad.primitive_transposes[made] = _transposed
    batching.primitive_batchers[made] = _batched
    return made


def _pushed(primals: Sequence[Any], tangents: Sequence[Any], *, function: Registered) -> tuple[Any, Any]:
    """The results and their tangents."""
    jnp = packages.jax().numpy
    ad = packages.jax().interpreters.ad
    flat, call = function.flat, primitive().bind
    given = [k for k, t in enumerate(tangents) if type(t) is not ad.Zero and k in flat.floats]
    if flat.is_scalar and function.linear is None and given:
        both = registered(flat.gradient(tuple(given)))
        value, *slopes = call(*primals, function=both)
        terms = [jnp.sum(slope * tangents[k]) for k, slope in zip(given, slopes, strict=True)]
        return [value], [functools.reduce(jnp.add, terms).astype(value.dtype)]
    values = call(*primals, function=function)
    if not given or not flat.float_results:
        return values, [_no_tangent(v) for v in values]
    if function.linear is not None and min(given) >= len(function.linear[0].flat.nodes):
        count = len(function.linear[0].flat.nodes)
        directions = [ad.instantiate_zeros(t) for t in tangents[count:]]
        return values, call(*primals[:count], *directions, function=function)
    made = iter(call(*primals, *[tangents[k] for k in given], function=function.pushed(tuple(given))))
    floats = set(flat.float_results)
    return values, [next(made) if k in floats else _no_tangent(v) for k, v in enumerate(values)]


def _no_tangent(value: Any) -> Any:
    """The tangent of what does not move."""
    jax = packages.jax()
    ad = packages.jax().interpreters.ad
    return ad.Zero(jax.typeof(value).to_tangent_aval())


def _transposed(cotangents: Sequence[Any], *args: Any, function: Registered) -> list[Any]:
    """The cotangents of the arguments in which the function is linear: those of a pushforward."""
    ad = packages.jax().interpreters.ad
    unknown = [k for k, a in enumerate(args) if ad.is_undefined_primal(a)]
    count = len(function.linear[0].flat.nodes) if function.linear else len(args)
    if function.linear is None or not unknown or min(unknown) < count:
        raise TypeError(f"{function} is not linear in what it is transposed for")
    of, wrt = function.linear
    pull = registered(of.flat.pull(wrt))
    made = primitive().bind(*args[:count], *map(ad.instantiate_zeros, cotangents), function=pull)
    return [made[k - count] if k in unknown else None for k in range(len(args))]


def _batched(args: Sequence[Any], dims: Sequence[Any], *, function: Registered) -> tuple[Any, list[int]]:
    """The results for all lanes, from a kernel for so many."""
    jnp = packages.jax().numpy
    wide = [type(d) is int for d in dims]
    size = next(a.shape[d] for a, d, w in zip(args, dims, wide, strict=True) if w)
    moved = [jnp.moveaxis(a, d, 0) if w else a for a, d, w in zip(args, dims, wide, strict=True)]
    lanes = function.flat.lanes(tuple(wide), size)
    linear = None
    if function.linear is not None:
        of, wrt = function.linear
        count = len(of.flat.nodes)
        if all(wide[count:]) and all(wide[k] for k in wrt):
            linear = registered(of.flat.lanes(tuple(wide[:count]), size)), wrt
            lanes = linear[0].flat.push(wrt)
    made = primitive().bind(*moved, function=registered(lanes, linear))
    return made, [0] * len(made)


# ---- what users call


class Shape(NamedTuple):
    """A function for arguments of one structure and of known types, and the structure of its result."""

    function: Registered
    structure: Any
    constants: tuple[Any, ...]


class InJax:
    """A function that JAX calls; see `to_jax`."""

    def __init__(self, function: Callable[..., Any]) -> None:
        owner: Any = function if isinstance(function, Function) else jit(function)
        self.__name__, self.__doc__, self.__wrapped__ = owner.__name__, owner.__doc__, owner
        self._shapes: dict[Any, Shape] = {}

    def __repr__(self) -> str:
        return f"<{self.__name__} in JAX>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        jax = packages.jax()
        flat, structure = jax.tree.flatten((args, kwargs))
        places = self._static_places(args, kwargs)
        given, nodes, key = [], [], []
        for x, place in zip(flat, places, strict=True):
            node = None if place else self._node(x)
            if node is None:
                key.append(static_key(x))
            else:
                given.append(jax.numpy.asarray(x))
                nodes.append(node)
                key.append(None)
        shape = self._shape((structure, tuple(key), tuple(nodes), jax.config.jax_enable_x64))
        made = iter(primitive().bind(*given, function=shape.function))
        leaves = [next(made) if c is _ARRAY else c for c in shape.constants]
        return jax.tree.unflatten(shape.structure, leaves)

    def _static_places(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[bool]:
        """For every leaf of the arguments, whether it belongs to a static one."""
        jax = packages.jax()
        static = self.__wrapped__._static
        marks = [jax.tree.map(lambda _, k=k: k in static, each) for k, each in enumerate(args)]
        named = {name: jax.tree.map(lambda _, name=name: name in static, each) for name, each in kwargs.items()}
        return jax.tree.leaves((tuple(marks), named))

    def _node(self, x: Any) -> tree.Signature | None:
        """The type of a leaf, as part of a signature; None for what is static."""
        jax = packages.jax()
        if isinstance(x, Array):
            raise TypeError(f"{self!r} is called where pullback traces: call {self.__name__} itself there")
        if isinstance(x, (bool, str, bytes)) or not isinstance(x, (float, int, np.generic, np.ndarray, jax.Array)):
            return None
        aval = jax.typeof(jax.numpy.asarray(x))
        name = NAMES.get(np.dtype(aval.dtype)) if aval.dtype != jax.dtypes.float0 else None
        if name not in DTYPES:
            known = ", ".join(map(str, DTYPES.values()))
            raise TypeError(f"{self.__name__} in JAX: an argument has dtype {aval.dtype}; supported are {known}")
        if getattr(aval, "weak_type", False) and not aval.shape and name in ("f64", "i64"):
            return tree.FLOAT if name == "f64" else tree.INT
        return ("scalar", name) if not aval.shape else ("array", name, tuple(aval.shape))

    def _shape(self, key: Any) -> Shape:
        found = self._shapes.get(key)
        if found is None:
            found = self._shapes[key] = self._made(*key[:3])
        return found

    def _made(self, structure: Any, statics: tuple[Any, ...], nodes: tuple[tree.Signature, ...]) -> Shape:
        jax = packages.jax()
        owner, outcome = self.__wrapped__, []

        def flat(*given: Any) -> tuple[Any, ...]:
            parts = iter(given)
            leaves = [next(parts) if s is None else static_value(s) for s in statics]
            args, kwargs = jax.tree.unflatten(structure, leaves)
            results, form = jax.tree.flatten(owner(*args, **kwargs))
            arrays = [isinstance(x, (Array, np.ndarray, np.generic)) for x in results]
            outcome[:] = [form, tuple([_ARRAY if a else x for a, x in zip(arrays, results, strict=True)])]
            return tuple([_narrowed(x) for a, x in zip(arrays, results, strict=True) if a])

        function = registered(Flat(flat, nodes, self.__name__.strip("<>")))
        return Shape(function, *outcome)


class _Array:
    """Stands for an array among the leaves of a result."""


_ARRAY = _Array()


def _narrowed(x: Any) -> Any:
    """A result in the dtype that JAX has for it, which without jax_enable_x64 is of 32 bits."""
    jax = packages.jax()
    if not isinstance(x, Array):
        x = np.asarray(x)
    wanted = np.dtype(jax.dtypes.canonicalize_dtype(x.dtype))
    return x if wanted == x.dtype else x.astype(wanted)


def to_jax(function: Callable[..., Any]) -> InJax:
    """A function for JAX: it takes and returns JAX's arrays, and works under jit, grad, jvp, vmap and in loops.

    function   NumPy code, or a function made by `jit`, `grad`, `value_and_grad` and so on

    Arguments and results are arrays and numbers, or trees of them; strings, None and bools are static. Each structure,
    dtype and shape is compiled for itself, when JAX traces the call. What the function reads from outside is as it is
    then. Without jax_enable_x64 results of 64 bits come back in 32, as all of JAX's do. A failing index is a
    JaxRuntimeError with our message. On processors only. What was compiled stays in memory as long as the process
    lives, because JAX forgets no name.
    """
    if not callable(function):
        raise TypeError(f"to_jax takes a function, got {type(function).__name__}")
    return InJax(function)


__all__ = ["InJax", "to_jax"]
