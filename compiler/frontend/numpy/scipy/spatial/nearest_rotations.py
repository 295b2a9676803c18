"""scipy.spatial.transform.Rotation of traced matrices, vectors and rotations: the nearest one, means and powers.

The rotation nearest to a matrix B, and the one that turns vectors onto others best, have the quaternion q for which
q^T K q is largest, with K linear in B (P. Davenport, NASA X-546-65-437, 1965). Its eigenvector is found on numbers,
where other eigenvalues may be equal, as they are of a rotation; two of Newton's steps on traced ones then have its
first and second derivatives, which need the gap to the largest eigenvalue only.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .....ops.custom import stop_gradient
from .....ops.require import require
from ....array import Array, here, unknown, value_of
from ....patched.recoded import concrete, recode
from ...reductions import traced
from .rotations import (
    as_rotvec,
    compose,
    from_rotvec,
    inverse,
    item,
    magnitude,
    quaternion_parts,
    quaternion_product,
    rotation_floats,
    rotation_rows,
    with_quaternions,
)


def _still(x: Any) -> Any:
    now = here(x)
    return Array(now, now.emit(stop_gradient, value_of(now, x)))


def leading_eigenvectors(matrices: Any) -> Any:
    """The unit eigenvectors of the largest eigenvalues of symmetric matrices, which are simple."""
    k = traced(matrices)[1]
    v = _still(np.linalg.eigh(k)[1][..., -1])
    most = np.take_along_axis(v, np.argmax(np.abs(v), axis=-1)[..., None], axis=-1)
    v = v * np.sign(most)
    for _ in range(2):
        turned = (k @ v[..., None])[..., 0]
        value = np.sum(v * turned, axis=-1, keepdims=True)
        rest = value[..., None] * np.eye(k.shape[-1]) - k + v[..., :, None] * v[..., None, :]
        v = v + np.linalg.solve(rest, (turned - value * v)[..., None])[..., 0]
        v = v / np.sqrt(np.sum(v * v, axis=-1, keepdims=True))
    return v


def _profile(b: Any) -> Any:
    """Davenport's K: q^T K q is the sum of the products of the elements of B and of the rotation."""
    at = lambda i, j: b[..., i, j]  # noqa: E731
    trace = at(0, 0) + at(1, 1) + at(2, 2)
    rows = [[2 * at(i, i) - trace if i == j else at(i, j) + at(j, i) for j in range(3)] for i in range(3)]
    last = [at(2, 1) - at(1, 2), at(0, 2) - at(2, 0), at(1, 0) - at(0, 1)]
    rows = [[*row, x] for row, x in zip(rows, last, strict=True)] + [[*last, trace]]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def from_matrix(matrix: Any, *, assume_valid: bool = False) -> Any:
    """The nearest rotation, as SciPy's; a matrix that is said to be one is the nearest to itself."""
    m = rotation_floats(matrix)
    if m.ndim not in (2, 3) or m.shape[-2:] != (3, 3):
        raise ValueError(f"Expected `matrix` to have shape (..., 3, 3), got {tuple(m.shape)}")
    rows = np.reshape(m, (-1, 3, 3))
    if not assume_valid:
        now = here(rows)
        text = "Non-positive determinant (left-handed or null coordinate frame) in rotation matrix"
        right = traced(np.all(np.linalg.det(rows) > 0))[1]
        now.emit(require, value_of(now, right), error="ValueError", text=text)
    return with_quaternions(leading_eigenvectors(_profile(rows)), m.ndim == 2)


def mean_rotation(self: Any, weights: Any = None, axis: Any = None) -> Any:
    q = np.stack(quaternion_parts(self), axis=-1)
    if axis not in (None, 0):
        raise ValueError(f"axis {axis} is out of bounds for rotation with shape {(q.shape[0],)}.")
    w = np.ones(q.shape[0]) if weights is None else rotation_floats(weights)
    if concrete(weights) and np.any(np.asarray(w) < 0):
        raise ValueError("`weights` must be non-negative.")
    k = np.sum(np.reshape(w, (-1, 1, 1)) * q[:, :, None] * q[:, None, :], axis=0) / q.shape[0]
    return with_quaternions(leading_eigenvectors(k[None]), True)


def align_vectors(a: Any, b: Any, weights: Any = None, return_sensitivity: bool = False) -> Any:
    """The rotation that turns b onto a with the least sum of squares, and the root of that sum."""
    x, y = rotation_floats(a), rotation_floats(b)
    for name, each in (("a", x), ("b", y)):
        if each.ndim != 2 or each.shape[-1] != 3:
            raise ValueError(f"Expected input `{name}` to have shape (N, 3), got {tuple(each.shape)}")
    if x.shape != y.shape:
        raise ValueError(f"Expected inputs `a` and `b` to have same shapes, got {x.shape} and {y.shape} respectively.")
    infinite = weights is not None and (not concrete(weights) or np.any(np.isinf(np.asarray(weights, float))))
    if return_sensitivity or x.shape[0] == 1 or (infinite and concrete(weights)):
        name = "scipy.spatial.transform.Rotation.align_vectors"
        raise unknown(name, " of one vector, with an infinite weight or the sensitivity")
    w = np.reshape(np.ones(x.shape[0]) if weights is None else rotation_floats(weights), (-1, 1))
    k = _profile(np.swapaxes(w * x, 0, 1) @ y)
    q = leading_eigenvectors(k[None])
    left = np.sum(w * (x * x + y * y)) - 2.0 * np.sum(q[0] * (k @ q[0]))
    return with_quaternions(q, True), np.sqrt(np.maximum(left, 0.0))


# ---- other ways in and out


def from_mrp(mrp: Any) -> Any:
    rows, single = rotation_rows(mrp, 3, "mrp")
    square = np.sum(rows * rows, axis=1, keepdims=True)
    return with_quaternions(np.concatenate([2.0 * rows, 1.0 - square], axis=1) / (1.0 + square), single)


def as_mrp(self: Any) -> Any:
    x, y, z, w = quaternion_parts(self)
    sign = np.where(w < 0, -1.0, 1.0)
    made = np.stack([x, y, z], axis=1) * (sign / (1.0 + sign * w))[:, None]
    return made[0] if self._single else made


def from_davenport(axes: Any, order: str, angles: Any, degrees: bool = False) -> Any:
    """Turns about one to three axes, one after the other."""
    if order not in ("e", "extrinsic", "i", "intrinsic"):
        raise ValueError(f"order should be 'e'/'extrinsic' for extrinsic sequences or 'i'/'intrinsic', got {order}")
    about = np.reshape(rotation_floats(axes), (-1, 3))
    count, given = about.shape[0], rotation_floats(angles)
    if given.ndim > 1 and given.shape[-1] != count:
        raise ValueError(f"Expected `angles` to have shape (..., {count}), got {tuple(given.shape)}")
    rows = np.reshape(given, (-1, count)) * (math.pi / 180.0 if degrees else 1.0)
    made: Any = None
    for k in range(count):
        unit = about[k] / np.sqrt(np.sum(about[k] * about[k]))
        turn = quaternion_parts(from_rotvec(rows[:, k : k + 1] * unit))
        pair = (turn, made) if order[0] == "e" else (made, turn)
        made = turn if made is None else quaternion_product(*pair)
    return with_quaternions(np.stack(made, axis=1), given.ndim < 2)


def rotation_power(self: Any, n: Any, modulus: None = None) -> Any:
    if modulus is not None:
        raise NotImplementedError("modulus not supported")
    if concrete(n) and n in (-1, 1):
        return inverse(self) if n == -1 else with_quaternions(np.stack(quaternion_parts(self), axis=1), self._single)
    return from_rotvec(n * as_rotvec(self))


def approx_equal(self: Any, other: Any, atol: Any = None, degrees: bool = False) -> Any:
    bound = 1e-8 if atol is None else atol * math.pi / 180.0 if degrees else atol
    return magnitude(compose(inverse(self), other)) < bound


def each_rotation(self: Any) -> Any:
    if self._single:
        raise TypeError("Single rotation is not iterable.")
    return iter([item(self, k) for k in range(self._quat.shape[0])])


def _unknown(name: str) -> Any:
    def meaning(*args: Any, **kwargs: Any) -> Any:
        raise unknown(f"scipy.spatial.transform.Rotation.{name}")

    return meaning


recode("scipy.spatial.transform", {f"Rotation.{name}": meaning for name, meaning in {
    "from_matrix": from_matrix, "mean": mean_rotation, "align_vectors": align_vectors, "from_mrp": from_mrp,
    "as_mrp": as_mrp, "from_davenport": from_davenport, "__pow__": rotation_power, "approx_equal": approx_equal,
    "__iter__": each_rotation,
    **{name: _unknown(name) for name in ("as_davenport", "reduce")},
}.items()})  # fmt: skip

__all__ = ["align_vectors", "from_matrix", "leading_eigenvectors", "mean_rotation"]
