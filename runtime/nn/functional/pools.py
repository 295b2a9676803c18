"""Pooling of further kinds: the largest of windows as large as it takes, powers, and the way back."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import product
from math import prod
from typing import Any

from ....compiler.ir.symint import whole
from ....compiler.ops.index import scatter_add, take
from ...tensor.calls.calls import recorded
from ...tensor.face.tensor import Tensor
from ...tensor.ops.arranging.creation import zeros
from ...tensor.ops.elementwise.arithmetic import mul
from ...tensor.ops.folds.reductions import back, converted
from ...tensor.ops.random.draws import evenly
from ...tensor.ops.windows.averages import avg_pool1d, avg_pool2d, avg_pool3d, wanted_sizes
from ...tensor.ops.windows.pooling import max_pool1d, max_pool2d, max_pool3d
from ...tensor.ops.windows.windows import numbers
from ...tensor.trace.fragments.fragments import Operation
from ...tensor.value.core import apply, apply_all, wrap
from .activations import relu
from .terms import Shape, along, counting, listed, need_tensor, part, reshaped, shape_of, size_of


def _first_largest(m: Any, elements: Iterable[tuple[Any, Any]]) -> tuple[Any, Any]:
    """The first of the largest values, or the first NaN, and its place."""
    best = where = None
    for value, place in elements:
        if best is None:
            best, where = value, place
            continue
        better = m.gt(value, best)
        if value.value.type.is_float:
            better = m.or_(better, m.ne(value, value))
        best, where = m.select(better, value, best), m.select(better, place, where)
    return best, where


def _adaptive(m: Any, x: Any, places: Shape) -> tuple[Any, Any]:
    """Window i of p over n elements goes from i n / p, rounded down, to (i + 1) n / p, rounded up."""
    rank = len(places)
    shape = shape_of(x)
    lead, sizes = shape[:-rank], shape[-rank:]
    spans = []
    for n, p in zip(sizes, places, strict=True):
        i = counting(m, (p,), 0)
        start, stop = m.floordiv(i * n, p), m.floordiv((i + 1) * n + (p - 1), p)
        longest = max(-(-(k + 1) * n // p) - k * n // p for k in range(p))
        spans.append([m.minimum(start + j, stop - 1) for j in range(longest)])

    def elements() -> Iterable[tuple[Any, Any]]:
        for at in product(*spans):
            value, place = x, None
            for k, index in enumerate(at):
                value = m(take(m.b, value.value, index.value, axis=len(lead) + k))
                row = along(m, index, (*lead, *places), len(lead) + k)
                place = row if place is None else place * sizes[k] + row
            yield value, place

    return _first_largest(m, elements())


ADAPTIVE_MAX = {
    k: Operation(f"adaptive_max_pool{k}d", f"AdaptiveMaxPool{k}DBackward0", _adaptive, lies="format") for k in (2, 3)
}


def _adaptive_function(rank: int) -> tuple[Callable[..., Any], Callable[..., Any]]:
    name = f"adaptive_max_pool{rank}d"

    def found(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
        need_tensor(name, "input", input)
        wanted, shape = wanted_sizes(name, input, output_size, rank), size_of(input)
        if 0 in shape[-rank - 1 :]:
            raise RuntimeError(f"{name}(): Expected input to have non-zero size for non-batch dimensions, but input has"
                               f" sizes {list(shape)}")
        x = input.unsqueeze(-2) if rank == 1 else input
        full = (1, *wanted) if rank == 1 else wanted
        if 0 in full:
            empty = (*shape[:-rank], *wanted)
            return zeros(empty, dtype=input.dtype, requires_grad=input.requires_grad), zeros(empty, dtype=int)
        (values, where), node = apply_all(ADAPTIVE_MAX[len(full)], (x,), (full,))
        made, places = wrap(values, node), wrap(where)
        return (made.squeeze(-2), places.squeeze(-2)) if rank == 1 else (made, places)

    def function(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
        both = found(input, output_size)
        return both if return_indices else both[0]

    for each, more in ((function, ""), (found, "_with_indices")):
        each.__name__ = each.__qualname__ = name + more
        each.__doc__ = "The largest elements of as many windows as `output_size` says; None keeps a dimension."
    return function, found


adaptive_max_pool1d, adaptive_max_pool1d_with_indices = _adaptive_function(1)
adaptive_max_pool2d, adaptive_max_pool2d_with_indices = _adaptive_function(2)
adaptive_max_pool3d, adaptive_max_pool3d_with_indices = _adaptive_function(3)


def _with_indices(function: Callable[..., Any]) -> Callable[..., Any]:
    def found(
        input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
        ceil_mode: bool = False, return_indices: bool = False,
    ) -> Any:  # fmt: skip
        return function(input, kernel_size, stride, padding, dilation, ceil_mode, True)

    found.__name__ = found.__qualname__ = function.__name__ + "_with_indices"
    found.__doc__ = "The largest element of every window, and its place."
    return found


max_pool1d_with_indices, max_pool2d_with_indices = _with_indices(max_pool1d), _with_indices(max_pool2d)
max_pool3d_with_indices = _with_indices(max_pool3d)


# ---- the way back from the largest


def _where(m: Any, index: Any, rank: int, size: int) -> Any:
    """The places in all planes of `size` elements, one after the other."""
    shape = shape_of(index)
    flat = (prod(shape[:-rank]), prod(shape[-rank:]))
    return reshaped(m, counting(m, flat, 0) * size + reshaped(m, index, flat), (prod(flat),))


def _put_back(m: Any, x: Any, index: Any, sizes: Shape) -> Any:
    """What is put in one place several times is the same number, so its mean is it."""
    lead, size = shape_of(x)[: -len(sizes)], prod(sizes)
    at = _where(m, index, len(sizes), size).value
    zero, one = (0.0, 1.0) if x.value.type.is_float else (0, 1)
    nothing = m.number(zero, x.value.type.with_shape((prod(lead) * size,)))
    rows = reshaped(m, x, (prod(shape_of(x)),))
    added = m(scatter_add(m.b, nothing.value, at, rows.value, axis=0))
    times = m(scatter_add(m.b, nothing.value, at, m.number(one, rows.value.type).value, axis=0))
    times = m.maximum(times, one)
    made = added / times if x.value.type.is_float else m.floordiv(added, times)
    return reshaped(m, made, (*lead, *sizes))


def _put_back_pull(m: Any, inputs: Any, results: Any, cts: Any, sizes: Shape) -> Any:
    """Each element gets the whole gradient of its place, as PyTorch has it."""
    (x, index), (ct,) = inputs, cts
    flat = reshaped(m, ct, (prod(shape_of(ct)),))
    made = m(take(m.b, flat.value, _where(m, index, len(sizes), prod(sizes)).value, axis=0))
    return [reshaped(m, made, shape_of(x)), None]


UNPOOL = {
    k: Operation(f"max_unpool{k}d", f"MaxUnpool{k}DBackward0", _put_back, pull=_put_back_pull) for k in (1, 2, 3)
}


def _unpool_function(rank: int) -> Callable[..., Tensor]:
    name = f"max_unpool{rank}d"

    def function(
        input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
    ) -> Tensor:
        need_tensor(name, "input", input)
        need_tensor(name, "indices", indices)
        shape, kernel = size_of(input), numbers(kernel_size, rank, name, "kernel_size")
        steps = kernel if stride is None else numbers(stride, rank, name, "stride")
        if min(steps) < 1:
            raise RuntimeError(f"{name}: strides should be greater than zero, but got stride: {list(steps)}")
        if len(shape) not in (rank + 1, rank + 2) or 0 in shape[-rank - 1 :]:
            raise RuntimeError(f"Input to {name} should be a {rank + 1}d or {rank + 2}d Tensor without empty"
                               f" dimensions, but got {list(shape)}")
        if size_of(indices) != shape:
            raise RuntimeError(f"Expected shape of indices to be same as that of the input tensor ({list(shape)}) but"
                               f" got indices tensor with shape: {listed(indices)}")
        if indices._kind_of().dtype != "i64":
            raise RuntimeError(f"elements in indices should be type int64 but got: {indices.dtype}")
        around = numbers(padding, rank, name, "padding")
        usual = [(n - 1) * s - 2 * p + k for n, s, p, k in zip(shape[-rank:], steps, around, kernel, strict=True)]
        sizes = _output(name, shape, usual, steps, output_size)
        array = indices._array()
        if array.size and (array.min() < 0 or array.max() >= prod(sizes)):
            wrong = array.max() if array.max() >= prod(sizes) else array.min()
            raise RuntimeError(f"Found an invalid max index: {wrong} (output volumes are of size {list(sizes)})")
        return apply(UNPOOL[rank], (input, indices), (sizes,))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = "The largest elements put back where they were found, among zeros."
    return function


def _output(name: str, shape: Shape, usual: list[int], steps: Shape, given: Any) -> Shape:
    if given is None:
        return tuple(usual)
    rank = len(usual)
    wanted = tuple(given)
    if len(wanted) == rank + 2:
        wanted = wanted[2:]
    if len(wanted) != rank:
        raise ValueError(f"{name}: output_size should be a sequence of {rank} or {rank + 2} elements, but it has"
                         f" a length of '{len(wanted)}'")
    for n, u, s in zip(wanted, usual, steps, strict=True):
        if not u - s < n < u + s:
            raise ValueError(f'{name}: invalid output_size "{list(wanted)}" (dimension must be between {u - s} and'
                             f" {u + s})")
    return wanted


max_unpool1d, max_unpool2d, max_unpool3d = _unpool_function(1), _unpool_function(2), _unpool_function(3)


# ---- powers


def _lp_function(rank: int, average: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def function(
        input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False
    ) -> Tensor:
        kernel = numbers(kernel_size, rank, f"lp_pool{rank}d", "kernel_size")
        powers = average(input.pow(norm_type), kernel, stride, 0, ceil_mode)
        return mul(powers.sign() * relu(powers.abs()), prod(kernel)).pow(1.0 / norm_type)

    function.__name__ = function.__qualname__ = f"lp_pool{rank}d"
    function.__doc__ = "The root of the sum of powers of every window."
    return function


lp_pool1d, lp_pool2d, lp_pool3d = _lp_function(1, avg_pool1d), _lp_function(2, avg_pool2d), _lp_function(3, avg_pool3d)


# ---- windows at random places


def _starts(m: Any, samples: Any, which: int, planes: int, n: int, k: int, p: int) -> Any:
    """[planes, p]: where windows begin along one dimension."""
    grid = (planes, p)
    rows = reshaped(m, samples, (prod(shape_of(samples)[:-1]), shape_of(samples)[-1]))
    u = part(m, part(m, rows, 0, 0, planes), 1, which, 1)
    u = back(m, reshaped(m, u, (planes,)), grid, (1,))
    i = converted(m, counting(m, grid, 1), u.value.type.dtype)
    scale = (n - k) / (p - 1) if p > 1 else 0.0
    start = converted(m, m.floor((i + u) * scale) - m.floor(u * scale), "i64")
    return m.select(m.eq(counting(m, grid, 1), p - 1), n - k, start)


def _fractional(m: Any, x: Any, samples: Any, kernel: Shape, places: Shape) -> tuple[Any, Any]:
    """Each plane has starts of its own, floor((i + u) a) - floor(u a), but for the last window, which is at the end."""
    rank, shape = len(kernel), shape_of(x)
    lead, sizes = shape[:-rank], shape[-rank:]
    planes, size, whole = prod(lead), prod(sizes), (prod(lead), *places)
    flat = reshaped(m, x, (planes * size,))
    starts = []
    for k in range(rank):
        which = 1 - k if rank == 2 else k  # PyTorch's order of the samples
        each = _starts(m, samples, which, planes, sizes[k], kernel[k], places[k])
        starts.append(back(m, each, whole, tuple(a for a in range(1, rank + 1) if a != k + 1)))

    def elements() -> Iterable[tuple[Any, Any]]:
        for at in product(*map(range, kernel)):
            place = starts[0] + at[0]
            for k in range(1, rank):
                place = place * sizes[k] + (starts[k] + at[k])
            index = place + counting(m, whole, 0) * size
            yield m(take(m.b, flat.value, index.value, axis=0)), place

    value, where = _first_largest(m, elements())
    return reshaped(m, value, (*lead, *places)), reshaped(m, where, (*lead, *places))


FRACTIONAL = {
    k: Operation(f"fractional_max_pool{k}d", f"FractionalMaxPool{k}DBackward0", _fractional) for k in (2, 3)
}


@recorded
def _fractional_max_pool(input: Tensor, samples: Tensor, kernel: Shape, places: Shape) -> Any:
    (values, where), node = apply_all(FRACTIONAL[len(kernel)], (input, samples), (kernel, places))
    return wrap(values, node), wrap(where)


def _fractional_function(rank: int) -> tuple[Callable[..., Any], Callable[..., Any]]:
    name = f"fractional_max_pool{rank}d"

    def found(
        input: Tensor, kernel_size: Any, output_size: Any = None, output_ratio: Any = None,
        return_indices: bool = False, _random_samples: Any = None,
    ) -> Any:  # fmt: skip
        need_tensor(name, "input", input)
        shape, kernel = size_of(input), numbers(kernel_size, rank, name, "kernel_size")
        if (output_size is None) == (output_ratio is None):
            raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
        if len(shape) not in (rank + 1, rank + 2) or 0 in shape[-rank - 1 :]:
            raise RuntimeError(f"{name}(): Expected {rank + 1}D or {rank + 2}D tensor, but got: {list(shape)}")
        sizes = shape[-rank:]
        if output_size is None:
            ratios = output_ratio if isinstance(output_ratio, (tuple, list)) else (output_ratio,) * rank
            if len(ratios) != rank or not all(0 < r < 1 for r in ratios):
                raise ValueError(f"{name}: output_ratio must be {rank} numbers between 0 and 1, got {output_ratio}")
            output_size = [whole(n * r) for n, r in zip(sizes, ratios, strict=True)]
        places = numbers(output_size, rank, name, "output_size")
        for n, k, p in zip(sizes, kernel, places, strict=True):
            if p + k - 1 > n or p < 1:
                raise RuntimeError(f"{name}(): pool size {k} too large relative to input of {n} for {p} windows")
        lead = shape[:-rank] if len(shape) == rank + 2 else (1, *shape[:-rank])
        if _random_samples is None:
            _random_samples = evenly((*lead, rank), input._kind_of().dtype)
        return _fractional_max_pool(input, _random_samples, kernel, places)

    def function(*args: Any, **kwargs: Any) -> Any:
        wanted = kwargs.get("return_indices", args[4] if len(args) > 4 else False)
        both = found(*args, **kwargs)
        return both if wanted else both[0]

    for each, more in ((function, ""), (found, "_with_indices")):
        each.__name__ = each.__qualname__ = name + more
        each.__doc__ = "The largest elements of windows at random places (Graham, 2014)."
    return function, found


fractional_max_pool2d, fractional_max_pool2d_with_indices = _fractional_function(2)
fractional_max_pool3d, fractional_max_pool3d_with_indices = _fractional_function(3)

__all__ = [
    "adaptive_max_pool1d", "adaptive_max_pool1d_with_indices", "adaptive_max_pool2d",
    "adaptive_max_pool2d_with_indices", "adaptive_max_pool3d", "adaptive_max_pool3d_with_indices",
    "fractional_max_pool2d", "fractional_max_pool2d_with_indices", "fractional_max_pool3d",
    "fractional_max_pool3d_with_indices", "lp_pool1d", "lp_pool2d", "lp_pool3d", "max_pool1d_with_indices",
    "max_pool2d_with_indices", "max_pool3d_with_indices", "max_unpool1d", "max_unpool2d", "max_unpool3d",
]  # fmt: skip
