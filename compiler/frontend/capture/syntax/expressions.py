"""Expressions: one function for every kind of node; what has none is refused with its line."""

from __future__ import annotations

import ast
import builtins
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ...array import Array
from .. import numbers
from ..arrays.access import get_array
from ..arrays.parts import native
from ..calls import attribute, held_by, make_closure
from ..containers import sequences
from ..containers.iterate import every
from ..containers.tables import Table
from ..frames import Frame
from ..machine import EXPRESSIONS, Machine
from ..regions import choose, read_name, unbound
from ..selections.selected import Selection
from ..selections.selected_calls import elementwise, operate
from ..selections.selecting import get_selected
from ..texts import text_operator
from ..values import UNDEF, Maybe, Ref, Text, is_array, is_list, is_scalar, same, traced
from .comprehensions import any_or_all, comprehension

BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.MatMult: operator.matmul,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
}
COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}


def expression(kind: type[ast.expr]) -> Callable[[Any], Any]:
    def register(meaning: Callable[[Machine, Any], Any]) -> Any:
        EXPRESSIONS[kind] = meaning
        return meaning

    return register


# ---- names and literals


@expression(ast.Constant)
def _constant(m: Machine, n: ast.Constant) -> Any:
    return n.value


@expression(ast.Name)
def _name(m: Machine, n: ast.Name) -> Any:
    return load(m, n.id)


def load(m: Machine, name: str) -> Any:
    """What a name is bound to: here, in the functions around, in cells and globals."""
    frame: Frame | None = m.frame
    while frame is not None:
        if name in frame.names:
            held = frame.vars.get(name, UNDEF)
            made = read_name(m, held, name, free=frame is not m.frame)
            if isinstance(held, Maybe) and not m.testing:
                frame.vars[name] = made  # checked once
            return made
        if name in frame.free:
            return m.adopt(_content(m, frame.free[name], name), outer=True)
        if frame.scope is None:
            break
        frame = frame.scope
    assert frame is not None
    if name in frame.globals:
        return m.adopt(frame.globals[name], outer=True)
    found = frame.globals.get("__builtins__", builtins)
    found = found if isinstance(found, dict) else vars(found)
    if name not in found:
        m.fail(NameError(f"name '{name}' is not defined"))
    return found[name]


def _content(m: Machine, cell: Any, name: str) -> Any:
    """What a variable of a function around is bound to, which ran before."""
    try:
        return cell.cell_contents
    except ValueError:
        kind, text = unbound(name, free=True)
        m.fail(kind(text))


@expression(ast.Tuple)
def _tuple(m: Machine, n: ast.Tuple) -> Any:
    return tuple(spread(m, n.elts))


@expression(ast.List)
def _list(m: Machine, n: ast.List) -> Any:
    return sequences.new_list(m, spread(m, n.elts))


def spread(m: Machine, elements: list[ast.expr]) -> list[Any]:
    """The values of expressions, of which some are starred."""
    made: list[Any] = []
    for e in elements:
        made += every(m, m.eval(e.value)) if isinstance(e, ast.Starred) else [m.eval(e)]
    return made


@expression(ast.Set)
def _set(m: Machine, n: ast.Set) -> Any:
    items = spread(m, n.elts)
    if traced(tuple(items)):
        m.refuse("a set of traced values", "use a list")
    return native(m, lambda: set(items))


@expression(ast.Dict)
def _dict(m: Machine, n: ast.Dict) -> Any:
    made = sequences.new_dict(m, (), ())
    for key, value in zip(n.keys, n.values, strict=True):
        if key is None:
            sequences.dict_method(m, made, "update", [m.eval(value)], {})
        else:
            k = m.eval(key)
            sequences.set_item(m, made, k, m.eval(value))
    return made


@expression(ast.Slice)
def _slice(m: Machine, n: ast.Slice) -> Any:
    return slice(*[None if p is None else m.eval(p) for p in (n.lower, n.upper, n.step)])


@expression(ast.Lambda)
def _lambda(m: Machine, n: ast.Lambda) -> Any:
    return make_closure(m, n)


@expression(ast.NamedExpr)
def _walrus(m: Machine, n: ast.NamedExpr) -> Any:
    value = m.eval(n.value)
    m.bind_name(n.target.id, value)
    return value


for _kind in (ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp):
    EXPRESSIONS[_kind] = comprehension

# ---- choices


@expression(ast.IfExp)
def _if(m: Machine, n: ast.IfExp) -> Any:
    return choose(m, numbers.truth(m, m.eval(n.test)), lambda: m.eval(n.body), lambda: m.eval(n.orelse))


@expression(ast.BoolOp)
def _and_or(m: Machine, n: ast.BoolOp) -> Any:
    """The first operand that decides, as in Python: operands come back, not bools."""

    def rest(k: int) -> Any:
        value = m.eval(n.values[k])
        if k == len(n.values) - 1:
            return value
        test = numbers.truth(m, value)
        if isinstance(n.op, ast.And):
            return choose(m, test, lambda: rest(k + 1), lambda: value)
        return choose(m, test, lambda: value, lambda: rest(k + 1))

    return rest(0)


@expression(ast.Compare)
def _compare(m: Machine, n: ast.Compare) -> Any:
    """A chain evaluates its next operand only where it goes on."""

    def chain(left: Any, k: int) -> Any:
        right = m.eval(n.comparators[k])
        value = relate(m, n.ops[k], left, right)
        if k == len(n.ops) - 1:
            return value
        return choose(m, numbers.truth(m, value), lambda: chain(right, k + 1), lambda: value)

    return chain(m.eval(n.left), 0)


def relate(m: Machine, op: ast.cmpop, a: Any, b: Any) -> Any:
    if isinstance(op, (ast.Is, ast.IsNot)):
        found = same(a, b) if traced(a) or traced(b) else a is b
        return found if isinstance(op, ast.Is) else not found
    if isinstance(op, (ast.In, ast.NotIn)):
        found = sequences.contains(m, b, a)
        return found if isinstance(op, ast.In) else numbers.negate(m, found)
    return binary(m, COMPARE[type(op)], a, b)


# ---- operators


@expression(ast.BinOp)
def _binary(m: Machine, n: ast.BinOp) -> Any:
    left = m.eval(n.left)
    return binary(m, BINARY[type(n.op)], left, m.eval(n.right))


def binary(m: Machine, fn: Callable[..., Any], a: Any, b: Any) -> Any:
    """A binary operator or comparison of any two values."""
    if not traced(a) and not traced(b):
        return m.adopt(native(m, lambda: fn(a, b)))
    if isinstance(a, (str, Text)) or isinstance(b, Text):
        made = text_operator(m, fn, a, b)
        if made is not NotImplemented:
            return made
    if is_list(a) or is_list(b) or isinstance(a, tuple) or isinstance(b, tuple):
        made = sequences.sequence_operator(m, fn, a, b)
        if made is not NotImplemented:
            return made
        if not any(is_array(x) or is_scalar(x) or isinstance(x, (np.ndarray, np.generic)) for x in (a, b)):
            m.refuse("an operator on lists or tuples that is not +, *, == or !=", "compare the items")
    for x in (a, b):
        if isinstance(x, Ref) and x.box.kind == "dict":
            m.refuse("an operator on dicts", "build a new dict: {**a, **b}")
    if isinstance(a, Selection) or isinstance(b, Selection):
        return operate(m, fn, a, b)
    if any(x is None or isinstance(x, str) for x in (a, b)):
        return _odd(m, fn, a, b)
    return numbers.binary(m, fn, a, b)


def _odd(m: Machine, fn: Callable[..., Any], a: Any, b: Any) -> Any:
    """Equality with what no number equals; all else is a TypeError in Python."""
    if fn in (operator.eq, operator.ne) and (is_scalar(a) or is_scalar(b)):
        return fn is operator.ne
    names = ["float" if isinstance(x, Array) else type(x).__name__ for x in (a, b)]
    m.fail(TypeError(f"unsupported operand type(s): '{names[0]}' and '{names[1]}'"))


@expression(ast.UnaryOp)
def _unary(m: Machine, n: ast.UnaryOp) -> Any:
    v = m.eval(n.operand)
    if isinstance(n.op, ast.Not):
        return numbers.negate(m, numbers.truth(m, v))
    fn = {ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Invert: operator.invert}[type(n.op)]
    if not traced(v):
        return m.adopt(native(m, lambda: fn(v)))
    if is_scalar(v) and v.weak:
        v = numbers.as_int(m, v)
        made = native(m, lambda: fn(v)) if not isinstance(n.op, ast.UAdd) else Array(v.tracing, v.value, True)
        made.weak = True
        if isinstance(n.op, ast.USub) and made.type.dtype == "i64":
            low, high = m.ranges.of(v)
            m.ranges.note(made, -high, -low)
        return made
    return elementwise(m, UFUNCS[fn], [v], {}) if isinstance(v, Selection) else numbers.unary(m, fn, v)


# ---- items and attributes


@expression(ast.Subscript)
def _subscript(m: Machine, n: ast.Subscript) -> Any:
    base = m.eval(n.value)
    return get_item(m, base, m.eval(n.slice))


UFUNCS = {operator.neg: np.negative, operator.pos: np.positive, operator.invert: np.invert}


def get_item(m: Machine, base: Any, key: Any) -> Any:
    if isinstance(base, Selection):
        return get_selected(m, base, key)
    if is_array(base):
        return get_array(m, base, key)
    if isinstance(base, (Ref, tuple)) or is_scalar(key):
        return sequences.get_item(m, base, key)
    if is_scalar(base):
        if key == () or key is Ellipsis:
            return base
        m.fail(TypeError("a number is not subscriptable"))
    return held_by(m, base, native(m, lambda: base[m.lower(key)]))


@expression(ast.Attribute)
def _attribute(m: Machine, n: ast.Attribute) -> Any:
    return attribute(m, m.eval(n.value), n.attr)


@expression(ast.Call)
def _call(m: Machine, n: ast.Call) -> Any:
    function = m.eval(n.func)
    if (function is any or function is all) and len(n.args) == 1 and isinstance(n.args[0], ast.GeneratorExp):
        return any_or_all(m, n.args[0], function is any)
    args = spread(m, n.args)
    kwargs: dict[str, Any] = {}
    for k in n.keywords:
        value = m.eval(k.value)
        if k.arg is not None:
            kwargs[k.arg] = value
        else:
            table = m.content(value.box) if isinstance(value, Ref) else None
            pairs: Any = zip(table.keys, table.values, strict=True) if isinstance(table, Table) else value
            kwargs.update(native(m, lambda p=pairs: dict(p)))
    m.frame.line, m.site = n.lineno, n
    return m.call(function, args, kwargs)


__all__ = ["BINARY", "binary", "get_item", "load", "spread"]
