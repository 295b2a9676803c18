"""The OpenBLAS that NumPy brings along: where its matrix products are."""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np

from .process import library_symbol, open_library


@functools.cache
def symbols() -> dict[str, int]:
    """Addresses of cblas_dgemm and cblas_sgemm with 64-bit integers; empty if NumPy has another BLAS."""
    folder = Path(np.__file__).resolve().parent.parent / "numpy.libs"
    for path in sorted(folder.glob("*openblas64*")):
        try:
            library = open_library(str(path))
            return {
                f"cblas_{kind}gemm": library_symbol(library, f"scipy_cblas_{kind}gemm64_")
                for kind in "ds"
            }
        except (OSError, ValueError):
            continue
    return {}
