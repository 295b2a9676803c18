"""Cases of NumPy's ufuncs, reductions, products, shapes and creation."""

from typing import Any

import numpy as np
from scipy import special

from tests.numpy_cases import Case, spread

X, Y = spread(3, 4), spread(3, 4, low=-1.8, high=2.45, seed=1)
P, Q = abs(X) + 0.3, abs(Y) + 0.2
U = X / 3
V, W = spread(4, seed=2), spread(4, seed=3)
S, T = spread(3, 3, seed=4), spread(2, 3, 4, seed=5)
N, M = np.arange(-4, 8).reshape(3, 4), np.arange(12)[::-1].reshape(3, 4) % 5
EINSUM: Any = np.einsum

SMOOTH = {
    "negative positive absolute abs fabs square sin cos tanh exp expm1 sinh cosh exp2 tan arctan atan cbrt arcsinh"
    " asinh deg2rad rad2deg radians degrees conj conjugate": (X,),
    "sqrt log log2 log10 log1p reciprocal": (P,),
    "arcsin asin arccos acos arctanh atanh": (U,),
    "arccosh acosh": (P + 1.2,),
    "add subtract multiply arctan2 atan2 maximum minimum fmax fmin logaddexp logaddexp2 hypot heaviside": (X, Y),
    "divide true_divide power pow float_power floor_divide remainder mod": (P, Q),
}
STEPS = {
    "sign floor ceil rint trunc logical_not isnan isinf isfinite": (X,),
    "equal not_equal less less_equal greater greater_equal logical_and logical_or logical_xor": (X, Y),
    "bitwise_and bitwise_or bitwise_xor": (N, M),
    "left_shift right_shift bitwise_left_shift bitwise_right_shift": (N, M),
    "invert bitwise_not bitwise_invert": (N,),
}
FLAT = {"heaviside", "floor_divide"}
SCIPY = {
    "erf expit log_expit entr exp2 expm1 cbrt cosm1": (P,),
    "log1p": (P,),
    "logit": (U / 2 + 0.5,),
    "xlogy xlog1py": (X, P),
}


def _each(table: dict[str, tuple[Any, ...]], space: str, module: Any, order: int) -> list[Case]:
    return [
        Case(f"{space}.{name}", getattr(module, name), args, order=0 if name in FLAT else order)
        for names, args in table.items()
        for name in names.split()
    ]


CASES = [
    *_each(SMOOTH, "np", np, 2),
    *_each(STEPS, "np", np, 0),
    *_each(SCIPY, "scipy.special", special, 2),
    # reductions and scans
    Case("np.sum", lambda x: np.sum(x, axis=(0, -1), keepdims=True), (T,)),
    Case("np.prod", lambda x: np.prod(x, axis=1), (P,)),
    Case("np.mean", lambda x: np.mean(x, axis=(0, 2)), (T,)),
    Case("np.average", lambda x, w: np.average(x, axis=0, weights=w), (X, P)),
    Case("np.std", lambda x: np.std(x, axis=1, ddof=1), (X,)),
    Case("np.var", lambda x: np.var(x, axis=0, keepdims=True), (X,)),
    Case("np.max", lambda x: np.max(x, axis=0), (X,)),
    Case("np.min", lambda x: np.min(x), (X,)),
    Case("np.amax", lambda x: np.amax(x, 1), (X,)),
    Case("np.amin", lambda x: np.amin(x, 1), (X,)),
    Case("np.ptp", lambda x: np.ptp(x, axis=0), (X,)),
    Case("np.nansum", lambda x: np.nansum(np.where(x > 1, np.nan, x), axis=0), (X,)),
    Case("np.argmax", lambda x: np.argmax(x, axis=1), (X,), order=0),
    Case("np.argmin", lambda x: np.argmin(x), (X,), order=0),
    Case("np.all", lambda x: np.all(x > -1, axis=0), (X,), order=0),
    Case("np.any", lambda x: np.any(x > 2, axis=1), (X,), order=0),
    Case("np.count_nonzero", lambda x: np.count_nonzero(x > 0, axis=0), (X,), order=0),
    Case("np.cumsum", lambda x: np.cumsum(x, axis=1), (X,)),
    Case("np.cumprod", lambda x: np.cumprod(x, axis=0), (P,)),
    Case("np.diff", lambda x: np.diff(x, n=2), (X,)),
    # products
    Case("np.dot", np.dot, (X, Y.T.copy())),
    Case("np.matmul", np.matmul, (T, Y.T.copy())),
    Case("np.inner", np.inner, (X, Y)),
    Case("np.outer", np.outer, (V, W)),
    Case("np.vdot", np.vdot, (X, Y)),
    Case("np.vecdot", np.vecdot, (X, Y)),
    Case("np.tensordot", lambda x, y: np.tensordot(x, y, axes=([1, 2], [0, 1])), (T, X)),
    Case("np.kron", np.kron, (S, V)),
    Case("np.cross", np.cross, (S, S.T + 1)),
    Case("np.einsum", lambda x, y: EINSUM("bij,kj->bik", x, y), (T, X)),
    Case("np.convolve", np.convolve, (V, W[:3])),
    Case("np.correlate", lambda x, y: np.correlate(x, y, "full"), (V, W[:3])),
    Case("np.trace", lambda x: np.trace(x, offset=1), (S,)),
    # choices
    Case("np.where", lambda x, y: np.where(x > y, x * y, np.exp(x)), (X, Y)),
    Case("np.clip", lambda x: np.clip(x, -1, 1.5), (X,)),
    Case("np.round", lambda x: np.round(x, 1), (X,), order=0),
    Case("np.around", lambda x: np.around(x), (X,), order=0),
    Case("np.nan_to_num", lambda x: np.nan_to_num(np.where(x > 1, np.inf, x), posinf=9.0), (X,)),
    Case("np.isclose", lambda x, y: np.isclose(x, y, atol=1.0), (X, Y), order=0),
    Case("np.sinc", np.sinc, (X,)),
    Case("np.real", np.real, (X,)),
    # shapes
    Case("np.reshape", lambda x: np.reshape(x, (2, 6), order="F"), (X,)),
    Case("np.ravel", np.ravel, (X,)),
    Case("np.transpose", lambda x: np.transpose(x, (2, 0, 1)), (T,)),
    Case("np.permute_dims", lambda x: np.permute_dims(x, (2, 0, 1)), (T,)),
    Case("np.matrix_transpose", np.matrix_transpose, (T,)),
    Case("np.swapaxes", lambda x: np.swapaxes(x, 0, 2), (T,)),
    Case("np.moveaxis", lambda x: np.moveaxis(x, 0, -1), (T,)),
    Case("np.squeeze", lambda x: np.squeeze(x[:, :1]), (X,)),
    Case("np.expand_dims", lambda x: np.expand_dims(x, (0, 2)), (X,)),
    Case("np.atleast_1d", lambda x: np.atleast_1d(np.sum(x)), (X,)),
    Case("np.atleast_2d", lambda v: np.atleast_2d(v), (V,)),
    Case("np.broadcast_to", lambda v: np.broadcast_to(v, (3, 4)), (V,)),
    Case("np.broadcast_arrays", lambda x, v: tuple(np.broadcast_arrays(x, v)), (X, V)),
    Case("np.concatenate", lambda x, y: np.concatenate([x, y], axis=1), (X, Y)),
    Case("np.concat", lambda x, y: np.concat([x, y]), (X, Y)),
    Case("np.stack", lambda x, y: np.stack([x, y], axis=-1), (X, Y)),
    Case("np.hstack", lambda x, y: np.hstack([x, y]), (X, Y)),
    Case("np.vstack", lambda x, v: np.vstack([x, v]), (X, V)),
    Case("np.column_stack", lambda v, w: np.column_stack([v, w]), (V, W)),
    Case("np.append", lambda x, v: np.append(x, v), (X, V)),
    Case("np.split", lambda x: np.split(x, 2, axis=1), (X,)),
    Case("np.array_split", lambda x: np.array_split(x, 3, axis=1), (X,)),
    Case("np.flip", lambda x: np.flip(x, 1), (X,)),
    Case("np.roll", lambda x: np.roll(x, (1, -1), (0, 1)), (X,)),
    Case("np.tile", lambda x: np.tile(x, (1, 2)), (X,)),
    Case("np.repeat", lambda x: np.repeat(x, [2, 0, 1], axis=0), (X,)),
    Case("np.pad", lambda x: np.pad(x, ((1, 2), (0, 1)), constant_values=3), (X,)),
    Case("np.take", lambda x: np.take(x, [1, 0, 1], axis=1), (X,)),
    Case("np.take_along_axis", lambda x: np.take_along_axis(x, np.argsort(Y, axis=1), axis=1), (X,)),
    Case("np.diag", lambda v: np.diag(v, 1), (V,)),
    Case("np.diagonal", lambda x: np.diagonal(x, -1), (S,)),
    Case("np.tril", lambda x: np.tril(x, -1), (S,)),
    Case("np.triu", lambda x: np.triu(x), (S,)),
    Case("np.copy", np.copy, (X,)),
    Case("np.meshgrid", lambda v, w: np.meshgrid(v, w), (V, W[:2])),
    # creation
    Case("np.arange", lambda x: np.arange(4) * x, (X,), order=0),
    Case("np.linspace", lambda v: np.linspace(v[0], v[2], 5), (V,)),
    Case("np.eye", lambda x: np.eye(3) @ x, (X,), order=0),
    Case("np.identity", lambda x: x @ np.identity(4), (X,), order=0),
    Case("np.ones", lambda x: x @ np.ones(4), (X,), f32=False, order=0),
    Case("np.zeros", lambda x: np.zeros(4) + x, (X,), f32=False, order=0),
    Case("np.empty", lambda x: np.empty((0, 3)) @ x, (X,), order=0, f32=False),
    Case("np.full", lambda v: np.full((2, 4), v), (V,), f32=False),
    Case("np.tril_indices", lambda x: x[np.tril_indices(3)], (S,), order=0),
    Case("np.triu_indices", lambda x: x[np.triu_indices(3, 1)], (S,), order=0),
    Case("np.diag_indices", lambda x: x[np.diag_indices(3)], (S,), order=0),
    Case("np.mask_indices", lambda x: x[np.mask_indices(3, np.triu)], (S,), order=0),
    *[Case(f"np.{name}", lambda v, name=name: v * getattr(np, name)(4), (V,), order=0, f32=False)
      for name in ("bartlett", "blackman", "hanning")],
    Case("np.kaiser", lambda v: v * np.kaiser(4, 2.0), (V,), f32=False, order=0),
    *[Case(f"np.fft.{name}", lambda v, name=name, n=n: v * getattr(np.fft, name)(n)[:4], (V,), order=0, f32=False)
      for name, n in (("fftfreq", 4), ("rfftfreq", 6))],
    Case("np.fft.fftshift", lambda x: np.fft.fftshift(x), (T,)),
    Case("np.fft.fftshift axes", lambda x: np.fft.fftshift(x, axes=1), (T,)),
    Case("np.fft.ifftshift", lambda x: np.fft.ifftshift(x, axes=(0, -1)), (T,)),
    Case("np.zeros_like", np.zeros_like, (X,), order=0),
    Case("np.ones_like", np.ones_like, (X,), order=0),
    Case("np.full_like", lambda x: np.full_like(x, 2), (X,), order=0),
    Case("np.empty_like", lambda x: np.empty_like(x) * 0, (X,), order=0),
    # what is known of an array without its numbers
    Case("np.shape", lambda x: np.zeros(np.shape(x)) + x, (X,), order=0),
    Case("np.ndim", lambda x: x * np.ndim(x), (X,), order=0),
    Case("np.size", lambda x: x * np.size(x, 0), (X,), order=0),
    Case("np.result_type", lambda x: np.ones(2, np.result_type(x, 1)), (X,), order=0),
    Case("np.iscomplexobj", lambda x: x * np.iscomplexobj(x), (X,), order=0),
    Case("np.isrealobj", lambda x: x * np.isrealobj(x), (X,), order=0),
]
