"""Cases of NumPy's functions that move, join, split and pad elements, or apply functions along axes."""

from typing import Any

import numpy as np

from tests.numpy_cases import Case, spread

X = spread(3, 4)
V = spread(4, seed=1)
T = spread(2, 3, 4, seed=2)
N = np.trunc(spread(3, 4) * 9)
WIDTHS = ((1, 2), (3, 0))
FAR = ((5, 4), (7, 9))
windows = np.lib.stride_tricks.sliding_window_view


def _pad(mode: str, **more: Any) -> list[Case]:
    """Near, and further than the array is long."""
    near = Case(f"np.pad {mode} {more}", lambda x: np.pad(x, WIDTHS, mode, **more), (X,))  # type: ignore[call-overload]
    return [near, near._replace(of=near.of + " far", function=lambda x: np.pad(x, FAR, mode, **more), order=1)]  # type: ignore[call-overload]


def _filled(x: Any) -> Any:
    y = x * 1.0
    y.fill(x[0, 0])
    return y


CASES = [
    *_pad("constant"), *_pad("constant", constant_values=((1.5, 2.5), (3.5, -0.0))), *_pad("edge"),
    *_pad("linear_ramp", end_values=((1.5, 2.5), (3.5, 4.5))), *_pad("maximum"), *_pad("minimum", stat_length=2),
    *_pad("mean", stat_length=((1, 2), (3, 9))), *_pad("reflect"), *_pad("reflect", reflect_type="odd"),
    *_pad("symmetric"), *_pad("symmetric", reflect_type="odd"), *_pad("wrap"),
    Case("np.pad empty", lambda x: np.pad(x, 1, "empty")[1:-1, 1:-1], (X,)),
    Case("np.pad dict", lambda x: np.pad(x, {0: 1, -1: (0, 2)}), (X,)),
    Case("np.pad traced values", lambda x: np.pad(x, 1, constant_values=x[0, 0]), (X,)),
    Case("np.pad traced ends", lambda x: np.pad(x, 2, "linear_ramp", end_values=x[0, 0]), (X,)),
    Case("np.pad of ints", lambda x: np.pad(np.rint(x * 9).astype(int), 2, "mean"), (X,), 0, False),
    Case("np.pad ramp of ints", lambda x: np.pad(np.rint(x * 9).astype(int), 2, "linear_ramp"), (X,), 0, False),
    Case("np.pad one element", lambda x: np.pad(x[:1], 2, "reflect") + np.pad(x[:1], 2, "symmetric"), (X,)),
    Case("np.fliplr", np.fliplr, (X,)),
    Case("np.flipud", np.flipud, (X,)),
    Case("np.rot90", lambda x: [np.rot90(x, k) for k in range(-1, 3)], (X,)),
    Case("np.rot90 axes", lambda x: np.rot90(x, 1, (2, 0)), (T,)),
    Case("np.rollaxis", lambda x: [np.rollaxis(x, 2), np.rollaxis(x, 0, 3), np.rollaxis(x, -2, 1)], (T,)),
    Case("np.atleast_3d", lambda x, v: np.atleast_3d(v[0], v, x), (X, V)),
    Case("np.dstack", lambda x, v: [np.dstack([x, x * 2]), np.dstack((v, v))], (X, V)),
    Case("np.vstack casting", lambda x: np.vstack([x, x], dtype=np.int64, casting="unsafe"), (N,), 0),
    Case("np.unstack", lambda x: np.unstack(x, axis=1), (X,)),
    Case("np.hsplit", lambda x: [*np.hsplit(x, 2), *np.hsplit(x[0], [1])], (X,)),
    Case("np.vsplit", lambda x: np.vsplit(x, [1]), (X,)),
    Case("np.dsplit", lambda x: np.dsplit(x, [1, 3]), (T,)),
    Case("np.array_split", lambda x: [*np.array_split(x, np.int64(3), 1), *np.array_split(x, [0, 9, 2])], (X,)),
    Case("np.block", lambda x: np.block([[x, np.zeros((3, 1), x.dtype)], [np.ones((1, 4), x.dtype), 2.0]]), (X,)),
    Case("np.block rows", lambda x: np.block([x[0], x[1], x[2, 0]]), (X,)),
    Case("np.block deep", lambda x: np.block([[[x, x]], [[x * 2, x]]]), (T,)),
    Case("np.broadcast_arrays", lambda x, v: np.broadcast_arrays(x, v[:1]), (X, V)),
    Case("np.lib.stride_tricks.sliding_window_view", lambda x: [windows(x, (2, 3)), windows(x[0], 2)], (X,)),
    Case("np.lib.stride_tricks.sliding_window_view axes", lambda x: windows(x, (2, 2), (1, 1)), (X,)),
    Case("np.apply_along_axis", lambda x: np.apply_along_axis(lambda r: r * r[0], 0, x), (X,)),
    Case("np.apply_along_axis matrix", lambda x: np.apply_along_axis(np.outer, 1, x, np.arange(2)), (T,)),
    Case("np.apply_along_axis number", lambda x: np.apply_along_axis(lambda r, k: (r**k).sum(), 1, x, k=2), (X,)),
    Case("np.apply_over_axes", lambda x: np.apply_over_axes(np.sum, x, [0, 2]), (T,)),
    Case("np.vectorize", lambda x, v: np.vectorize(lambda s, t: s * t + 1)(x, v), (X, V)),
    Case("np.vectorize two", lambda x: np.vectorize(lambda t: (t, t * t))(x), (X,)),
    Case("np.vectorize signature", lambda x, v: np.vectorize(np.dot, signature="(n),(n)->()")(x, v), (X, V)),
    Case("np.vectorize otypes", lambda x: np.vectorize(lambda t: t * 1.7, otypes=[int])(x), (X,), 0),
    Case("np.astype", lambda x: np.astype(x, np.float64), (X,)),
    Case("ndarray.cumprod", lambda x: [x.cumprod(), x.cumprod(axis=1)], (X,)),
    Case("ndarray.imag", lambda x: x.imag + x, (X,)),
    Case("ndarray.view", lambda x: x.view() + x.view(x.dtype), (X,)),
    Case("ndarray.fill", _filled, (X,), 0),
    Case("ndarray.to_device", lambda x: x.to_device(x.device) * 2, (X,)),
    Case("ndarray.astype", lambda x: x.astype(np.float64, casting="same_kind", copy=False), (X,)),
]
