"""`torch.vmap`: a function of single examples as one of batches.

The function is called for each example and the results are stacked.  What it computes is recorded, and equal stretches
of a recording run in kernels that are compiled once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from .core import Core
from .indexing import select
from .pieces import stack
from .trees import leaves, mapped, rebuilt


def vmap(
    func: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """`func` for each example of a batch.

    in_dims    the dimension of the batch in each argument, None where all examples share it; an int serves all
    out_dims   the dimension of the batch in each result
    """

    @wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        flat, dims = _dimensions(args, in_dims)
        count = _size(flat, dims)
        results = []
        for n in range(count):
            row = [x if d is None else select(x, d, n) for x, d in zip(flat, dims, strict=True)]
            shared = mapped(lambda x, n=n: select(x, 0, n) if isinstance(x, Core) else x, kwargs)  # type: ignore
            results.append(func(*rebuilt(args, row), **shared))
        return _stacked(results, out_dims)

    return wrapper


def _dimensions(args: tuple[Any, ...], in_dims: Any) -> tuple[list[Any], list[Any]]:
    """The leaves of the arguments, and the dimension of the batch in each."""
    if not isinstance(in_dims, (int, tuple, list)):
        raise ValueError(
            f"vmap: expected `in_dims` to be int or a (potentially nested) tuple matching the structure of inputs, got:"
            f" {type(in_dims)}."
        )
    flat = leaves(args)
    if not flat:
        raise ValueError("vmap: got no inputs. Maybe you forgot to add inputs, or you are trying to vmap over none.")
    dims = [in_dims] * len(flat) if isinstance(in_dims, int) else _spread(tuple(in_dims), args)
    for x, d in zip(flat, dims, strict=True):
        if d is None:
            continue
        if not isinstance(x, Core):
            raise ValueError(f"vmap: got in_dim={d} for an input but the input is of type {type(x)}; use None for it")
        rank = len(x._read().kind.shape)
        if not -rank <= d < rank:
            raise ValueError(f"vmap: got in_dim={d} for an input of dimensionality {rank}")
    return flat, dims


def _spread(dims: Any, args: Any) -> list[Any]:
    """`dims` for every leaf of the arguments under it."""
    if isinstance(dims, (int, type(None))):
        return [dims] * len(leaves(args))
    values = list(args.values()) if isinstance(args, dict) else args
    each = list(dims.values()) if isinstance(dims, dict) else dims
    if not isinstance(values, (tuple, list)) or len(values) != len(each):
        raise ValueError("vmap: in_dims is not compatible with the structure of inputs")
    return [d for dim, a in zip(each, values, strict=True) for d in _spread(dim, a)]


def _size(flat: Sequence[Any], dims: Sequence[Any]) -> int:
    sizes = {x._read().kind.shape[d] for x, d in zip(flat, dims, strict=True) if d is not None}
    if not sizes:
        raise ValueError("vmap: at least one input must have a dimension to map over: in_dims are all None")
    if len(sizes) > 1:
        raise ValueError(f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes}")
    (count,) = sizes
    if not count:
        raise ValueError("vmap: the mapped dimension has size zero")
    return count


def _stacked(results: list[Any], out_dims: Any) -> Any:
    first = leaves(results[0])
    for y in first:
        if not isinstance(y, Core):
            raise ValueError(f"vmap: the function must only return Tensors, got type {type(y)}")
    if isinstance(out_dims, int):
        dims = [out_dims] * len(first)
    else:
        dims = _spread(tuple(out_dims), results[0] if isinstance(results[0], (tuple, list)) else (results[0],))
    columns = zip(*map(leaves, results), strict=True)
    made = [column[0] if d is None else stack(column, d) for column, d in zip(columns, dims, strict=True)]
    return rebuilt(results[0], made)


__all__ = ["vmap"]
