"""Tensors that are no single array: calls in, what answers for them out.

    apart.answer    (function's name, arguments, keywords) -> the result; NotImplemented where there is no such tensor

Nobody is asked before the first such tensor is made, so programs without any pay nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class _Apart:
    on = False
    answer: Callable[[str, tuple[Any, ...], dict[str, Any]], Any]


apart = _Apart()

__all__ = ["apart"]
