"""`torch.func`: transforms of functions of tensors; what they return can be transformed again.

    >>> hessian(lambda x: (x ** 3).sum())(torch.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])

Arguments and results are tensors, or tuples, lists and dicts of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from ..ops.arranging.creation import ones_like, zeros_like
from ..ops.arranging.shapes import view_as_shape
from ..reverse import autograd
from ..reverse.modes import enable_grad
from ..reverse.nodes import AccumulateGrad, reachable
from ..value.core import Core, requires
from ..value.trees import leaves, mapped, rebuilt
from ..value.views import alias
from .duals import DualLevel
from .forward import attached, taken, without


class Level:
    """One run of a function whose inputs are followed: leaves of its own stand for them."""

    def __init__(self) -> None:
        self.closed = False

    def __reduce__(self) -> Any:
        raise TypeError("cannot pickle a pullback of tensors: it holds their history; call vjp where it is needed")

    def leaf(self, x: Any) -> Any:
        """A leaf with the value of `x`, which is nothing to those outside."""
        made: Any = alias(x).requires_grad_()
        made._level = self
        return made

    def foreign(self, leaf: Any) -> bool:
        """Whether a leaf is neither of this level nor of one that is over."""
        level = getattr(leaf, "_level", None)
        return level is None or (level is not self and not level.closed)

    def track(self, tree: Any, where: str) -> Any:
        """The tree with its tensors replaced by ones that require gradients, connected to what is outside."""
        return mapped(lambda x: self._track(x, where), tree)

    def _track(self, x: Any, where: str) -> Any:
        if not isinstance(x, Core):
            raise ValueError(f"{where}: expected Tensors to be differentiated, got {type(x).__name__}")
        made: Any = x
        return view_as_shape(made, made.shape) if requires(x) else self.leaf(made)

    def escapes(self, x: Core) -> bool:
        """Whether a gradient for something outside flows into `x`."""
        if not requires(x):
            return False
        if x._node is None:
            return self.foreign(x)
        ends = (n.variable for n in reachable([x._node]) if isinstance(n, AccumulateGrad))
        return any(map(self.foreign, ends))

    def release(self, tree: Any) -> Any:
        """Results as they are outside: without history, unless it is that of something outside."""
        self.closed = True
        return mapped(lambda x: x if not isinstance(x, Core) or self.escapes(x) else alias(x), tree)


def with_aux(made: Any, has_aux: bool, where: str) -> tuple[Any, Any]:
    if not has_aux:
        return made, None
    if not isinstance(made, tuple) or len(made) != 2:
        raise RuntimeError(f"{where}: output of function f should be a tuple: (output, aux) if has_aux is True")
    return made


def chosen(args: Sequence[Any], argnums: Any, where: str) -> tuple[int, ...]:
    numbers = argnums if isinstance(argnums, tuple) else (argnums,)
    for n in numbers:
        if not isinstance(n, int):
            raise RuntimeError(f"{where}: argnums must be int or Tuple[int, ...], got {type(n).__name__}")
        if not -len(args) <= n < len(args):
            raise RuntimeError(f"Got argnum={n}, but only {len(args)} positional inputs")
    return tuple([n % len(args) for n in numbers])


# ---- reverse


def grad_and_value(
    func: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """The function that returns the gradient of `func`, a function with one number as its result, and that number."""

    @wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        level, given = Level(), list(args)
        with enable_grad():
            for n in chosen(args, argnums, "grad"):
                given[n] = level.track(args[n], "grad")
            value, aux = with_aux(func(*given, **kwargs), has_aux, "grad")
            _check_scalar(value)
            asked = [given[n] for n in chosen(args, argnums, "grad")]
            made = rebuilt(asked, pull(value, leaves(asked), level.escapes(value)))
        gradient = level.release(tuple(made) if isinstance(argnums, tuple) else made[0])
        value = level.release(value)
        return (gradient, (value, level.release(aux))) if has_aux else (gradient, value)

    return wrapper


def _check_scalar(value: Any) -> None:
    if not isinstance(value, Core):
        raise RuntimeError(f"Expected f(*args) to return a scalar tensor, got {type(value).__name__}")
    if value._kind_of().shape:
        raise RuntimeError(
            f"Expected f(*args) to return a scalar tensor, got tensor with {len(value._kind_of().shape)} dims."
            " Maybe you wanted to use the vjp or jacrev APIs instead?"
        )


def pull(value: Any, inputs: Sequence[Any], create: bool, weight: Any = None) -> list[Any]:
    """The gradients of one result, zeros where there are none."""
    if not requires(value):
        return [zeros_like(x) for x in inputs]
    made = autograd.grad(
        value, inputs, weight, retain_graph=True, create_graph=create, allow_unused=True, materialize_grads=True
    )
    return list(made)


def grad(func: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False) -> Callable[..., Any]:
    """The gradient of a function with one number as its result, with respect to its arguments `argnums`.

    has_aux   func returns (number, anything), and the gradient function (gradient, anything)
    """
    both = grad_and_value(func, argnums, has_aux)

    @wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        gradient, value = both(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient

    return wrapper


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """func(*primals), and the function that gives a cotangent of the result times the Jacobian."""
    level = Level()
    with enable_grad():
        given = level.track(primals, "vjp")
        result, aux = with_aux(func(*given), has_aux, "vjp")
    inputs, results = leaves(given), leaves(result)

    def pullback(cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        weights = leaves(cotangents)
        if len(weights) != len(results):
            raise RuntimeError(
                f"Expected pytree structure of cotangents to be the same as pytree structure of outputs to the"
                f" function: {len(results)} tensors, got {len(weights)}"
            )
        create = any(map(level.escapes, [*results, *weights]))
        with enable_grad():
            pairs = [(y, w) for y, w in zip(results, weights, strict=True) if requires(y)]
            made: list[Any] = [zeros_like(x) for x in inputs]
            if pairs:
                ys, ws = zip(*pairs, strict=True)
                made = list(autograd.grad(
                    ys, inputs, ws, retain_graph=True, create_graph=create, allow_unused=True, materialize_grads=True
                ))  # fmt: skip
        return level.release(tuple(rebuilt(given, made)))

    out = level.release(result)
    return (out, pullback, level.release(aux)) if has_aux else (out, pullback)


# ---- forward


def jvp(
    func: Callable[..., Any], primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False
) -> Any:
    """func(*primals), and its Jacobian times the tangents, which are carried forward with the values.

    strict   results that do not depend on the primals are an error, and have no tangent of zeros
    """
    for name, what in (("primals", primals), ("tangents", tangents)):
        if not isinstance(what, tuple):
            raise RuntimeError(
                f"jvp(f, primals, tangents): Expected {name} to be a tuple."
                " E.g. it should be valid to call f(*primals)."
            )
    if len(leaves(primals)) != len(leaves(tangents)):
        raise RuntimeError("jvp(f, primals, tangents): Expected primals and tangents to have the same structure")
    level = DualLevel()
    try:
        given = [attached(p, t, level) for p, t in zip(leaves(primals), leaves(tangents), strict=True)]
        result, aux = with_aux(func(*rebuilt(primals, given)), has_aux, "jvp")
        parts = [parts_of(y, level, strict) for y in leaves(result)]
        aux = mapped(lambda x: without(x, level), aux)
    finally:
        level.close()
    out, pushed_ = (rebuilt(result, column) for column in (zip(*parts, strict=True) if parts else ((), ())))
    return (out, pushed_, aux) if has_aux else (out, pushed_)


def parts_of(y: Any, level: DualLevel, strict: bool) -> tuple[Any, Any]:
    """A result and its tangent."""
    if not isinstance(y, Core):
        raise RuntimeError(f"jvp(f, primals, tangents): Expected f to return Tensors, got {type(y).__name__}")
    value, tangent = taken(y, level)
    if tangent is None and strict:
        raise RuntimeError("jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs.")
    return value, zeros_like(value) if tangent is None else tangent


def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """func(*primals), and the function that gives its Jacobian there times tangents, without running `func` again."""
    level = Level()
    with enable_grad():
        given = level.track(primals, "linearize")
        result = func(*given)
        inputs, results = leaves(given), leaves(result)
        weights = [level.leaf(ones_like(y)) for y in results]
        pairs = [(y, w) for y, w in zip(results, weights, strict=True) if requires(y)]
        pulled: Sequence[Any] = ()
        if pairs:
            ys, ws = zip(*pairs, strict=True)
            pulled = autograd.grad(ys, inputs, ws, create_graph=True, allow_unused=True, materialize_grads=True)

    def pushforward(*tangents: Any) -> Any:
        vector = leaves(tangents)
        if [getattr(t, "shape", None) for t in vector] != [x.shape for x in inputs]:
            raise RuntimeError("linearize: the tangents must have the structure and the shapes of the primals")
        tracked = [(p, t) for p, t in zip(pulled, vector, strict=False) if requires(p)]
        if not tracked:
            return rebuilt(result, [zeros_like(y) for y in results])
        ps, ts = zip(*tracked, strict=True)
        create = any(map(level.escapes, [*results, *ts]))
        with enable_grad():
            made = autograd.grad(
                ps, weights, ts, create_graph=create, retain_graph=True, allow_unused=True, materialize_grads=True
            )
        return level.release(rebuilt(result, made))

    return level.release(result), pushforward


def functionalize(func: Callable[..., Any], *, remove: str = "mutations") -> Callable[..., Any]:
    """A function that calls the given one; it has no effect, as traces have values of their own for writes and views.

    What the function writes into its arguments is there afterwards, as it is in PyTorch. RuntimeError where `remove`
    is neither "mutations" nor "mutations_and_views".
    """
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(
            f"functionalize(f, remove='mutations'): received invalid argument for remove={remove}. Valid options are"
            " 'mutations' and 'mutations_and_views'"
        )

    @wraps(func)
    def called(*args: Any, **kwargs: Any) -> Any:
        return func(*args, **kwargs)

    return called


__all__ = ["functionalize", "grad", "grad_and_value", "jvp", "linearize", "vjp"]
