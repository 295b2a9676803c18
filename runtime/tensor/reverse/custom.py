"""`autograd.Function`: operations whose backward the user writes.

    class Cube(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x ** 3

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return 3 * x * x * grad

    y = Cube.apply(x)

Both parts are recorded like other code, so they run in the same kernels.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any
from weakref import ref

from ..ops.arranging.shapes import reshape
from ..ops.elementwise.elementary import cast_to
from ..ops.folds.reductions import sum_
from ..trace.tape import here
from ..transforms.forward import with_rule
from ..transforms.mapping import in_lanes, mapped_by
from ..value.cells import Cell, Kind, levels_of
from ..value.core import CUSTOM, Core, requires, wrap
from ..value.views import alias
from .modes import mode, watch
from .nodes import AGAIN, AccumulateGrad, Flow, Node, check_unwritten, zeros


class Saved:
    """A tensor that the user saved: its cell, and its place in the gradient graph."""

    def __init__(self, tensor: Core, result: int | None) -> None:
        cell = tensor._read()
        self.packed: Any = mode.packers[-1](cell) if watch.packers and mode.packers else cell
        self.result = result
        self.leaf = tensor if result is None and tensor._node is None else None
        self.edge = None if result is not None or tensor._node is None else (tensor._node, tensor._index)

    def tensor(self, node: Node) -> Core:
        """The tensor again, for the backward of `node`."""
        if self.leaf is not None and isinstance(self.packed, Cell):
            if self.packed.home is not None:
                check_unwritten(self.packed, node)
            return self.leaf
        cell = node.read(self.packed)
        edge = (node, self.result) if self.result is not None else self.edge
        return wrap(cell) if edge is None else wrap(cell, *edge)


class FunctionCtx:
    """What forward hands to backward: saved tensors, notes about the results, and any attributes of the user."""

    needs_input_grad: tuple[bool, ...] = ()

    def __init__(self) -> None:
        self._kept: Sequence[Core | None] = ()
        self._saved: list[Saved | None] | None = []
        self._dirty: Sequence[Any] = ()
        self._constant: Sequence[Any] = ()
        self._materialize = True
        self._node: Callable[[], Node] | None = None

    def save_for_backward(self, *tensors: Core | None) -> None:
        """Keep inputs, results or other tensors; once in a forward."""
        for k, t in enumerate(tensors):
            if t is not None and not isinstance(t, Core):
                raise TypeError(
                    f"save_for_backward can only save variables, but argument {k} is of type {type(t).__name__}"
                )
        self._kept = tensors

    def save_for_forward(self, *tensors: Core | None) -> None:
        """Keep tensors for jvp."""
        self.save_for_backward(*tensors)

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """The tensors that were saved; an error once backward has let them go."""
        if self._node is None:
            return tuple(self._kept)
        if self._saved is None:
            raise RuntimeError(AGAIN.format(name=self._node().name()))
        return tuple([s and s.tensor(self._node()) for s in self._saved])

    def mark_dirty(self, *tensors: Core) -> None:
        """Say which inputs forward wrote to; they must be returned."""
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors: Core) -> None:
        """Say which results have no gradient."""
        self._constant = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Whether backward is given zeros, and not None, for results that nothing depends on."""
        self._materialize = value


class FunctionNode(Node):
    """The node of a user's function; what it does not have itself, its ctx has."""

    ctx: FunctionCtx
    function: type[Function]
    results: list[Kind | None]
    inputs: list[Kind | None]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.ctx, name)

    @property
    def outputs(self) -> int:
        return len(self.results)

    def shown(self) -> list[int]:
        return [k for k, kind in enumerate(self.inputs) if kind is not None]

    def free(self) -> None:
        if self.ctx._saved:
            self.ctx._saved = None

    def pull_back(self, cotangents: Sequence[Flow | None], create: bool) -> list[tuple[int, Flow]]:
        given: list[Any] = []
        for flow, kind in zip(cotangents, self.results, strict=True):
            if flow is None:
                given.append(wrap(zeros(kind)) if self.ctx._materialize and kind is not None else None)
            else:
                given.append(wrap(flow[0]) if flow[1] is None else wrap(flow[0], *flow[1]))
        made = self.function._rule()(self.ctx, *given)
        return self._checked(made if isinstance(made, tuple) else (made,), create)

    def _checked(self, made: tuple[Any, ...], create: bool) -> list[tuple[int, Flow]]:
        """What backward returned, as cotangents of the inputs."""
        count = len(self.inputs)
        while len(made) > count and made[-1] is None:
            made = made[:-1]
        if len(made) != count:
            raise RuntimeError(
                f"function {self.name()} returned an incorrect number of gradients (expected {count}, got {len(made)})"
            )
        flows = []
        for k, (value, kind) in enumerate(zip(made, self.inputs, strict=True)):
            if value is None:
                continue
            if kind is None:
                raise RuntimeError(
                    f"function {self.name()} returned a gradient different from None at position {k + 1}, but the"
                    " corresponding forward input was not a Variable"
                )
            if not isinstance(value, Core):
                raise TypeError(
                    f"expected Variable or None at position {k + 1} of what {self.name()} returned,"
                    f" got {type(value).__name__}"
                )
            edge = self.edges[k]
            if value._apart and edge is not None:
                if isinstance(edge[0], AccumulateGrad):
                    flows.append((k, (value, None)))
                    continue
                value = value.to_dense()  # type: ignore[attr-defined]
            if edge is not None:
                value = fitted(value, kind, self.name(), k)
            flows.append((k, (value._read(), value._edge() if create and requires(value) else None)))
        return flows


def fitted(value: Any, kind: Kind, name: str, k: int) -> Any:
    """A gradient summed over broadcast axes and converted, so that it has the kind of the input."""
    have = value._read().kind
    if have.shape != kind.shape:
        lead = len(have.shape) - len(kind.shape)
        fits = lead >= 0 and all(n in (1, m) for n, m in zip(kind.shape, have.shape[lead:], strict=True))
        if not fits:
            raise RuntimeError(
                f"Function {name} returned an invalid gradient at index {k} - got {list(have.shape)} but expected"
                f" shape compatible with {list(kind.shape)}"
            )
        wide = [a for a, n in enumerate(have.shape) if a < lead or kind.shape[a - lead] != n]
        value = reshape(sum_(value, wide), kind.shape)
    return value if have.dtype == kind.dtype else cast_to(value, kind.dtype)


class Function:
    """Subclass it, write static methods `forward` and `backward`, call `apply`.

    forward(ctx, *args)              or forward(*args) with setup_context(ctx, inputs, output)
    backward(ctx, *gradients)        a gradient or None for each argument; `vjp` is another name for it
    """

    def __init__(self, *_: Any, **__: Any) -> None:
        raise RuntimeError(
            f"{type(self).__name__} should not be instantiated. Methods on autograd functions are all static, so you"
            " should invoke them on the class itself: use .apply(...)"
        )

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function to use it with"
            " backward mode AD."
        )

    vjp = backward

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with forward mode AD."
        )

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], *args: Any) -> Any:
        raise NotImplementedError(
            "To use autograd.Function with vmap, you must either override the vmap staticmethod or set"
            " generate_vmap_rule=True."
        )

    generate_vmap_rule = False

    @classmethod
    def _rule(cls) -> Callable[..., Any]:
        """The user's backward."""
        own, other = cls.backward is not Function.backward, cls.vjp is not Function.vjp
        if own and other:
            raise RuntimeError(
                "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should only"
                " implement one of them."
            )
        return cls.vjp if other else cls.backward

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run forward; backward will run where gradients are asked for."""
        split = cls.setup_context is not Function.setup_context
        if split:
            bound = inspect.signature(cls.forward).bind(*args, **kwargs)
            bound.apply_defaults()
            args = bound.args
        elif kwargs:
            raise TypeError("apply() takes no keyword arguments")
        level = mapped_by(cls, args, cls.vmap is not Function.vmap) if watch.lanes else None
        if level is not None:
            return in_lanes(cls, args, level)
        ctx = FunctionCtx()
        needs = ctx.needs_input_grad = tuple([isinstance(a, Core) and requires(a) for a in args])
        before, mode.enabled = mode.enabled, False
        try:
            if split:
                made = cls.forward(*args)
                cls.setup_context(ctx, args, made)
            else:
                made = cls.forward(ctx, *args)
        finally:
            mode.enabled = before
        results = made if isinstance(made, tuple) else (made,)
        if watch.duals:
            with_rule(cls.jvp, ctx, args, results)
        marked = _finish(cls, ctx, args, results, before and any(needs))
        return tuple(marked) if isinstance(made, tuple) else marked[0]


_classes: dict[type[Function], type[FunctionNode]] = {}


def _class_of(cls: type[Function]) -> type[FunctionNode]:
    made = _classes.get(cls)
    if made is None:
        made = _classes[cls] = type(f"{cls.__name__}Backward", (FunctionNode,), {"__module__": cls.__module__})
    return made


def _finish(
    cls: type[Function], ctx: FunctionCtx, args: tuple[Any, ...], results: tuple[Any, ...], tracked: bool
) -> list[Any]:
    """The results with their history."""
    if any(all(d is not r for r in results) for d in ctx._dirty):
        raise RuntimeError(
            "Some elements marked as dirty during the forward method were not returned as output. The inputs that are"
            " modified inplace must all be outputs of the Function."
        )
    tensors = [a for a in args if isinstance(a, Core)]
    if not tracked:
        same = [any(r is t for t in tensors) and all(r is not d for d in ctx._dirty) for r in results]
        return [alias(r) if s else r for r, s in zip(results, same, strict=True)]
    edges = [a._edge() if isinstance(a, Core) else None for a in args]
    node = _class_of(cls)(edges, None)
    node.ctx, node.function, node.place = ctx, cls, here()
    node.inputs = [a._read().kind if isinstance(a, Core) else None for a in args]
    node.results = [r._read().kind if isinstance(r, Core) else None for r in results]
    if watch.lanes:
        node.lanes = tuple([levels_of([r._read()])[0] if isinstance(r, Core) else () for r in results])
    made = [_marked(node, k, r, tensors) for k, r in enumerate(results)]
    numbers = {id(r): k for k, r in enumerate(results) if isinstance(r, Core)}
    inputs = {id(t) for t in tensors} - {id(d) for d in ctx._dirty}
    ctx._saved = [
        None if t is None else Saved(t, None if id(t) in inputs else numbers.get(id(t))) for t in ctx._kept
    ]
    ctx._kept, ctx._node = (), ref(node)  # type: ignore[assignment]
    return made


def _marked(node: FunctionNode, k: int, result: Any, inputs: Sequence[Core]) -> Any:
    """Result number k as a tensor that `node` made."""
    if not isinstance(result, Core):
        return result
    dirty = any(result is d for d in node.ctx._dirty)
    constant = any(result is c for c in node.ctx._constant) or not result._read().kind.is_float
    if dirty:
        if result._requires and result._node is None:
            raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
        if result._base is not None:
            raise RuntimeError("a Function cannot write into a view: write into its base, or return a new tensor")
        result._read()
        result._moved()
    elif requires(result) or any(result is t for t in inputs):
        result = alias(result)
        result._origin = CUSTOM
    if constant:
        result._node, result._requires = None, False
        return result
    result._node, result._index, result._base = node, k, None
    return result


__all__ = ["Function", "FunctionCtx"]
