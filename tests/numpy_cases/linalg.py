"""Cases of np.linalg."""

import numpy as np

from tests.numpy_cases import Case, spread

RNG = np.random.default_rng(11)
S = 0.3 * RNG.normal(size=(4, 4)) + np.diag([1.0, 1.7, 2.4, 3.3])
BATCH = np.stack([S, S.T + 0.2, S @ S])
P = S @ S.T
PS = np.stack([P, P + np.eye(4)])
TALL, WIDE = spread(5, 3, seed=1), spread(3, 5, seed=2)
V, B = spread(4), spread(4, 2, seed=3)


def _signs(x):
    """Columns turned so that the largest element is positive: factors are unique up to that."""
    return x * np.sign(np.sum(x**3, axis=-2, keepdims=True))


CASES = [
    Case("np.linalg.solve", np.linalg.solve, (S, V)),
    Case("np.linalg.solve columns", np.linalg.solve, (S, B)),
    Case("np.linalg.solve batch", np.linalg.solve, (BATCH, B)),
    Case("np.linalg.solve many", lambda a, b: np.linalg.solve(a, b[None]), (S, np.stack([B, 2 * B]))),
    Case("np.linalg.inv", np.linalg.inv, (S,)),
    Case("np.linalg.inv batch", np.linalg.inv, (BATCH,)),
    Case("np.linalg.pinv", np.linalg.pinv, (TALL,), f32=False),
    Case("np.linalg.pinv wide", lambda x: np.linalg.pinv(x, rtol=1e-10), (WIDE,)),
    Case("np.linalg.pinv hermitian", lambda x: np.linalg.pinv(x, hermitian=True), (P,), f32=False),
    Case("np.linalg.lstsq", lambda a, b: np.linalg.lstsq(a, b, rcond=None)[0], (TALL, spread(5)), rtol=1e-11),
    Case("np.linalg.lstsq all", lambda a, b: np.linalg.lstsq(a, b)[1:], (TALL, spread(5, 2, seed=5)), rtol=1e-11),
    Case("np.linalg.lstsq wide", lambda a, b: np.linalg.lstsq(a, b)[:2], (WIDE, spread(3)), rtol=1e-11),
    Case("np.linalg.tensorsolve", np.linalg.tensorsolve, (BATCH[0].reshape(2, 2, 4), spread(2, 2))),
    Case("np.linalg.tensorinv", lambda a: np.linalg.tensorinv(a.reshape(2, 2, 4)), (S,)),
    Case("np.linalg.tensorinv one", lambda a: np.linalg.tensorinv(a.reshape(4, 2, 2), ind=1), (S,)),
    Case("np.linalg.det", np.linalg.det, (S,)),
    Case("np.linalg.det batch", np.linalg.det, (BATCH,)),
    Case("np.linalg.slogdet", lambda x: np.linalg.slogdet(-x[:3, :3]), (S,)),
    Case("np.linalg.slogdet named", lambda x: np.linalg.slogdet(x).logabsdet, (BATCH,)),
    Case("np.linalg.matrix_power", lambda x: np.linalg.matrix_power(x, 5) + np.linalg.matrix_power(x, 0), (S,)),
    Case("np.linalg.matrix_power negative", lambda x: np.linalg.matrix_power(x, -3), (BATCH,)),
    Case("np.linalg.cholesky", lambda x: np.linalg.cholesky(x @ x.T), (S,)),
    Case("np.linalg.cholesky triangle", np.linalg.cholesky, (PS,)),
    Case("np.linalg.cholesky upper", lambda x: np.linalg.cholesky(x, upper=True), (P,)),
    Case("np.linalg.qr", np.linalg.qr, (TALL,), f32=False),
    Case("np.linalg.qr wide", lambda x: tuple(np.linalg.qr(x)), (WIDE,)),
    Case("np.linalg.qr r", lambda x: np.linalg.qr(x, mode="r"), (TALL,)),
    Case("np.linalg.qr complete", lambda x: np.linalg.qr(x, "complete").Q[:, :3], (TALL,)),
    Case("np.linalg.eigh", np.linalg.eigh, (P,), rtol=1e-11, f32=False),
    Case("np.linalg.eigh upper", lambda x: np.linalg.eigh(x, "U").eigenvalues, (PS,), f32=False),
    Case("np.linalg.eigvalsh", lambda x: np.linalg.eigvalsh(x + x.T), (S,), f32=False),
    Case("np.linalg.svd", lambda x: np.linalg.svd(x).S, (TALL,)),
    Case("np.linalg.svd vectors", lambda x: _signs(np.linalg.svd(x, full_matrices=False).U), (TALL,), rtol=1e-11),
    Case("np.linalg.svd square", lambda x: _signs(np.linalg.svd(x)[0]), (S,), rtol=1e-11, f32=False),
    Case("np.linalg.svd full", lambda x: abs(np.linalg.svd(x)[0]).shape[0] * np.linalg.svd(x)[1], (WIDE,)),
    Case("np.linalg.svd full vectors", lambda x: np.linalg.svd(x)[2], (WIDE,), order=0, f32=False),
    Case("np.linalg.svd values", lambda x: np.linalg.svd(x, compute_uv=False), (BATCH,)),
    Case("np.linalg.svdvals", np.linalg.svdvals, (WIDE,)),
    Case("np.linalg.matrix_rank", lambda x: np.linalg.matrix_rank(x * np.array([1.0, 1.0, 0.0])), (TALL,), order=0),
    Case("np.linalg.matrix_rank batch", lambda x: np.linalg.matrix_rank(x, rtol=1e-3), (BATCH,), order=0),
    Case("np.linalg.cond", np.linalg.cond, (TALL,)),
    Case("np.linalg.cond order", lambda x: np.linalg.cond(x, 1) + np.linalg.cond(x, "fro"), (S,)),
    Case("np.linalg.cond inverse", lambda x: np.linalg.cond(x, -2), (S,)),
    Case("np.linalg.norm", lambda x: np.linalg.norm(x) + np.linalg.norm(x, axis=0), (TALL,)),
    Case("np.linalg.norm matrix", lambda x: np.linalg.norm(x, "nuc") + np.linalg.norm(x, 2, (0, 1), True), (TALL,)),
    Case("np.linalg.norm columns", lambda x: np.linalg.norm(x, 1) + np.linalg.norm(x, -1), (TALL,)),
    Case("np.linalg.norm rows", lambda x: np.linalg.norm(x, np.inf) + np.linalg.norm(x, -np.inf), (TALL,)),
    Case("np.linalg.norm smallest", lambda x: np.linalg.norm(x, -2, axis=(0, 2)), (spread(3, 2, 4),)),
    Case("np.linalg.norm vector", lambda x: np.linalg.norm(x, 3, axis=1) + np.linalg.norm(x, -2, axis=1), (TALL,)),
    Case("np.linalg.norm fro", lambda x: np.linalg.norm(x, "fro", axis=(0, 1), keepdims=True), (spread(3, 2, 4),)),
    Case("np.linalg.matrix_norm", lambda x: np.linalg.matrix_norm(x, ord="nuc") + np.linalg.matrix_norm(x), (BATCH,)),
    Case("np.linalg.vector_norm", lambda x: np.linalg.vector_norm(x) + np.linalg.vector_norm(x, axis=(0, 2)),
         (BATCH,)),
    Case("np.linalg.vector_norm axes", lambda x: np.linalg.vector_norm(x, axis=(0, 2), keepdims=True, ord=4), (BATCH,)),
    Case("np.linalg.multi_dot", lambda a, b: np.linalg.multi_dot([a, b, a]), (TALL, WIDE)),
    Case("np.linalg.outer", np.linalg.outer, (V, V[:3])),
    Case("np.linalg.diagonal", lambda x: np.linalg.diagonal(x, offset=1), (BATCH,)),
    Case("np.linalg.trace", lambda x: np.linalg.trace(x, offset=-1), (BATCH,)),
    Case("np.linalg.cross", np.linalg.cross, (TALL, TALL[::-1].copy())),
    Case("np.linalg.tensordot", lambda a, b: np.linalg.tensordot(a, b, axes=1), (TALL, WIDE)),
    Case("np.cross axes", lambda a, b: np.cross(a, b, axisa=0, axisc=0), (WIDE, TALL)),
    Case("np.linalg.matmul", np.linalg.matmul, (TALL, WIDE)),
    Case("np.linalg.vecdot", np.linalg.vecdot, (TALL, TALL[::-1].copy())),
    Case("np.linalg.matrix_transpose", np.linalg.matrix_transpose, (BATCH,)),
]  # fmt: skip
