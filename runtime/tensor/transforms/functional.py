"""`torch.autograd.functional`: Jacobians, Hessians and their products with vectors, of functions of tensors.

    >>> jacobian(lambda x: x ** 2, torch.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])

Arguments and results are tensors or tuples of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..ops.arranging.creation import ones_like, zeros, zeros_like
from ..ops.arranging.pieces import stack
from ..ops.arranging.ranges import eye
from ..ops.arranging.shapes import movedim, reshape, view_as_shape
from ..reverse import autograd
from ..reverse.modes import enable_grad
from ..value.core import Core, requires
from .crossings import enter, leave
from .lanes import Level

Tensors = tuple[Any, ...]


def _tuple(x: Any, what: str, where: str) -> tuple[bool, Tensors]:
    """Whether it is a tuple, and the tuple."""
    made = tuple(x) if isinstance(x, (tuple, list)) else (x,)
    for k, t in enumerate(made):
        if not isinstance(t, Core):
            at = f" at index {k}" if isinstance(x, (tuple, list)) else ""
            raise TypeError(
                f"The {what} given to {where} must be either a Tensor or a tuple of Tensors but the value{at} has"
                f" type {type(t)}."
            )
    return isinstance(x, (tuple, list)), made


def _prepared(inputs: Tensors, create: bool) -> Tensors:
    """The inputs as tensors of their own that require gradients; with `create`, still connected to what made them."""
    if create:
        return tuple([view_as_shape(x, x.shape) if requires(x) else x.detach().requires_grad_() for x in inputs])
    return tuple([x.detach().requires_grad_() for x in inputs])


def _finished(made: Any, create: bool) -> Any:
    """Results that require no gradient, unless it was asked for."""
    if isinstance(made, tuple):
        return tuple([_finished(m, create) for m in made])
    return made if create else made.detach()


def _shaped(made: Tensors, outer: bool) -> Any:
    return made if outer else made[0]


def _grads(outputs: Sequence[Any], inputs: Tensors, weights: Any, create: bool, strict: bool, what: str) -> Tensors:
    """Gradients, zeros where an input makes no difference (an error if strict)."""
    tracked = [(y, w) for y, w in zip(outputs, weights, strict=True) if requires(y)]
    if strict and len(tracked) < len(outputs):
        raise RuntimeError(f"Output of the user-provided function is independent of the input: strict mode of {what}")
    if not tracked:
        return tuple([zeros_like(x) for x in inputs])
    made = autograd.grad(
        [y for y, _ in tracked], inputs, [w for _, w in tracked], retain_graph=True, create_graph=create,
        allow_unused=True,
    )  # fmt: skip
    if strict and any(g is None for g in made):
        raise RuntimeError(
            f"The output of the user-provided function is independent of input {list(made).index(None)}."
            f" This is not allowed in strict mode of {what}."
        )
    return tuple([zeros_like(x) if g is None else g for g, x in zip(made, inputs, strict=True)])


def _weights(v: Any, like: Tensors, what: str) -> Tensors:
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            raise RuntimeError(f"The vector v can only be None if {what} is a single Tensor with a single element.")
        return (ones_like(like[0]),)
    _, made = _tuple(v, "v", what)
    if len(made) != len(like):
        raise RuntimeError(f"v is a tuple of invalid length: should be {len(like)} but got {len(made)}.")
    for k, (a, b) in enumerate(zip(made, like, strict=True)):
        if a.shape != b.shape:
            raise RuntimeError(f"Entry {k} of v has invalid size: should be {b.shape} but got {a.shape}.")
    return made


def vjp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """The results of `func`, and `v` times its Jacobian."""
    with enable_grad():
        outer, given = _tuple(inputs, "inputs", "vjp")
        given = _prepared(given, create_graph)
        many, results = _tuple(func(*given), "outputs of the user-provided function", "vjp")
        weights = _weights(v, results, "the output of the function")
        made = _grads(results, given, weights, create_graph, strict, "vjp")
    return _finished(_shaped(results, many), create_graph), _finished(_shaped(made, outer), create_graph)


def jvp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """The results of `func`, and its Jacobian times `v`, by pulling the pullback back."""
    with enable_grad():
        _, given = _tuple(inputs, "inputs", "jvp")
        vector = _weights(v, given, "the input")
        given = _prepared(given, create_graph)
        many, results = _tuple(func(*given), "outputs of the user-provided function", "jvp")
        weights = tuple([ones_like(y).requires_grad_() for y in results])
        made = pushed(results, given, vector, weights, create_graph, strict)
    return _finished(_shaped(results, many), create_graph), _finished(_shaped(made, many), create_graph)


def pushed(
    results: Tensors, given: Tensors, vector: Tensors, weights: Tensors, create: bool, strict: bool = False
) -> Tensors:
    """The Jacobian of results in what was given, times a vector: the pullback is linear in `weights`."""
    pulled = _grads(results, given, weights, True, strict, "jvp")
    tracked = [(p, v) for p, v in zip(pulled, vector, strict=True) if requires(p)]
    if not tracked:
        return tuple([zeros_like(y) for y in results])
    made = autograd.grad(
        [p for p, _ in tracked], weights, [v for _, v in tracked], create_graph=create, retain_graph=True,
        allow_unused=True, materialize_grads=True,
    )  # fmt: skip
    return tuple(made)


def jacobian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """The derivative of every element of the results in every element of the inputs."""
    if strategy not in ("reverse-mode", "forward-mode"):
        raise AssertionError(f'Expected strategy to be either "forward-mode" or "reverse-mode", got {strategy!r}')
    with enable_grad():
        outer, given = _tuple(inputs, "inputs", "jacobian")
        given = _prepared(given, create_graph)
        many, results = _tuple(func(*given), "outputs of the user-provided function", "jacobian")
        if strategy == "forward-mode":
            rows = _columns(results, given, create_graph, strict, vectorize)
        else:
            rows = tuple([_rows(y, given, create_graph, strict, vectorize) for y in results])
    return _finished(_shaped(tuple([_shaped(row, outer) for row in rows]), many), create_graph)


def basis_of(y: Any) -> Any:
    """The vectors of a basis that are like `y`, one behind the other in dimension 0."""
    return reshape(eye(y.numel(), dtype=y.dtype), y.numel(), *y.shape)


def _rows(y: Any, given: Tensors, create: bool, strict: bool, vectorize: bool) -> Tensors:
    """The Jacobian of one result in each input: pullbacks of a basis, one after the other or as the lanes of one."""
    if vectorize and y.numel():
        with Level(y.numel()) as level:
            made = _grads((y,), given, (enter(basis_of(y), level),), create, strict, "jacobian")
            return tuple([reshape(leave(g, level), *y.shape, *x.shape) for g, x in zip(made, given, strict=True)])
    flat = reshape(y, -1)
    rows = [_grads((flat[n],), given, (ones_like(flat[n]),), create, strict, "jacobian") for n in range(y.numel())]
    if not rows:
        return tuple([zeros(*y.shape, *x.shape, dtype=x.dtype) for x in given])
    columns = zip(*rows, strict=True)
    return tuple([reshape(stack(c), *y.shape, *x.shape) for c, x in zip(columns, given, strict=True)])


def _columns(results: Tensors, given: Tensors, create: bool, strict: bool, vectorize: bool) -> tuple[Tensors, ...]:
    """The Jacobian of each result in each input, by pushforwards of a basis as the lanes of one."""
    if strict:
        raise RuntimeError(
            "torch.autograd.functional.jacobian: `strict=True` and `strategy=\"forward-mode\"` are not supported"
            " together (yet). Please either set `strict=False` or `strategy=\"reverse-mode\"`."
        )
    if create:
        raise NotImplementedError(
            'torch.autograd.functional.jacobian: `create_graph=True` and `strategy="forward-mode"` are not supported'
            ' together (yet). Please either set `create_graph=False` or `strategy="reverse-mode"`.'
        )
    if not vectorize:
        raise NotImplementedError(
            "Computing Jacobian using forward-AD or forward-over-reverse Hessian is only implemented for"
            " `vectorize=True`."
        )
    weights = tuple([ones_like(y).requires_grad_() for y in results])
    columns = []
    for k, x in enumerate(given):
        with Level(x.numel()) as level:
            vector = tuple([enter(basis_of(x), level) if j == k else zeros_like(z) for j, z in enumerate(given)])
            made = pushed(results, given, vector, weights, create)
            moved = [movedim(leave(g, level), 0, -1) for g in made]
        columns.append([reshape(m, *y.shape, *x.shape) for m, y in zip(moved, results, strict=True)])
    return tuple(zip(*columns, strict=True))


def hessian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """The second derivatives of a function with one number as its result."""
    outer, given = _tuple(inputs, "inputs", "hessian")

    def gradient(*args: Any) -> Any:
        made = _scalar(func(*args), "hessian")
        return _grads((made,), args, (ones_like(made),), True, strict, "hessian")

    made = jacobian(gradient, given, create_graph, strict, vectorize, outer_jacobian_strategy)
    return made if outer else made[0][0]


def _scalar(made: Any, where: str) -> Any:
    many, results = _tuple(made, "outputs of the user-provided function", where)
    if many or len(results) != 1:
        raise RuntimeError(f"The function given to {where} should return a single Tensor")
    if results[0].numel() != 1:
        raise RuntimeError(f"The Tensor returned by the function given to {where} should contain a single element")
    return results[0]


def vhp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """The result of a function with one number, and `v` times its Hessian."""
    with enable_grad():
        outer, given = _tuple(inputs, "inputs", "vhp")
        vector = _weights(v, given, "the input")
        given = _prepared(given, create_graph)
        value = _scalar(func(*given), "vhp")
        first = _grads((value,), given, (ones_like(value),), True, strict, "vhp")
        made = _grads(first, given, vector, create_graph, strict, "vhp")
    return _finished(value, create_graph), _finished(_shaped(made, outer), create_graph)


def hvp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """The result of a function with one number, and its Hessian times `v`: the same as `vhp`, for it is symmetric."""
    return vhp(func, inputs, v, create_graph, strict)


__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]
