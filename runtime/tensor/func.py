"""`torch.func`: transforms of functions of tensors; what they return can be transformed again.

    >>> hessian(lambda x: (x ** 3).sum())(torch.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])

Arguments and results are tensors, or tuples, lists and dicts of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import Any

from . import autograd
from .core import Core, requires
from .creation import zeros_like
from .functional import pushed
from .modes import enable_grad
from .nodes import AccumulateGrad, reachable
from .pieces import stack
from .shapes import reshape, view_as_shape
from .trees import leaves, mapped, rebuilt


class Level:
    """One run of a function whose inputs are followed: leaves of its own stand for them."""

    def __init__(self) -> None:
        self.closed = False

    def leaf(self, x: Any) -> Any:
        """A leaf with the value of `x`, which is nothing to those outside."""
        made = x.detach().requires_grad_()
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
        return mapped(lambda x: x if not isinstance(x, Core) or self.escapes(x) else x.detach(), tree)  # type: ignore[attr-defined]


def _with_aux(made: Any, has_aux: bool, where: str) -> tuple[Any, Any]:
    if not has_aux:
        return made, None
    if not isinstance(made, tuple) or len(made) != 2:
        raise RuntimeError(f"{where}: output of function f should be a tuple: (output, aux) if has_aux is True")
    return made


def _chosen(args: Sequence[Any], argnums: Any, where: str) -> tuple[int, ...]:
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
            for n in _chosen(args, argnums, "grad"):
                given[n] = level.track(args[n], "grad")
            value, aux = _with_aux(func(*given, **kwargs), has_aux, "grad")
            _check_scalar(value)
            asked = [given[n] for n in _chosen(args, argnums, "grad")]
            made = rebuilt(asked, _pull(value, leaves(asked), level.escapes(value)))
        gradient = level.release(tuple(made) if isinstance(argnums, tuple) else made[0])
        value = level.release(value)
        return (gradient, (value, level.release(aux))) if has_aux else (gradient, value)

    return wrapper


def _check_scalar(value: Any) -> None:
    if not isinstance(value, Core):
        raise RuntimeError(f"Expected f(*args) to return a scalar tensor, got {type(value).__name__}")
    if value._read().kind.shape:
        raise RuntimeError(
            f"Expected f(*args) to return a scalar tensor, got tensor with {len(value._read().kind.shape)} dims."
            " Maybe you wanted to use the vjp or jacrev APIs instead?"
        )


def _pull(value: Any, inputs: Sequence[Any], create: bool, weight: Any = None) -> list[Any]:
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
        result, aux = _with_aux(func(*given), has_aux, "vjp")
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
    """func(*primals), and its Jacobian times the tangents."""
    for name, what in (("primals", primals), ("tangents", tangents)):
        if not isinstance(what, tuple):
            raise RuntimeError(
                f"jvp(f, primals, tangents): Expected {name} to be a tuple."
                " E.g. it should be valid to call f(*primals)."
            )
    if len(leaves(primals)) != len(leaves(tangents)):
        raise RuntimeError("jvp(f, primals, tangents): Expected primals and tangents to have the same structure")
    level = Level()
    with enable_grad():
        given = level.track(primals, "jvp")
        result, aux = _with_aux(func(*given), has_aux, "jvp")
        results = tuple(leaves(result))
        made = _push(level, results, tuple(leaves(given)), tuple(leaves(tangents)))
    out, pushed_ = level.release(result), level.release(rebuilt(result, made))
    return (out, pushed_, level.release(aux)) if has_aux else (out, pushed_)


def _push(level: Level, results: tuple[Any, ...], inputs: tuple[Any, ...], vector: tuple[Any, ...]) -> list[Any]:
    outside = any(map(level.escapes, [*results, *vector]))
    weights = tuple([level.leaf(zeros_like(y)) for y in results])
    return list(pushed(results, inputs, vector, weights, outside))


# ---- Jacobians


def jacrev(
    func: Callable[..., Any],
    argnums: int | tuple[int, ...] = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """The Jacobian of `func`, by one pullback for each element of its result."""

    @wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        level, given, numbers = Level(), list(args), _chosen(args, argnums, "jacrev")
        with enable_grad():
            for n in numbers:
                given[n] = level.track(args[n], "jacrev")
            result, aux = _with_aux(func(*given, **kwargs), has_aux, "jacrev")
            asked = [given[n] for n in numbers]
            made = [_rows(level, y, leaves(asked)) for y in leaves(result)]
        shaped = [rebuilt(asked, each) for each in made]
        rows = level.release([tuple(s) if isinstance(argnums, tuple) else s[0] for s in shaped])
        jacobian = rebuilt(result, rows)
        return (jacobian, level.release(aux)) if has_aux else jacobian

    return wrapper


def _rows(level: Level, y: Any, inputs: list[Any]) -> list[Any]:
    flat, create = reshape(y, -1), level.escapes(y)
    if not y.numel():
        return [x.new_zeros(*y.shape, *x.shape) for x in inputs]
    rows = [_pull(flat[n], inputs, create) for n in range(y.numel())]
    columns = zip(*rows, strict=True)
    return [reshape(stack(c), *y.shape, *x.shape) for c, x in zip(columns, inputs, strict=True)]


def jacfwd(
    func: Callable[..., Any],
    argnums: int | tuple[int, ...] = 0,
    has_aux: bool = False,
    *,
    randomness: str = "error",
) -> Callable[..., Any]:
    """The Jacobian of `func`, by one push forward for each element of its arguments `argnums`."""

    @wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        level, given, numbers = Level(), list(args), _chosen(args, argnums, "jacfwd")
        with enable_grad():
            for n in numbers:
                given[n] = level.track(args[n], "jacfwd")
            result, aux = _with_aux(func(*given, **kwargs), has_aux, "jacfwd")
            asked = [given[n] for n in numbers]
            inputs, results = tuple(leaves(asked)), tuple(leaves(result))
            columns = [_columns(level, results, inputs, k) for k in range(len(inputs))]
        made = []
        for j in range(len(results)):
            shaped = rebuilt(asked, [column[j] for column in columns])
            made.append(level.release(tuple(shaped) if isinstance(argnums, tuple) else shaped[0]))
        jacobian = rebuilt(result, made)
        return (jacobian, level.release(aux)) if has_aux else jacobian

    return wrapper


def _columns(level: Level, results: tuple[Any, ...], inputs: tuple[Any, ...], k: int) -> list[Any]:
    """The Jacobian of each result in input k."""
    x, made = inputs[k], []
    for n in range(x.numel()):
        vector = [zeros_like(each) for each in inputs]
        one = zeros_like(x).view(-1)
        one[n] = 1
        vector[k] = one.view(x.shape)
        made.append(_push(level, results, inputs, tuple(vector)))
    if not made:
        return [y.new_zeros(*y.shape, *x.shape) for y in results]
    return [reshape(stack(c, -1), *y.shape, *x.shape) for c, y in zip(zip(*made, strict=True), results, strict=True)]


def hessian(func: Callable[..., Any], argnums: int | tuple[int, ...] = 0) -> Callable[..., Any]:
    """The second derivatives: the Jacobian, forward, of the Jacobian, backward."""
    return jacfwd(jacrev(func, argnums), argnums)


# ---- modules as functions


def functional_call(
    module: Any,
    parameter_and_buffer_dicts: Mapping[str, Any] | Sequence[Mapping[str, Any]],
    args: Any = None,
    kwargs: Mapping[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """module(*args, **kwargs) with these tensors, by their names in the state_dict, for its parameters and buffers."""
    dicts = parameter_and_buffer_dicts
    tensors = dict(dicts) if isinstance(dicts, Mapping) else {k: v for d in dicts for k, v in d.items()}
    given = () if args is None else args if isinstance(args, tuple) else (args,)
    with _swapped(module, tensors, strict):
        return module(*given, **(kwargs or {}))


@contextmanager
def _swapped(module: Any, tensors: Mapping[str, Any], strict: bool) -> Iterator[None]:
    places = {}
    for path, owner in module.named_modules():
        for table in (owner._parameters, owner._buffers):
            places.update({f"{path}.{name}" if path else name: (table, name) for name in table})
    unknown = [k for k in tensors if k not in places]
    missing = [k for k in places if k not in tensors]
    if strict and (unknown or missing):
        raise RuntimeError(f"Unexpected key(s): {unknown}. Missing key(s): {missing}.")
    chosen = {k: places[k] for k in tensors if k in places}
    before = {k: table[name] for k, (table, name) in chosen.items()}
    try:
        for k, (table, name) in chosen.items():
            table[name] = tensors[k]
        yield
    finally:
        for k, (table, name) in chosen.items():
            table[name] = before[k]


__all__ = ["functional_call", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "vjp"]
