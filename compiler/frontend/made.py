"""len() and NumPy's functions that make arrays of a given shape, while a function with named sizes is traced.

`np.zeros(x.shape)` and `np.arange(len(x))` are handed no array, so NumPy's protocols do not reach them; they are
replaced while such a trace runs. In other threads, and for arguments without named sizes, they are what they were.
"""

from __future__ import annotations

import builtins
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from . import tracing
from .array import Array, here
from .promotion import as_operand, conform, positions
from .shaping import sizes
from .sizes import Length, freeze
from .ufuncs import elementwise

_lock = threading.Lock()
_running = 0
_before: dict[tuple[Any, str], Callable[..., Any]] = {}
_MEANINGS: dict[tuple[Any, str], Callable[..., Any]] = {}


def _replaces(module: Any, *names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def register(meaning: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            _MEANINGS[module, name] = meaning
        return meaning

    return register


@contextmanager
def measuring() -> Iterator[None]:
    """Let len() and NumPy's functions take and give named sizes for a while."""
    global _running
    with _lock:
        _running += 1
        if _running == 1:
            for (module, name), meaning in _MEANINGS.items():
                _before[module, name] = getattr(module, name)
                setattr(module, name, _dispatcher(_before[module, name], meaning))
    try:
        yield
    finally:
        with _lock:
            _running -= 1
            if _running == 0:
                for (module, name), original in _before.items():
                    setattr(module, name, original)


def _dispatcher(original: Any, meaning: Any) -> Any:
    def dispatch(*args: Any, **kwargs: Any) -> Any:
        now = tracing.current()
        if now is None or now.sizes is None or not any(map(_is_named, (*args, *kwargs.values()))):
            return original(*args, **kwargs)
        return meaning(*args, **kwargs)

    dispatch.__name__, dispatch.__doc__ = original.__name__, original.__doc__
    return dispatch


def _is_named(x: Any) -> bool:
    """Whether an argument is a named size, a shape with one, or an array of such a shape."""
    if isinstance(x, Array):
        return any(isinstance(n, Length) for n in x.shape[:1])
    return isinstance(x, Length) or (type(x) in (tuple, list) and any(isinstance(n, Length) for n in x))


@_replaces(builtins, "len")
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


__all__ = ["measuring"]
