"""Cases of NumPy's functions that make arrays of traced numbers, of lists of them, and of places in arrays."""

import numpy as np

from tests.numpy_cases import Case, spread

X = spread(3, 4)
V = spread(4, seed=1)
P = spread(3, low=0.4, high=2.6, seed=2)
I = np.array([2, 0, 1])  # noqa: E741 - an index

CASES = [
    Case("np.array", lambda v: np.array([[v[0], v[1] * 2], [1, v[2]]], dtype=v.dtype), (V,)),
    Case("np.array ndmin", lambda v: [np.array(v, ndmin=3), np.array([v[0], v[1]], ndmin=2)], (V,)),
    Case("np.array dtype", lambda v: np.array([v[0], v[1]], dtype=np.float32), (V,), 0, True, 1e-6),
    Case("np.asarray", lambda v: np.asarray([v, v * 2]), (V,)),
    Case("np.asanyarray", lambda v: np.asanyarray(v) * 2, (V,)),
    Case("np.ascontiguousarray", lambda v: [np.ascontiguousarray(v), np.ascontiguousarray(v[0])], (V,)),
    Case("np.asfortranarray", lambda x: np.asfortranarray(x) + 1, (X,)),
    Case("np.asarray_chkfinite", lambda x: np.asarray_chkfinite([x[0], x[1] * x[2]]), (X,)),
    Case("np.require", lambda x: np.require(x, np.float64, ["C", "O"]), (X,)),
    Case("np.r_", lambda v: np.r_[v[0], 0:3, v, [1.5]], (V,), f32=False),
    Case("np.r_ of one dtype", lambda v: np.r_[v, 1.5, v[0]], (V,)),
    Case("np.r_ with axes", lambda v: [np.r_["0,2", v, v], np.r_["1,2,0", v, v]], (V,)),
    Case("np.r_ of matrices", lambda x: [np.r_[x, x], np.r_["-1", x, x]], (X,)),
    Case("np.c_", lambda v: np.c_[v, v * v], (V,)),
    Case("np.linspace", lambda v: [np.linspace(v[0], v[1], 4), np.linspace(v, v[0], 3, axis=-1)], (V,)),
    Case("np.linspace retstep", lambda v: np.linspace(v[0], v[1], 5, endpoint=False, retstep=True), (V,)),
    Case("np.linspace of ints", lambda v: np.linspace(v[0], 7, 4, dtype=int), (V,), 0),
    Case("np.linspace short", lambda v: [np.linspace(v[0], v[1], 1), np.linspace(v[0], v[1], 0)], (V,)),
    Case("np.logspace", lambda p: [np.logspace(p[0], p[1], 4), np.logspace(p, 2, 3, endpoint=False)], (P,)),
    Case("np.logspace base", lambda p: np.logspace(0, p[1], 3, base=p, axis=-1), (P,)),
    Case("np.geomspace", lambda p: [np.geomspace(p[0], p[1], 4), np.geomspace(-p, -7.0, 3, axis=1)], (P,)),
    Case("np.geomspace open", lambda p: np.geomspace(p[0], p[1], 4, endpoint=False), (P,)),
    Case("np.vander", lambda p: [np.vander(p), np.vander(p, 5), np.vander(p, 2, increasing=True)], (P,)),
    Case("np.diagflat", lambda x: [np.diagflat(x[:2, :2], 1), np.diagflat(x[0], -1)], (X,)),
    Case("np.ix_", lambda x: x[np.ix_([0, 2], [1, 3])], (X,)),
    Case("np.ix_ of traced places", lambda x: x[np.ix_(np.argmax(x, axis=1), [1, 2])], (X[:, :3],)),
    Case("np.unravel_index", lambda x: np.unravel_index(np.argmax(x, axis=0) * 4, (3, 4)), (X,), 0),
    Case("np.unravel_index F", lambda x: np.unravel_index(np.argmax(x), (3, 4), order="F"), (X,), 0),
    Case("np.ravel_multi_index", lambda x: np.ravel_multi_index((np.argmax(x, 0), np.arange(4)), (3, 4)), (X,), 0),
    Case(
        "np.ravel_multi_index modes",
        lambda x: np.ravel_multi_index((np.argmax(x, 0) + 5, np.arange(4) - 2), (3, 4), ("wrap", "clip"), "F"), (X,), 0,
    ),
    Case("np.diag_indices_from", lambda x: x[np.diag_indices_from(x)], (X[:, :3],)),
    Case("np.tril_indices_from", lambda x: x[np.tril_indices_from(x, -1)], (X,)),
    Case("np.triu_indices_from", lambda x: x[np.triu_indices_from(x)], (X,)),
    Case("np.indices", lambda x: np.indices(x.shape)[1] * x, (X,), f32=False),
    Case("np.fromfunction", lambda x: np.fromfunction(lambda i, j: x[0, 0] * i + j, (2, 3)), (X,), f32=False),
    Case("np.tri", lambda x: np.tri(3, 4, dtype=x.dtype) * x, (X,)),
    Case("np.hamming", lambda v: np.hamming(4).astype(v.dtype) * v, (V,)),
    Case("np.ndenumerate", lambda v: [u * i for (i,), u in np.ndenumerate(v)], (V,), 0),
    Case("np.ndindex", lambda x: [x[i] * i[0] for i in np.ndindex(*x.shape)], (X,), 1),
    Case("np.can_cast", lambda v: v * (np.can_cast(v, np.float64) + 1), (V,)),
    Case("np.common_type", lambda v: v.astype(np.common_type(v, np.arange(2))), (V,), f32=False),
]
