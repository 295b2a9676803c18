"""LLVM text of a loop over a function of a stream and numbers: the function goes in, the text and the number of its
arguments come out.

The function is written in a part of Python where all is a float64: assignments to names (of several at once, too) and
to `stream.normal`, `if`, `while`, `continue`, `return`, comparisons of two numbers with `and` and `or`, arithmetic,
functions of `math`, tables of numbers at a place `int(x)`, `stream.unit()`, and other such functions that take the
stream first, which are written out where they are called. It is read here, and runs as Python as well.

    i64 @rows(ptr words, ptr at, i64 end, ptr normal, i64 row, i64 rows, ptr made, ptr argument, ...)

makes the elements from `row` on and returns the first that it has not made: `rows`, or the one for which there were
no words left. `at`, the place among the words, and the normal number are left as they were before that element.
"""

from __future__ import annotations

import ast
import inspect
import math
import struct
from collections.abc import Callable
from textwrap import dedent
from typing import Any

LIBRARY = ("ceil", "cos", "exp", "floor", "lgamma", "log", "log1p", "pow", "sin")
"""Functions of the C library that are called."""
OPERATORS = {ast.Add: "fadd", ast.Sub: "fsub", ast.Mult: "fmul", ast.Div: "fdiv"}
COMPARISONS = {
    ast.Eq: "oeq", ast.NotEq: "une", ast.Lt: "olt", ast.LtE: "ole", ast.Gt: "ogt", ast.GtE: "oge",
}  # fmt: skip

_FRAME = """
declare double @llvm.sqrt.f64(double)
declare double @llvm.fabs.f64(double)
{declared}
{tables}
define i64 @rows(ptr %words, ptr %at, i64 %end, ptr %normal, i64 %row, i64 %rows, ptr %made{arguments}) nounwind {{
entry:
  %k = alloca i64
  store i64 %row, ptr %k
{slots}
  br label %next
next:
  %k.now = load i64, ptr %k
  %at.before = load i64, ptr %at
  %normal.before = load double, ptr %normal
  %more = icmp slt i64 %k.now, %rows
  br i1 %more, label %element, label %done
element:
{body}
{end}:
  %k.to = getelementptr double, ptr %made, i64 %k.now
  %k.value = load double, ptr %{result}
  store double %k.value, ptr %k.to
  %k.next = add i64 %k.now, 1
  store i64 %k.next, ptr %k
  br label %next
short:
  store i64 %at.before, ptr %at
  store double %normal.before, ptr %normal
  br label %done
done:
  ret i64 %k.now
}}
"""

_UNIT = """  %{n}.at = load i64, ptr %at
  %{n}.after = add i64 %{n}.at, 2
  %{n}.there = icmp sle i64 %{n}.after, %end
  br i1 %{n}.there, label %{n}.draw, label %short
{n}.draw:
  store i64 %{n}.after, ptr %at
  %{n}.to = getelementptr i32, ptr %words, i64 %{n}.at
  %{n}.high = load i32, ptr %{n}.to
  %{n}.to2 = getelementptr i32, ptr %{n}.to, i64 1
  %{n}.low = load i32, ptr %{n}.to2
  %{n}.bits = and i32 %{n}.high, 2097151
  %{n}.high2 = zext i32 %{n}.bits to i64
  %{n}.high3 = shl i64 %{n}.high2, 32
  %{n}.low2 = zext i32 %{n}.low to i64
  %{n}.word = or i64 %{n}.high3, %{n}.low2
  %{n}.float = uitofp i64 %{n}.word to double
  %{n} = fmul double %{n}.float, 0x3CA0000000000000"""
"""Of two words, the low 53 bits times 2**-53, the first of them the higher."""


def text(law: Callable[..., float]) -> tuple[str, int]:
    """The loop over a law, and how many arguments it takes."""
    writer = _Writer()
    function = _read(law)
    count = len(function.args.args) - 1
    for place in range(count):
        writer.add(f"  %in{place}.to = getelementptr double, ptr %in{place}, i64 %k.now")
        writer.add(f"  %in{place}.value = load double, ptr %in{place}.to")
    result, end = writer.inline(law, function, [f"%in{place}.value" for place in range(count)])
    declared = [f"declare double @{name}({', '.join(['double'] * (1 + (name == 'pow')))})" for name in LIBRARY]
    made = _FRAME.format(
        declared="\n".join(declared), tables="\n".join(writer.tables.values()), body="\n".join(writer.lines),
        slots="\n".join([f"  %{slot} = alloca double" for slot in writer.slots]), end=end, result=result,
        arguments="".join([f", ptr %in{place}" for place in range(count)]),
    )  # fmt: skip
    return made, count


def _read(law: Callable[..., float]) -> ast.FunctionDef:
    function = ast.parse(dedent(inspect.getsource(law))).body[0]
    assert isinstance(function, ast.FunctionDef)
    return function


def _number(value: float) -> str:
    return f"0x{struct.unpack('<Q', struct.pack('<d', float(value)))[0]:016X}"


class _Writer:
    """Lines of a body, with what they need beside them."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.slots: list[str] = []
        self.tables: dict[int, str] = {}
        self.made = 0

    def add(self, line: str) -> None:
        self.lines.append(line)

    def fresh(self) -> str:
        self.made += 1
        return f"x{self.made}"

    def value(self, instruction: str) -> str:
        """The name of what an instruction computes."""
        name = f"%{self.fresh()}"
        self.add(f"  {name} = {instruction}")
        return name

    def jump(self, label: str, then: str) -> None:
        """Go to a label; what comes next has another."""
        self.add(f"  br label %{label}\n{then}:")

    def inline(self, law: Any, function: ast.FunctionDef, given: list[str]) -> tuple[str, str]:
        """Write a function out; returns where its result is, and the label that is still to be written."""
        scope = _Scope(self, law.__globals__)
        for argument, value in zip(function.args.args[1:], given, strict=True):
            scope.put(argument.arg, value)
        scope.block(function.body)
        self.add(f"  br label %{scope.end}")
        return scope.result, scope.end


class _Scope:
    """The names of one function that is written out."""

    def __init__(self, writer: _Writer, known: dict[str, Any]) -> None:
        self.writer, self.known = writer, known
        self.names: dict[str, str] = {}
        self.result, self.end = self.slot(), writer.fresh()
        self.loops: list[str] = []

    def slot(self) -> str:
        name = self.writer.fresh()
        self.writer.slots.append(name)
        return name

    def put(self, name: str, value: str) -> None:
        slot = self.names.get(name)
        if slot is None:
            slot = self.names[name] = self.slot()
        self.writer.add(f"  store double {value}, ptr %{slot}")

    # ---- statements

    def block(self, statements: list[ast.stmt]) -> None:
        for statement in statements:
            getattr(self, f"_{type(statement).__name__.lower()}")(statement)

    def _expr(self, node: ast.Expr) -> None:
        assert isinstance(node.value, ast.Constant)  # a docstring

    def _assign(self, node: ast.Assign) -> None:
        target = node.targets[0]
        if isinstance(target, ast.Attribute):
            self.writer.add(f"  store double {self.number(node.value)}, ptr %normal")
        elif isinstance(target, ast.Tuple):
            assert isinstance(node.value, ast.Tuple)
            values = [self.number(each) for each in node.value.elts]
            for name, value in zip(target.elts, values, strict=True):
                self.put(ast.unparse(name), value)
        else:
            self.put(ast.unparse(target), self.number(node.value))

    def _augassign(self, node: ast.AugAssign) -> None:
        name = ast.unparse(node.target)
        self.put(name, self.number(ast.BinOp(ast.Name(name), node.op, node.value)))

    def _if(self, node: ast.If) -> None:
        yes, no, after = self.writer.fresh(), self.writer.fresh(), self.writer.fresh()
        self.branch(node.test, yes, no)
        self.writer.add(f"{yes}:")
        self.block(node.body)
        self.writer.jump(after, no)
        self.block(node.orelse)
        self.writer.jump(after, after)

    def _while(self, node: ast.While) -> None:
        again, inside, after = self.writer.fresh(), self.writer.fresh(), self.writer.fresh()
        self.writer.jump(again, again)
        self.branch(node.test, inside, after)
        self.writer.add(f"{inside}:")
        self.loops.append(again)
        self.block(node.body)
        self.loops.pop()
        self.writer.jump(again, after)

    def _continue(self, node: ast.Continue) -> None:
        self.writer.jump(self.loops[-1], self.writer.fresh())

    def _return(self, node: ast.Return) -> None:
        assert node.value is not None
        self.writer.add(f"  store double {self.number(node.value)}, ptr %{self.result}")
        self.writer.jump(self.end, self.writer.fresh())

    # ---- conditions

    def branch(self, node: ast.expr, yes: str, no: str) -> None:
        """Go to one label or the other."""
        if isinstance(node, ast.BoolOp):
            either = isinstance(node.op, ast.Or)
            for each in node.values[:-1]:
                following = self.writer.fresh()
                self.branch(each, *((yes, following) if either else (following, no)))
                self.writer.add(f"{following}:")
            self.branch(node.values[-1], yes, no)
        elif isinstance(node, ast.Constant):
            self.writer.add(f"  br label %{yes if node.value else no}")
        else:
            assert isinstance(node, ast.Compare) and len(node.ops) == 1, ast.unparse(node)
            left, right = self.number(node.left), self.number(node.comparators[0])
            holds = self.writer.value(f"fcmp {COMPARISONS[type(node.ops[0])]} double {left}, {right}")
            self.writer.add(f"  br i1 {holds}, label %{yes}, label %{no}")

    # ---- numbers

    def number(self, node: ast.expr) -> str:
        """The name of the value of an expression."""
        return getattr(self, f"_{type(node).__name__.lower()}")(node)

    def _constant(self, node: ast.Constant) -> str:
        assert isinstance(node.value, int | float)
        return _number(node.value)

    def _name(self, node: ast.Name) -> str:
        slot = self.names.get(node.id)
        if slot is None:
            return _number(self.known[node.id])
        return self.writer.value(f"load double, ptr %{slot}")

    def _attribute(self, node: ast.Attribute) -> str:
        if ast.unparse(node.value) == "math":
            return _number(getattr(math, node.attr))
        assert node.attr == "normal"
        return self.writer.value("load double, ptr %normal")

    def _unaryop(self, node: ast.UnaryOp) -> str:
        assert isinstance(node.op, ast.USub)
        return self.writer.value(f"fneg double {self.number(node.operand)}")

    def _binop(self, node: ast.BinOp) -> str:
        left, right = self.number(node.left), self.number(node.right)
        if isinstance(node.op, ast.Pow):
            return self.writer.value(f"call double @pow(double {left}, double {right})")
        return self.writer.value(f"{OPERATORS[type(node.op)]} double {left}, {right}")

    def _subscript(self, node: ast.Subscript) -> str:
        assert isinstance(node.value, ast.Name) and isinstance(node.slice, ast.Call)
        table, place = self.known[node.value.id], self.number(node.slice.args[0])
        kind, numbers = f"[{len(table)} x double]", ", ".join([f"double {_number(each)}" for each in table])
        self.writer.tables[id(table)] = f"@{node.value.id} = private constant {kind} [{numbers}]"
        whole = self.writer.value(f"fptosi double {place} to i64")
        at = self.writer.value(f"getelementptr double, ptr @{node.value.id}, i64 {whole}")
        return self.writer.value(f"load double, ptr {at}")

    def _call(self, node: ast.Call) -> str:
        name = ast.unparse(node.func)
        if name == "stream.unit":
            made = self.writer.fresh()
            self.writer.add(_UNIT.format(n=made))
            return f"%{made}"
        if name.startswith("math.") or name == "abs":
            function = {"math.sqrt": "llvm.sqrt.f64", "abs": "llvm.fabs.f64"}.get(name, name.removeprefix("math."))
            return self.writer.value(f"call double @{function}(double {self.number(node.args[0])})")
        law = self.known[name]
        given = [self.number(each) for each in node.args[1:]]
        result, end = self.writer.inline(law, _read(law), given)
        self.writer.add(f"{end}:")
        return self.writer.value(f"load double, ptr %{result}")


__all__ = ["LIBRARY", "text"]
