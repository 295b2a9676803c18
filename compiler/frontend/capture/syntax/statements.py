"""Statements. Exits are names: what a return gives, and which loops have been left, is part of the state.

After a statement that may have returned, broken or continued, the rest of its block is a branch on "not left".
"""

from __future__ import annotations

import ast
import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from ...array import Array
from ...errors import TraceError, Uncaptured
from .. import messages, numbers
from ..arrays.access import set_array
from ..arrays.indexed import change_where, is_mask
from ..arrays.open_slices import refuse_aliases
from ..arrays.parts import native
from ..arrays.views import stored_into
from ..calls import Closure, attribute, call, make_closure
from ..containers import sequences
from ..containers.iterate import every
from ..frames import Raised
from ..machine import STATEMENTS, Machine
from ..regions import branch, read_name
from ..selections.selected import Selection
from ..values import UNDEF, is_array, is_dict, is_list, is_scalar
from .expressions import BINARY, binary, get_item, load


def statement(kind: type[ast.stmt]) -> Callable[[Any], Any]:
    def register(meaning: Callable[[Machine, Any], None]) -> Any:
        STATEMENTS[kind] = meaning
        return meaning

    return register


def block(m: Machine, statements: list[ast.stmt]) -> None:
    """Statements up to an exit; after a possible one, the rest where it was not taken."""
    frame = m.frame
    for k, s in enumerate(statements):
        frame.line = s.lineno
        if (meaning := STATEMENTS.get(type(s))) is None:
            name = {"ClassDef": "class", "Match": "match", "TryStar": "except*"}.get(type(s).__name__, type(s).__name__)
            m.refuse(f"`{name}` in a function that branches or loops on traced values", "write it without")
        meaning(m, s)
        taken = exits(m)
        left: Any = False
        for name in taken:
            left = numbers.logic(m, "or", left, frame.vars[name])
        if left is True:
            return
        if isinstance(left, Array):
            if statements[k + 1 :]:
                _rest(m, left, taken, statements[k + 1 :])
            return


def _rest(m: Machine, left: Array, taken: list[str], rest: list[ast.stmt]) -> None:
    """The rest of a block where none of the exits `taken` was."""

    def gone() -> None:
        if len(taken) == 1:  # then it is known that this exit was taken
            m.frame.vars[taken[0]] = True

    branch(m, numbers.negate(m, left), lambda: block(m, rest), gone)


def exits(m: Machine) -> list[str]:
    """The names of the exits that may have been taken."""
    names, depth = m.frame.vars, m.frame.vars["#depth"]
    return [n for n in ("#return", f"#break{depth}", f"#continue{depth}") if names.get(n, False) is not False]


@statement(ast.Pass)
def _pass(m: Machine, s: ast.Pass) -> None:
    """Nothing happens."""


@statement(ast.Expr)
def _expr(m: Machine, s: ast.Expr) -> None:
    m.eval(s.value)


# ---- assignment


@statement(ast.Assign)
def _assign(m: Machine, s: ast.Assign) -> None:
    value = m.eval(s.value)
    for target in s.targets:
        bind(m, target, value)


@statement(ast.AnnAssign)
def _annotated(m: Machine, s: ast.AnnAssign) -> None:
    if s.value is not None:
        bind(m, s.target, m.eval(s.value))


def bind(m: Machine, target: ast.expr, value: Any) -> None:
    """target = value."""
    if isinstance(target, ast.Name):
        m.bind_name(target.id, value)
    elif isinstance(target, (ast.Tuple, ast.List)):
        _unpack(m, target.elts, every(m, value))
    elif isinstance(target, ast.Subscript):
        base, put = stored_into(m, target.value, set_item)
        put(m, base, m.eval(target.slice), value)
    else:
        assert isinstance(target, ast.Attribute)
        _set_attribute(m, m.eval(target.value), target.attr, value)


def _set_attribute(m: Machine, owner: Any, name: str, value: Any) -> None:
    """Functions made here have attributes; other objects made here change in a plain run; all else is seen outside."""
    if isinstance(owner, Closure):
        sequences.set_item(m, owner.attributes, name, value)
        return
    fix = "keep it in a local name, and return it"
    if id(owner) in m.made:
        m.refuse("an assignment to an attribute", fix)
    m.refuse("an assignment to an attribute, which would be seen outside", fix, TraceError)


def _unpack(m: Machine, targets: list[ast.expr], items: list[Any]) -> None:
    star = next((k for k, t in enumerate(targets) if isinstance(t, ast.Starred)), None)
    if star is not None:
        tail = len(targets) - star - 1
        if len(items) < len(targets) - 1:
            m.fail(ValueError(f"not enough values to unpack (expected at least {len(targets) - 1}, got {len(items)})"))
        items = [*items[:star], sequences.new_list(m, items[star : len(items) - tail]), *items[len(items) - tail :]]
    if len(items) > len(targets):
        m.fail(ValueError(f"too many values to unpack (expected {len(targets)})"))
    if len(items) < len(targets):
        m.fail(ValueError(f"not enough values to unpack (expected {len(targets)}, got {len(items)})"))
    for target, item in zip(targets, items, strict=True):
        bind(m, target.value if isinstance(target, ast.Starred) else target, item)


def set_item(m: Machine, base: Any, key: Any, value: Any, ufunc: bool = False) -> None:
    if is_array(base):
        set_array(m, base, key, value, ufunc)
    elif is_list(base) or is_dict(base):
        sequences.set_item(m, base, key, value)
    elif isinstance(base, tuple) or is_scalar(base):
        kind = "tuple" if isinstance(base, tuple) else "float"
        m.fail(TypeError(f"'{kind}' object does not support item assignment"))
    else:
        kind = Uncaptured if id(base) in m.made or isinstance(base, Selection) else TraceError
        m.refuse(f"a store into a {type(base).__name__}", "use lists, dicts and NumPy arrays", kind)


@statement(ast.AugAssign)
def _augmented(m: Machine, s: ast.AugAssign) -> None:
    """On an array it writes through all aliases, a list it extends, a number it rebinds."""
    fn, target = BINARY[type(s.op)], s.target
    if isinstance(target, ast.Subscript):
        base = m.eval(target.value)
        key = m.eval(target.slice)
        if is_array(base) and is_mask(m, key):
            value = m.eval(s.value)
            change_where(m, base, key, value, lambda x: binary(m, fn, x, value))
            return
        old = get_item(m, base, key)
        new = in_place(m, fn, old, m.eval(s.value))
        if not (is_array(base) and is_array(new) and new.box is base.box):  # a view has been written already
            set_item(m, base, key, new, is_array(base))
    elif isinstance(target, ast.Name):
        old = load(m, target.id)
        refuse_aliases(m, old)
        m.bind_name(target.id, in_place(m, fn, old, m.eval(s.value)))
    else:
        assert isinstance(target, ast.Attribute)
        owner = m.eval(target.value)
        new = in_place(m, fn, attribute(m, owner, target.attr), m.eval(s.value))
        _set_attribute(m, owner, target.attr, new)


def in_place(m: Machine, fn: Any, old: Any, value: Any) -> Any:
    """What `old fn= value` binds."""
    if is_array(old):
        set_array(m, old, Ellipsis, binary(m, fn, old, value), True)
        return old
    if is_list(old) and fn is BINARY[ast.Add]:
        sequences.list_method(m, old, "extend", [value], {})
        return old
    return binary(m, fn, old, value)


@statement(ast.Delete)
def _delete(m: Machine, s: ast.Delete) -> None:
    for target in s.targets:
        if not isinstance(target, ast.Name) or target.id not in m.frame.names:
            m.refuse("del of an item or attribute", "build a new container")
        read_name(m, m.frame.vars.get(target.id, UNDEF), target.id)
        m.frame.vars[target.id] = UNDEF


@statement(ast.Global)
def _global(m: Machine, s: ast.Global) -> None:
    """What follows counts: an assignment is refused."""


STATEMENTS[ast.Nonlocal] = _global

# ---- definitions and imports


@statement(ast.FunctionDef)
def _define(m: Machine, s: ast.FunctionDef) -> None:
    made: Any = make_closure(m, s)
    for decorator in reversed(s.decorator_list):
        made = call(m, m.eval(decorator), [made], {})
    m.bind_name(s.name, made)


@statement(ast.Import)
def _import(m: Machine, s: ast.Import) -> None:
    for a in s.names:
        module = native(m, lambda a=a: importlib.import_module(a.name))
        if a.asname is None and "." in a.name:
            module = native(m, lambda a=a: importlib.import_module(a.name.partition(".")[0]))
        m.bind_name((a.asname or a.name).partition(".")[0], module)


@statement(ast.ImportFrom)
def _import_from(m: Machine, s: ast.ImportFrom) -> None:
    if s.level or s.module is None:
        m.refuse("a relative import inside of a function", "import at the top of the module")
    module = native(m, lambda: importlib.import_module(s.module or ""))
    for a in s.names:
        m.bind_name(a.asname or a.name, m.adopt(native(m, lambda a=a: getattr(module, a.name)), outer=True))


# ---- exits and checks


@statement(ast.Return)
def _return(m: Machine, s: ast.Return) -> None:
    value = None if s.value is None else m.eval(s.value)
    m.frame.vars.update({"#value": value, "#return": True})


@statement(ast.Break)
def _break(m: Machine, s: ast.Break) -> None:
    m.frame.vars[f"#break{m.frame.vars['#depth']}"] = True


@statement(ast.Continue)
def _continue(m: Machine, s: ast.Continue) -> None:
    m.frame.vars[f"#continue{m.frame.vars['#depth']}"] = True


@statement(ast.If)
def _if(m: Machine, s: ast.If) -> None:
    test = numbers.truth(m, m.eval(s.test))
    branch(m, test, lambda: block(m, s.body), lambda: block(m, s.orelse))


@statement(ast.Assert)
def _assert(m: Machine, s: ast.Assert) -> None:
    ok = numbers.truth(m, m.eval(s.test))
    if ok is True:
        return

    def wrong() -> None:
        m.fail(messages.exception(m, AssertionError, [] if s.msg is None else [s.msg], []))

    branch(m, ok, lambda: None, wrong)


@statement(ast.Raise)
def _raise(m: Machine, s: ast.Raise) -> None:
    if s.exc is None:
        m.fail(m.handled[-1] if m.handled else RuntimeError("No active exception to reraise"))
    kind = m.eval(s.exc.func) if isinstance(s.exc, ast.Call) else None
    if isinstance(s.exc, ast.Call) and isinstance(kind, type) and issubclass(kind, BaseException):
        made = messages.exception(m, kind, s.exc.args, s.exc.keywords)
    else:
        made = m.eval(s.exc)
        made = native(m, made) if isinstance(made, type) else made
    if not isinstance(made, BaseException):
        m.fail(TypeError("exceptions must derive from BaseException"))
    m.fail(made)


@statement(ast.Try)
def _try(m: Machine, s: ast.Try) -> None:
    """What the body raises whatever the values are is handled; what depends on them is refused within."""
    stack, error = list(m.frames), None
    m.trying += 1
    try:
        block(m, s.body)
    except Raised as raised:
        m.frames[:] = stack
        error = raised
    m.trying -= 1
    if error is not None:
        handler = next((h for h in s.handlers if _catches(m, h, error.error)), None)
        if handler is not None:
            _handle(m, handler, error.error)
            error = None
    elif not exits(m):
        block(m, s.orelse)
    _finally(m, s.finalbody)
    if error is not None:
        raise error


def _catches(m: Machine, handler: ast.ExceptHandler, error: BaseException) -> bool:
    return handler.type is None or native(m, lambda: isinstance(error, m.eval(handler.type)))  # type: ignore[arg-type]


def _handle(m: Machine, handler: ast.ExceptHandler, error: BaseException) -> None:
    m.handled.append(error)
    if handler.name is not None:
        m.bind_name(handler.name, error)
    block(m, handler.body)
    if handler.name is not None:
        m.frame.vars[handler.name] = UNDEF
    m.handled.pop()


def _finally(m: Machine, statements: list[ast.stmt]) -> None:
    """It runs even where the block was left; then that holds again."""
    if statements:
        names = m.frame.vars
        left = {n: names[n] for n in exits(m)}
        names.update(dict.fromkeys(left, False))
        block(m, statements)
        if not exits(m):
            m.frame.vars.update(left)


@statement(ast.With)
def _with(m: Machine, s: ast.With) -> None:
    """Only NumPy's errstate, which changes no values."""
    for item in s.items:
        context = m.eval(item.context_expr)
        if not isinstance(context, np.errstate) or item.optional_vars is not None:
            m.refuse("`with` in a function that branches or loops on traced values", "write it outside")
    block(m, s.body)


__all__ = ["bind", "block"]
