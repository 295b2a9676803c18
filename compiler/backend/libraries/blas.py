"""The OpenBLAS that NumPy brings along: where its matrix products and the routines of LAPACK are."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping

import numpy as np

from ..process import library_symbol, open_library

_PRODUCTS = {f"cblas_{kind}gemm": f"scipy_cblas_{kind}gemm64_" for kind in "ds"}
_LAPACK = ("potrf", "getrf", "getri", "getrs")
_ROUTINES = {f"lapack_{kind}{name}": f"scipy_{kind}{name}_64_" for kind in "ds" for name in _LAPACK}
_ROUTINES |= {f"cblas_{kind}trsm": f"scipy_cblas_{kind}trsm64_" for kind in "ds"}


@functools.cache
def symbols() -> dict[str, int]:
    """Addresses of cblas_dgemm and cblas_sgemm with 64-bit integers; empty if NumPy has another BLAS."""
    return _found(_PRODUCTS)


@functools.cache
def routines() -> dict[str, int]:
    """Addresses of factorisations and solutions with 64-bit integers; empty if NumPy has another LAPACK."""
    return _found(_ROUTINES)


def _found(names: Mapping[str, str]) -> dict[str, int]:
    folder = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(np.__file__))), "numpy.libs")
    for file in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
        if "openblas64" not in file:
            continue
        try:
            library = open_library(os.path.join(folder, file))
            return {ours: library_symbol(library, theirs) for ours, theirs in names.items()}
        except (OSError, ValueError):
            continue
    return {}
