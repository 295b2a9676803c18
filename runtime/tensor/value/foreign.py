"""Arrays of other packages: the memory behind them, as NumPy's arrays.

A torch.Tensor, an array of JAX's or a pandas column says how it is read with `__array__`; nothing is copied where the
package can do without. A torch.Tensor that requires grad is read as what it holds: its history stays where it is.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def array_behind(data: Any) -> np.ndarray | None:
    """The memory of another package's array; None for what is none, and for NumPy's own."""
    kind = type(data)
    if isinstance(data, (np.ndarray, np.generic, type)) or not hasattr(kind, "__array__"):
        return None
    if (kind.__module__ or "").partition(".")[0] == "torch":
        data = data.detach()
    return np.asarray(data)


__all__ = ["array_behind"]
