"""NumPy's functions and methods on modelled arrays, and functions of libraries that know nothing of us."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...ir.containers import SEQUENCES
from ..array import FUNCTIONS, Array
from ..numpy.writing import WRITES
from ..patched.patches import unpatched
from ..patched.unasked import UNASKED
from ..promotion import check_ints
from ..state.impure import asked, refusal
from . import calls
from .arrays.access import get_array, read, set_array, shape_of, stacked, wrap
from .arrays.parts import native
from .arrays.views import moved_axes, reshaped
from .calls import call, lower, meaning_of
from .containers.listed import as_arrays, has_traced, lowered
from .containers.objects import note_made, watching
from .containers.sequences import dict_method, list_method
from .frames import Raised
from .machine import Machine
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
    out, given_where = _taken_out(function, args, kwargs)
    args = args[: function.nin] if isinstance(function, np.ufunc) else args
    low, named = [lowered(m, function, a) for a in args], {k: lower(m, v) for k, v in kwargs.items()}
    given_traced = any(has_traced(x) for x in (*low, *named.values()))
    if given_traced:
        low, named = [_lifted(m, x) for x in low], {k: _lifted(m, v) for k, v in named.items()}
        if isinstance(function, np.ufunc) or _module(function) == "numpy":
            low = as_arrays(function, low)
        function = UNASKED.get(function, function) if _is_hashed(function) else function
    before = [(ref, x, _shallow(x)) for ref, x in zip(args, low, strict=True) if is_list(ref) or is_dict(ref)]
    try:
        with watching(m, function, [*low, *named.values()]):
            made = native(m, lambda: function(*low, **named))
    except Raised as raised:
        if not given_traced or not isinstance(raised.error, (TypeError, AttributeError)):
            raise
        name = getattr(function, "__name__", type(function).__name__)
        m.refuse(f"{name} does not take traced values: {raised.error}", "write it with what NumPy has")
    note_made(m, function, made)
    for ref, x, old in before:
        if isinstance(x, (list, dict)) and _shallow(x) != old:
            fresh = m.adopt(x)
            m.store(ref.box, m.content(fresh.box))
    if _module(function) not in _OURS and not isinstance(function, np.ufunc):
        _keep(given, getattr(function, "__name__", str(function)))
    if out is not None:
        return _put(m, out, made, given_where)
    result = adopt_result(m, made, given, low)
    if isinstance(made, np.ndarray) and is_array(result) and not any(map(is_array, given)):
        result.box.rows = made.flags.c_contiguous and made.flags.owndata
    return result


def _taken_out(function: Any, args: list[Any], kwargs: dict[str, Any]) -> tuple[Any, Any]:
    """What a function of NumPy is to write into, and where: a ufunc's results elsewhere have no value."""
    owner = getattr(function, "__self__", None)
    if not isinstance(function, np.ufunc) and not isinstance(owner, np.ufunc) and _module(function) != "numpy":
        return None, True
    out = kwargs.pop("out", None)
    if isinstance(function, np.ufunc) and len(args) > function.nin:
        out = tuple(args[function.nin :])
    if isinstance(out, tuple) and all(each is None for each in out):
        out = None
    return out, kwargs.pop("where", True) if out is not None and isinstance(function, np.ufunc) else True


def _put(m: Machine, out: Any, made: Any, given: Any) -> Any:
    """Write results into the arrays that were given for them."""
    parts, targets = (x if isinstance(x, tuple) else (x,) for x in (made, out))
    done = []
    for part, target in zip(parts, targets, strict=True):
        value = m.adopt(part) if target is None else wrap(m, part)
        if target is not None:
            value = value if given is True else call(m, np.where, [given, value, target], {})
            set_array(m, target, Ellipsis, value, True)
        done.append(value if target is None else target)
    return tuple(done) if isinstance(made, tuple) else done[0]


def _is_hashed(function: Any) -> bool:
    return type(function).__hash__ is not None


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
    if name in ("real", "imag") and (m.content(x.box) if is_array(x) else x).dtype.kind == "c":
        return _part(m, x, name)
    if name in ("real", "flat"):
        return x if name == "real" else call(m, np.ravel, [x], {})
    if name in ("T", "mT"):
        return moved_axes(m, np.transpose if name == "T" else np.matrix_transpose, x)
    if name == "imag":
        return call(m, np.imag, [x], {}) if is_array(x) else 0.0
    if not hasattr(_kind_of(x), name):
        m.fail(AttributeError(f"'{'numpy.ndarray' if is_array(x) else 'float'}' object has no attribute '{name}'"))
    if not callable(getattr(_kind_of(x), name)):
        m.refuse(f"the attribute {name} of an array or number", "use shape, ndim, size, dtype, T or real")
    return Method(name, x)


def _part(m: Machine, x: Any, name: str) -> Any:
    """The parts of complex numbers: of arrays NumPy's are views, so these are read no more once one is changed."""
    made = call(m, getattr(np, name), [x], {})
    if is_array(made) and is_array(x):
        made.box.relate(m.relatives(x.box))
    return made


def _kind_of(x: Any) -> type:
    """The type whose methods x has."""
    if is_array(x) or not x.weak:
        return np.ndarray
    return {"i64": int, "bool": bool, "c128": complex}.get(x.type.dtype, float)


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
        if name in ("transpose", "swapaxes", "squeeze"):
            return moved_axes(m, getattr(np.ndarray, name), owner, *args, **kwargs)
        if name in ("reshape", "ravel") and not kwargs and (args or name == "ravel"):
            made = reshaped(m, owner, -1 if name == "ravel" else args[0] if len(args) == 1 else tuple(args))
            if made is not None and not (name == "ravel" and args):
                return made
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
    copies = name in ("copy", "flatten") or (name == "astype" and named.get("copy", True))
    if not copies:
        return adopt_result(m, made, [owner], [x])
    if made is x and is_array(owner):
        made = Array(m.now, made.value) if isinstance(made, Array) else made.copy()
    result = m.adopt(made)
    if is_array(result):
        result.box.rows = name != "astype" and not args and not kwargs
    return result


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
def _array(m: Machine, x: Any, dtype: Any = None, copy: Any = True, *, ndmin: int = 0, **kwargs: Any) -> Any:
    made = _as_array(m, x, dtype)
    rank = len(shape_of(m, made)) if is_array(made) else 0
    if rank < ndmin:
        wide = (*(1,) * (ndmin - rank), *(shape_of(m, made) if rank else ()))
        made = call(m, np.reshape, [made, wide], {})
    if is_array(x):
        return call(m, np.copy, [made], {}) if (made is x or rank < ndmin) and copy else made
    if is_array(made) and not made.path:
        made.box.rows = kwargs.get("order", "K") in ("K", "C")
    return made


@meaning_of(np.asarray, np.asanyarray)
def _as_array(m: Machine, x: Any, dtype: Any = None, **kwargs: Any) -> Any:
    dtype = lower(m, dtype)
    if isinstance(dtype, list) or (dtype is not None and np.dtype(dtype).names):
        return native(m, lambda: np.array(lower(m, x), dtype))  # of records: no array of numbers
    if is_array(x):
        held = m.content(x.box)
        if dtype is None or held.dtype == np.dtype(dtype):
            return call(m, np.ascontiguousarray, [x], {}) if kwargs.get("order") in ("C", "F") else x
        return method(m, x, "astype", [dtype], {})
    if is_list(x) or isinstance(x, SEQUENCES):
        made = stacked(m, m.content(x.box) if isinstance(x, Ref) else tuple(x), dtype)
    else:
        made = x
        check_ints(m.now, x, dtype)
    if not isinstance(made, Array):
        return m.adopt(native(m, lambda: np.array(made, dtype)))
    if dtype is not None:
        made = made.astype(dtype)
    return wrap(m, Array(made.tracing, made.value))


@meaning_of(np.nan_to_num)
def _as_finite(m: Machine, x: Any, copy: Any = True, *args: Any, **kwargs: Any) -> Any:
    """Without a copy it is written into what it is of."""
    if is_array(x) and not lower(m, copy):
        kwargs["out"] = x
    return library_call(m, np.nan_to_num, [x, True, *args], kwargs)


@meaning_of(np.arange)
def _arange(m: Machine, *args: Any, **kwargs: Any) -> Any:
    low, named = [lower(m, a) for a in args], {k: lower(m, v) for k, v in kwargs.items()}
    traced_ = has_traced([*low, *named.values()])
    made = FUNCTIONS[unpatched(np.arange)] if traced_ else np.arange
    return wrap(m, native(m, lambda: made(*low, **named)))


for _kind in (np.float64, np.float32, np.int64, np.int32, np.bool_):
    def _number(m: Machine, x: Any = 0, kind: Any = _kind) -> Any:
        if is_scalar(x):
            made = x.astype(kind)
            return Array(made.tracing, made.value)
        return call(m, np.asarray, [x], {"dtype": kind}) if traced(x) else native(m, lambda: kind(x))

    meaning_of(_kind)(_number)


__all__ = ["library_call", "method"]
