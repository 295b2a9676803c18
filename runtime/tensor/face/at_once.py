"""Functions that write to plain data at once: a function of values goes in, one of the call that writes them comes out.

    table[i, j] += 1; weights[:, k].mul_(0.5); row.clamp_(0, 1)      where a tensor shares its memory with others

What the call would write is computed beside the trace, by NumPy where that is sums and products, and goes to where the
elements lie. NotImplemented says that it is to be recorded: of memory that no other tensor shares a trace knows more,
and what is still to be computed belongs to the trace that computes it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..ops.arranging.stores import as_given, store
from ..reverse.modes import mode
from ..trace.first_time import leaves_history
from ..trace.tape import tapes
from ..value.aliases import UNSEEN
from ..value.cells import cell_of
from ..value.core import Core, wrap
from ..value.core import requires as has_gradient
from ..value.memory import tensor_types
from ..value.plain import is_alone, is_plain, meets, memory_of, target_of, write_now

UFUNCS = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.true_divide}


def now(function: Callable[..., Any]) -> Callable[..., Any]:
    """What writes the values that `function` gives into its first argument at once, where that is plain."""
    ufunc = UFUNCS.get(function.__name__)

    def written(x: Any = None, *args: Any, **kwargs: Any) -> Any:
        alias = type(x) in tensor_types and x._owner is not None and type(x._key) is str
        if not (is_alone(x._owner) if alias else _shares(x)):
            return NotImplemented
        simple = ufunc is not None and len(args) == 1 and (not kwargs or [*kwargs] == ["alpha"])
        made = _of_numbers(ufunc, x, *args, **kwargs) if simple else None
        if made is None and not alias:
            made = _computed(function, x, args, kwargs)
        target, place = target_of(x)
        if made is None or (alias and not is_alone(target)) or not write_now(target, made, place):
            return NotImplemented
        if x._key is UNSEEN:  # backward need not know of it
            target._written -= 1
        return x

    return written


def fill(x: Any = None, value: Any = None) -> Any:
    """The same of `fill_`."""
    fits = _shares(x) and not (isinstance(value, Core) and value._kind_of().shape)
    return x if fits and not _waits(value) and store(x, ..., value) else NotImplemented


def zero(x: Any = None) -> Any:
    """The same of `zero_`."""
    return x if _shares(x) and store(x, ..., False) else NotImplemented


def copy(x: Any = None, src: Any = None, non_blocking: bool = False) -> Any:
    """The same of `copy_`."""
    fits = _shares(x) and not (isinstance(src, Core) and len(src._kind_of().shape) > len(_kind(x).shape))
    return x if fits and not _waits(src) and store(x, ..., src) else NotImplemented


def _shares(x: Any) -> bool:
    """Whether a tensor is plain, and shares its memory with others."""
    if type(x) not in tensor_types:
        return False
    if type(x._key) is tuple:
        return is_plain(x._owner)
    return x._storage is not None and not x._is_late and is_plain(x)


def _kind(x: Any) -> Any:
    return x._kind if x._is_late else x._cell.kind


def _waits(value: Any) -> bool:
    """Whether a value is to be computed by a trace that is not to end for it."""
    if not isinstance(value, Core) or type(value._key) is tuple or not (value._is_late or value._read().array is None):
        return False
    return leaves_history(tapes.tape)


def _of_numbers(ufunc: Any, x: Any, other: Any, alpha: Any = 1) -> Any:
    """What gives sums or products; None where their dtype or values are not those of NumPy."""
    kind = _kind(x)
    if kind.dtype == "bool" or kind.is_complex or not (kind.is_float or ufunc is not np.true_divide):
        return None
    if _waits(other):
        return None
    given = as_given(other, kind)
    if given is None or type(given) is bool or (alpha != 1 and as_given(alpha, kind) is None):
        return None
    if isinstance(other, Core):
        memory, path = memory_of(x)
        its, lies = memory_of(other)
        if its is memory:
            if meets(memory, path, lies):
                return None
            given = given.copy()

    def made(part: np.ndarray) -> Any:
        with np.errstate(all="ignore"):
            new = ufunc(part, given if alpha == 1 else np.multiply(given, alpha, dtype=part.dtype))
        if new.shape != part.shape:
            raise ValueError("broadcast to more than what is written")
        return new

    return made


def _computed(function: Callable[..., Any], x: Any, args: Any, kwargs: Any) -> Any:
    """What a function gives of the values alone; None where it cannot be told, or is to be recorded."""
    tape = tapes.tape
    if tape.count and leaves_history(tape):
        return None
    memory, _ = memory_of(x)
    for a in (*args, *kwargs.values()):
        if isinstance(a, Core):
            if memory_of(a)[0] is memory or (mode.enabled and has_gradient(a)):
                return None
        elif isinstance(a, (list, tuple, np.ndarray)):
            return None
    stand = wrap(cell_of(np.array(x._array(), order="C")))
    made = function(stand, *args, **kwargs)
    if not isinstance(made, Core) or made._kind_of() is not stand._cell.kind:
        return None
    return made._array()


__all__ = ["copy", "fill", "now", "zero"]
