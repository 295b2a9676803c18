"""The argument `out=` of compiled functions: arrays that take the results.

    f(x, out=y)                                  returns y
    value, slope = h(p, out=(None, buffers))     None where a fresh result is wanted; buffers is like p

Rules and errors are those of NumPy's strictest `out`, np.dot's: the very dtype and shape, C-contiguous and writeable.
Memory that overlaps an argument's is written after everything has been read.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import Any, NoReturn

import numpy as np

from ...compiler.backend.entries import specs
from ...compiler.frontend.array import Array
from ...compiler.frontend.complexes import Parts
from ...compiler.frontend.results import LeafResult, from_arrays, items_of
from ...compiler.frontend.tree import container
from ...compiler.ir.containers import Structure, apart
from ...compiler.ir.types import STORED
from . import kernels

NAME = "out"
_NUMBERS = {specs.FloatResult: "f64", specs.IntResult: "i64", specs.BoolResult: "bool"}


def is_taken(signature: inspect.Signature | None, function: Callable[..., Any]) -> bool:
    """Whether a function has an `out` of its own; that of NumPy's functions means the same as ours."""
    if signature is None or isinstance(function, np.ufunc):
        return False
    return NAME in signature.parameters or any(p.kind is p.VAR_KEYWORD for p in signature.parameters.values())


def named(out: Any) -> dict[str, Any]:
    """The keyword argument, if there is one."""
    return {} if out is None else {NAME: out}


def spec_of(places: Places | None) -> Any:
    """What a native entry reads as `out`: None in place of arrays; None if it cannot."""
    return specs.StaticSpec(None) if places is None else places.spec


def refuse_traced(title: str, out: Any) -> None:
    """Refuse an `out=` inside a traced function, where results are values and have no memory."""
    if out is not None:
        raise TypeError(f"{title}: out was given inside a function that is being traced; use the result instead")


class Places:
    """An `out=` argument that fits a result.

    arrays   with the number of the kernel's result that each takes, and its place
    spec     what a native entry would read, None if it cannot
    """

    def __init__(self, title: str, result: Any, out: Any) -> None:
        self.arrays: list[tuple[int, np.ndarray, str]] = []
        self._title, self._result, self._out = title, result, out
        self.spec = self._read(result, out, NAME)
        self._check_apart()

    def _read(self, result: Any, out: Any, place: str) -> Any:
        """Note the arrays of a part; its specification for native entries."""
        if out is None:
            return specs.StaticSpec(None)
        items = items_of(result)
        if items is not None:
            return self._container(result, items, out, place)
        if isinstance(result, (LeafResult, specs.ConstantResult)):
            what = "a Tensor" if isinstance(result, LeafResult) else f"{result.value!r}, which is no array"
            _refuse(self._title, TypeError, place, f"must be None, because this part of the result is {what}")
        return self._array(result, out, place)

    def _container(self, result: Any, items: Sequence[Any], out: Any, place: str) -> Any:
        if isinstance(result, specs.DictResult):
            if type(out) is not dict or set(out) != set(result.keys):
                said = f"a dict with the keys {list(out)}" if type(out) is dict else _kind(out)
                fix = f"expected a dict with the keys {list(result.keys)}, or None"
                _refuse(self._title, TypeError, place, f"is {said}, {fix}")
            parts = [self._read(item, out[key], f"{place}[{key!r}]")
                     for item, key in zip(items, result.keys, strict=True)]
            return specs.DictSpec(result.keys, tuple(parts)) if None not in parts else None
        wanted = result.make if isinstance(result, specs.MadeResult) else (
            list if isinstance(result, specs.ListResult) else tuple)
        if wanted is Parts:
            _refuse(self._title, TypeError, place, "must be None: this part of the result is complex")
        if isinstance(wanted, Structure):
            return self._like(wanted, items, out, place)
        if not isinstance(wanted, type):
            problem = "must be None: this part of the result is a dict whose keys are not strings"
            _refuse(self._title, TypeError, place, problem)
        if type(out) is not wanted or len(out) != len(items):
            said = f"{_kind(out)} of {len(out)}" if isinstance(out, (list, tuple)) else _kind(out)
            _refuse(self._title, TypeError, place, f"is {said}, expected a {wanted.__name__} of {len(items)}, or None")
        parts = [self._read(item, each, f"{place}[{k}]") for k, (item, each) in enumerate(zip(items, out, strict=True))]
        if None in parts:
            return None
        return (specs.ListSpec if wanted is list else specs.TupleSpec)(tuple(parts))

    def _like(self, wanted: Structure, items: Sequence[Any], out: Any, place: str) -> None:
        """The same for a container of another class, which native entries do not read."""
        found = apart(out)
        if found is None or found[0] != wanted:
            _refuse(self._title, TypeError, place, f"is {_kind(out)}, expected {_kind_of(wanted)} like it, or None")
        for item, each, path in zip(items, found[1], wanted.paths, strict=True):
            self._read(item, each, place + path)

    def _array(self, result: Any, out: Any, place: str) -> Any:
        dtype, shape = _NUMBERS.get(type(result)) or result.dtype, getattr(result, "shape", ())
        _check(self._title, place, out, STORED[dtype], shape)
        twice = any(k == result.index for k, _, _ in self.arrays)
        self.arrays.append((result.index, np.asarray(out), place))
        return None if twice or type(out) is not np.ndarray else specs.ArraySpec(dtype, shape)

    def _check_apart(self) -> None:
        taken = sorted([(array.ctypes.data, array, place) for _, array, place in self.arrays if array.nbytes],
                       key=lambda each: each[0])
        for (_, a, first), (_, b, second) in pairwise(taken):
            if np.may_share_memory(a, b):
                _refuse(self._title, ValueError, first, f"and {second} share memory; pass different arrays")

    def run(self, kernel: kernels.Runnable, arrays: Sequence[np.ndarray]) -> Any:
        """Run a kernel with these arguments; the results, with the caller's arrays in their places."""
        clear = self.clear(kernels.aliases(kernel), arrays)
        return self.filled(kernel.run(arrays, clear), clear)

    def filled(self, made: Sequence[np.ndarray], clear: Mapping[int, np.ndarray] = MappingProxyType({})) -> Any:
        """The results that have been made, with the caller's arrays in their places; `clear` have been written to."""
        for k, array, _ in self.arrays:
            if clear.get(k) is not array:
                np.copyto(array, made[k])
        return _assembled(self._result, self._out, made)

    def clear(self, aliases: Mapping[int, int], arrays: Sequence[np.ndarray]) -> dict[int, np.ndarray]:
        """The arrays that the kernel can write to at once: those that overlap no argument, or one that they may."""
        clear: dict[int, np.ndarray] = {}
        for k, array, _ in self.arrays:
            met = [j for j, each in enumerate(arrays) if np.may_share_memory(array, each)]
            if not met or (met == [aliases.get(k)] and array.ctypes.data == arrays[met[0]].ctypes.data):
                clear.setdefault(k, array)
        return clear


def _assembled(result: Any, out: Any, made: Sequence[np.ndarray]) -> Any:
    """The results: objects of `out` wherever they are complete."""
    if out is None:
        return from_arrays(result, made)
    items = items_of(result)
    if items is None or _whole(out):
        return out
    if isinstance(result, specs.DictResult):
        held = [out[key] for key in result.keys]
    else:
        held = out if type(out) in (list, tuple) else container(out)[1]
    parts = [_assembled(item, each, made) for each, item in zip(held, items, strict=True)]
    if isinstance(result, specs.DictResult):
        return dict(zip(result.keys, parts, strict=True))
    return result.make(*parts) if isinstance(result, specs.MadeResult) else type(out)(parts)


def _whole(out: Any) -> bool:
    """Whether nothing in it is None."""
    found = apart(out)
    return out is not None if found is None else all(map(_whole, found[1]))


def _refuse(title: str, kind: type[Exception], place: str, problem: str) -> NoReturn:
    raise kind(f"{title}: {place} {problem}")


def _check(title: str, place: str, out: Any, dtype: np.dtype, shape: tuple[int, ...]) -> None:
    """Refuse what is no array, or none that a kernel can write a result of that dtype and shape to."""
    if not isinstance(out, np.ndarray) or isinstance(out, (np.ma.MaskedArray, np.matrix)):
        _refuse(title, TypeError, place, f"is {_kind(out)}, expected an array of {dtype}, shape {shape}, or None")
    if out.dtype != dtype:
        _refuse(title, TypeError, place, f"is an array of {out.dtype}, expected {dtype}")
    if out.shape != shape:
        _refuse(title, ValueError, place, f"has shape {out.shape}, expected {shape}")
    if not out.flags.writeable:
        _refuse(title, ValueError, place, "is read-only, expected an array that can be written to")
    if not (out.flags.c_contiguous and out.flags.aligned):
        fix = "pass a C-contiguous array, or assign the result: array[...] = f(...)"
        _refuse(title, ValueError, place, f"is not C-contiguous and aligned; {fix}")


def filled(title: str, made: Any, out: Any, place: str = NAME) -> Any:
    """A result that has been made, an array or arrays in containers, written to `out` where that is not None."""
    if out is None:
        return made
    refuse_traced(title, out if isinstance(made, Array) else None)
    if isinstance(made, (dict, list, tuple)):
        return _all_filled(title, made, out, place)
    _check(title, place, out, made.dtype, made.shape)
    np.copyto(out, made)
    return out


def _all_filled(title: str, made: Any, out: Any, place: str) -> Any:
    """The same for a container: `out` itself where all of it was given."""
    keys = list(made) if isinstance(made, dict) else list(range(len(made)))
    if type(out) is not type(made) or (list(out) if isinstance(out, dict) else list(range(len(out)))) != keys:
        _refuse(title, TypeError, place, f"is {_kind(out)}, expected a {type(made).__name__} like the result, or None")
    parts = [filled(title, made[key], out[key], f"{place}[{key!r}]") for key in keys]
    if _whole(out):
        return out
    if isinstance(made, dict):
        return dict(zip(keys, parts, strict=True))
    return type(made)(*parts) if hasattr(made, "_fields") else type(made)(parts)


def _kind(x: Any) -> str:
    return _kind_of(type(x))


def _kind_of(kind: type | Structure) -> str:
    name = kind.__name__
    return f"{'an' if name[:1].lower() in 'aeiou' or name == 'ndarray' else 'a'} {name}"


__all__ = ["NAME", "Places", "filled", "is_taken", "named", "refuse_traced", "spec_of"]
