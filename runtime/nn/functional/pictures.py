"""Pictures in another layout: channels that become pixels, windows that become columns, channels mixed."""

from __future__ import annotations

from itertools import product
from math import prod
from typing import Any

from ....compiler.ops.shape import slice_
from ...tensor.face.tensor import Tensor
from ...tensor.ops.windows.windows import numbers
from ...tensor.trace.fragments.fragments import Operation
from ...tensor.value.core import apply
from .terms import Shape, joined, listed, need_tensor, padded, reshaped, shape_of, size_of, turned


def _shuffled(m: Any, x: Any, factor: int) -> Any:
    *lead, c, h, w = shape_of(x)
    k, r = len(lead), factor
    x = reshaped(m, x, (*lead, c // (r * r), r, r, h, w))
    x = turned(m, x, (*range(k), k, k + 3, k + 1, k + 4, k + 2))
    return reshaped(m, x, (*lead, c // (r * r), h * r, w * r))


def _unshuffled(m: Any, x: Any, factor: int) -> Any:
    *lead, c, h, w = shape_of(x)
    k, r = len(lead), factor
    x = reshaped(m, x, (*lead, c, h // r, r, w // r, r))
    x = turned(m, x, (*range(k), k, k + 2, k + 4, k + 1, k + 3))
    return reshaped(m, x, (*lead, c * r * r, h // r, w // r))


def _mixed(m: Any, x: Any, groups: int) -> Any:
    n, c, *rest = shape_of(x)
    x = reshaped(m, x, (n, groups, c // groups, prod(rest)))
    return reshaped(m, turned(m, x, (0, 2, 1, 3)), (n, c, *rest))


SHUFFLED = Operation("pixel_shuffle", "PixelShuffleBackward0", _shuffled, lies="format")
UNSHUFFLED = Operation("pixel_unshuffle", "PixelUnshuffleBackward0", _unshuffled, lies="format")
MIXED = Operation("channel_shuffle", "ChannelShuffleBackward0", _mixed)


def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """[..., c r r, h, w] as [..., c, h r, w r]."""
    need_tensor("pixel_shuffle", "input", input)
    shape = size_of(input)
    if len(shape) < 3:
        raise RuntimeError(f"pixel_shuffle expects input to have at least 3 dimensions, but got input with {len(shape)}"
                           " dimension(s)")
    if upscale_factor < 1:
        raise RuntimeError(f"pixel_shuffle expects a positive upscale_factor, but got {upscale_factor}")
    if shape[-3] % upscale_factor**2:
        raise RuntimeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, but"
            f" input.size(-3)={shape[-3]} is not divisible by {upscale_factor**2}"
        )
    return apply(SHUFFLED, (input,), (int(upscale_factor),))


def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """[..., c, h r, w r] as [..., c r r, h, w]."""
    need_tensor("pixel_unshuffle", "input", input)
    shape = size_of(input)
    if len(shape) < 3:
        raise RuntimeError(f"pixel_unshuffle expects input to have at least 3 dimensions, but got input with"
                           f" {len(shape)} dimension(s)")
    if downscale_factor < 1:
        raise RuntimeError(f"pixel_unshuffle expects a positive downscale_factor, but got {downscale_factor}")
    for word, n in (("height", shape[-2]), ("width", shape[-1])):
        if n % downscale_factor:
            raise RuntimeError(f"pixel_unshuffle expects {word} to be divisible by downscale_factor, but {n} is not"
                               f" divisible by {downscale_factor}")
    return apply(UNSHUFFLED, (input,), (int(downscale_factor),))


def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """Channels that were group by group are taken from each group in turn."""
    need_tensor("channel_shuffle", "input", input)
    shape = size_of(input)
    if len(shape) < 3:
        raise RuntimeError(f"channel_shuffle expects input with > 2 dims, but got input with sizes {list(shape)}")
    if groups <= 0:
        raise RuntimeError(f"Number of groups to divide channels in must be positive. Value of groups:{groups}")
    if shape[1] % groups:
        raise RuntimeError(f"Number of channels must be divisible by groups. Got {shape[1]} channels and {groups}"
                           " groups.")
    return apply(MIXED, (input,), (int(groups),))


# ---- windows as columns

Windows = tuple[Shape, Shape, Shape, Shape]
"""kernel, dilation, padding, stride"""


def _places(sizes: Shape, window: Windows) -> Shape:
    sides = zip(sizes, *window, strict=True)
    return tuple([(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, d, p, s in sides])


def _columns(m: Any, x: Any, window: Windows) -> Any:
    """[n, c, h, w] as [n, c * elements of a window, windows]."""
    kernel, dilation, padding, stride = window
    n, c, *sizes = shape_of(x)
    places = _places(tuple(sizes), window)
    wide = (n, c, *(s + 2 * p for s, p in zip(sizes, padding, strict=True)))
    x = x if wide == shape_of(x) else padded(m, x, (0, 0, *padding), wide)
    columns = []
    for at in product(*map(range, kernel)):
        start = (0, 0, *(k * d for k, d in zip(at, dilation, strict=True)))
        each = m(slice_(m.b, x.value, start=start, step=(1, 1, *stride), shape=(n, c, *places)))
        columns.append(reshaped(m, each, (n, c, 1, prod(places))))
    return reshaped(m, joined(m, columns, 2), (n, c * prod(kernel), prod(places)))


def _folded(m: Any, x: Any, sizes: Shape, window: Windows) -> Any:
    """The transpose of `_columns`: what lies on one pixel is added."""
    kernel, dilation, padding, stride = window
    n, rows, _ = shape_of(x)
    c, places = rows // prod(kernel), _places(sizes, window)
    x = reshaped(m, x, (n, c, prod(kernel), *places))
    wide = (n, c, *(s + 2 * p for s, p in zip(sizes, padding, strict=True)))
    made = None
    for k, at in enumerate(product(*map(range, kernel))):
        one = slice_(m.b, x.value, start=(0, 0, k, 0, 0), step=(1,) * 5, shape=(n, c, 1, *places))
        start = (0, 0, *(i * d for i, d in zip(at, dilation, strict=True)))
        each = padded(m, reshaped(m, m(one), (n, c, *places)), start, wide, (1, 1, *stride))
        made = each if made is None else made + each
    assert made is not None
    return m(slice_(m.b, made.value, start=(0, 0, *padding), step=(1,) * 4, shape=(n, c, *sizes)))


COLUMNS = Operation("unfold", "Im2ColBackward0", _columns)
FOLDED = Operation("fold", "Col2ImBackward0", _folded)


def _window(name: str, kernel: Any, dilation: Any, padding: Any, stride: Any) -> Windows:
    words = ("kernel_size", "dilation", "padding", "stride")
    given = zip(words, (kernel, dilation, padding, stride), strict=True)
    made = tuple([numbers(v, 2, name, word) for word, v in given])
    for word, v, low in zip(words, made, (1, 1, 0, 1), strict=True):
        if min(v) < low:
            raise RuntimeError(f"{name}: {word} should be {'greater than zero' if low else 'non-negative'}, but got"
                               f" {list(v)}")
    return made  # type: ignore[return-value]


def unfold(input: Tensor, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Tensor:
    """The windows of [n, c, h, w] as columns: [n, c * elements of a window, windows]."""
    need_tensor("unfold", "input", input)
    shape, window = size_of(input), _window("unfold", kernel_size, dilation, padding, stride)
    if len(shape) < 3:
        raise IndexError(f"unfold: expected a 3D or 4D tensor, got {list(shape)}")
    if len(shape) > 4 or 0 in shape[-3:]:
        raise RuntimeError(f"Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero"
                           f" dimensions for input, but got: {list(shape)}")
    if min(_places(shape[-2:], window)) < 1:
        raise RuntimeError(f"Given input with spatial size {shape[-2:]}, kernel_size={window[0]}, dilation={window[1]},"
                           f" padding={window[2]}, calculated shape of the array of sliding blocks as"
                           f" {_places(shape[-2:], window)}, but its components must be at least one.")
    if len(shape) == 4:
        return apply(COLUMNS, (input,), (window,))
    return apply(COLUMNS, (input.unsqueeze(0),), (window,)).squeeze(0)


def fold(
    input: Tensor, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> Tensor:
    """Columns [n, c * elements of a window, windows] added up where they lie: [n, c, *output_size]."""
    need_tensor("fold", "input", input)
    shape, window = size_of(input), _window("fold", kernel_size, dilation, padding, stride)
    sizes = numbers(output_size, 2, "fold", "output_size")
    if len(shape) not in (2, 3) or 0 in shape[-2:]:
        raise RuntimeError(f"Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero"
                           f" dimensions for input, but got: {listed(input)}")
    if shape[-2] % prod(window[0]):
        raise RuntimeError(f"Expected size of input's dimension 1 to be divisible by the product of kernel_size, but"
                           f" got input.size(1)={shape[-2]} and kernel_size={window[0]}.")
    places = _places(sizes, window)
    if min(places) < 1 or prod(places) != shape[-1]:
        raise RuntimeError(f"Given output_size={sizes}, kernel_size={window[0]}, dilation={window[1]}, padding="
                           f"{window[2]}, stride={window[3]}, expected size of input's dimension 2 to match the"
                           f" calculated number of sliding blocks {places}, but got input.size(2)={shape[-1]}.")
    if len(shape) == 3:
        return apply(FOLDED, (input,), (sizes, window))
    return apply(FOLDED, (input.unsqueeze(0),), (sizes, window)).squeeze(0)


__all__ = ["channel_shuffle", "fold", "pixel_shuffle", "pixel_unshuffle", "unfold"]
