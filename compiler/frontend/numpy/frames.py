"""pandas' products with traced arrays: `frame @ x`, `frame.dot(x)`, of the numbers that a DataFrame or Series holds.

The result is an array: labels are no part of what is traced.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..array import Array
from ..errors import TraceValueError, message
from ..patched.patches import NOT_MINE
from ..patched.recoded import recode
from ..tracing import user_line


def product(self: Any, other: Any) -> Any:
    if not isinstance(other, Array):
        return NOT_MINE
    numbers = self.to_numpy(float)
    if other.ndim not in (1, 2) or other.shape[0] != numbers.shape[-1]:
        said = f"matmul: a pandas object of shape {numbers.shape} and an array of shape {tuple(other.shape)}"
        raise TraceValueError(message(said, user_line(), "transpose or reshape one of them"))
    return np.matmul(numbers, other)


for _module, _kind in (("frame", "DataFrame"), ("series", "Series")):
    recode(f"pandas.core.{_module}", {f"{_kind}.{name}": product for name in ("__matmul__", "dot")})

__all__ = ["product"]
