"""Arrays in other dtypes, with the numbers that native code makes of them: the meaning of `cast`.

Floats become integers without their fractions, and the least one where none fits; floats of 16 bits are the nearest,
the even one of two.
"""

from __future__ import annotations

import numpy as np

from ..ir.types import CARRIER, COMPLEX, DTYPES, HALVES, INTEGERS, STORED


def cast_to(x: np.ndarray, dtype: str) -> np.ndarray:
    """The numbers of an array in a dtype by its name."""
    if x.dtype == HALVES["bf16"]:
        x = _widened(x)
    if dtype == "bf16":
        return _narrowed(x)
    return (truncated(x, dtype) if x.dtype.kind == "f" else x).astype((STORED | COMPLEX)[dtype])


def _widened(x: np.ndarray) -> np.ndarray:
    """bfloat16 is the upper half of float32."""
    return (_bits(x).astype(np.uint32) << np.uint32(16)).view(np.float32)


def _bits(x: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(x).reshape(x.shape).view(np.uint16)


def _narrowed(x: np.ndarray) -> np.ndarray:
    bits = _odd(x).view(np.uint32)
    even = (bits + (np.uint32(0x7FFF) + (bits >> np.uint32(16) & np.uint32(1)))) >> np.uint32(16)
    nan = bits >> np.uint32(16) | np.uint32(0x40)
    found = np.where(bits & np.uint32(0x7FFFFFFF) > np.uint32(0x7F800000), nan, even)
    return np.asarray(found).astype(np.uint16).view(HALVES["bf16"])


def _odd(x: np.ndarray) -> np.ndarray:
    """As float32; of what is between two of these the odd one, so that rounding once more rounds as if at once."""
    near = np.ascontiguousarray(x, np.float32)
    if x.dtype != np.float64:
        return near
    back = near.astype(np.float64)
    bits = near.view(np.int32)
    step = np.where(np.abs(back) < np.abs(x), 1, -1).astype(np.int32)
    moved = np.where((back != x) & (bits & 1 == 0) & ~np.isnan(x), bits + step, bits)
    return np.where(np.isinf(x), near, moved.astype(np.int32).view(np.float32))


def truncated(x: np.ndarray, dtype: str) -> np.ndarray:
    """Floats without their fractions in an integer dtype, or in that which carries it; else as they are."""
    if dtype == "u64":
        near, far = truncated(x, "i64"), truncated(x - x.dtype.type(2.0**63), "i64")
        return np.where(x < 2.0**63, near, far ^ np.int64(-(2**63)))
    dtype = CARRIER.get(dtype, dtype)
    if dtype not in INTEGERS:
        return x
    info = np.iinfo(DTYPES[dtype])
    ok = (x >= info.min) & (x < -float(info.min))
    return np.where(ok, np.where(ok, x, 0).astype(DTYPES[dtype]), info.min).astype(DTYPES[dtype])


__all__ = ["cast_to"]
