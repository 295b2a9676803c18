"""Names of PyTorch's own machinery that packages of others import: what each gives, as far as they use it.

They are no part of PyTorch's public surface, and found under the paths where PyTorch has them:

    from torch._vmap_internals import _vmap
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..distributions.gamma_draws import standard_gamma
from ..nn.layers.lazy import is_lazy
from ..optim.lbfgs import Point, lowest, search
from ..tensor.face import functions as T
from ..tensor.transforms.batched import vmap

ParamsT = Iterable[Any]
"""What an optimiser takes: parameters, groups of them, or pairs of a name and a parameter."""


class Required:
    """The default of an option that has none."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = Required()


def log_api_usage_once(*args: Any) -> None:
    """Count a use; nothing is counted, so it has no effect."""


def one_vmap(function: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0) -> Callable[..., Any]:
    """`vmap` under its older name."""
    return vmap(function, in_dims, out_dims)


def standard_normal(shape: Sequence[int], dtype: Any, device: Any = None) -> Any:
    """Draws of a standard normal distribution."""
    return T.randn(shape, dtype=dtype)


def _standard_gamma(concentration: Any, generator: Any = None) -> Any:
    """Draws of gamma distributions of rate 1, with a gradient."""
    if generator is not None:
        raise NotImplementedError("_standard_gamma draws from the default generator; seed that one")
    return standard_gamma(concentration)


# ---- of autograd.functional


def as_tuple(given: Any, arg_name: str | None = None, fn_name: str | None = None) -> tuple[bool, tuple[Any, ...]]:
    """Whether it is a tuple, and the tuple that it is or that holds it alone."""
    if isinstance(given, tuple):
        return True, given
    if not T.is_tensor(given):
        raise TypeError(f"{fn_name}: {arg_name} must be a Tensor or a tuple of Tensors but got {type(given)}")
    return False, (given,)


def basis_for(tensors: Sequence[Any], tensor_numels: Sequence[int]) -> tuple[Any, ...]:
    """For each tensor the rows of an identity matrix, of all elements together, that belong to it."""
    total, at, made = sum(tensor_numels), 0, []
    for x, count in zip(tensors, tensor_numels, strict=True):
        rows = T.zeros(total, count, dtype=x.dtype)
        rows[at : at + count] = T.eye(count, dtype=x.dtype)
        made.append(rows)
        at += count
    return tuple(made)


def grad_postprocess(inputs: Any, create_graph: bool) -> Any:
    """What is handed out: without history unless a graph is wanted."""
    if create_graph:
        return inputs
    if T.is_tensor(inputs):
        return inputs.detach()
    return tuple([grad_postprocess(x, create_graph) for x in inputs])


def tuple_postprocess(res: Any, to_unpack: Any) -> Any:
    """The tuple, or its only element where one came in; the second of two flags is for tuples within it."""
    outer, inner = to_unpack if isinstance(to_unpack, tuple) else (to_unpack, True)
    if not inner:
        res = tuple([each[0] for each in res])
    return res if outer else res[0]


# ---- of LBFGS


def cubic_interpolate(x1: Any, f1: Any, g1: Any, x2: Any, f2: Any, g2: Any, bounds: Any = None) -> Any:
    """The place within bounds at which the cubic through two points and their slopes is least."""
    first, second = (Point(x, float(f), None, float(g)) for x, f, g in ((x1, f1, g1), (x2, f2, g2)))  # type: ignore
    return lowest(first, second, bounds)


def strong_wolfe(
    obj_func: Callable[..., Any], x: Any, t: Any, d: Any, f: Any, g: Any, gtd: Any, c1: float = 1e-4, c2: float = 0.9,
    tolerance_change: float = 1e-9, max_ls: int = 25,
) -> tuple[Any, Any, Any, int]:  # fmt: skip
    """The loss, the gradient and the step that meet Wolfe's strong conditions, and how many points were looked at."""
    if (c1, c2) != (1e-4, 0.9):
        raise NotImplementedError(f"_strong_wolfe has c1=1e-4 and c2=0.9, not {c1} and {c2}")

    def look(step: Any) -> Point:
        loss, gradient = obj_func(x, step, d)
        return Point(step, float(loss), gradient, float(gradient.dot(d)))

    start = Point(0.0, float(f), g, float(gtd))
    found, count = search(look, start, float(t), max_ls, float(d.abs().max()), tolerance_change)
    return found.loss, found.gradient, found.t, count


__all__ = [
    "ParamsT", "as_tuple", "basis_for", "cubic_interpolate", "grad_postprocess", "is_lazy", "log_api_usage_once",
    "one_vmap", "required", "standard_normal", "strong_wolfe", "tuple_postprocess",
]  # fmt: skip
