"""Floats as the integers that native code makes of them: without fractions, and the least one where none fits."""

from __future__ import annotations

import numpy as np

from ..ir.types import CARRIER, DTYPES, INTEGERS


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


__all__ = ["truncated"]
