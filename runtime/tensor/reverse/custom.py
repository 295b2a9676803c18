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
from collections.abc import Callable, Container, Sequence
from typing import Any

from ..ops.arranging.shapes import reshape
from ..ops.elementwise.elementary import cast_to
from ..ops.folds.reductions import sum_
from ..trace.tape import here
from ..transforms.forward import with_rule
from ..transforms.mapping import in_lanes, mapped_by
from ..value.cells import Kind, levels_of
from ..value.core import CUSTOM, Core, requires, wrap
from ..value.slots import LEAF
from ..value.views import alias
from .function_ctx import FunctionCtx, save
from .joined import Joined, is_joinable, join
from .modes import mode, watch
from .nodes import AccumulateGrad, Flow, Node, zeros


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

    def free(self, useful: Any = None) -> None:
        if self.ctx._saved:
            self.ctx._saved = None

    def pull_back(self, cotangents: Sequence[Flow | None], create: bool) -> list[tuple[int, Flow]]:
        given = [
            None if flow is None else wrap(flow[0]) if flow[1] is None else wrap(flow[0], *flow[1])
            for flow in cotangents
        ]
        wanted = [k for k, edge in enumerate(self.edges) if edge is not None]
        leaves = {k for k in wanted if isinstance(self.edges[k][0], AccumulateGrad)}  # type: ignore[index]
        made = pulled_back(self.function, self.ctx, given, self.results, self.inputs, wanted, leaves)
        return [(k, _flow_of(value, create)) for k, value in enumerate(made) if value is not None]


def _flow_of(value: Any, create: bool) -> Flow:
    if value._apart:
        return value, None
    return value._read(), value._edge() if create and requires(value) else None


def pulled_back(
    function: type[Function], ctx: FunctionCtx, given: Sequence[Any], results: Sequence[Kind | None],
    inputs: Sequence[Kind | None], wanted: Sequence[int], leaves: Container[int],
) -> tuple[Any, ...]:  # fmt: skip
    """What the user's backward makes of the cotangents `given`: gradients of the inputs, or None; it is checked.

    wanted, leaves   the inputs whose gradients go somewhere, and to leaves: those may be sparse
    """
    fill = ctx._materialize
    cotangents = [
        wrap(zeros(kind)) if t is None and fill and kind is not None else t
        for t, kind in zip(given, results, strict=True)
    ]
    found = function._rule()(ctx, *cotangents)
    made: tuple[Any, ...] = found if isinstance(found, tuple) else (found,)
    name, count = _class_of(function).__name__, len(inputs)
    while len(made) > count and made[-1] is None:
        made = made[:-1]
    if len(made) != count:
        raise RuntimeError(
            f"function {name} returned an incorrect number of gradients (expected {count}, got {len(made)})"
        )
    for k, (value, kind) in enumerate(zip(made, inputs, strict=True)):
        if value is None:
            continue
        if kind is None:
            raise RuntimeError(
                f"function {name} returned a gradient different from None at position {k + 1}, but the"
                " corresponding forward input was not a Variable"
            )
        if not isinstance(value, Core):
            raise TypeError(
                f"expected Variable or None at position {k + 1} of what {name} returned, got {type(value).__name__}"
            )
    fit = list(made)
    for k in wanted:
        kind = inputs[k]
        if fit[k] is not None and kind is not None and not (fit[k]._apart and k in leaves):
            fit[k] = fitted(fit[k].to_dense() if fit[k]._apart else fit[k], kind, name, k)
    return tuple(fit)


def fitted(value: Any, kind: Kind, name: str, k: int) -> Any:
    """A gradient summed over broadcast axes and converted, so that it has the kind of the input."""
    have = value._kind_of()
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
        home = {"__module__": "torch.autograd.function"}
        made = _classes[cls] = type(f"{cls.__name__}Backward", (FunctionNode,), home)
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
    kinds = [[x._kind_of() if isinstance(x, Core) else None for x in given] for given in (args, results)]
    if is_joinable(ctx, args, results):
        _join(cls, ctx, args, results, kinds)
        return list(results)
    edges = [a._edge() if isinstance(a, Core) else None for a in args]
    node = _class_of(cls)(edges, None)
    node.ctx, node.function, node.place, (node.inputs, node.results) = ctx, cls, here(), kinds
    if watch.lanes:
        node.lanes = tuple([levels_of([r._read()])[0] if isinstance(r, Core) else () for r in results])
    made = [_marked(node, k, r, tensors) for k, r in enumerate(results)]
    inputs = {id(t) for t in tensors} - {id(d) for d in ctx._dirty}
    numbers = zip(ctx._kept, _numbers(ctx, results), strict=True)
    save(ctx, node, ctx._kept, [None if id(t) in inputs else k for t, k in numbers])
    return made


def _numbers(ctx: FunctionCtx, results: Sequence[Any]) -> list[int | None]:
    """Which result each of the saved tensors is, if it is one."""
    numbers = {id(r): k for k, r in enumerate(results) if isinstance(r, Core)}
    return [numbers.get(id(t)) for t in ctx._kept]


def _join(
    cls: type[Function], ctx: FunctionCtx, args: Sequence[Any], results: Sequence[Any], kinds: list[list[Kind | None]]
) -> None:
    """Give the results their history as an event of the trace; what is kept beside that holds saved tensors only."""
    wanted, place = [k for k, needed in enumerate(ctx.needs_input_grad) if needed], here()
    inputs, made = kinds
    numbers = _numbers(ctx, results)

    def node_of(joined: Joined, edges: list[Any]) -> FunctionNode:
        every: list[Any] = [None] * len(inputs)
        for k, edge in zip(joined.inputs, edges, strict=True):
            every[k] = edge
        node = _class_of(cls)(every, None)
        node.ctx, node.function, node.place, node.inputs, node.results = joined.ctx, cls, place, inputs, made
        node.joined = joined
        if watch.lanes:
            node.lanes = tuple([() for _ in made])
        if joined.ctx._saved is not None:
            save(joined.ctx, node, joined.saved(), numbers)
        return node

    leaves = {k for k in wanted if args[k]._flags & LEAF}

    def back(joined: Joined, cotangents: Sequence[Any]) -> tuple[Any, ...]:
        return pulled_back(cls, joined.ctx, cotangents, made, inputs, wanted, leaves)

    join(Joined(node_of, back, ctx, wanted), args, results)


def _marked(node: FunctionNode, k: int, result: Any, inputs: Sequence[Core]) -> Any:
    """Result number k as a tensor that `node` made."""
    if not isinstance(result, Core):
        return result
    dirty = any(result is d for d in node.ctx._dirty)
    constant = any(result is c for c in node.ctx._constant) or not result._kind_of().is_float
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
