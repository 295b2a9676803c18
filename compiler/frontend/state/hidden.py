"""Hidden inputs: what a function takes from globals, closure cells, defaults, attributes and objects it is handed.

They are found by reading the code of the function and of the functions it names, and read again at every call: a
changed number, function or structure means another trace, and a changed array is never served stale.

    def loss(w): return np.sum((w * SCALE - data) ** 2)
    scan(loss).read() == (("number", ...), ("array", "f64", (3,)), ...), [data]
"""

from __future__ import annotations

import builtins
import dis
import functools
import inspect
import os
import types
import weakref
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...ir.containers import state_of
from ..array import Array
from ..errors import TraceError, message
from ..operators import is_array_like
from ..tracing import is_foreign
from .contents import MISSING, PLAIN, Unreadable, is_foreign_class, is_foreign_module, is_method, opened
from .mentions import codes
from .reading import Hidden, Source

LIMIT = 20_000
"""How many objects are followed at most."""

_DYNAMIC = frozenset(("getattr", "hasattr", "vars", "setattr", "delattr", "attrgetter"))
"""Names of what reads attributes whose names do not stand in the code."""

_MAKES = frozenset(("setattr", "delattr", "vars", "__dict__", "__setattr__", "__delattr__"))
"""Names of what changes attributes whose names do not stand in the code."""


def scan(function: Any, given: frozenset[str] = frozenset(), others: Sequence[tuple[str, Any]] = ()) -> Hidden:
    """What `function` reads, itself and through the functions it names, and what static arguments hold: `others`.

    `given` are parameters of `function` that the caller passes, whose defaults are not read.
    """
    scanner = _Scanner(given)
    scanner.visit(function)
    for name, each in others:
        if not isinstance(each, PLAIN):
            scanner.note(Source("argument", each, name))
    scanner.run()
    codes_ = [loaded(f.__code__) for f in scanner.functions]
    makes = any(not _MAKES.isdisjoint((*c.names, *c.attributes)) for c in codes_)
    stored = None if makes else frozenset().union(*[c.stored for c in codes_])
    return Hidden(tuple(scanner.sources.values()), tuple(scanner.functions), stored)


class _Scanner:
    def __init__(self, given: frozenset[str]) -> None:
        self.given: frozenset[str] | None = given
        self.sources: dict[Any, Source] = {}
        self.functions: list[types.FunctionType] = []
        self.pending: list[types.FunctionType] = []
        self.objects: list[Any] = []
        self.seen: dict[int, Any] = {}
        self.names: set[str] = set()
        self.dynamic = False

    def run(self) -> None:
        """Read functions until none is new; objects again whenever more attribute names are known."""
        known = -1
        while self.pending or known != len(self.names) + len(self.objects):
            if self.pending:
                self.read(self.pending.pop())
                continue
            known = len(self.names) + len(self.objects)
            for each in tuple(self.objects):
                self.attributes(each)

    def visit(self, x: Any) -> None:
        """Follow something that may be called, or whose attributes may be read."""
        if isinstance(x, (np.ndarray, Array, *PLAIN)) and not getattr(x, "__dict__", None):
            return
        if id(x) in self.seen:
            return
        self.seen[id(x)] = x
        if len(self.seen) > LIMIT:
            verdict = f"a traced function reads more than {LIMIT} objects, which cannot be compared at each call"
            raise TraceError(message(verdict, None, "pass what it computes with as arguments, in arrays"))
        if isinstance(x, types.FunctionType):
            if not is_foreign(x.__code__.co_filename):
                self.pending.append(x)
                if x.__dict__:
                    self.objects.append(x)
            else:
                for each in functions_in(x):
                    self.visit(each)
            if "__wrapped__" in x.__dict__:
                self.visit(x.__wrapped__)
        elif isinstance(x, types.MethodType):
            self.visit(x.__func__)
            self.visit(x.__self__)
        elif isinstance(x, functools.partial):
            self.visit(x.func)
            self.note(Source("attribute", x, "args"))
            self.note(Source("attribute", x, "keywords"))
        elif inspect.getattr_static(x, "__wrapped__", None) is not None:
            self.visit(getattr(x, "__wrapped__", None))
            for each in getattr(x, "__reads__", ()):  # what a function with a rule calls beside itself
                self.visit(each)
        else:
            for each in _parts(x):
                self.visit(each)
            if _is_object(x):
                self.object(x)

    def object(self, x: Any) -> None:
        """Follow an object, class or module of the user's: its attributes, and the methods that syntax calls."""
        self.objects.append(x)
        if isinstance(x, types.ModuleType):
            return
        for base in (x if isinstance(x, type) else _type_of(x)).__mro__:
            for name, value in vars(base).items():
                called = name.startswith("__") and name not in ("__init__", "__new__", "__repr__")
                if called and isinstance(value, types.FunctionType):
                    self.visit(value)

    def note(self, source: Source) -> None:
        """Record a source if what it holds matters, and follow it."""
        key = (source.kind, id(source.holder), source.name)
        if key in self.sources:
            return
        value = source.read()
        if (source.kind in ("global", "cell") and _is_callable(value)) or _matters(value):
            self.sources[key] = source
        self.visit(value)

    def read(self, function: types.FunctionType) -> None:
        self.functions.append(function)
        code = loaded(function.__code__)
        self.names |= code.attributes
        if not self.dynamic and not _DYNAMIC.isdisjoint((*code.names, *code.attributes)):
            self.dynamic = True
        for name in code.names:
            if name in function.__globals__ or not name.startswith("__"):
                self.note(Source("global", function.__globals__, name, name))
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            self.note(Source("cell", cell, "", name))
        for chain in code.chains:
            self.chain(function, chain)
        given, self.given = self.given, None
        if _reads_defaults(function, given or frozenset()):
            self.note(Source("defaults", function, "", f"the defaults of {function.__name__}"))

    def chain(self, function: types.FunctionType, names: tuple[str, ...]) -> None:
        """os.environ and its like: what can change in a module of Python's or of a library."""
        found = global_of(function, names[0])
        for name in names[1:]:
            if not isinstance(found, types.ModuleType) or not is_foreign_module(found.__name__):
                return
            module, found = found, vars(found).get(name, MISSING)
            if not callable(found) and not isinstance(found, (*PLAIN, types.ModuleType)) and found is not MISSING:
                self.note(Source("attribute", module, name))
        if getattr(found, "__module__", "") == "os" and getattr(found, "__name__", "") == "getenv":
            self.note(Source("attribute", os, "environ"))

    def attributes(self, x: Any) -> None:
        """The attributes of an object that any of the functions names; all, where names are made or code is unknown."""
        kind = x if isinstance(x, type) else _type_of(x)
        spaces = [getattr(x, "__dict__", {}), *[vars(each) for each in kind.__mro__]]
        slots = {n for space in spaces[1:] for n in _slots(space)} - {"__dict__", "__weakref__"}
        names = self.names
        if not isinstance(x, (type, types.ModuleType)) and (self.dynamic or _inherits_code(kind)):
            names = names | set(state_of(x))
        for name in names:
            space = next((s for s in spaces if name in s), None)
            if space is not None or name in slots:
                value = None if space is None else space[name]
                if isinstance(value, (property, functools.cached_property)):
                    self.visit(value.fget if isinstance(value, property) else value.func)
                elif isinstance(value, (staticmethod, classmethod)):
                    self.visit(value.__func__)
                elif hasattr(type(value), "__get__") and _is_object(value) and not isinstance(value, type):
                    self.visit(value)  # a descriptor of the user's
                else:
                    self.note(Source("attribute", x, name))


def functions_in(wrapper: types.FunctionType) -> list[Any]:
    """The functions that one of a library closes over, which it may have been made to call."""
    cells = [global_of(wrapper, name) for name in wrapper.__code__.co_freevars]
    kinds = (types.FunctionType, types.MethodType, functools.partial)
    return [each for each in cells if isinstance(each, kinds) or inspect.getattr_static(each, "__wrapped__", None)]


def _parts(x: Any) -> Sequence[Any]:
    """What an object holds, if it is compared by its contents."""
    try:
        held = opened(x)
    except Unreadable:
        return ()
    return () if held is None else held[1]


def _matters(value: Any) -> bool:
    """Whether a changed value would change a trace: data, and functions of the user."""
    if isinstance(value, types.FunctionType):
        return not is_foreign(value.__code__.co_filename)
    if isinstance(value, types.ModuleType):
        return not is_foreign_module(value.__name__)
    if isinstance(value, (types.BuiltinFunctionType, np.ufunc)) or is_method(value):
        return is_method(value)
    if isinstance(value, type):
        return not is_foreign_class(value)
    return not callable(value) or not _is_numpy(value)


def _is_callable(value: Any) -> bool:
    """Whether it is a function or class, which a name may come to mean another of."""
    return callable(value) and not isinstance(value, types.ModuleType)


def _is_numpy(x: Any) -> bool:
    return (getattr(x, "__module__", None) or "").partition(".")[0] in ("numpy", "scipy", "builtins", "math")


def _type_of(x: Any) -> type:
    """The class of an object, also behind a weakref.proxy."""
    kind = type(x)
    return x.__class__ if kind in weakref.ProxyTypes else kind


def _is_object(x: Any) -> bool:
    """Whether attributes of x are worth reading: objects, classes and modules of the user."""
    if isinstance(x, types.ModuleType):
        file = getattr(x, "__file__", None)
        if file is None:
            return not is_foreign_module(x.__name__)
        return not is_foreign(file) and x.__name__.partition(".")[0] not in ("numpy", "pullback")
    if isinstance(x, (np.ndarray, Array, *PLAIN)) or is_array_like(x):
        return False
    return not is_foreign_class(x if isinstance(x, type) else _type_of(x))


def _inherits_code(kind: type) -> bool:
    """Whether methods of a library may read attributes of an object of the user's."""
    return any(is_foreign_class(base) and base.__module__ not in ("builtins", "abc", "typing") for base in kind.__mro__)


def _slots(space: Any) -> tuple[str, ...]:
    names = space.get("__slots__") or ()
    return (names,) if isinstance(names, str) else tuple(names)


class Loaded(NamedTuple):
    """What code names: globals, attributes, those it stores, and attributes of names in a row such as (os, environ).

    In `imported` a row begins with a module that the code imports itself.
    """

    names: tuple[str, ...]
    attributes: frozenset[str]
    stored: frozenset[str]
    chains: tuple[tuple[str, ...], ...]
    imported: tuple[tuple[str, ...], ...]


def global_of(function: types.FunctionType, name: str) -> Any:
    """What a name that is not local stands for: a closure's, a global's or a builtin's."""
    if name in function.__code__.co_freevars:
        cell = (function.__closure__ or ())[function.__code__.co_freevars.index(name)]
        try:
            return cell.cell_contents
        except ValueError:
            return MISSING
    return function.__globals__.get(name, getattr(builtins, name, MISSING))


@functools.lru_cache(maxsize=4096)
def loaded(code: types.CodeType) -> Loaded:
    """The names of globals, and of attributes, that a code object and those inside it load or store."""
    names: dict[str, None] = {}
    attributes: set[str] = set()
    stored: set[str] = set()
    chains: dict[tuple[str, ...], None] = {}
    for each in codes(code):
        chain: tuple[str, ...] = ()
        for instruction in dis.get_instructions(each):
            name = instruction.opname
            if name in ("LOAD_GLOBAL", "LOAD_NAME", "STORE_GLOBAL", "DELETE_GLOBAL", "LOAD_DEREF"):
                if name != "LOAD_DEREF":
                    names[instruction.argval] = None
                chain = (instruction.argval,)
                chains[chain] = None
            elif name in ("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR", "STORE_ATTR", "DELETE_ATTR"):
                attributes.add(instruction.argval)
                if name == "STORE_ATTR":
                    stored.add(instruction.argval)
                chain = (*chain, instruction.argval) if chain else ()
                chains[chain] = None
            else:
                chain = ()
    rows = tuple(c for c in chains if c)
    return Loaded(tuple(names), frozenset(attributes), frozenset(stored), rows, tuple(_imported(code)))


def _imported(code: types.CodeType) -> Iterator[tuple[str, ...]]:
    """Attributes in a row of what code imports: (datetime, datetime, now), under whatever names."""
    for each in codes(code):
        if dis.opmap["IMPORT_NAME"] not in each.co_code[::2]:
            continue
        known: dict[str, tuple[str, ...]] = {}
        module, row = "", ()
        for instruction in dis.get_instructions(each):
            name, value = instruction.opname, instruction.argval
            if name == "IMPORT_NAME":
                module, row = value, (value,)
            elif name == "IMPORT_FROM":
                row = (module, value)
            elif name == "STORE_FAST":
                known[value], row = row, ()
            elif name == "LOAD_FAST":
                row = known.get(value, ())
            elif name in ("LOAD_ATTR", "LOAD_METHOD") and row:
                row = (*row, value)
                yield row
            elif name != "POP_TOP":
                row = ()


def _reads_defaults(function: types.FunctionType, given: frozenset[str]) -> bool:
    """Whether a default holds data and may be used."""
    code, defaults = function.__code__, function.__defaults__ or ()
    names = code.co_varnames[: code.co_argcount][code.co_argcount - len(defaults) :]
    pairs = [*zip(names, defaults, strict=True), *(function.__kwdefaults__ or {}).items()]
    return any(
        not isinstance(value, (bool, str, type(None))) and _matters(value) for name, value in pairs if name not in given
    )


__all__ = ["Hidden", "Source", "global_of", "loaded", "scan"]
