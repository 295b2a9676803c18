"""Numbers in, numbers out: what programs that PyTorch might trace write of sizes, which are plain numbers here.

    torch.sym_max(x.size(0), 4)         max(x.size(0), 4)
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Iterable
from typing import Any


def sym_int(a: Any) -> int:
    """A number without what stands behind the point."""
    return math.trunc(a)


def sym_float(a: Any) -> float:
    """A number as a float."""
    return builtins.float(a)


def sym_not(a: Any) -> bool:
    """Whether something is not so."""
    return not a


def sym_max(a: Any, b: Any) -> Any:
    """The larger of two numbers; a float if one of them is."""
    return _even(a, b, builtins.max(a, b))


def sym_min(a: Any, b: Any) -> Any:
    """The smaller of two numbers; a float if one of them is."""
    return _even(a, b, builtins.min(a, b))


def _even(a: Any, b: Any, chosen: Any) -> Any:
    return builtins.float(chosen) if isinstance(a, builtins.float) or isinstance(b, builtins.float) else chosen


def sym_ite(b: Any, t: Any, f: Any) -> Any:
    """One of two things, as a condition says."""
    return t if b else f


def sym_sum(args: Iterable[Any]) -> Any:
    """The sum of numbers."""
    return builtins.sum(args)


def sym_sqrt(a: Any) -> float:
    """The root of a number."""
    return math.sqrt(a)


def sym_fresh_size(expr: Any) -> Any:
    """A size as it is."""
    return expr


__all__ = ["sym_float", "sym_fresh_size", "sym_int", "sym_ite", "sym_max", "sym_min", "sym_not", "sym_sqrt", "sym_sum"]
