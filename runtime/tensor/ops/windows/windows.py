"""How a window moves over the last dimensions of a tensor: sizes as given, PyTorch's errors, and its elements."""

from __future__ import annotations

from typing import Any, NamedTuple

from .....compiler.ir.symint import as_index
from .....compiler.ops.shape import pad, reshape, slice_
from .....compiler.ops.source import number
from ...value.core import Core
from ..arranging.shapes import shape_of, unsqueeze

RANK = 2
"""Dimensions that windows mostly move along; one dimension is a picture of one row."""
WORDS = {1: "one int", 2: "two ints", 3: "three ints"}


class Window(NamedTuple):
    """For each dimension: elements, step, zeros (or what counts as nothing) before and after, distance of elements."""

    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[tuple[int, int], ...]
    dilation: tuple[int, ...]

    @property
    def reach(self) -> tuple[int, ...]:
        """From the first element of a window to its last."""
        return tuple([(k - 1) * d + 1 for k, d in zip(self.kernel, self.dilation, strict=True)])

    def over(self, sizes: tuple[int, ...]) -> tuple[int, ...]:
        """How many places it has, where it stays inside the padded sizes."""
        sides = zip(sizes, self.reach, self.padding, self.stride, strict=True)
        return tuple([(n + low + high - r) // s + 1 for n, r, (low, high), s in sides])


def numbers(given: Any, rank: int, function: str, name: str) -> tuple[int, ...]:
    """One int for each of `rank` dimensions; a single one stands for all."""
    many = tuple(given) if isinstance(given, (tuple, list)) else (given,)
    for n in many:
        if isinstance(n, bool) or not hasattr(n, "__index__"):
            raise TypeError(f"{function}(): {name} must be an int or {WORDS[rank]}, got {given!r}")
    if len(many) not in (1, rank):
        raise RuntimeError(
            f"{function}: {name} must either be a single int, or a tuple of {WORDS[rank]}, got {list(many)}"
        )
    return tuple([as_index(n) for n in (many * rank if len(many) == 1 else many)])


# ---- arguments


def picture(name: str, input: Any, rank: int = RANK) -> tuple[int, ...]:
    """The shape of [batch, channels, n...] or [channels, n...]."""
    if not isinstance(input, Core):
        raise TypeError(f"{name}(): input must be a Tensor, not {type(input).__name__}")
    shape = shape_of(input)
    if len(shape) not in (rank + 1, rank + 2) or 0 in shape[-rank - 1 :]:
        raise RuntimeError(
            f"{name}: non-empty {rank + 1}D or {rank + 2}D (batch mode) tensor expected for input, got {list(shape)}"
        )
    return shape


def row_picture(name: str, input: Any) -> Any:
    """The rows as pictures of one row each."""
    if not isinstance(input, Core):
        raise TypeError(f"{name}(): input must be a Tensor, not {type(input).__name__}")
    shape = shape_of(input)
    if len(shape) not in (2, 3) or 0 in shape[-2:]:
        raise RuntimeError(
            f"{name}: Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for input, but got:"
            f"{list(shape)}"
        )
    return unsqueeze(input, -2)  # type: ignore[arg-type]


def pool_window(name: str, rank: int, kernel: Any, stride: Any, padding: Any, dilation: Any) -> Window:
    kernel = numbers(kernel, rank, name, "kernel_size")
    stride = kernel if stride is None or stride in ([], ()) else numbers(stride, rank, name, "stride")
    padding, dilation = numbers(padding, rank, name, "padding"), numbers(dilation, rank, name, "dilation")
    if min(kernel) < 1:
        raise RuntimeError(f"{name}: kernel size should be greater than zero, but got {list(kernel)}")
    if min(stride) < 1:
        raise RuntimeError(f"{name}: stride should not be zero, got {list(stride)}")
    if min(dilation) < 1:
        raise RuntimeError(f"{name}: dilation should be greater than zero, but got {list(dilation)}")
    window = Window(kernel, stride, tuple([(n, n) for n in padding]), dilation)
    if min(padding) < 0 or any(n > r // 2 for n, r in zip(padding, window.reach, strict=True)):
        raise RuntimeError(
            f"{name}: pad should be at most half of effective kernel size and not negative, but got"
            f" pad={list(padding)}, kernel_size={list(kernel)} and dilation={list(dilation)}"
        )
    return window


def flat(row: Window) -> Window:
    """A window along one dimension as one of a picture of one row."""
    return Window((1, *row.kernel), (1, *row.stride), ((0, 0), *row.padding), (1, *row.dilation))


def places_of(shape: tuple[int, ...], window: Window, ceil: bool) -> tuple[int, ...]:
    """How many windows there are; with `ceil` the last ones may end outside, but must begin inside."""
    rank = len(window.kernel)
    places, sizes = window.over(shape[-rank:]), shape[-rank:]
    if ceil:
        rounded = []
        for n, r, (low, high), s in zip(sizes, window.reach, window.padding, window.stride, strict=True):
            p = -(-(n + low + high - r) // s) + 1
            rounded.append(p - 1 if (p - 1) * s >= n + low else p)
        places = tuple(rounded)
    if min(places) < 1:
        raise RuntimeError(
            f"Given input size: {'x'.join(map(str, shape[-rank - 1 :]))}. Calculated output size:"
            f" {'x'.join(map(str, places))}. Output size is too small"
        )
    return places


# ---- in graphs


def sizes_of(x: Any, rank: int = RANK) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The dimensions before the picture, and the picture's."""
    shape = x.value.type.static_shape()
    return shape[:-rank], shape[-rank:]


def surrounded(m: Any, x: Any, window: Window, places: tuple[int, ...]) -> tuple[Any, Any]:
    """x with zeros around it, as far as windows at these places reach, and which elements are x's, None for all."""
    lead, sizes = sizes_of(x, len(places))
    ends = zip(sizes, window.padding, window.reach, window.stride, places, strict=True)
    wide = tuple([max(n + low, (p - 1) * s + r) for n, (low, _), r, s, p in ends])
    if wide == sizes:
        return x, None
    start = (*(0 for _ in lead), *(low for low, _ in window.padding))
    attrs: dict[str, Any] = {"start": start, "step": (1,) * len(start), "shape": (*lead, *wide)}
    inside = number(m.b, True, x.value.type.with_dtype("bool"))
    return m(pad(m.b, x.value, **attrs)), m(pad(m.b, inside, **attrs))


def side_by_side(window: Window, sizes: tuple[int, ...], places: tuple[int, ...]) -> bool:
    """Whether the windows lie side by side: then a picture is a picture of windows, and nothing overlaps."""
    ends = zip(window.kernel, places, sizes, strict=True)
    return window.kernel == window.stride == window.reach and all(k * p <= n for k, p, n in ends)


def tiled(m: Any, x: Any, window: Window, places: tuple[int, ...]) -> Any:
    """[..., p, k, q, l]: each dimension as places and elements of windows."""
    lead, sizes = sizes_of(x, len(places))
    used = tuple([k * p for k, p in zip(window.kernel, places, strict=True)])
    if used != sizes:
        origin = (0,) * len((*lead, *sizes))
        x = m(slice_(m.b, x.value, start=origin, step=(1,) * len(origin), shape=(*lead, *used)))
    pairs = [n for pair in zip(places, window.kernel, strict=True) for n in pair]
    return m(reshape(m.b, x.value, shape=(*lead, *pairs)))
