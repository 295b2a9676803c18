"""Compiled functions inside PyTorch.

    loss = pullback.to_torch(f)                 # f is NumPy code, or a function under jit, grad and so on
    loss(model(x)).backward()

A call is one operator of PyTorch's, `pullback::call(Tensor[] inputs, int function) -> Tensor[]`, with our derivatives:
a function with one float result has its value and its gradient from one kernel, others a pullback. The derivatives
are calls of the operator too, so every order can be had. `torch.compile` sees the operator as a whole, and `torch.vmap`
finds a kernel for many lanes.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...compiler.frontend import tree
from ...compiler.frontend.array import Array
from ...compiler.frontend.static_keys import static_key, static_value
from ...compiler.ir.types import STORED, Type
from ..compiled.function import Function
from ..transforms import jit
from . import packages
from .flat import Flat, Places


@dataclass(frozen=True, eq=False)
class Entry:
    """A function as the operator knows it, by its number. `wrt` says of which arguments it returns the gradients."""

    flat: Flat
    wrt: Places | None = None


_entries: list[Entry] = []
_numbers: dict[tuple[int, Places | None], int] = {}


def number_of(flat: Flat, wrt: Places | None = None) -> int:
    """The number by which the operator knows a function: it may stand in programs that PyTorch has compiled."""
    key = id(flat), wrt
    if key not in _numbers:
        _entries.append(Entry(flat, wrt))
        _numbers[key] = len(_entries) - 1
    return _numbers[key]


# ---- PyTorch's side of it


@functools.cache
def operator() -> Callable[[Sequence[Any], int], Any]:
    """The operator that calls a function, as torch.compile sees it."""
    torch = packages.torch()
    schema = "(Tensor[] inputs, int function) -> Tensor[]"

    @torch.library.custom_op("pullback::call", mutates_args=(), schema=schema, device_types="cpu")
    def call(inputs: Any, function: Any) -> Any:
        return _run(_entries[function].flat, inputs)

    @call.register_fake
    def shapes(inputs: Any, function: Any) -> Any:
        dtypes = torch_dtypes()
        return [torch.empty(t.static_shape(), dtype=dtypes[t.dtype]) for t in _entries[function].flat.results]

    def keep(ctx: Any, inputs: Any, output: Any) -> None:
        _keep(ctx, inputs[0], inputs[1], output)

    def pull(ctx: Any, cotangents: Any) -> Any:
        return _backward(call, ctx, cotangents, ctx.needs_input_grad[0]), None

    call.register_autograd(pull, setup_context=keep)
    return call


@functools.cache
def eager() -> Callable[[Sequence[Any], int], Any]:
    """The same call for programs that are not compiled: it costs less, and torch.func knows its parts."""
    torch = packages.torch()
    class Call(torch.autograd.Function):
        @staticmethod
        def forward(function: int, *inputs: Any) -> Any:
            return tuple(_run(_entries[function].flat, inputs))

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            _keep(ctx, inputs[1:], inputs[0], output)
            ctx.save_for_forward(*inputs[1:])
            ctx.mark_non_differentiable(*[y for y in output if not y.is_floating_point()])

        @staticmethod
        def backward(ctx: Any, *cotangents: Any) -> Any:
            return None, *_backward(call, ctx, cotangents, ctx.needs_input_grad[1:])

        @staticmethod
        def jvp(ctx: Any, _: None, *tangents: Any) -> Any:
            return _forward(call, ctx, tangents)

        @staticmethod
        def vmap(info: Any, in_dims: Any, function: int, *inputs: Any) -> Any:
            return _lanes(call, info.batch_size, in_dims[1:], inputs, function)

    alone = super(torch.autograd.Function, Call).apply  # without what torch.func needs, at half the cost

    def call(inputs: Sequence[Any], function: int) -> Any:
        apply = Call.apply if torch._C._are_functorch_transforms_active() else alone
        return apply(function, *inputs)

    return call


@functools.cache
def torch_dtypes() -> dict[str, Any]:
    """PyTorch's dtypes by our names."""
    torch = packages.torch()
    return {name: getattr(torch, str(dtype)) for name, dtype in STORED.items() if hasattr(torch, str(dtype))}


def _run(flat: Flat, inputs: Sequence[Any]) -> list[Any]:
    torch = packages.torch()
    given = [x.detach().numpy() for x in inputs]
    given = [x if x.flags.c_contiguous else np.array(x, order="C") for x in given]
    return [torch.from_numpy(y) for y in flat.call(given)]


def _keep(ctx: Any, inputs: Sequence[Any], function: int, output: Any) -> None:
    """Save the inputs, and the gradients if they are there already."""
    ctx.function, ctx.count = function, len(inputs)
    ctx.set_materialize_grads(False)
    ctx.save_for_backward(*inputs, *(output[1:] if _entries[function].wrt is not None else ()))


def _backward(call: Any, ctx: Any, cotangents: Sequence[Any], needed: Sequence[bool]) -> list[Any]:
    """The cotangents of the inputs."""
    entry = _entries[ctx.function]
    inputs, slopes = ctx.saved_tensors[: ctx.count], ctx.saved_tensors[ctx.count :]
    made: list[Any] = [None] * ctx.count
    if entry.wrt is not None and all(ct is None for ct in cotangents[1:]):
        for k, slope in zip(entry.wrt, slopes, strict=True):
            made[k] = None if cotangents[0] is None else cotangents[0] * slope
        return made
    wanted = tuple([k for k in entry.flat.floats if needed[k]])
    outs = entry.flat.float_results
    if wanted and outs and any(cotangents[k] is not None for k in outs):
        types = [entry.flat.results[k] for k in outs]
        weights = [_or_zeros(cotangents[k], type) for k, type in zip(outs, types, strict=True)]
        for k, ct in zip(wanted, call([*inputs, *weights], number_of(entry.flat.pull(wanted))), strict=True):
            made[k] = ct
    return made


def _forward(call: Any, ctx: Any, tangents: Sequence[Any]) -> tuple[Any, ...]:
    """The tangents of the results."""
    flat = _entries[ctx.function].flat
    wrt = tuple([k for k in flat.floats if tangents[k] is not None])
    made: list[Any] = [None] * len(flat.results)
    if wrt and flat.float_results:
        pushed = call([*ctx.saved_tensors[: ctx.count], *[tangents[k] for k in wrt]], number_of(flat.push(wrt)))
        for k, tangent in zip(flat.float_results, pushed, strict=True):
            made[k] = tangent
    return tuple(made)


def _or_zeros(cotangent: Any, type: Type) -> Any:
    torch = packages.torch()
    zero = cotangent is None
    return torch.zeros(type.static_shape(), dtype=torch_dtypes()[type.dtype]) if zero else cotangent


def _lanes(call: Any, size: int, in_dims: Any, inputs: Sequence[Any], function: int) -> tuple[Any, Any]:
    """The results for all lanes, with those in front."""
    wide = [d is not None for d in in_dims]
    moved = [x if d is None else x.movedim(d, 0) for x, d in zip(inputs, in_dims, strict=True)]
    made = call(moved, number_of(_entries[function].flat.lanes(tuple(wide), size)))
    return made, (0,) * len(made)


# ---- what users call


class Shape(NamedTuple):
    """A function for arguments of one structure and of known types; the structure of its result and the constants."""

    flat: Flat
    structure: Any
    constants: tuple[Any, ...]

    def call(self, call: Any, given: Sequence[Any]) -> Any:
        """The result as `call` makes it: with the gradient, if one is going to be asked for."""
        torch = packages.torch()
        flat, wrt = self.flat, None
        if flat.is_scalar and torch.is_grad_enabled() and any(x.requires_grad for x in given):
            wrt = tuple([k for k in flat.floats if given[k].requires_grad])
            flat = flat.gradient(wrt) if wrt else flat
        return self.result(call(given, number_of(flat, wrt or None)))

    def result(self, made: Sequence[Any]) -> Any:
        """The result that has these tensors in it."""
        pytree = packages.torch().utils._pytree

        if self.constants == (_ARRAY,) and self.structure.is_leaf():
            return made[0]
        parts = iter(made)
        return pytree.tree_unflatten([next(parts) if c is _ARRAY else c for c in self.constants], self.structure)


class InTorch:
    """A function that PyTorch calls; see `to_torch`."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._torch = packages.torch()
        owner: Any = function if isinstance(function, Function) else jit(function)
        self.__name__, self.__doc__, self.__wrapped__ = owner.__name__, owner.__doc__, owner
        self._shapes: dict[Any, Shape] = {}
        self._quick: dict[Any, Shape] = {}
        # torch.compile makes this call a part of its graph, without looking into it
        self._traced = packages.torch_compiler().nonstrict_trace(self._within)

    def __repr__(self) -> str:
        return f"<{self.__name__} in PyTorch>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        torch = self._torch
        if torch.compiler.is_compiling():
            return self._traced(*args, **kwargs)
        key = None if kwargs else tuple([(x.dtype, x.shape) if isinstance(x, torch.Tensor) else None for x in args])
        shape = self._quick.get(key)
        if shape is None or torch._C._are_functorch_transforms_active():
            shape, given = self._shape(args, kwargs)
            if key is not None and len(given) == len(args) and None not in key:
                self._quick[key] = shape
            return shape.call(eager(), given)
        followed = torch.is_grad_enabled() and any(x.requires_grad for x in args)
        if followed or torch.autograd.forward_ad._current_level >= 0:
            return shape.call(eager(), args)
        return shape.result(_run(shape.flat, args))

    def _within(self, *args: Any, **kwargs: Any) -> Any:
        shape, given = self._shape(args, kwargs)
        return shape.call(operator(), given)

    def _shape(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Shape, list[Any]]:
        """The function for arguments like these, and the tensors among them."""
        torch = packages.torch()
        pytree = packages.torch().utils._pytree

        leaves, structure = pytree.tree_flatten((args, kwargs))
        given, nodes, statics = [], [], []
        for x in leaves:
            node = self._node(x)
            statics.append(static_key(x) if node is None else None)
            if node is not None:
                given.append(x if isinstance(x, torch.Tensor) else torch.as_tensor(x, dtype=_wide(x)))
                nodes.append(node)
        key = structure, tuple(statics), tuple(nodes)
        if key not in self._shapes:
            self._shapes[key] = self._made(*key)
        return self._shapes[key], given

    def _node(self, x: Any) -> tree.Signature | None:
        """The type of a leaf, as part of a signature; None for what is static."""
        torch = packages.torch()
        if isinstance(x, Array):
            raise TypeError(f"{self!r} is called where pullback traces: call {self.__name__} itself there")
        if not isinstance(x, torch.Tensor):
            number = isinstance(x, (float, int)) and not isinstance(x, bool)
            return (tree.FLOAT if isinstance(x, float) else tree.INT) if number else None
        names = {dtype: name for name, dtype in torch_dtypes().items()}
        if x.dtype not in names:
            known = ", ".join(map(str, names))
            raise TypeError(f"{self.__name__} in PyTorch: an argument has dtype {x.dtype}; supported are {known}")
        if x.device.type != "cpu" or x.layout is not torch.strided:
            what = f"on {x.device}" if x.device.type != "cpu" else f"of layout {x.layout}"
            raise RuntimeError(f"{self.__name__} in PyTorch: an argument is {what}; expected dense tensors on the cpu")
        name, shape = names[x.dtype], tuple([int(n) for n in x.shape])
        return ("array", name, shape) if shape else ("scalar", name)

    def _made(self, structure: Any, statics: tuple[Any, ...], nodes: tuple[Any, ...]) -> Shape:
        pytree = packages.torch().utils._pytree

        owner, outcome = self.__wrapped__, []

        def flat(*given: Any) -> tuple[Any, ...]:
            parts = iter(given)
            leaves = [next(parts) if s is None else static_value(s) for s in statics]
            args, kwargs = pytree.tree_unflatten(leaves, structure)
            results, form = pytree.tree_flatten(owner(*args, **kwargs))
            arrays = [isinstance(x, (Array, np.ndarray, np.generic)) for x in results]
            outcome[:] = [form, tuple([_ARRAY if a else x for a, x in zip(arrays, results, strict=True)])]
            return tuple([x if isinstance(x, Array) else np.asarray(x)
                          for a, x in zip(arrays, results, strict=True) if a])

        made = Flat(flat, nodes, self.__name__.strip("<>"))
        assert made.compiled is not None  # it is traced now
        return Shape(made, *outcome)


class _Array:
    """Stands for an array among the leaves of a result."""


_ARRAY = _Array()


def _wide(x: Any) -> Any:
    torch = packages.torch()
    return torch.float64 if isinstance(x, float) else torch.int64


def to_torch(function: Callable[..., Any]) -> InTorch:
    """A function for PyTorch: it takes and returns torch.Tensors, with their gradients.

    function   NumPy code, or a function made by `jit`, `grad`, `value_and_grad` and so on

    Arguments and results are tensors and numbers, or trees of them; strings, None and bools are static. It works under
    autograd, in every order, in `torch.compile` without graph breaks, and under `torch.func`'s grad, vjp, jacrev and
    vmap. Each structure, dtype and shape is compiled for itself. TypeError for dtypes that we don't have, RuntimeError
    for tensors on other devices. What the function reads from outside is as it is when it is compiled.
    """
    if not callable(function):
        raise TypeError(f"to_torch takes a function, got {type(function).__name__}")
    return InTorch(function)


__all__ = ["InTorch", "to_torch"]
