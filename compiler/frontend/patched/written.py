"""SciPy's functions of Python, as they are written, on traced values: from a module and names to their meanings.

    as_written("scipy.optimize", "rosen", "rosen_der")

Such a function fails because `asarray` asks a traced value for its numbers, and because it stores what it computes in
np.zeros(n). So its code runs with names of its own: those of NumPy's functions that ask no protocol are ours, its
helpers are run in the same way, and everything else is what it was. Each function that is named here has been compared
with differences, since code that looks at types may take another way than for arrays.
"""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable, Hashable
from types import CellType, FunctionType
from typing import Any

import numpy as np

from ..array import Array, find, here
from ..numpy.creation import arange
from ..numpy.shaping import sizes
from ..promotion import as_operand, conform
from .recoded import exchanged, original, recode
from .unasked import array, joined


def as_written(module: str, *names: str) -> list[Callable[..., Any]]:
    """Let functions of a module of SciPy's mean for traced values what their code says; the meanings."""
    meanings = {name: _meaning(module, name) for name in names}
    recode(module, meanings)
    return [*meanings.values()]


def _meaning(module: str, name: str) -> Callable[..., Any]:
    def meaning(*args: Any, **kwargs: Any) -> Any:
        found: Any = sys.modules[module]
        for part in name.split("."):
            found = getattr(found, part)
        return read(found)(*args, **kwargs)

    meaning.__name__ = name
    return meaning


@functools.cache
def read(function: FunctionType) -> FunctionType:
    """The function with names that take traced values."""
    own = original(function)
    closure = tuple([_cell(each) for each in own.__closure__ or ()])
    made = FunctionType(own.__code__, _Names(own.__globals__), own.__name__, own.__defaults__, closure)
    made.__kwdefaults__ = own.__kwdefaults__
    return made


def _cell(cell: CellType) -> CellType:
    return CellType(_shadow(cell.cell_contents))


class _Names(dict[str, Any]):
    """The names of a module, of which each is exchanged when it is asked for."""

    def __init__(self, names: dict[str, Any]) -> None:
        super().__init__(names)

    def __getitem__(self, name: str) -> Any:
        if name in self:
            return _shadow(super().__getitem__(name))
        if name in BUILTINS:
            return BUILTINS[name]
        raise KeyError(name)


def _shadow(x: Any) -> Any:
    if isinstance(x, types.ModuleType):
        if x is np or x.__name__.endswith("array_api_compat.numpy"):
            return NUMPY
        return _Module(x) if x.__name__.startswith("scipy.") else x
    if isinstance(x, FunctionType) and (x.__module__ or "").startswith("scipy."):
        return _NAMESPACE.get(x.__name__) or (x if exchanged(x) else read(x))
    if type(x) is dict:
        return {key: _shadow(each) for key, each in x.items()}
    if type(x) is list:
        return [_shadow(each) for each in x]
    if type(x) is tuple:
        return tuple([_shadow(each) for each in x])
    try:
        return OURS.get(x, x)
    except TypeError:  # it has no hash
        return x


# ---- what is ours


def _for_traced(theirs: Callable[..., Any], ours: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(theirs)
    def either(*args: Any, **kwargs: Any) -> Any:
        return theirs(*args, **kwargs) if find([*args, *kwargs.values()]) is None else ours(*args, **kwargs)

    return either


def _making(theirs: Callable[..., Any], value: float) -> Callable[..., Any]:
    """Memory for floats, which traced values may be stored in."""

    @functools.wraps(theirs)
    def made(shape: Any, dtype: Any = float, order: str = "C", **more: Any) -> Any:
        if more or (dtype is not None and np.dtype(dtype).kind != "f"):
            return theirs(shape, dtype, order, **more)
        kind = np.dtype(float if dtype is None else dtype)
        return Array(here(), conform(here(), as_operand(value), kind, sizes(shape)))

    return made


def _listed(theirs: Callable[..., Any]) -> Callable[..., Any]:
    """A function that asks its arguments, but not what is in lists among them."""

    @functools.wraps(theirs)
    def listed(*args: Any, **kwargs: Any) -> Any:
        return theirs(*[array(x) if isinstance(x, (list, tuple)) and find(x) else x for x in args], **kwargs)

    return listed


def _converting(x: Any, *args: Any, device: Any = None, **kwargs: Any) -> Any:
    return array(x, *args, **{"copy": False, **kwargs})


class _Float(type):
    def __call__(cls, x: Any = 0.0) -> Any:
        return x if isinstance(x, Array) and not x.ndim else float(x)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, float)

    dtype = np.dtype(float)


class _Joining:
    """np.r_ and np.c_."""

    def __init__(self, theirs: Any) -> None:
        self._theirs = theirs

    def __getitem__(self, key: Any) -> Any:
        return self._theirs[key] if find(key) is None else joined(self._theirs, key)


OURS: dict[Any, Any] = {
    np.array: _for_traced(np.array, array), np.arange: _for_traced(np.arange, arange),
    **{each: _for_traced(each, _converting) for each in (np.asarray, np.asanyarray, np.asarray_chkfinite)},
    np.ascontiguousarray: _for_traced(np.ascontiguousarray, functools.partial(_converting, ndmin=1)),
    **{each: _listed(each) for each in (np.atleast_1d, np.atleast_2d, np.ravel, np.squeeze, np.shape, np.ndim)},
    np.zeros: _making(np.zeros, 0.0), np.empty: _making(np.empty, 0.0), np.ones: _making(np.ones, 1.0),
    np.r_: _Joining(np.r_), np.c_: _Joining(np.c_),
}  # fmt: skip
"""What asks no protocol in NumPy -> what traced values may enter."""

BUILTINS: dict[str, Any] = {"float": _Float("float", (), {})}


class _Module:
    """A module of SciPy's, of whose names each is exchanged."""

    def __init__(self, module: types.ModuleType) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return _shadow(getattr(self._module, name))


class _Numpy:
    """NumPy, or SciPy's name for it, as what is read sees it."""

    __name__ = "numpy"

    def __getattr__(self, name: str) -> Any:
        found = getattr(np, name)
        return _BY_NAME.get(name, found)


_BY_NAME = {name: OURS[each] for name in dir(np) if isinstance(each := getattr(np, name), Hashable) and each in OURS}
NUMPY = _Numpy()
_NAMESPACE: dict[str, Callable[..., Any]] = {"array_namespace": lambda *args, **kwargs: NUMPY}

__all__ = ["as_written", "read"]
