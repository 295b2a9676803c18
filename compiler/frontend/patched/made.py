"""len() and NumPy's functions that make arrays of a given shape, while a function with named sizes is traced.

`np.zeros(x.shape)` and `np.arange(len(x))` are handed no array, so NumPy's protocols do not reach them; they are
replaced while such a trace runs (see `patches`). len() only then: the compiler itself asks for it by the ten thousand.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import tracing
from ..array import Array, here
from ..numpy.creation import linspace
from ..numpy.shaping import sizes
from ..numpy.ufuncs import elementwise
from ..promotion import as_operand, conform, positions
from ..sizes import Length, freeze
from .patches import NOT_MINE, Patches, patched, unpatched

NAMED: dict[Any, Callable[..., Any]] = {}
"""What NumPy's functions that make arrays mean for shapes with named sizes."""

lengths = Patches()
"""What means something else only where sizes have names."""


def _replaces(module: Any, *names: str, among: Patches = patched) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a meaning for calls with named sizes."""

    def add(meaning: Callable[..., Any]) -> Callable[..., Any]:
        def either(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            now = tracing.current()
            if now is None or now.sizes is None or not any(map(is_named, (*args, *kwargs.values()))):
                return NOT_MINE
            return meaning(*args, **kwargs)

        for name in names:
            among.register(module, name, either)
            if among is patched:
                NAMED[unpatched(getattr(module, name))] = meaning
        return meaning

    return add


def is_named(x: Any) -> bool:
    """Whether an argument is a named size, a shape with one, or an array of such a shape."""
    if isinstance(x, Array):
        return any(isinstance(n, Length) for n in x.shape[:1])
    return isinstance(x, Length) or (type(x) in (tuple, list) and any(isinstance(n, Length) for n in x))


@_replaces(builtins, "len", among=lengths)
def _len(x: Any) -> Any:
    return x.shape[0] if isinstance(x, Array) else x.__len__()


def _filled(value: Any, shape: Any, dtype: Any) -> Array:
    return Array(here(), conform(here(), value, np.dtype(dtype), sizes(shape)))


@_replaces(np, "zeros", "empty")
def _zeros(shape: Any, dtype: Any = float, order: str = "C") -> Array:
    return _filled(0, shape, dtype)


@_replaces(np, "ones")
def _ones(shape: Any, dtype: Any = None, order: str = "C") -> Array:
    return _filled(1, shape, float if dtype is None else dtype)


@_replaces(np, "full")
def _full(shape: Any, fill_value: Any, dtype: Any = None, order: str = "C") -> Array:
    value = as_operand(fill_value)
    kind = value.dtype if isinstance(value, Array) else np.asarray(value).dtype
    return _filled(value, shape, kind if dtype is None else dtype)


@_replaces(np, "arange")
def _arange(start: Any, stop: Any = None, step: Any = 1, dtype: Any = None) -> Array:
    low, high = (0, start) if stop is None else (start, stop)
    if step != 1 or not all(isinstance(k, (int, np.integer, Length)) for k in (low, high)):
        freeze(next(k for k in (start, stop, step) if isinstance(k, Length)), "np.arange with it and a step or floats")
    count = high - low
    made = positions(here(), (count if count > 0 else 0,), 0)
    made = elementwise(np.add, made, low) if isinstance(low, Length) or low else made
    return made if dtype is None else made.astype(dtype)


@_replaces(np, "linspace")
def _linspace(start: Any, stop: Any, num: Any = 50, *args: Any, **kwargs: Any) -> Any:
    return linspace(start, stop, num, *args, **kwargs)


@_replaces(np, "eye")
def _eye(N: Any, M: Any = None, k: Any = 0, dtype: Any = float, order: str = "C") -> Array:
    rows, columns = _places(N, M, k)
    return elementwise(np.equal, rows, columns).astype(dtype)


@_replaces(np, "identity")
def _identity(n: Any, dtype: Any = None) -> Array:
    return _eye(n, dtype=float if dtype is None else dtype)


@_replaces(np, "tri")
def _tri(N: Any, M: Any = None, k: Any = 0, dtype: Any = float) -> Array:
    rows, columns = _places(N, M, k)
    return elementwise(np.greater_equal, rows, columns).astype(dtype)


def _places(rows: Any, columns: Any, above: Any) -> tuple[Array, Array]:
    """The row number plus `above`, and the column number, of every element of a matrix."""
    shape = (rows, rows if columns is None else columns)
    return elementwise(np.add, positions(here(), shape, 0), above), positions(here(), shape, 1)
