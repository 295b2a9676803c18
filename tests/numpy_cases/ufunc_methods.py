"""Cases of ufuncs that look at the bits of numbers, of the methods of ufuncs, and of their arguments."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.numpy_cases import Case, spread

X = spread(3, 4)
Y = spread(3, 4, low=0.6, high=2.1, seed=1)
P = spread(3, 4, low=0.4, high=2.7, seed=2)
N = np.arange(-6, 6).reshape(3, 4)
M = np.array([[True, False, True, True], [False, True, True, False], [True, True, False, True]])


def _stored(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of an array made here and the argument; the array is returned."""

    def call(x: Any) -> Any:
        y = x * 2.0
        function(y, x)
        return y

    return call


CASES = [
    Case("np.copysign", lambda x, y: np.copysign(x, y - 1.1), (P, Y)),
    Case("np.copysign of zeros", lambda x: np.copysign(x, [0.0, -0.0, np.nan, -np.nan]), (X,), 0),
    Case("np.copysign of -0.0", lambda x: np.copysign(np.float64(2.0), -0.0 * x[0]), (X,), 0, False),
    Case("np.signbit", np.signbit, (X * M,), 0),
    Case("np.nextafter", lambda x: np.nextafter(x, 1.0), (X,), 1),
    Case("np.spacing", np.spacing, (X,), 0),
    Case("np.fmod", np.fmod, (X, Y)),
    Case("np.fmod whole", lambda x: np.fmod(N, 4) * x + np.fmod(x, 0.7), (X,)),
    Case("np.fmod of ints", lambda x: np.fmod(np.trunc(x * 9).astype(np.int64), -4), (X,), 0),
    Case("np.modf", np.modf, (X,)),
    Case("np.frexp", np.frexp, (P,)),
    Case("np.ldexp", lambda x: np.ldexp(x, N), (X,)),
    Case("np.divmod", lambda x: np.divmod(x, 0.7), (X,)),
    Case("np.gcd", lambda x: np.gcd(np.trunc(x * 9).astype(np.int64), 6), (X,), 0),
    Case("np.lcm", lambda x: np.lcm(np.trunc(x * 9).astype(np.int32), np.int32(6)), (X,), 0),
    Case("np.fix", np.fix, (X,), 0),
    Case("np.isposinf", lambda x: np.isposinf(np.where(M, x, np.inf)), (X,), 0),
    Case("np.isneginf", lambda x: np.isneginf(np.where(M, x, -np.inf)), (X,), 0),
    Case("np.isreal", np.isreal, (X,), 0),
    Case("np.iscomplex", np.iscomplex, (X,), 0),
    Case("np.imag", lambda x: np.imag(x) + x, (X,)),
    Case("np.real_if_close", np.real_if_close, (X,)),
    Case("np.angle", lambda x: np.angle(x) + np.angle(x, deg=True), (X,), 0),
    Case("np.i0", np.i0, (X,)),
    Case("np.matvec", lambda x, y: np.matvec(x, y[0]), (X, Y)),
    Case("np.vecmat", lambda x, y: np.vecmat(y[:, 0], x), (X, Y)),
    Case("np.add.reduce axes", lambda x: np.add.reduce(x, axis=(0, 1)) + np.add.reduce(x, 1, keepdims=True), (X,)),
    Case("np.add.reduce where", lambda x: np.add.reduce(x, where=M, initial=0.5), (X,)),
    Case("np.add.reduce of ints", lambda x: np.add.reduce(x > 0, axis=1), (X,), 0),
    Case("np.add.reduce dtype", lambda x: np.add.reduce(x, dtype=np.float32), (X,), 0, True, 1e-6),
    Case("np.multiply.reduce where", lambda x: np.multiply.reduce(x, axis=1, where=M), (X,)),
    Case("np.maximum.reduce where", lambda x: np.maximum.reduce(x, axis=1, where=M, initial=-9.0), (X,)),
    Case("np.minimum.reduce", lambda x: np.minimum.reduce(x, axis=None, initial=-1.0), (P,)),
    Case("np.logical_and.reduce", lambda x: np.logical_and.reduce(x > 0, axis=1), (X,), 0),
    Case("np.logical_xor.reduce", lambda x: np.logical_xor.reduce(x > 0, axis=0), (X,), 0),
    Case("np.bitwise_xor.reduce", lambda x: np.bitwise_xor.reduce(np.rint(x).astype(int), axis=1), (X,), 0),
    Case("np.logaddexp.reduce", lambda x: np.logaddexp.reduce(x, axis=1), (X,)),
    Case("np.hypot.reduce", lambda x: np.hypot.reduce(x, axis=(0, 1)), (X,)),
    Case("np.subtract.reduce", lambda x: np.subtract.reduce(x, axis=1, initial=0.25), (X,)),
    Case("np.divide.reduce", lambda x: np.divide.reduce(x), (P,)),
    # In rows one after the other: with AVX-512, NumPy 2.4's own reduction of columns that lie apart is wrong.
    Case("np.power.reduce", lambda x: np.power.reduce(np.stack([x[0], x[1], x[2]]), axis=0), (P,)),
    Case("np.add.accumulate", lambda x: np.add.accumulate(x, axis=1), (X,)),
    Case("np.maximum.accumulate", lambda x: np.maximum.accumulate(x, axis=1), (X,)),
    Case("np.maximum.accumulate of ints", lambda x: np.maximum.accumulate(np.rint(x).astype(np.int32)), (X,), 0),
    Case("np.logaddexp.accumulate", lambda x: np.logaddexp.accumulate(x, axis=0), (X,)),
    Case("np.subtract.accumulate", lambda x: np.subtract.accumulate(x, axis=1), (X,)),
    Case("np.add.reduceat", lambda x: np.add.reduceat(x, [0, 3, 1, 2], axis=1), (X,)),
    Case("np.maximum.reduceat", lambda x: np.maximum.reduceat(x, [1, 0]), (X,)),
    Case("np.multiply.outer", lambda x, y: np.multiply.outer(x, y[0]), (X, Y)),
    Case("np.hypot.outer", lambda x: np.hypot.outer(x[0], x[1]), (X,)),
    Case("np.divmod.outer", lambda x: np.divmod.outer(x[0], x.dtype.type(0.7)), (X,), 1),  # type: ignore[arg-type]
    Case("np.add dtype", lambda x, y: np.add(x, y, dtype=np.float32), (X, Y), 0, True, 1e-6),
    Case("np.add out", _stored(lambda y, x: np.add(x, 1.0, out=y)), (X,), 0),
    Case("np.add out by position", _stored(lambda y, x: np.add(x, y, y)), (X,), 0),
    Case("np.exp out where", _stored(lambda y, x: np.exp(x, out=y, where=x > 0)), (X,), 0),
    Case("np.sum out", _stored(lambda y, x: np.sum(x, axis=0, out=y[1])), (X,), 0),
    Case("np.cumsum out", _stored(lambda y, x: np.cumsum(x, axis=0, out=y)), (X,), 0),
    Case("np.modf out", _stored(lambda y, x: np.modf(x[0], out=(y[1], y[2]))), (X,), 0),
    Case("np.add.at", _stored(lambda y, x: np.add.at(y, [0, 2, 0], x[1])), (X,), 0),
    Case("np.multiply.at", _stored(lambda y, x: np.multiply.at(y, ([0, 1, 0], [1, 1, 1]), x[1, :3])), (X,), 0),
    Case("np.maximum.at", _stored(lambda y, x: np.maximum.at(y, [0, 0], x[1:])), (X,), 0),
    Case("np.negative.at", _stored(lambda y, x: np.negative.at(y, [0, 1, 0])), (X,), 0),
]
