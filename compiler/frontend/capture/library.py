"""NumPy's functions and methods on modelled arrays, and functions of libraries that know nothing of us."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..array import FUNCTIONS, Array
from ..impure import asked, refusal
from ..numpy.writing import WRITES
from . import calls, prelude
from .arrays import ADVANCED, dtype_of, fitted, get_array, read, set_array, shape_of, stacked, wrap
from .calls import call, lower, meaning_of
from .frames import Raised
from .listed import as_arrays, has_traced
from .machine import Machine
from .parts import native
from .sequences import dict_method, list_method
from .texts import text_method
from .values import Method, Ref, is_array, is_dict, is_list, is_scalar, traced

_OURS = ("numpy", "scipy", "pullback", "builtins", "math", "operator", "functools", "itertools", "copy")
"""Libraries that keep nothing of what they are given."""

_ELSEWHERE = ("threading", "concurrent", "multiprocessing", "asyncio", "_thread")
"""Libraries that call functions in other threads or processes."""


def library_call(m: Machine, function: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """A function of a library, on lowered arguments."""
    given = [*args, *kwargs.values()]
    what = asked(function)
    if what is not None:
        raise refusal(what, m.where())
    if _module(function) in _ELSEWHERE:
        m.refuse(f"{_module(function)} in a function that branches or loops on traced values", "call it outside")
    if isinstance(getattr(function, "__self__", None), str):
        return text_method(m, function, args, kwargs)
    out = kwargs.pop("out", None) if isinstance(function, np.ufunc) or _module(function) == "numpy" else None
    low, named = [lower(m, a) for a in args], {k: lower(m, v) for k, v in kwargs.items()}
    given_traced = any(has_traced(x) for x in (*low, *named.values()))
    if given_traced:
        low, named = [_lifted(m, x) for x in low], {k: _lifted(m, v) for k, v in named.items()}
        if isinstance(function, np.ufunc) or _module(function) == "numpy":
            low = as_arrays(function, low)
    before = [(ref, x, _shallow(x)) for ref, x in zip(args, low, strict=True) if is_list(ref) or is_dict(ref)]
    try:
        made = native(m, lambda: function(*low, **named))
    except Raised as raised:
        if not given_traced or not isinstance(raised.error, (TypeError, AttributeError)):
            raise
        name = getattr(function, "__name__", type(function).__name__)
        m.refuse(f"{name} does not take traced values: {raised.error}", "write it with what NumPy has")
    if isinstance(function, type):
        m.made[id(made)] = made
    for ref, x, old in before:
        if isinstance(x, (list, dict)) and _shallow(x) != old:
            fresh = m.adopt(x)
            m.store(ref.box, m.content(fresh.box))
    if _module(function) not in _OURS and not isinstance(function, np.ufunc):
        _keep(given, getattr(function, "__name__", str(function)))
    if out is not None:
        target = out[0] if isinstance(out, tuple) else out
        set_array(m, target, Ellipsis, wrap(m, made), True)
        return target
    return adopt_result(m, made, given, low)


def _module(function: Any) -> str:
    owner = function if getattr(function, "__module__", None) else type(function)
    return (getattr(owner, "__module__", None) or "").partition(".")[0]


def _shallow(x: Any) -> Any:
    if isinstance(x, dict):
        return [(k, id(v)) for k, v in x.items()]
    return [id(i) for i in x] if isinstance(x, list) else None


def _lifted(m: Machine, x: Any) -> Any:
    """A concrete array of one number, made here, as a constant of the graph beside traced ones."""
    if isinstance(x, np.ndarray) and x.size > 1 and x.dtype.kind == "f" and bool(np.all(x == x.flat[0])):
        return Array(m.now, m.constant(x))
    return x


def _keep(given: list[Any], name: str) -> None:
    """A library may keep the arrays it is given, where we do not see them."""
    for x in given:
        if isinstance(x, Ref):
            x.box.kept = name


def adopt_result(m: Machine, made: Any, given: list[Any], low: list[Any]) -> Any:
    """What a library returns; views of what it was given are noted as such."""
    if isinstance(made, (tuple, list)) and type(made) in (tuple, list):
        items = [adopt_result(m, i, given, low) for i in made]
        return tuple(items) if type(made) is tuple else m.new("list", tuple(items))
    for ref, x in zip(given, low, strict=False):
        if is_array(ref) and made is x:
            return ref
    result = m.adopt(made)
    if is_array(result):
        shared = isinstance(made, Array) and made.shared
        for ref, x in zip(given, low, strict=False):
            both = isinstance(made, np.ndarray) and isinstance(x, np.ndarray) and np.may_share_memory(made, x)
            if is_array(ref) and (shared or both):
                result.box.relate(m.relatives(ref.box))
    return result


calls.NATIVE[0] = library_call

# ---- attributes and methods of arrays


def array_attribute(m: Machine, x: Any, name: str) -> Any:
    if name in ("shape", "ndim", "size", "dtype", "itemsize", "nbytes"):
        if is_array(x) and name in ("shape", "ndim"):
            shape = shape_of(m, x)
            return shape if name == "shape" else len(shape)
        return getattr(read(m, x) if is_array(x) else x, name)
    if name in ("real", "flat"):
        return x if name == "real" else call(m, np.ravel, [x], {})
    if name in ("T", "mT"):
        return call(m, np.transpose if name == "T" else np.matrix_transpose, [x], {})
    if name == "imag":
        return m.adopt(np.zeros(shape_of(m, x))) if is_array(x) else 0.0
    if not hasattr(_kind_of(x), name):
        m.fail(AttributeError(f"'{'numpy.ndarray' if is_array(x) else 'float'}' object has no attribute '{name}'"))
    if not callable(getattr(_kind_of(x), name)):
        m.refuse(f"the attribute {name} of an array or number", "use shape, ndim, size, dtype, T or real")
    return Method(name, x)


def _kind_of(x: Any) -> type:
    """The type whose methods x has."""
    if is_array(x) or not x.weak:
        return np.ndarray
    return {"i64": int, "bool": bool}.get(x.type.dtype, float)


calls.ARRAY_ATTRIBUTES[0] = array_attribute


def method(m: Machine, owner: Any, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
    if is_list(owner):
        return list_method(m, owner, name, args, kwargs)
    if is_dict(owner):
        return dict_method(m, owner, name, args, kwargs)
    if isinstance(owner, tuple):
        if name in ("index", "count") and not traced(tuple(args)) and not any(isinstance(i, Array) for i in owner):
            return native(m, lambda: getattr(owner, name)(*args))
        m.refuse(f"tuple.{name} with traced values", "use an array")
    assert isinstance(owner, (Ref, Array))
    if is_scalar(owner) and owner.weak and name in SCALAR_METHODS:
        return SCALAR_METHODS[name](m, owner, *args)
    if name == "item" and not args:
        return SCALAR[0](m, owner)
    if name == "tolist":
        return _to_list(m, owner)
    if is_array(owner):
        if name == "fill":
            return set_array(m, owner, Ellipsis, args[0])
        if name in WRITES:
            return set_array(m, owner, Ellipsis, library_call(m, WRITES[name], [owner, *args], kwargs))
        if name in ("resize", "setflags", "itemset", "byteswap", "setfield"):
            m.refuse(f"ndarray.{name}, which changes the array", f"use np.{name} or an assignment")
    x = read(m, owner) if is_array(owner) else owner
    if isinstance(x, Array) and x.tracing is not m.now:
        x = Array(m.now, m.value(x), x.weak)
    low, named = [lower(m, a) for a in args], {k: lower(m, v) for k, v in kwargs.items() if k != "out"}
    if not isinstance(x, Array) and (has_traced(low) or has_traced(named)):
        x = Array(m.now, m.value(x))
    made = native(m, lambda: getattr(x, name)(*low, **named))
    if "out" in kwargs:
        set_array(m, kwargs["out"], Ellipsis, wrap(m, made), True)
        return kwargs["out"]
    if made is x and is_array(owner) and name in ("copy", "astype", "flatten"):
        return wrap(m, Array(m.now, made.value)) if isinstance(made, Array) else wrap(m, made.copy())
    if name in ("copy", "astype", "flatten"):
        return m.adopt(made)
    return adopt_result(m, made, [owner], [x])


calls.METHODS[0] = method
SCALAR_METHODS: dict[str, Callable[..., Any]] = {}
"""Methods of Python's numbers."""

SCALAR: list[Any] = [None]
"""A number as Python's: registered by the module that knows Python's functions."""


def _to_list(m: Machine, owner: Any) -> Any:
    if is_scalar(owner):
        return SCALAR[0](m, owner)
    made = [_to_list(m, get_array(m, owner, k)) for k in range(shape_of(m, owner)[0])]
    return m.new("list", tuple(made))


# ---- functions of NumPy that make, copy or change arrays


@meaning_of(np.array)
def _array(m: Machine, x: Any, dtype: Any = None, copy: Any = True, **kwargs: Any) -> Any:
    made = _as_array(m, x, dtype)
    return call(m, np.copy, [made], {}) if is_array(x) and made is x and copy is not False else made


@meaning_of(np.asarray, np.ascontiguousarray, np.asanyarray)
def _as_array(m: Machine, x: Any, dtype: Any = None, **kwargs: Any) -> Any:
    if is_array(x):
        held = m.content(x.box)
        if dtype is None or held.dtype == np.dtype(dtype):
            return x
        return method(m, x, "astype", [dtype], {})
    if is_list(x) or isinstance(x, tuple):
        made = stacked(m, m.content(x.box) if is_list(x) else x)
    else:
        made = x
    if not isinstance(made, Array):
        return m.adopt(native(m, lambda: np.array(made, dtype)))
    if dtype is not None:
        made = made.astype(dtype)
    return wrap(m, Array(made.tracing, made.value))


@meaning_of(np.arange)
def _arange(m: Machine, *args: Any, **kwargs: Any) -> Any:
    low, named = [lower(m, a) for a in args], {k: lower(m, v) for k, v in kwargs.items()}
    traced_ = has_traced([*low, *named.values()])
    return wrap(m, native(m, lambda: (FUNCTIONS[np.arange] if traced_ else np.arange)(*low, **named)))


for _ufunc, _walked in (
    (np.add, prelude.add_at), (np.subtract, prelude.subtract_at), (np.multiply, prelude.multiply_at),
):
    meaning_of(_ufunc.at)(lambda m, a, index, v, f=_walked: scatter(m, a, index, v, f))


for _kind in (np.float64, np.float32, np.int64, np.int32, np.bool_):
    def _number(m: Machine, x: Any = 0, kind: Any = _kind) -> Any:
        if is_scalar(x):
            made = x.astype(kind)
            return Array(made.tracing, made.value)
        return call(m, np.asarray, [x], {"dtype": kind}) if traced(x) else native(m, lambda: kind(x))

    meaning_of(_kind)(_number)


def advanced_store(m: Machine, ref: Ref, key: Any, v: Any) -> None:
    """a[mask] = v as a choice, a[indices] = v element by element, in order."""
    if m.freezing:
        key = tuple([_frozen_mask(m, k) for k in key])
    low = [lower(m, k) for k in key]
    if len(key) == 1 and getattr(low[0], "dtype", None) == np.dtype(bool) and low[0].ndim > 0:
        if not isinstance(low[0], Array) and is_array(v):
            key = low[0].nonzero()
        else:
            wide = low[0].reshape(low[0].shape + (1,) * (len(shape_of(m, ref)) - low[0].ndim))
            value = read(m, v) if is_array(v) else v
            if is_array(v) and np.ndim(value):
                fix = "use np.where(mask, b, a), which keeps the shape"
                m.refuse("a[mask] = array: how many elements there are depends on traced values", fix)
            set_array(m, ref, Ellipsis, call(m, np.where, [wrap(m, wide), v, ref], {}))
            return
    scatter(m, ref, key if len(key) > 1 else key[0], v, prelude.put_at)


def _frozen_mask(m: Machine, key: Any) -> Any:
    """A part of a key; a mask with the truth values of one call."""
    held = read(m, key) if is_array(key) else None
    if not isinstance(held, Array) or held.type.dtype != "bool":
        return key
    return m.adopt(np.asarray(Array(m.now, m.value(held))))


def is_mask(m: Machine, key: Any) -> bool:
    """Whether a key is a traced mask, and the walk is for all calls."""
    if not is_array(key) or m.freezing:
        return False
    held = read(m, key)
    return isinstance(held, Array) and held.type.dtype == "bool"


def change_where(m: Machine, ref: Ref, mask: Ref, change: Callable[[Ref], Any]) -> None:
    """a[mask] op= value: the operation everywhere, stored where the mask holds."""
    made = change(ref)
    if not is_array(made) or shape_of(m, made) != shape_of(m, ref) or shape_of(m, mask) != shape_of(m, ref):
        m.refuse("a[mask] op= value with a mask or value of another shape", "use np.where(mask, b, a)")
    set_array(m, ref, Ellipsis, call(m, np.where, [mask, made, ref], {}), True)


def scatter(m: Machine, ref: Ref, key: Any, v: Any, walked: Any) -> None:
    """Stores at arrays of indices, one after the other: of rows where these are along the first axes."""
    keys = key if isinstance(key, tuple) else (key,)
    low = [lower(m, k) for k in keys]
    if len(keys) > 2 or not all(map(_is_index, low)):
        _scattered(m, ref, keys, v, walked)
        return
    shapes: list[Any] = [k.shape if isinstance(k, Array) else np.shape(k) for k in low]
    shape: tuple[int, ...] = np.broadcast_shapes(*shapes)
    flat = [_flat(m, k, shape) for k in keys]
    rest = shape_of(m, ref)[len(keys) :]
    value = _spread(m, v, (*shape, *rest), (int(np.prod(shape)), *rest))
    call(m, walked, [ref, flat[0] if len(flat) == 1 else tuple(flat), value], {})


def _is_index(k: Any) -> bool:
    """Whether a part of a key is a number or an array of indices."""
    if k is None or k is Ellipsis or isinstance(k, slice):
        return False
    return (k.dtype if isinstance(k, Array) else np.asarray(k).dtype).kind in "iu"


def _scattered(m: Machine, ref: Ref, keys: tuple[Any, ...], v: Any, walked: Any) -> None:
    """Stores at any mixture of arrays, masks, slices and numbers: at the places that it has in the array made flat."""
    sizes, dtype = shape_of(m, ref), dtype_of(m, ref)
    places = get_array(m, wrap(m, np.arange(int(np.prod(sizes))).reshape(sizes)), keys)
    shape = shape_of(m, places) if isinstance(places, Ref) else ()
    value = wrap(m, fitted(m, v, dtype, shape, walked is not prelude.put_at))
    count = (int(np.prod(shape)),)
    if not count[0]:
        return
    flat = call(m, np.reshape, [call(m, np.copy, [ref], {}), (int(np.prod(sizes)),)], {})
    call(m, walked, [flat, *(call(m, np.reshape, [each, count], {}) for each in (places, value))], {})
    set_array(m, ref, Ellipsis, call(m, np.reshape, [flat, sizes], {}))


def _flat(m: Machine, k: Any, shape: tuple[int, ...]) -> Any:
    wide = call(m, np.broadcast_to, [call(m, np.asarray, [k], {}), shape], {})
    return call(m, np.reshape, [wide, (int(np.prod(shape)),)], {})


def _spread(m: Machine, v: Any, shape: tuple[int, ...], to: tuple[int, ...]) -> Any:
    if is_scalar(v):
        made = call(m, np.multiply, [v, m.adopt(np.ones(1, v.dtype))], {})
    else:
        made = call(m, np.asarray, [v], {})
    wide = call(m, np.broadcast_to, [made, shape], {})
    return call(m, np.copy, [call(m, np.reshape, [wide, to], {})], {})


ADVANCED[0] = advanced_store

__all__ = ["library_call", "method"]
