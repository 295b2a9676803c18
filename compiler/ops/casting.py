"""Arrays in other dtypes, with the numbers that native code makes of them: the meaning of `cast`.

Floats become integers without their fractions, and the least one where none fits; floats of 16 bits are the nearest,
the even one of two.
"""

from __future__ import annotations

import numpy as np

from ..ir.types import CARRIER, COMPLEX, DTYPES, HALVES, INTEGERS, STORED


def astype(x: np.ndarray, dtype: str) -> np.ndarray:
    """The numbers of an array in a dtype by its name."""
    if x.dtype == HALVES.get("bf16"):
        x = x.astype(np.float32)
    return (truncated(x, dtype) if x.dtype.kind == "f" else x).astype((STORED | COMPLEX)[dtype])


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


__all__ = ["astype"]
