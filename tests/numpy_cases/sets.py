"""Cases of NumPy's sets, choices, insertions and writes into arrays."""

import numpy as np

from tests.numpy_cases import Case, spread

X = spread(3, 5)
Y = spread(3, 5, low=-1.0, high=3.1, seed=3)
V = spread(7, seed=1)
S = np.array([0.5, -1.0, 0.5, 2.0])
PLACES = np.array([3, 0, -1, 3])
WHICH = np.array([[0, 2, 1, 1, 0], [1, 1, 2, 0, 0], [2, 0, 0, 1, 2]])
MASK = X > 0.01


def _made(write):
    """A function that writes into a copy of its first argument."""

    def function(x, *more):
        y = x * 1.0
        write(y, *more)
        return y * y

    return function


SETS = [
    Case("np.unique", lambda x: np.unique(np.concatenate([x, x[:2]])) ** 2, (V,), order=0),
    Case("np.unique all", lambda x: np.unique(
        np.floor(x), return_index=True, return_inverse=True, return_counts=True), (X,), order=0),
    Case("np.unique_values", lambda x: np.unique_values(np.floor(x)), (X,), order=0),
    Case("np.unique_counts", lambda x: tuple(np.unique_counts(np.floor(x))), (X,), order=0),
    Case("np.unique_inverse", lambda x: tuple(np.unique_inverse(np.floor(x))), (X,), order=0),
    Case("np.unique_all", lambda x: tuple(np.unique_all(np.floor(x))), (X,), order=0),
    Case("np.union1d", lambda x, y: np.union1d(x, np.append(y, x[:3])), (V, S), order=0),
    Case("np.intersect1d", lambda x: np.intersect1d(x, x[2:5] * 1.0), (V,), order=0),
    Case("np.intersect1d indices", lambda x: np.intersect1d(
        np.floor(x), [1.0, -1.0, 7.0], return_indices=True), (V,), order=0),
    Case("np.setdiff1d", lambda x: np.setdiff1d(x, x[2:5]), (V,), order=0),
    Case("np.setxor1d", lambda x, s: np.setxor1d(x, np.append(s, x[1:3])), (V, S), order=0),
    Case("np.nonzero", lambda x: np.nonzero(x > 0.01), (X,), order=0),
    Case("np.flatnonzero", lambda x: np.flatnonzero(x > 0.01), (X,), order=0),
    Case("np.argwhere", lambda x: np.argwhere(x > 0.01), (X,), order=0),
    Case("ndarray.nonzero", lambda x: (x > 0.01).nonzero(), (X,), order=0),
    Case("np.array_equal", lambda x: np.array_equal(x, x + 0.0), (X,), order=0),
    Case("np.array_equal NaN", lambda x: np.array_equal(x * np.nan, x * np.nan, equal_nan=True), (X,), order=0),
    Case("np.array_equiv", lambda x: np.array_equiv(x, x[0]), (X,), order=0),
    Case("np.allclose", lambda x: np.allclose(x, x + 1e-12), (X,), order=0),
    Case("np.isclose", lambda x: np.isclose(x, np.where(MASK, x, 9.0), equal_nan=True), (X,), order=0),
]  # fmt: skip

PARTS = [
    Case("np.extract", lambda x: np.extract(MASK, x) ** 2, (X,)),
    Case("np.compress", lambda x: np.compress([True, False, True], x, axis=0) ** 2, (X,)),
    Case("np.compress flat", lambda x: np.compress(MASK[0], x) ** 2, (X,)),
    Case("ndarray.compress", lambda x: x.compress([0, 1, 1, 0, 1], axis=1), (X,)),
    Case("np.trim_zeros", lambda x: np.trim_zeros(np.where(np.arange(7) > 2, x, 0.0)), (V,), order=0),
    Case("np.delete", lambda x: np.delete(x, [1, 3], axis=1) ** 2, (X,)),
    Case("np.delete slice", lambda x: np.delete(x, slice(1, None, 2)), (V,)),
    Case("np.insert", lambda x, v: np.insert(x, 2, v[:3], axis=1) ** 2, (X, V)),
    Case("np.insert places", lambda x, v: np.insert(x, [1, 1, 5], v[:3]) ** 2, (V, S)),
    Case("np.insert number", lambda x: np.insert(x, 3, 0.5), (V,)),
    Case("np.insert rows", lambda x, y: np.insert(x, [0, 2], y[:2], axis=0), (X, Y)),
    Case("np.resize", lambda x: np.resize(x**2, (4, 5)), (X,)),
    Case("np.resize small", lambda x: np.resize(x**2, 4), (X,)),
]

CHOICES = [
    Case("np.select", lambda x, y: np.select([x > 1.0, x > -0.2], [x**2, y], 7.0), (X, Y)),
    Case("np.select known", lambda x: np.select([MASK, ~MASK], [x**2, x[0]]), (X,)),
    Case("np.choose", lambda x, y: np.choose(WHICH, [x**2, y, x * y]), (X, Y)),
    Case("np.choose traced", lambda x, y: np.choose(np.floor(x).astype(int), (x, y), mode="wrap") ** 2, (X, Y)),
    Case("np.choose clip", lambda x: np.choose(WHICH + 1, [x, 1.0, x[0]], mode="clip"), (X,)),
    Case("ndarray.choose", lambda x: (x > 0.01).astype(int).choose([x, x**2]), (X,)),
    Case("np.piecewise", lambda x: np.piecewise(x, [x < -0.5, x > 1.0], [np.exp, lambda v: v**2, 3.0]), (X,)),
    Case("np.piecewise one", lambda x: np.piecewise(x, x > 0.01, [np.exp, lambda v: -v]), (V,)),
    Case("np.piecewise arguments", lambda x: np.piecewise(x, [MASK], [lambda v, k: v * k], 3.0), (X,)),
]

WRITES = [
    Case("np.put", _made(lambda y, v: np.put(y, PLACES, v)), (V, S)),
    Case("np.put repeated", _made(lambda y, v: np.put(y, PLACES, v[:3])), (X, S)),
    Case("np.put traced", _made(lambda y, v: np.put(y, np.argsort(v), v)), (V, X[0])),
    Case("np.put wrap", _made(lambda y, v: np.put(y, [9, 2], v[0], mode="wrap")), (V, S)),
    Case("ndarray.put", _made(lambda y, v: y.put([1, 2], v, mode="clip")), (V, S)),
    Case("ndarray.fill", _made(lambda y, v: y.fill(v[1])), (V, S)),
    Case("np.put_along_axis", _made(lambda y, v: np.put_along_axis(y, WHICH[:, :2], v[:, :1], 1)), (X, Y)),
    Case("np.put_along_axis down", _made(lambda y, v: np.put_along_axis(y, np.argsort(v, 0), v, axis=0)), (X, Y)),
    Case("np.putmask", _made(lambda y, v: np.putmask(y, y > 0.01, v)), (X, S)),
    Case("np.place", _made(lambda y, v: np.place(y, y > 0.01, v)), (X, S)),
    Case("np.copyto", _made(lambda y, v: np.copyto(y, v)), (X, Y[0])),
    Case("np.copyto where", _made(lambda y, v: np.copyto(y, v, where=MASK)), (X, Y)),
    Case("np.fill_diagonal", _made(lambda y, v: np.fill_diagonal(y, v)), (X, S)),
    Case("np.fill_diagonal wrap", _made(lambda y, v: np.fill_diagonal(y, v[0], wrap=True)), (spread(7, 3), S)),
    Case("np.fill_diagonal cube", _made(lambda y, v: np.fill_diagonal(y, v[:3])), (spread(3, 3, 3), S)),
]

CASES = [*SETS, *PARTS, *CHOICES, *WRITES]
