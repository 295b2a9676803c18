"""`torch.vmap`: a function of single examples as one of batches.

The function runs once, on tensors that stand for one example each (`lanes`), and what it records are the operations
of the whole batch. A function of which some part has to look at values, such as a check of indices, runs for each
example instead; where it is the user who reads a value, that is an error, as in PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from ..ops.arranging.indexing import select
from ..ops.arranging.pieces import cat, split, stack
from ..ops.arranging.shapes import movedim
from ..value.core import Core
from ..value.trees import leaves, rebuilt
from .crossings import enter, has_lanes, leave
from .lanes import Level, ReadsLanes

RANDOMNESS = ("error", "different", "same")


def vmap(
    func: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """`func` for each example of a batch; what is given by name is the same for all.

    in_dims      the dimension of the batch in each argument, None where all examples share it; an int serves all
    out_dims     the dimension of the batch in each result, None for a result that is the same for all
    randomness   what drawing random numbers means in `func`: an error, "same" for all examples, or "different"
    chunk_size   how many examples run together; all if it is None
    """
    if randomness not in RANDOMNESS:
        raise RuntimeError(f"Only allowed values for randomness are {', '.join(RANDOMNESS)}. Got {randomness}")
    if chunk_size is not None and (not isinstance(chunk_size, int) or chunk_size < 1):
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")
    call = Mapped(func, in_dims, out_dims, randomness, chunk_size)

    @wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return call(args, kwargs)

    return wrapper


class Mapped:
    """A function and how it is mapped."""

    def __init__(self, func: Any, in_dims: Any, out_dims: Any, randomness: str, chunk_size: int | None) -> None:
        self.func, self.in_dims, self.out_dims, self.randomness = func, in_dims, out_dims, randomness
        self.chunk_size = chunk_size
        self.name = getattr(func, "__name__", type(func).__name__)

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        flat, dims = self._dimensions(args)
        size = _size(flat, dims)
        columns = [x if d is None else movedim(x, d, 0) if d else x for x, d in zip(flat, dims, strict=True)]
        wide = [d is not None for d in dims]
        step = self.chunk_size or size
        if step >= size:
            made, form = self._all(args, kwargs, columns, wide, size)
        else:
            made, form = self._chunks(args, kwargs, columns, wide, (size, step))
        for k, d in enumerate(self._out_dims(form)):
            if d:
                made[k] = movedim(made[k], 0, d)
        return rebuilt(form, made)

    def _chunks(
        self, args: Any, kwargs: Any, columns: list[Any], wide: list[bool], sizes: tuple[int, int]
    ) -> tuple[list[Any], Any]:
        """The results of the chunks, one after the other."""
        size, step = sizes
        parts = [split(x, step, 0) if w else None for x, w in zip(columns, wide, strict=True)]
        results, form = [], None
        for k, start in enumerate(range(0, size, step)):
            given = [x if p is None else p[k] for x, p in zip(columns, parts, strict=True)]
            made, form = self._all(args, kwargs, given, wide, min(step, size - start))
            results.append(made)
        dims = self._out_dims(form)
        joined = [c[0] if d is None else cat(c, 0) for c, d in zip(zip(*results, strict=True), dims, strict=True)]
        return joined, form

    def _all(
        self, args: Any, kwargs: Any, columns: list[Any], wide: list[bool], size: int
    ) -> tuple[list[Any], Any]:
        """The results for a batch, the examples first, and their structure."""
        level = Level(size, self.randomness)
        try:
            with level:
                given = [enter(x, level) if w else x for x, w in zip(columns, wide, strict=True)]
                form = self._called(args, kwargs, given)
                made = []
                for y, d in zip(leaves(form), self._out_dims(form), strict=True):
                    if d is None and has_lanes(y, level):
                        raise ValueError(
                            f"vmap({self.name}, ...): `{self.name}` can not return a BatchedTensor when out_dim is None"
                        )
                    made.append(y if d is None else leave(y, level))
                return made, form
        except ReadsLanes as error:
            if error.level is not level or not size:
                raise
        return self._one_by_one(args, kwargs, columns, wide, size)

    def _one_by_one(
        self, args: Any, kwargs: Any, columns: list[Any], wide: list[bool], size: int
    ) -> tuple[list[Any], Any]:
        """The same by calling the function for each example."""
        forms = []
        for n in range(size):
            row = [select(x, 0, n) if w else x for x, w in zip(columns, wide, strict=True)]
            forms.append(self._called(args, kwargs, row))
        dims = self._out_dims(forms[0])
        if any(a.shape != b.shape for form in forms for a, b in zip(leaves(form), leaves(forms[0]), strict=True)):
            raise RuntimeError(
                f"vmap: We do not support functions whose results have another shape for each example: {self.name}"
            )
        rows = zip(*map(leaves, forms), strict=True)
        return [c[0] if d is None else stack(c, 0) for c, d in zip(rows, dims, strict=True)], forms[0]

    def _called(self, args: Any, kwargs: Any, given: list[Any]) -> Any:
        """What the function returns for these leaves."""
        rest = iter(given)
        made = self.func(*[rebuilt(a, rest) for a in args], **kwargs)
        for y in leaves(made) or [made]:
            if not isinstance(y, Core):
                raise ValueError(
                    f"vmap({self.name}, ...): `{self.name}` must only return Tensors, got type {type(y)}. Did you mean"
                    " to set out_dims= to None for output?"
                )
        return made

    # ---- dimensions

    def _dimensions(self, args: tuple[Any, ...]) -> tuple[list[Any], list[Any]]:
        """The leaves of the arguments, and the dimension of the batch in each."""
        what, in_dims = f"vmap({self.name}, in_dims={self.in_dims}, ...)(<inputs>)", self.in_dims
        if not isinstance(in_dims, (int, tuple, list)):
            raise ValueError(
                f"{what}: expected `in_dims` to be int or a (potentially nested) tuple matching the structure of"
                f" inputs, got: {type(in_dims)}."
            )
        flat = leaves(args)
        if not flat:
            raise ValueError(
                f"vmap({self.name})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying to vmap"
                " over a function with no inputs. The latter is unsupported."
            )
        dims = [in_dims] * len(flat) if isinstance(in_dims, int) else _spread(tuple(in_dims), args, what, "inputs")
        for x, d in zip(flat, dims, strict=True):
            if d is None:
                continue
            if not isinstance(x, Core):
                raise ValueError(
                    f"{what}: Got in_dim={d} for an input but the input is of type {type(x)}. We cannot vmap over"
                    " non-Tensor arguments, please use None as the respective in_dim"
                )
            rank = len(x._kind_of().shape)
            if not -rank <= d < rank:
                raise ValueError(
                    f"{what}: Got in_dim={d} for some input, but that input is a Tensor of dimensionality {rank} so"
                    f" expected in_dim to satisfy -{rank} <= in_dim < {rank}."
                )
        return flat, dims

    def _out_dims(self, form: Any) -> list[Any]:
        """The dimension of the batch in each result."""
        if self.out_dims is None or isinstance(self.out_dims, int):
            return [self.out_dims] * len(leaves(form))
        what = f"vmap({self.name}, ..., out_dims={self.out_dims})(<inputs>)"
        outer = form if isinstance(form, (tuple, list, dict)) else (form,)
        return _spread(self.out_dims, outer, what, "outputs")


def _spread(dims: Any, given: Any, what: str, of: str) -> list[Any]:
    """`dims` for every leaf of what is given under it."""
    if isinstance(dims, (int, type(None))):
        return [dims] * len(leaves(given))
    values = list(given.values()) if isinstance(given, dict) else given
    each = list(dims.values()) if isinstance(dims, dict) else dims
    if not isinstance(values, (tuple, list)) or not isinstance(each, (tuple, list)) or len(values) != len(each):
        name = "in_dims" if of == "inputs" else "out_dims"
        raise ValueError(f"{what}: {name} is not compatible with the structure of `{of}`: {dims!r}")
    return [d for dim, a in zip(each, values, strict=True) for d in _spread(dim, a, what, of)]


def _size(flat: Sequence[Any], dims: Sequence[Any]) -> int:
    sizes = [x._kind_of().shape[d] for x, d in zip(flat, dims, strict=True) if d is not None]
    if not sizes:
        raise ValueError("vmap: Expected at least one Tensor to vmap over")
    if len(set(sizes)) > 1:
        raise ValueError(
            f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes} for the"
            " mapped dimension"
        )
    return sizes[0]


__all__ = ["vmap"]
