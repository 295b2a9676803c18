"""Sums of products over a window that moves: every convolution, in any number of dimensions.

One primitive is enough, because its pullbacks are itself: by the input, the cotangent spread out by the stride meets
the kernel turned around; by the kernel, the cotangent is the window, and stride and dilation change places.  What is
around the input, and between its elements, is put there by `pad`.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from ..ir.primitive import Primitive
from ..loops import Affine, Apply, Reduce
from . import shape

SPACE = 3  # axes before those along which the window moves


class Correlate(Primitive):
    """out[b, g, o, p...] = the sum over c and k... of x[b, g, c, p * stride + k * dilation...] * w[g, o, c, k...].

    b counts images, g groups of channels that do not meet, c channels of the input and o channels of the result in a
    group.  The window stays inside x.  For integers sums wrap, as everywhere.
    """

    arity = 2
    attributes: ClassVar = {"stride": "axes", "dilation": "axes"}
    bounded = False

    def infer(self, types, attrs, regions):
        (x, w), (stride, dilation) = types, _moves(attrs)
        if x.rank < SPACE or w.rank != x.rank or not len(stride) == len(dilation) == x.rank - SPACE:
            raise TypeError(
                f"correlate takes x[b,g,c,n...], w[g,o,c,k...] and a stride and dilation for each n, got {x}, {w},"
                f" stride {stride}, dilation {dilation}"
            )
        if x.dtype != w.dtype or x.dtype == "bool":
            raise TypeError(f"correlate takes numbers of one dtype, got {x} and {w}; cast them first")
        if x.shape[1] != w.shape[0] or x.shape[2] != w.shape[2]:
            raise TypeError(
                f"correlate of {x} with {w}: groups {x.shape[1]} and {w.shape[0]}, channels {x.shape[2]} and"
                f" {w.shape[2]} must be equal"
            )
        if min((*stride, *dilation), default=1) < 1:
            raise TypeError(f"correlate: stride and dilation are at least 1, got {stride} and {dilation}")
        sides = zip(x.shape[SPACE:], w.shape[SPACE:], stride, dilation, strict=True)
        return (x.with_shape((x.shape[0], x.shape[1], w.shape[1], *(positions(*side) for side in sides))),)

    def evaluate(self, args, attrs, regions):
        (x, w), (stride, dilation) = args, _moves(attrs)
        axes = tuple(range(SPACE, x.ndim))
        reach = tuple((k - 1) * d + 1 for k, d in zip(w.shape[SPACE:], dilation, strict=True))
        windows = np.lib.stride_tricks.sliding_window_view(x, reach, axes) if axes else x
        every = [*(slice(None, None, s) for s in stride), *(slice(None, None, d) for d in dilation)]
        b, g, o, c, *rest = range(2 * len(axes) + 4)
        at, within = rest[: len(axes)], rest[len(axes) :]
        of_x, of_w = [b, g, c, *at, *within], [g, o, c, *within]
        made = np.einsum(windows[(..., *every)], of_x, w, of_w, [b, g, o, *at], optimize=True)
        return [np.ascontiguousarray(made, x.dtype)]

    def define(self, op, reads):
        """One nest over b, g, o, p | c, k: rows of the input are walked along its last axis, no bounds are asked."""
        (x, w), (stride, dilation) = op.args, _moves(op.attrs)
        places, space, dtype = op.results[0].type.static_shape(), len(stride), x.type.dtype
        extents = (*places, w.type.static_shape()[2], *w.type.static_shape()[SPACE:])

        def value(index):
            b, g, o, *rest = index
            at, c, within = rest[:space], rest[space], rest[space + 1 :]
            there: list[Affine] = [p * s + k * d for p, k, s, d in zip(at, within, stride, dilation, strict=True)]
            return Apply("mul", (reads[0]([b, g, c, *there]), reads[1]([g, o, c, *within])), dtype)

        return Reduce("sum", extents, tuple(range(len(places), len(extents))), value, chain=True)

    def pull(self, b, op, cotangents):
        (ct,), (x, w) = cotangents, op.args
        if ct is None:
            return [None, None]
        return [_by_input(b, ct, x, w, *_moves(op.attrs)), _by_kernel(b, ct, x, w, *_moves(op.attrs))]

    def samples(self, rng):
        made = []
        for x, w, stride, dilation in (
            ((2, 1, 3, 7), (1, 4, 3, 3), (1,), (1,)),
            ((2, 2, 1, 9), (2, 2, 1, 3), (2,), (3,)),
            ((1, 1, 2, 6, 5), (1, 3, 2, 3, 2), (1, 1), (1, 1)),
            ((2, 2, 2, 7, 8), (2, 1, 2, 2, 3), (2, 3), (2, 1)),
            ((1, 1, 1, 4, 3, 5), (1, 2, 1, 2, 1, 3), (1, 2, 1), (2, 1, 1)),
            ((3, 2, 4), (2, 5, 4), (), ()),
            ((0, 1, 2, 3), (1, 2, 2, 2), (1,), (1,)),
            ((2, 1, 0, 3), (1, 2, 0, 2), (1,), (1,)),
        ):
            for d in ("f8", "f4", "i4", "i8"):
                args = [(rng.normal(size=s) * 3).astype(d) for s in (x, w)]
                made.append((args, {"stride": stride, "dilation": dilation}))
        return made


def positions(n, k, stride, dilation):
    """How many places a window of k elements has along an axis of n."""
    reach = (k - 1) * dilation + 1
    spare = n - reach
    if isinstance(spare, int):
        if spare < 0 or k == 0:
            raise TypeError(f"correlate: a window that reaches over {reach} elements does not fit an axis of {n}")
        return spare // stride + 1
    if stride != 1:
        raise TypeError(f"correlate along an axis of {n} elements has stride {stride}: only 1 can stay symbolic")
    return spare + 1


def _moves(attrs):
    return attrs["stride"], attrs["dilation"]


def _by_input(b, ct, x, w, stride, dilation):
    """Each element of x meets the kernel from its last element to its first."""
    edge = tuple((k - 1) * d for k, d in zip(w.type.shape[SPACE:], dilation, strict=True))
    wide = (*ct.type.shape[:SPACE], *(n + e for n, e in zip(x.type.shape[SPACE:], edge, strict=True)))
    spread_out = shape.pad(b, ct, start=(0, 0, 0, *edge), step=(1, 1, 1, *stride), shape=wide)
    turned = shape.transpose(b, _reversed(b, w), axes=(0, 2, 1, *range(SPACE, w.type.rank)))
    return correlate(b, spread_out, turned, stride=(1,) * len(stride), dilation=dilation)


def _by_kernel(b, ct, x, w, stride, dilation):
    """Each element of w has met the elements of x that lie as those of the cotangent do."""
    steps = zip(w.type.shape[SPACE:], dilation, ct.type.shape[SPACE:], stride, strict=True)
    used = tuple((k - 1) * d + (p - 1) * s + 1 for k, d, p, s in steps)
    rest = tuple(range(SPACE, w.type.rank))
    met = x
    if used != x.type.shape[SPACE:]:
        whole = (0,) * x.type.rank, (1,) * x.type.rank
        met = shape.slice_(b, x, start=whole[0], step=whole[1], shape=(*x.type.shape[:SPACE], *used))
    images = shape.transpose(b, met, axes=(2, 1, 0, *rest))
    windows = shape.transpose(b, ct, axes=(1, 2, 0, *rest))
    made = correlate(b, images, windows, stride=dilation, dilation=stride)
    return shape.transpose(b, made, axes=(1, 2, 0, *rest))


def _reversed(b, w):
    """w with every axis that the window has turned around."""
    sizes, back = w.type.shape, w.type.rank - SPACE
    start = (0, 0, 0, *(k - 1 for k in sizes[SPACE:]))
    return shape.slice_(b, w, start=start, step=(1, 1, 1, *(-1,) * back), shape=sizes)


def convolve(b, x, w, stride, padding, dilation, groups):
    """x[batch, channels, n...] with w[outputs, channels / groups, k...], as networks have it.

    `padding` has the numbers of zeros before and after each axis n.
    """
    (images, channels, *sizes), (outputs, each, *window) = x.type.shape, w.type.shape
    if any(low or high for low, high in padding):
        start = (0, 0, *(low for low, _ in padding))
        sizes = [n + low + high for n, (low, high) in zip(sizes, padding, strict=True)]
        x = shape.pad(b, x, start=start, step=(1,) * x.type.rank, shape=(images, channels, *sizes))
    x = shape.reshape(b, x, shape=(images, groups, each, *sizes))
    w = shape.reshape(b, w, shape=(groups, outputs // groups, each, *window))
    made = correlate(b, x, w, stride=tuple(stride), dilation=tuple(dilation))
    return shape.reshape(b, made, shape=(images, outputs, *made.type.shape[SPACE:]))


correlate = Correlate("correlate")
