"""Calls: functions of the user are walked, NumPy's and Python's have meanings of ours, all others are called.

An object of ours is lowered for a function that is called: an array to what it holds, a list to a list. What comes back
is adopted. A function made by captured code is a `Closure`, which libraries can call in their turn.
"""

from __future__ import annotations

import ast
import functools
import inspect
import types
from collections.abc import Callable, Mapping
from typing import Any

from .. import tracing
from ..array import Array
from ..errors import TraceError
from ..patched.made import NAMED, is_named
from ..patched.patches import unpatched
from ..state.impure import asked
from ..tracing import is_foreign
from . import prelude
from .arrays.access import read, wrap
from .arrays.parts import native
from .containers.sequences import all_items, new_dict
from .containers.tables import Table
from .frames import Frame
from .machine import DEPTH, Machine
from .regions import read_name
from .selections.selected import FIX, Selection
from .source import Function, NoSource, Parsed, describe, parsed, plain
from .values import (
    UNDEF,
    Grown,
    Maybe,
    Method,
    Poison,
    Ref,
    is_array,
    is_dict,
    is_list,
    is_scalar,
    like,
    same,
    traced,
)

CALLS: dict[Any, Callable[..., Any]] = {}
"""Python's and NumPy's functions -> their meanings, which take the machine first."""


def meaning_of(*functions: Any) -> Callable[[Any], Any]:
    """Register what functions mean; this file may be loaded amid a trace, which has replaced some of them."""

    def register(meaning: Any) -> Any:
        for each in functions:
            CALLS[unpatched(each)] = meaning
        return meaning

    return register


class Closure:
    """A function made while walking: its syntax tree and the frame it closes over."""

    def __init__(self, m: Machine, tree: Parsed, frame: Frame, defaults: list[Any], named: dict[str, Any]) -> None:
        self.machine, self.tree, self.frame, self.defaults, self.named = m, tree, frame, defaults, named
        self.__name__ = getattr(tree.node, "name", "<lambda>")
        self.attributes = new_dict(m, (), ())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Called by a library."""
        return callback(self.machine, self, args, kwargs)

    def __getattr__(self, name: str) -> Any:
        """What was assigned to the function, as libraries read it: `hit.terminal = True`."""
        held: Any = self.machine.content(self.attributes.box) if "attributes" in self.__dict__ else Table((), ())
        if name not in held.keys:
            raise AttributeError(f"'function' object has no attribute '{name}'", name=name, obj=self)
        return self.machine.lower(held.values[held.keys.index(name)])

    def closes_over(self) -> list[Any]:
        """What its names stand for outside of it, as libraries see it."""
        names = {each.id for each in ast.walk(self.tree.node) if isinstance(each, ast.Name)}
        found, frame = [*self.defaults, *self.named.values()], self.frame
        while frame is not None:
            found += [frame.vars[name] for name in names & frame.vars.keys()]
            found += [frame.free[name] for name in names & frame.free.keys()]
            frame = frame.scope
        return [x if isinstance(x, types.CellType) else self.machine.lower(x) for x in found if type(x) not in _GONE]

    @property
    def __signature__(self) -> inspect.Signature:
        """What libraries ask for: the parameters as they are written."""
        a, P = self.tree.node.args, inspect.Parameter
        plain = [*((p, P.POSITIONAL_ONLY) for p in a.posonlyargs), *((p, P.POSITIONAL_OR_KEYWORD) for p in a.args)]
        empty = [P.empty] * (len(plain) - len(self.defaults))
        made = [P(p.arg, how, default=d) for (p, how), d in zip(plain, [*empty, *self.defaults], strict=True)]
        made += [P(a.vararg.arg, P.VAR_POSITIONAL)] if a.vararg else []
        made += [P(p.arg, P.KEYWORD_ONLY, default=self.named.get(p.arg, P.empty)) for p in a.kwonlyargs]
        return inspect.Signature([*made, P(a.kwarg.arg, P.VAR_KEYWORD)] if a.kwarg else made)


_GONE = (type(UNDEF), Poison)


def make_closure(m: Machine, node: Function) -> Closure:
    m.kept.add(m.frame)
    a = node.args
    named = {k.arg: m.eval(d) for k, d in zip(a.kwonlyargs, a.kw_defaults, strict=True) if d is not None}
    tree = describe(node, m.frame.parsed.file if m.frame.parsed else "")
    return Closure(m, tree, m.frame, [m.eval(d) for d in a.defaults], named)


def callback(m: Machine, function: Closure, args: Any, kwargs: Any) -> Any:
    """A library calls a function of ours: it must leave the state as it is."""
    now = tracing.current()
    if now is None or not m.frames:
        raise TraceError(f"{function.__name__!r} is called after the function that made it has returned")
    now.locate = now.locate or m.where
    before, state, depth = m.now, m.snapshot(), len(m.frames)
    m.now = now
    try:
        made = m.call(function, [m.adopt(a) for a in args], {k: m.adopt(v) for k, v in kwargs.items()})
        for frame, names in state[0].items():
            for name, value in names.items():
                if not same(frame.vars.get(name, UNDEF), value):
                    m.refuse(f"{function.__name__!r}, called by a library, changes {name!r}", "return the new value")
        for box, content in state[1].items():
            if m.heap[box] is not content:
                verdict = f"{function.__name__!r}, called by a library, changes a {box.kind} from outside"
                m.refuse(verdict, "work on a copy")
        return m.lower(made)
    finally:
        del m.frames[depth:]
        m.now = before


# ---- functions of the user


def call(m: Machine, function: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """function(*args, **kwargs)."""
    function = unpatched(function)
    if isinstance(function, Closure):
        return enter(m, function.tree, args, kwargs, function.defaults, function.named, scope=function.frame)
    if isinstance(function, Method):
        if m.selects and any(isinstance(x, Selection) for x in (function.owner, *args, *kwargs.values())):
            return SELECTED[2](m, function.owner, function.name, args, kwargs)
        return METHODS[0](m, function.owner, function.name, args, kwargs)
    if isinstance(function, functools.partial):
        first = [m.adopt(a, outer=True) for a in function.args]
        named = {k: m.adopt(v, outer=True) for k, v in function.keywords.items()}
        return call(m, function.func, [*first, *args], {**named, **kwargs})
    if isinstance(function, types.MethodType) and isinstance(function.__func__, types.FunctionType):
        if asked(function) is not None:
            return NATIVE[0](m, function, args, kwargs)
        return call(m, function.__func__, [function.__self__, *args], kwargs)
    meaning = _meaning(CALLS, function)
    sized = _meaning(NAMED, function) if m.root.sizes is not None and any(map(is_named, args)) else None
    if sized is not None and not traced((*args, *kwargs.values())):
        return wrap(m, native(m, lambda: sized(*args, **kwargs)))
    if meaning is not None:
        known = SELECTED[0](m, function, args, kwargs) if m.selects else None
        return known[0] if known else meaning(m, *args, **kwargs)
    if isinstance(function, types.FunctionType) and _is_walked(function):
        return _user(m, function, args, kwargs)
    own = inspect.getattr_static(type(function), "__call__", None)
    if isinstance(own, types.FunctionType) and not is_foreign(own.__code__.co_filename):
        return _user(m, own, [function, *args], kwargs)
    known = SELECTED[0](m, function, args, kwargs) if m.selects else None
    return known[0] if known else NATIVE[0](m, function, args, kwargs)


def _is_walked(function: types.FunctionType) -> bool:
    """Whether a function is the user's, or one of ours that is written to be walked."""
    file = function.__code__.co_filename
    return file == prelude.__file__ or not is_foreign(file)


METHODS: list[Any] = [None]
SELECTED: list[Any] = [None, None, None]
NATIVE: list[Any] = [None]
"""Methods of modelled objects, functions of selections and of libraries: registered by the modules that know them."""


def _meaning(among: Mapping[Any, Callable[..., Any]], function: Any) -> Callable[..., Any] | None:
    try:
        return among.get(function)
    except TypeError:  # not hashable
        return None


def _user(m: Machine, function: types.FunctionType, args: list[Any], kwargs: dict[str, Any]) -> Any:
    try:
        tree = parsed(function)
    except NoSource as error:
        if plain(function.__code__):
            return NATIVE[0](m, function, args, kwargs)
        m.refuse(f"{function.__qualname__!r} branches, loops or stores items, and {error}", "define it in a file")
    defaults = [m.adopt(d, outer=True) for d in function.__defaults__ or ()]
    named = {k: m.adopt(d, outer=True) for k, d in (function.__kwdefaults__ or {}).items()}
    free = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    return enter(m, tree, args, kwargs, defaults, named, function.__globals__, free)


def enter(
    m: Machine,
    tree: Parsed,
    args: list[Any],
    kwargs: dict[str, Any],
    defaults: list[Any],
    named: dict[str, Any],
    globals_: dict[str, Any] | None = None,
    free: dict[str, Any] | None = None,
    scope: Frame | None = None,
) -> Any:
    """Walk a function: its arguments are bound, its block is walked, and what it returns comes back."""
    frame = Frame(getattr(tree.node, "name", "<lambda>"), tree, scope)
    frame.globals = globals_ if globals_ is not None else scope.globals if scope else {}
    frame.free, frame.line = free or {}, tree.node.lineno
    frame.level, frame.site, m.site = m.level, m.site, None
    if any(f.parsed is not None and f.parsed.node is tree.node and _repeats(f, frame) for f in m.frames):
        m.refuse(f"{frame.name!r} calls itself until a traced value ends it", "write it as a loop")
    if len(m.frames) > DEPTH and m.in_region:
        m.refuse(f"calls nest more than {DEPTH} deep", "write them as a loop")
    _bind(m, frame, tree.node.args, args, kwargs, defaults, named)
    m.frames.append(frame)
    if tree.generator:
        m.refuse(f"{frame.name!r} is a generator, or awaits", "build a list")
    if isinstance(tree.node.body, list):
        m.block(tree.node.body)
    else:
        value = m.eval(tree.node.body)  # first: a branch within it replaces the names of the frame
        frame.vars.update({"#value": value, "#return": True})
    made = _returned(m, frame)
    m.frames.pop()
    return made


def _repeats(running: Frame, frame: Frame) -> bool:
    """Whether a function has been called in a region outside, at the same place: so it may go on for ever."""
    return running.level < frame.level and running.site is frame.site


def _returned(m: Machine, frame: Frame) -> Any:
    done, value = frame.vars["#return"], frame.vars["#value"]
    if done is False:
        return None
    if isinstance(done, Array):
        if value is None or value is UNDEF:
            return None
        if isinstance(value, Poison):
            m.refuse(value.why, value.fix)
        why = f"{frame.name!r} returns a value on some paths and None on others"
        return Poison(why, "return a value on every path")
    return read_name(m, value, f"the value of {frame.name!r}")


def _bind(
    m: Machine,
    frame: Frame,
    a: ast.arguments,
    args: list[Any],
    kwargs: dict[str, Any],
    defaults: list[Any],
    named: dict[str, Any],
) -> None:
    """Arguments to parameters, with Python's errors."""
    places = [x.arg for x in (*a.posonlyargs, *a.args)]
    only = {x.arg for x in a.kwonlyargs}
    bound: dict[str, Any] = dict(zip(places[len(places) - len(defaults) :], defaults, strict=True))
    bound.update(named)
    bound.update(zip(places, args, strict=False))
    if a.vararg is not None:
        bound[a.vararg.arg] = tuple(args[len(places) :])
    elif len(args) > len(places):
        m.fail(TypeError(f"{frame.name}() takes {len(places)} positional arguments but {len(args)} were given"))
    extra: dict[str, Any] = {}
    for name, value in kwargs.items():
        if name in places[: len(args)]:
            m.fail(TypeError(f"{frame.name}() got multiple values for argument '{name}'"))
        (bound if name in places or name in only else extra)[name] = value
    if a.kwarg is not None:
        bound[a.kwarg.arg] = new_dict(m, extra, extra.values())
    elif extra:
        m.fail(TypeError(f"{frame.name}() got an unexpected keyword argument '{next(iter(extra))}'"))
    for name in (*places, *only):
        if name not in bound:
            m.fail(TypeError(f"{frame.name}() missing a required argument: '{name}'"))
    frame.vars.update(bound)


# ---- attributes


def attribute(m: Machine, base: Any, name: str) -> Any:
    if isinstance(base, Closure):
        table: Table = m.content(base.attributes.box)
        if name in table.keys:
            return table.values[table.keys.index(name)]
    if isinstance(base, Selection):
        return SELECTED[1](m, base, name)
    if is_array(base) or is_scalar(base):
        return ARRAY_ATTRIBUTES[0](m, base, name)
    if isinstance(base, Ref) or (type(base) is tuple and traced(base)):
        return Method(name, base)
    if isinstance(base, tuple) and name in getattr(type(base), "_fields", ()):
        return base[type(base)._fields.index(name)]  # type: ignore[attr-defined]
    found = None if isinstance(base, type) else getattr(type(base), name, None)
    getter = found.fget if isinstance(found, property) else None
    if isinstance(getter, types.FunctionType) and not is_foreign(getter.__code__.co_filename):
        return call(m, getter, [base], {})
    return held_by(m, base, native(m, lambda: getattr(base, name)))


def held_by(m: Machine, holder: Any, x: Any) -> Any:
    """An attribute or item of an object; what such a one of the walk's own holds is its own, too."""
    if id(holder) in m.made:
        m.made.setdefault(id(x), (x, m.root))
    return m.adopt(x, True, holder)


ARRAY_ATTRIBUTES: list[Any] = [None]


def lower(m: Machine, x: Any) -> Any:
    """An abstract value as what a function of a library takes."""
    if isinstance(x, (Maybe, Poison)):
        x = read_name(m, x, "an argument")
    if is_array(x):
        return read(m, x)
    if is_list(x):
        held = m.content(x.box)
        return [lower(m, i) for i in all_items(m, x)] if isinstance(held, Grown) else [lower(m, i) for i in held]
    if is_dict(x):
        table: Table = m.content(x.box)
        return dict(zip(table.keys, [lower(m, v) for v in table.values], strict=True))
    if isinstance(x, tuple):
        return like(x, [lower(m, i) for i in x])
    if isinstance(x, Selection):
        m.refuse("the size of x[mask] depends on values", FIX)
    if isinstance(x, slice):
        return slice(lower(m, x.start), lower(m, x.stop), lower(m, x.step))
    return x


