"""scipy.spatial.transform.Rotation made of traced numbers: unit quaternions (x, y, z, w) as values of the graph.

Rotation vectors, Euler angles and quaternions go in; matrices, turned vectors, products and the same come out. Near no
rotation at all series take the place of what would be 0/0. Where two of three Euler angles are one (gimbal lock) the
last is zero, as SciPy's.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ....array import unknown
from ....patched.patches import NOT_MINE
from ....patched.recoded import recode
from ....promotion import as_operand
from ..special.functions import as_float

SMALL = 1e-3
"""Angles below are those of series, whose next terms are lost in double precision."""


def rotation_floats(x: Any) -> Any:
    return as_float(as_operand(x)).astype(np.float64)


def with_quaternions(quaternions: Any, single: bool) -> Any:
    """A Rotation of SciPy's with these numbers."""
    from scipy.spatial.transform import Rotation

    made = object.__new__(Rotation)
    made.__dict__.update(_single=single, _quat=quaternions, _xp=np, _backend=None)
    return made


def rotation_rows(x: Any, width: int, what: str) -> tuple[Any, bool]:
    """Numbers as rows, and whether there is one row that stands alone."""
    x = rotation_floats(x)
    if x.ndim not in (1, 2) or x.shape[-1] != width:
        raise ValueError(f"Expected `{what}` to have shape (..., {width}), got {tuple(x.shape)}.")
    return np.reshape(x, (-1, width)), x.ndim == 1


def quaternion_parts(rotation: Any) -> tuple[Any, Any, Any, Any]:
    quaternions = rotation_floats(rotation._quat)
    if quaternions.ndim != 2:
        raise unknown("scipy.spatial.transform.Rotation", " of more than one axis")
    x, y, z, w = (quaternions[:, k] for k in range(4))
    return x, y, z, w


def _alone(rotation: Any, made: Any) -> Any:
    return made[0] if rotation._single else made


def _check(seq: str, least: int) -> None:
    """Names of axes, all small letters or all capitals."""
    if not least <= len(seq) <= 3 or seq not in (seq.lower(), seq.upper()) or set(seq.lower()) - set("xyz"):
        raise ValueError(f"Expected axis specification to be {least} to 3 of xyz or of XYZ, got {seq}")


# ---- made


def from_quat(quat: Any, *, scalar_first: bool = False) -> Any:
    rows, single = rotation_rows(quat, 4, "quat")
    rows = rows[:, [1, 2, 3, 0]] if scalar_first else rows
    return with_quaternions(rows / np.sqrt(np.sum(rows * rows, axis=1, keepdims=True)), single)


def from_rotvec(rotvec: Any, degrees: bool = False) -> Any:
    rows, single = rotation_rows(rotvec, 3, "rot_vec")
    rows = rows * (math.pi / 180.0) if degrees else rows
    square = np.sum(rows * rows, axis=1, keepdims=True)
    small = square < SMALL**2
    half = 0.5 * np.sqrt(np.where(small, 1.0, square))
    scale = np.where(small, 0.5 - square / 48 + square**2 / 3840, 0.5 * np.sin(half) / half)
    w = np.where(small, 1 - square / 8 + square**2 / 384, np.cos(half))
    return with_quaternions(np.concatenate([scale * rows, w], axis=1), single)


def from_euler(seq: str, angles: Any, degrees: bool = False) -> Any:
    """One turn after the other, about fixed axes (small letters) or those that turn along (capitals)."""
    angles = rotation_floats(angles)
    _check(seq, 1)
    single = angles.ndim < 2
    if angles.ndim > 2 or (angles.ndim and angles.shape[-1] != len(seq)) or (not angles.ndim and len(seq) > 1):
        raise ValueError("Expected last dimension of `angles` to match number of sequence axes specified.")
    rows = np.reshape(angles, (-1, len(seq)))
    rows = rows * (math.pi / 180.0) if degrees else rows
    made: Any = None
    for k, axis in enumerate(seq):
        half, zero = 0.5 * rows[:, k], 0.0 * rows[:, k]
        turn: Any = [zero, zero, zero, np.cos(half)]
        turn["xyz".index(axis.lower())] = np.sin(half)
        pair = (turn, made) if seq.islower() else (made, turn)
        made = turn if made is None else quaternion_product(*pair)
    return with_quaternions(np.stack(made, axis=1), single)


# ---- read


def as_quat(self: Any, canonical: bool = False, *, scalar_first: bool = False) -> Any:
    x, y, z, w = quaternion_parts(self)
    if canonical:
        sign = np.where(w < 0, -1.0, 1.0)
        x, y, z, w = x * sign, y * sign, z * sign, w * sign
    return _alone(self, np.stack([w, x, y, z] if scalar_first else [x, y, z, w], axis=1))


def as_rotvec(self: Any, degrees: bool = False) -> Any:
    x, y, z, w = quaternion_parts(self)
    sign = np.where(w < 0, -1.0, 1.0)
    square = x * x + y * y + z * z
    small = square < (0.5 * SMALL) ** 2
    length = np.sqrt(np.where(small, 1.0, square))
    ratio = square / np.where(small, w * w, 1.0)
    series = 2 / np.where(small, sign * w, 1.0) * (1 - ratio / 3 + ratio**2 / 5)
    scale = sign * np.where(small, series, 2 * np.arctan2(length, sign * w) / length)
    made = np.stack([scale * x, scale * y, scale * z], axis=1)
    return _alone(self, made * (180.0 / math.pi) if degrees else made)


def as_matrix(self: Any) -> Any:
    return _alone(self, _matrices(self))


def _matrices(rotation: Any) -> Any:
    x, y, z, w = quaternion_parts(rotation)
    xx, yy, zz, ww = x * x, y * y, z * z, w * w
    rows = [
        [xx - yy - zz + ww, 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), yy - xx - zz + ww, 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), zz - xx - yy + ww],
    ]
    return np.stack([np.stack(row, axis=1) for row in rows], axis=1)


def as_euler(self: Any, seq: str, degrees: bool = False, *, suppress_warnings: bool = False) -> Any:
    """E. Bernardes and S. Viollet, "Quaternion to Euler angles conversion", PLoS ONE 17, 2022."""
    _check(seq, 3)
    fixed = seq.islower()
    i, j, k = ("xyz".index(c) for c in (seq if fixed else seq[::-1].lower()))
    proper = i == k
    k = 3 - i - j if proper else k
    sign = (i - j) * (j - k) * (k - i) // 2
    q = quaternion_parts(self)
    a, b, c, d = q[3], q[i], q[j], q[k] * sign
    if not proper:
        a, b, c, d = a - c, b + d, c + a, d - b
    middle = 2 * np.arctan2(np.hypot(c, d), np.hypot(a, b))
    total, apart = np.arctan2(b, a), np.arctan2(d, c)
    low, high = np.abs(middle) <= 1e-7, np.abs(middle - math.pi) <= 1e-7
    lost = np.where(low, 2 * total, 2 * apart * (-1 if fixed else 1))
    first = np.where(low | high, lost, total - apart)
    third = np.where(low | high, 0.0, total + apart)
    if not proper:
        third, middle = third * sign, middle - 0.5 * math.pi
    first, third = (np.where(e < -math.pi, e + 2 * math.pi, np.where(e > math.pi, e - 2 * math.pi, e))
                    for e in (first, third))
    made = np.stack([first, middle, third] if fixed else [third, middle, first], axis=1)
    return _alone(self, made * (180.0 / math.pi) if degrees else made)


def magnitude(self: Any) -> Any:
    x, y, z, w = quaternion_parts(self)
    return _alone(self, 2 * np.arctan2(np.sqrt(x * x + y * y + z * z), np.abs(w)))


# ---- applied and put together


def apply(self: Any, vectors: Any, inverse: bool = False) -> Any:
    v = rotation_floats(vectors)
    if v.ndim not in (1, 2) or v.shape[-1] != 3:
        raise ValueError(f"Expected input of shape (..., 3), got {tuple(v.shape)}.")
    turns = _matrices(self)
    turns = np.swapaxes(turns, 1, 2) if inverse else turns
    made = np.sum(turns * np.reshape(v, (-1, 1, 3)), axis=2)
    return made[0] if self._single and v.ndim == 1 else made


def quaternion_product(p: Any, q: Any) -> list[Any]:
    """Hamilton's: q first, then p."""
    (a, b, c, d), (e, f, g, h) = p, q
    return [
        d * e + a * h + b * g - c * f,
        d * f + b * h + c * e - a * g,
        d * g + c * h + a * f - b * e,
        d * h - a * e - b * f - c * g,
    ]


def compose(self: Any, other: Any) -> Any:
    if not hasattr(other, "_quat"):
        return NOT_MINE
    made = np.stack(np.broadcast_arrays(*quaternion_product(quaternion_parts(self), quaternion_parts(other))), axis=1)
    made = made / np.sqrt(np.sum(made * made, axis=1, keepdims=True))
    return with_quaternions(made, self._single and other._single)


def inverse(self: Any) -> Any:
    x, y, z, w = quaternion_parts(self)
    return with_quaternions(np.stack([-x, -y, -z, w], axis=1), self._single)


def item(self: Any, key: Any) -> Any:
    if self._single:
        raise TypeError("Single rotation is not subscriptable.")
    made = rotation_floats(self._quat)[key]
    return with_quaternions(np.reshape(made, (-1, 4)), made.ndim == 1)


recode("scipy.spatial.transform", {f"Rotation.{name}": meaning for name, meaning in {
    "from_quat": from_quat, "from_rotvec": from_rotvec, "from_euler": from_euler, "as_quat": as_quat,
    "as_rotvec": as_rotvec, "as_matrix": as_matrix, "as_euler": as_euler, "magnitude": magnitude, "apply": apply,
    "__mul__": compose, "inv": inverse, "__getitem__": item,
}.items()})  # fmt: skip

__all__ = [
    "as_rotvec",
    "compose",
    "from_rotvec",
    "inverse",
    "item",
    "magnitude",
    "quaternion_parts",
    "quaternion_product",
    "rotation_floats",
    "rotation_rows",
    "with_quaternions",
]
