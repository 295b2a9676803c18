"""From a code object to its syntax tree, and whether it needs walking at all.

A code object without a jump and without an item store runs the same way whatever the values are: it is traced by
running it. Any other is walked, statement by statement, if its source is found and is what was compiled.
"""

from __future__ import annotations

import ast
import dis
import functools
import inspect
import itertools
import linecache
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..patched.unasked import holds_unasked
from ..tracing import is_foreign

Function = ast.FunctionDef | ast.Lambda


class NoSource(Exception):
    """The source of a function is not to be had; the text says why."""


@dataclass(frozen=True, eq=False)
class Parsed:
    """A function's syntax tree, its file, its local names, and those it declares global or nonlocal."""

    node: Function
    file: str
    names: frozenset[str]
    declared: frozenset[str]
    generator: bool


_parsed: dict[tuple[str, types.CodeType], Parsed] = {}
_inner: dict[ast.AST, Parsed] = {}

# ---- what needs walking

_JUMPS = frozenset(dis.hasjrel) | frozenset(dis.hasjabs)
_STORES = frozenset(dis.opmap[n] for n in ("STORE_SUBSCR", "STORE_SLICE", "DELETE_SUBSCR") if n in dis.opmap)
_CHANGES = frozenset(("at", "copyto", "fill", "fill_diagonal", "place", "put", "put_along_axis", "putmask"))
_CHANGES |= {"warn", "warn_explicit"}
"""Names of what changes arrays without a store, or warns."""

_MAKES = frozenset(("array", "asarray", "asanyarray", "full", "full_like"))
"""Names of what makes arrays of numbers, which NumPy would ask for."""

_IN_PLACE = range(13, 26)
"""The arguments of BINARY_OP that stand for += and its kin: they write into arrays, which NumPy would do to its own."""

_DECIDES = frozenset(["max", "min", "any", "all", "int", "float", "bool", "round", "divmod", "math"])
"""Global names of what asks for the numbers behind values."""


def plain(code: types.CodeType) -> bool:
    """Whether a code object, with those inside it, has neither jumps nor item stores."""
    return _is_plain(code) and all(plain(c) for c in code.co_consts if isinstance(c, types.CodeType))


@functools.lru_cache(maxsize=4096)
def _is_plain(code: types.CodeType) -> bool:
    operations, arguments = code.co_code[::2], code.co_code[1::2]
    if any(op in _JUMPS or op in _STORES for op in operations) or _CHANGES.intersection(code.co_names):
        return False
    lists = dis.opmap["BUILD_LIST"] in operations and not {"np", "numpy"}.isdisjoint(code.co_names)
    if lists or _MAKES.intersection(code.co_names) or any(isinstance(c, tuple) and "out" in c for c in code.co_consts):
        return False
    binary = dis.opmap["BINARY_OP"]
    in_place = any(op == binary and arg in _IN_PLACE for op, arg in zip(operations, arguments, strict=True))
    if in_place and _changes_a_name(code):
        return False
    decides = _DECIDES.intersection(code.co_names)
    return not (decides and any(_is_decision(i) for i in dis.get_instructions(code)))


def _changes_a_name(code: types.CodeType) -> bool:
    """Whether += or its kin is done to what a local name stands for."""
    found = list(dis.get_instructions(code))
    return any(
        a.opname == "BINARY_OP" and a.arg in _IN_PLACE and b.opname in ("STORE_FAST", "STORE_DEREF", "STORE_NAME")
        for a, b in itertools.pairwise(found)
    )


def _is_decision(i: dis.Instruction) -> bool:
    """Whether an instruction loads such a name: `math`, or a function that is about to be called."""
    if i.opname != "LOAD_GLOBAL" or i.argval not in _DECIDES:
        return False
    return i.argval == "math" or "NULL" in i.argrepr


def needs_walk(function: Callable[..., Any]) -> bool:
    """Whether a function, or one of the user's that it names, branches, loops or stores items."""
    pending, seen = [function], set()
    while pending:
        each = pending.pop()
        if isinstance(each, functools.partial):
            pending.append(each.func)
            continue
        held = [] if not isinstance(each, types.MethodType) else [each.__self__]
        code = code_of(each)
        if code is None and not isinstance(each, type):
            own = inspect.getattr_static(type(each), "__call__", None)
            held, each, code = [each], own, code_of(own)
        if code is None or code in seen or is_foreign(code.co_filename):
            continue
        if not plain(code) or holds_unasked(each, code):
            return True
        seen.add(code)
        pending += _named(each, code, held)
    return False


def code_of(function: Any) -> types.CodeType | None:
    """The code of a Python function or method."""
    inner = function.__func__ if isinstance(function, types.MethodType) else function
    return inner.__code__ if isinstance(inner, types.FunctionType) else None


def _named(function: Any, code: types.CodeType, held: list[Any]) -> Iterator[Any]:
    """Functions that a function names, also through the modules and objects that it sees: `helpers.root(x)`."""
    inner = function.__func__ if isinstance(function, types.MethodType) else function
    for name in code.co_names:
        if name in inner.__globals__:
            held.append(inner.__globals__[name])
    for cell in inner.__closure__ or ():
        try:
            held.append(cell.cell_contents)
        except ValueError:  # not bound yet
            continue
    held += [*(inner.__defaults__ or ()), *(inner.__kwdefaults__ or {}).values()]
    seen: set[int] = set()
    while held and len(seen) < SEEN:
        each = held.pop()
        if id(each) in seen or isinstance(each, _DATA):
            continue
        seen.add(id(each))
        if isinstance(each, (types.FunctionType, types.MethodType, functools.partial)):
            yield each
        elif isinstance(each, (staticmethod, classmethod, property, functools.cached_property)):
            held.append(next(getattr(each, n) for n in ("fget", "func", "__func__") if hasattr(each, n)))
        elif not isinstance(each, types.ModuleType) or not is_foreign(getattr(each, "__file__", None) or "<frozen>"):
            held += [inspect.getattr_static(each, name, None) for name in (*code.co_names, "__call__")]


SEEN = 1024
"""How many objects are looked at for functions that one function may call."""

_DATA = (bool, int, float, complex, str, bytes, type(None), np.ndarray, np.generic, types.BuiltinFunctionType)
"""What has no functions of the user's."""


# ---- syntax trees


def parsed(function: types.FunctionType) -> Parsed:
    """The syntax tree of a function; raises NoSource."""
    code = function.__code__
    key = code.co_filename, code  # equal code may stand in several files
    if key not in _parsed:
        lines = _lines(function)
        node = _lambda(code, lines) if code.co_name == "<lambda>" else _function(code, lines)
        _parsed[key] = describe(node, code.co_filename)
    return _parsed[key]


def describe(node: Function, file: str) -> Parsed:
    """What is known of a function by its syntax tree."""
    if node not in _inner:
        names, declared = _names(node)
        _inner[node] = Parsed(node, file, frozenset(names - declared), frozenset(declared), _yields(node))
    return _inner[node]


def _lines(function: types.FunctionType) -> list[str]:
    """The lines of the function's file; inspect would ask every loaded module first whether it is its own."""
    file = function.__code__.co_filename
    linecache.checkcache(file)
    lines = linecache.getlines(file, function.__globals__)
    if not lines and function.__name__ != "<lambda>":  # pickled by value: where it stood is known of its module only
        lines = linecache.getlines(str(function.__globals__.get("__file__")))
    if not lines:
        raise NoSource(f"its source is not found ({file} cannot be read)")
    return lines


def _function(code: types.CodeType, lines: list[str]) -> ast.FunctionDef:
    first = code.co_firstlineno
    try:
        text, lead = "".join(inspect.getblock(lines[first - 1 :])), 0
    except (SyntaxError, IndexError) as error:
        raise NoSource(f"its source is not found ({error})") from None
    if text[:1].isspace():  # without touching the lines of strings
        text, lead = "if 1:\n" + text, 1
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        raise NoSource(f"its source cannot be read ({error.msg})") from None
    found = (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name == code.co_name)
    node = next(found, None)
    if node is None:
        raise NoSource("its source is not that of a function of this name")
    ast.increment_lineno(node, first - 1 - lead)
    _check(code, node)
    return node


def _check(code: types.CodeType, node: ast.FunctionDef) -> None:
    """The source must be what was compiled: files are edited while programs run."""
    if any(name.startswith("@py") for name in (*code.co_varnames, *code.co_names)):
        return  # pytest has put its own assertions in
    name = node.name if node.name in code.co_freevars else "of_no_name"  # else it would be free in itself
    bare = ast.FunctionDef(name, node.args, node.body, [], None)
    cells = [ast.Assign([ast.Name(n, ast.Store())], ast.Constant(None)) for n in code.co_freevars]
    none = ast.arguments([], [], None, [], [], None, [])
    module = ast.Module([ast.FunctionDef("outer", none, [*cells, bare], [], None)], [])
    for each in (bare, *cells, module.body[0]):
        ast.copy_location(each, node)
    flags = code.co_flags & ~0xFFFF
    try:
        made = compile(ast.fix_missing_locations(module), "", "exec", flags, dont_inherit=True)
    except (SyntaxError, ValueError):
        return
    outer = next(c for c in made.co_consts if isinstance(c, types.CodeType))
    again = next(c for c in outer.co_consts if isinstance(c, types.CodeType) and c.co_name == name)
    if _facts(again) != _facts(code):
        raise NoSource("its source has changed since it was compiled")


def _facts(code: types.CodeType) -> list[tuple[str, str]]:
    """What a code object does; methods of imported modules are loaded in one of two ways."""
    found = []
    for each in dis.get_instructions(code):
        if each.opcode in _JUMPS:
            found.append((each.opname, ""))
        elif each.opname not in _PADDING and not isinstance(each.argval, types.CodeType):
            name = each.argrepr.removeprefix("NULL + ").removeprefix("NULL|self + ").removesuffix(" + NULL|self")
            found.append((each.opname.replace("METHOD", "ATTR"), name))
    return found


_PADDING = ("PUSH_NULL", "NOP", "EXTENDED_ARG", "CACHE")


def _lambda(code: types.CodeType, lines: list[str]) -> ast.Lambda:
    """The lambda of a file whose expression has the positions that the code remembers."""
    try:
        tree = _module("".join(lines))
    except SyntaxError as error:
        raise NoSource(f"its source is not found ({error})") from None
    places = {(p[0], p[2]) for p in code.co_positions() if p[0] is not None and p[2] is not None}
    found = [n for n in tree if (n.body.lineno, n.body.col_offset) in places or _within(n.body, places)]
    if not found:
        raise NoSource("its source is not found in the file")
    return min(found, key=lambda n: sum(1 for _ in ast.walk(n)))


def _within(body: ast.expr, places: set[tuple[int, int]]) -> bool:
    return any((m.lineno, m.col_offset) in places for m in ast.walk(body) if isinstance(m, ast.expr))


@functools.lru_cache(maxsize=64)
def _module(text: str) -> list[ast.Lambda]:
    return [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Lambda)]


def reads_elsewhere(function: ast.AST, loop: ast.For | ast.While) -> frozenset[str]:
    """The names that a function reads outside of the body of one of its loops, or in functions within it."""
    if loop not in _elsewhere:
        own: set[str] = set()
        pending: list[ast.AST] = [function]
        within = set(map(id, loop.body))
        while pending:
            n = pending.pop()
            if id(n) in within:
                own |= _read_in_functions(n)
                continue
            own |= _reads(n)
            pending.extend(ast.iter_child_nodes(n))
        _elsewhere[loop] = frozenset(own)
    return _elsewhere[loop]


_elsewhere: dict[ast.AST, frozenset[str]] = {}


def _reads(n: ast.AST) -> set[str]:
    if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Store):
        return {n.id}
    return {n.target.id} if isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Name) else set()


def _read_in_functions(statement: ast.AST) -> set[str]:
    """Names read in functions defined in a statement: they may be called later."""
    inner = [n for n in ast.walk(statement) if isinstance(n, (ast.FunctionDef, ast.Lambda))]
    return {name for f in inner for n in ast.walk(f) for name in _reads(n)}


def _names(node: Function) -> tuple[set[str], set[str]]:
    """The names that a function binds, and those it declares global or nonlocal."""
    a = node.args
    names = {x.arg for x in (*a.posonlyargs, *a.args, *a.kwonlyargs, a.vararg, a.kwarg) if x is not None}
    declared: set[str] = set()
    pending: list[ast.AST] = list(node.body) if isinstance(node.body, list) else [node.body]
    while pending:
        n = pending.pop()
        if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load):
            names.add(n.id)
        elif isinstance(n, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)):
            names.add(n.name)
            continue
        elif isinstance(n, (ast.Global, ast.Nonlocal)):
            declared |= set(n.names)
        elif isinstance(n, (ast.Import, ast.ImportFrom)):
            names |= {(x.asname or x.name).split(".")[0] for x in n.names}
        elif isinstance(n, ast.ExceptHandler) and n.name:
            names.add(n.name)
        elif isinstance(n, ast.Lambda):
            continue
        elif isinstance(n, (ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp)):
            names |= {w.target.id for w in ast.walk(n) if isinstance(w, ast.NamedExpr)}
            continue
        pending.extend(ast.iter_child_nodes(n))
    return names, declared


def _yields(node: Function) -> bool:
    """Whether a function is a generator, or awaits."""
    pending: list[ast.AST] = list(node.body) if isinstance(node.body, list) else [node.body]
    while pending:
        n = pending.pop()
        if isinstance(n, (ast.Yield, ast.YieldFrom, ast.Await)):
            return True
        if not isinstance(n, (ast.FunctionDef, ast.Lambda, ast.ClassDef, ast.AsyncFunctionDef)):
            pending.extend(ast.iter_child_nodes(n))
    return False
