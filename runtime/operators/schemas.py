"""Schemas of operators: from `foo(Tensor x, int n=2, *, float s=1.0) -> Tensor` to arguments checked and filled in.

    Tensor int SymInt float bool str Scalar ScalarType Device Layout MemoryFormat Generator    kinds
    int? int[] int[2] Tensor?[] Tensor(a!)                     or None, lists, one number for all two, written to
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from numbers import Integral, Number, Real
from typing import Any

from ..tensor.face.tensor import Tensor
from ..tensor.ops.random.generators import Generator
from ..tensor.value import dtypes

NOTHING: Any = object()
"""The default of an argument that has none."""

KINDS = {
    "Tensor": "Tensor", "int": "int", "SymInt": "int", "float": "float", "bool": "bool", "str": "str",
    "Scalar": "number", "ScalarType": "int", "Device": "Device", "Layout": "int", "MemoryFormat": "int",
    "Generator": "Generator", "Any": "Any",
}  # fmt: skip
"""The kinds, and what errors call them."""

TYPE = re.compile(r"\s*(\w+)(\((\w*)(!?)[^)]*\))?((?:\?|\[\d*\])*)")
UNKNOWN = (
    "unknown type specifier. Common valid schema types include Tensor, SymInt, int, float, bool, Scalar; for a full"
    " list, please see https://github.com/pytorch/pytorch/blob/main/aten/src/ATen/native/README.md#func"
)


@dataclass(frozen=True)
class Argument:
    """An argument or a result: its kind with suffixes (`int`, `?`, `[2]`), and the set of what shares memory."""

    name: str
    kind: str
    suffixes: tuple[str, ...]
    alias: str
    default_value: Any
    kwarg_only: bool
    text: str

    @property
    def is_write(self) -> bool:
        """Whether the operator writes to it."""
        return "!" in self.alias

    def has_default_value(self) -> bool:
        """Whether it may be left out."""
        return self.default_value is not NOTHING

    def title(self) -> str:
        """Its kind as errors have it: `Optional[List[int]]`."""
        made = KINDS[self.kind]
        for suffix in self.suffixes:
            made = f"Optional[{made}]" if suffix == "?" else f"List[{made}]"
        return made

    def taken(self, value: Any) -> Any:
        """The value as the operator is given it; TypeError if it is of another kind."""
        return _taken(value, self.kind, self.suffixes)


def _taken(value: Any, kind: str, suffixes: Sequence[str]) -> Any:
    if suffixes and suffixes[-1] == "?":
        return None if value is None else _taken(value, kind, suffixes[:-1])
    if suffixes:
        if suffixes[-1] != "[]" and not isinstance(value, list | tuple):
            return [_taken(value, kind, suffixes[:-1])] * int(suffixes[-1][1:-1])
        if not isinstance(value, list | tuple):
            raise TypeError
        return [_taken(each, kind, suffixes[:-1]) for each in value]
    return _single(value, kind)


def _single(value: Any, kind: str) -> Any:
    if kind == "float" and isinstance(value, Real) and not isinstance(value, bool):
        return float(value)
    if kind == "bool" and isinstance(value, Number):
        return bool(value)
    if kind == "Device" and isinstance(value, str):
        return dtypes.device(value)
    classes: dict[str, Any] = {
        "Tensor": Tensor, "int": Integral, "SymInt": Integral, "bool": bool, "str": str, "Scalar": Number,
        "ScalarType": dtypes.DType, "Device": dtypes.device, "Generator": Generator, "float": float,
    }  # fmt: skip
    if not isinstance(value, classes.get(kind, object)):
        raise TypeError
    return value


@dataclass(frozen=True)
class Schema:
    """What an operator is called, takes and returns."""

    name: str
    overload_name: str
    arguments: tuple[Argument, ...]
    returns: tuple[Argument, ...]
    text: str

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__

    @property
    def is_mutable(self) -> bool:
        """Whether it writes to an argument."""
        return any(each.is_write for each in self.arguments)

    def bind(self, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """Values of all arguments, those by position and those by name only; RuntimeError as PyTorch has it."""
        short, said = self.name, f"Declaration: {self}"
        places = [a for a in self.arguments if not a.kwarg_only]
        if len(args) > len(places):
            few = len(places) == len(self.arguments)
            raise RuntimeError(
                f"{short}() expected at most {len(places)} argument(s) but received {len(args)} argument(s)."
                f" {said}" if few else
                f"{short}() takes {len(places)} positional argument(s) but {len(args)} was/were given. "
                f" {said}"
            )  # fmt: skip
        values: list[Any] = []
        for k, argument in enumerate(self.arguments):
            by_place = k < len(args) and not argument.kwarg_only
            if by_place and argument.name in kwargs:
                raise RuntimeError(f"{short}() got multiple values for argument '{argument.name}'. {said}")
            if not by_place and argument.name not in kwargs:
                if not argument.has_default_value():
                    raise RuntimeError(f"{short}() is missing value for argument '{argument.name}'. {said}")
                values.append(argument.default_value)
                continue
            value = args[k] if by_place else kwargs[argument.name]
            try:
                values.append(argument.taken(value))
            except TypeError:
                raise RuntimeError(
                    f"{short}() Expected a value of type '{argument.title()}' for argument '{argument.name}' but"
                    f" instead found type '{type(value).__name__}'.\nPosition: {k}\nValue: {value!r}\n"
                    f"{said}"
                ) from None
        known = {a.name for a in self.arguments}
        for name in kwargs:
            if name not in known:
                raise RuntimeError(f"Unknown keyword argument '{name}' for operator '{short}'. Schema: {self}")
        named = {a.name: v for a, v in zip(self.arguments, values, strict=True) if a.kwarg_only}
        return values[: len(places)], named

    def said(self, args: Sequence[Any], named: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """The bound arguments without those that are the schema's defaults, the last ones of those by position.

        So a kernel may have fewer arguments than the schema, and defaults of its own, as in PyTorch.
        """
        kept = list(args)
        while kept and _is_default(self.arguments[len(kept) - 1], kept[-1]):
            kept.pop()
        by_name = {a.name: a for a in self.arguments if a.kwarg_only}
        return kept, {name: value for name, value in named.items() if not _is_default(by_name[name], value)}


def _is_default(argument: Argument, value: Any) -> bool:
    default = argument.default_value
    if isinstance(value, Tensor):
        return False
    return value is default or (type(value) is type(default) and value == default)


def parse_schema(text: str, namespace: str | None = None) -> Schema:
    """The schema that a text says; RuntimeError where it says none."""
    head = re.match(r"\s*(?:(\w+)::)?(\w+)(?:\.(\w+))?\s*\(", text)
    if head is None:
        found = re.match(r"\s*[\w:.]*\s*", text)
        raise _wrong(text, found.end() if found else 0, "expected (")
    start, end = head.end(), _closing(text, head.end())
    arrow = re.match(r"\s*->\s*", text[end + 1 :])
    if arrow is None:
        raise _wrong(text, end + 1, "expected ->")
    last = end + 1 + arrow.end()
    arguments = tuple(_arguments(text, start, end))
    if text[last : last + 1] == "(":
        returns = tuple(_arguments(text, last + 1, _closing(text, last + 1)))
    else:
        returns = (_one(text, last, len(text), False),)
    title = f"{head[1] or namespace}::{head[2]}" if head[1] or namespace else head[2]
    said = [a.text for a in arguments]
    first = next((k for k, a in enumerate(arguments) if a.kwarg_only), None)
    if first is not None:
        said.insert(first, "*")
    results = ", ".join(r.text for r in returns)
    bare = len(returns) == 1 and text[last : last + 1] != "("
    overload = head[3] or ""
    whole = f"{title}{'.' if overload else ''}{overload}({', '.join(said)}) -> {results if bare else f'({results})'}"
    return Schema(title, overload, arguments, returns, whole)


def _wrong(text: str, at: int, why: str) -> RuntimeError:
    found = re.match(r"\w+|\S|$", text[at:])
    marks = "~" * max(len(found[0]) if found else 0, 1)
    return RuntimeError(f"{why} here:\n{text}\n{' ' * at}{marks} <--- HERE\n")


def _closing(text: str, start: int) -> int:
    """Where the parenthesis ends that stands open before `start`."""
    depth = 1
    for at in range(start, len(text)):
        depth += (text[at] in "([") - (text[at] in ")]")
        if not depth:
            return at
    raise _wrong(text, len(text), "expected )")


def _arguments(text: str, start: int, end: int) -> Iterator[Argument]:
    depth, begun, named = 0, start, False
    for at in range(start, end + 1):
        if at < end:
            depth += (text[at] in "([") - (text[at] in ")]")
        if at == end or (text[at] == "," and not depth):
            part = text[begun:at].strip()
            if part == "*":
                named = True
            elif part or at < end:
                yield _one(text, begun, at, named)
            begun = at + 1


def _one(text: str, start: int, end: int, named: bool) -> Argument:
    found = TYPE.match(text, start, end)
    if found is None:
        raise _wrong(text, start, "expected a type")
    if found[1] not in KINDS:
        raise _wrong(text, found.start(1), UNKNOWN + " :")
    rest = re.fullmatch(r"\s*(?:(\w+)\s*(?:=\s*(.+?))?)?\s*", text[found.end() : end])
    if rest is None:
        raise _wrong(text, found.end(), "expected an argument's name")
    suffixes = tuple(re.findall(r"\?|\[\d*\]", found[5]))
    default, shown = NOTHING, ""
    if rest[2] is not None:
        default = _default(rest[2], found[1], text, found.end() + rest.start(2))
        shown = f"={_shown(default)}" if isinstance(default, float | str) else f"={rest[2]}"
    label = f" {rest[1]}" if rest[1] else ""
    said = f"{found[1]}{found[2] or ''}{found[5]}{label}{shown}"
    return Argument(rest[1] or "", found[1], suffixes, found[2] or "", default, named, said)


def _shown(value: float | str) -> str:
    return f'"{value}"' if isinstance(value, str) else re.sub(r"\.0$", ".", repr(value))


def _default(said: str, kind: str, text: str, at: int) -> Any:
    named = getattr(dtypes, "bool_" if said == "bool" else said, None) if kind == "ScalarType" else None
    if named is not None:
        return named
    try:
        value = ast.literal_eval(said)
    except (ValueError, SyntaxError):
        if kind in ("Layout", "MemoryFormat", "int", "ScalarType") and said.isidentifier():
            return said
        raise _wrong(text, at, "expected a default value") from None
    if kind == "Device" and isinstance(value, str):
        return dtypes.device(value)
    return float(value) if kind == "float" and type(value) is int else value


__all__ = ["NOTHING", "Argument", "Schema", "parse_schema"]
