"""Hidden inputs: what a function takes from globals, closure cells, defaults and attributes.

They are found by reading the code of the function and of the functions it names, and read again at every call: a
changed number, function or structure means another trace, and a changed array is never served stale.

    def loss(w): return np.sum((w * SCALE - data) ** 2)
    scan(loss).read() == (("number", ...), ("array", "f64", (3,)), ...), [data]
"""

from __future__ import annotations

import dis
import functools
import hashlib
import sys
import types
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from .array import Array
from .frozen import is_generator
from .operators import is_array_like
from .tracing import is_foreign
from .tree import MADE_OF, ById, static_key

LIMIT = 256
"""How many functions are read at most."""

MISSING = ById("no value")
PLAIN = (bool, int, float, complex, str, bytes, type(None), np.generic)


class Source(NamedTuple):
    """A place that a function reads: a global, a closure cell, an attribute, or defaults."""

    kind: str
    holder: Any
    name: str

    def read(self) -> Any:
        if self.kind == "global":
            return self.holder.get(self.name, MISSING)
        if self.kind == "cell":
            try:
                return self.holder.cell_contents
            except ValueError:
                return MISSING
        if self.kind == "defaults":
            return (self.holder.__defaults__, self.holder.__kwdefaults__)
        return getattr(self.holder, self.name, MISSING)


class Hidden(NamedTuple):
    """The places that a function reads."""

    sources: tuple[Source, ...]

    @property
    def places(self) -> tuple[Any, ...]:
        """The same places compare equal, whatever they hold."""
        return tuple([(s.kind, id(s.holder), s.name) for s in self.sources])

    def read(self) -> tuple[tuple[Any, ...], list[np.ndarray]]:
        """A key that is the same as long as no number, function or structure changes; and the arrays."""
        arrays: list[np.ndarray] = []
        return tuple([_key(s.read(), arrays, 0) for s in self.sources]), arrays

    def generators(self) -> list[Any]:
        """The generators of random numbers among what is read."""
        return [x for x in (s.read() for s in self.sources) if is_generator(x)]


def _key(x: Any, arrays: list[np.ndarray], depth: int) -> Any:
    if isinstance(x, np.ndarray):
        arrays.append(x)
        return ("array", x.dtype, x.shape)
    if isinstance(x, PLAIN):
        return static_key(x)
    if type(x) in (list, tuple) and depth < 8:
        return (type(x), *(_key(each, arrays, depth + 1) for each in x))
    if type(x) is dict and depth < 8:
        return (dict, *((static_key(k), _key(v, arrays, depth + 1)) for k, v in x.items()))
    if type(x) in MADE_OF:
        array = np.ascontiguousarray(MADE_OF[type(x)][0](x))
        return (ById(x), array.dtype, array.shape, hashlib.blake2b(array.tobytes()).digest())
    if is_array_like(x):
        array = np.ascontiguousarray(np.asarray(x))
        told = ById(x) if array.dtype.hasobject else hashlib.blake2b(array.tobytes()).digest()
        return (ById(x), array.dtype, array.shape, told)
    if isinstance(x, types.MethodType):
        return (_key(x.__func__, arrays, depth), ById(x.__self__))
    if isinstance(x, types.FunctionType):
        return (ById(x), ById(x.__code__))
    return ById(x)


def scan(function: Any, given: frozenset[str] = frozenset(), others: tuple[Any, ...] = ()) -> Hidden:
    """What `function` and `others` read, themselves and through the functions they name.

    `given` are parameters of `function` that the caller passes, whose defaults are not read.
    """
    scanner = _Scanner(given)
    for each in (function, *others):
        scanner.visit(each)
    scanner.run()
    return Hidden(tuple(scanner.sources.values()))


class _Scanner:
    def __init__(self, given: frozenset[str]) -> None:
        self.given: frozenset[str] | None = given
        self.sources: dict[Any, Source] = {}
        self.pending: list[types.FunctionType] = []
        self.objects: list[Any] = []
        self.seen: set[int] = set()
        self.names: set[str] = set()

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
        if id(x) in self.seen or len(self.seen) > 8 * LIMIT:
            return
        self.seen.add(id(x))
        if isinstance(x, types.FunctionType):
            if not is_foreign(x.__code__.co_filename):
                self.pending.append(x)
            if hasattr(x, "__wrapped__"):
                self.visit(x.__wrapped__)
        elif isinstance(x, types.MethodType):
            self.visit(x.__func__)
            self.visit(x.__self__)
        elif isinstance(x, functools.partial):
            self.visit(x.func)
            self.note(Source("attribute", x, "args"))
            self.note(Source("attribute", x, "keywords"))
        elif type(x) in (list, tuple, dict):
            for each in x.values() if type(x) is dict else x:
                self.visit(each)
        elif hasattr(x, "__wrapped__"):
            self.visit(x.__wrapped__)
            for each in getattr(x, "__reads__", ()):  # what a function with a rule calls beside itself
                self.visit(each)
        elif _is_object(x):
            self.objects.append(x)
            called = vars(type(x)).get("__call__")
            if isinstance(called, types.FunctionType):
                self.visit(called)

    def note(self, source: Source) -> None:
        """Record a source if what it holds matters, and follow it."""
        key = (source.kind, id(source.holder), source.name)
        if key in self.sources:
            return
        value = source.read()
        if _matters(value):
            self.sources[key] = source
        self.visit(value)

    def read(self, function: types.FunctionType) -> None:
        names, attributes = _loaded(function.__code__)
        self.names |= attributes
        for name in names:
            if name in function.__globals__:
                self.note(Source("global", function.__globals__, name))
        for cell in function.__closure__ or ():
            self.note(Source("cell", cell, ""))
        given, self.given = self.given, None
        if _reads_defaults(function, given or frozenset()):
            self.note(Source("defaults", function, ""))

    def attributes(self, x: Any) -> None:
        """The attributes of an object that any of the functions names."""
        spaces = [getattr(x, "__dict__", {})]
        spaces += [vars(each) for each in (x if isinstance(x, type) else type(x)).__mro__]
        slots = {n for space in spaces[1:] for n in (space.get("__slots__") or ())} - {"__dict__"}
        for name in self.names:
            space = next((s for s in spaces if name in s), None)
            if space is not None or name in slots:
                value = None if space is None else space[name]
                if isinstance(value, (property, functools.cached_property)):
                    self.visit(value.fget if isinstance(value, property) else value.func)
                else:
                    self.note(Source("attribute", x, name))


def _matters(value: Any) -> bool:
    """Whether a changed value would change a trace: data, and functions of the user."""
    if isinstance(value, types.FunctionType):
        return not is_foreign(value.__code__.co_filename)
    if type(value) in (list, tuple, dict):
        return bool(value)
    if isinstance(value, (types.ModuleType, types.BuiltinFunctionType, np.ufunc)):
        return False
    if isinstance(value, type):
        return value.__module__ not in sys.stdlib_module_names and not value.__module__.startswith("numpy")
    return not callable(value) or not _is_numpy(value)


def _is_numpy(x: Any) -> bool:
    return (getattr(x, "__module__", None) or "").partition(".")[0] in ("numpy", "scipy", "builtins", "math")


def _is_object(x: Any) -> bool:
    """Whether attributes of x are worth reading: objects, classes and modules of the user."""
    if isinstance(x, types.ModuleType):
        file = getattr(x, "__file__", None)
        return bool(file) and not is_foreign(file) and x.__name__.partition(".")[0] not in ("numpy", "pullback")
    owner = x if isinstance(x, type) else type(x)
    if isinstance(x, (np.ndarray, Array, *PLAIN)) or is_array_like(x):
        return False
    if isinstance(x, type) and owner.__module__ in sys.stdlib_module_names:
        return False
    return owner.__module__.partition(".")[0] not in ("numpy", "scipy", "builtins")


def _loaded(code: types.CodeType) -> tuple[list[str], set[str]]:
    """The names of globals, and of attributes, that a code object and those inside it load."""
    names: dict[str, None] = {}
    attributes: set[str] = set()
    for each in _codes(code):
        for instruction in dis.get_instructions(each):
            if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
                names[instruction.argval] = None
            elif instruction.opname in ("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR"):
                attributes.add(instruction.argval)
    return list(names), attributes


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    pending = [code]
    while pending:
        each = pending.pop()
        yield each
        pending.extend(c for c in each.co_consts if isinstance(c, types.CodeType))


def _reads_defaults(function: types.FunctionType, given: frozenset[str]) -> bool:
    """Whether a default holds data and may be used."""
    code, defaults = function.__code__, function.__defaults__ or ()
    names = code.co_varnames[: code.co_argcount][code.co_argcount - len(defaults) :]
    pairs = [*zip(names, defaults, strict=True), *(function.__kwdefaults__ or {}).items()]
    return any(
        not isinstance(value, (bool, str, type(None))) and _matters(value) for name, value in pairs if name not in given
    )
