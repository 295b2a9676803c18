"""`torch.library.infer_schema`: the schema of a function, from its annotations."""

from __future__ import annotations

import collections.abc
import inspect
import types
import typing
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

from ..programs.aliases import Number
from ..tensor.face.tensor import Tensor
from ..tensor.value.dtypes import DType, device
from .tags import Tag

BASES: dict[Any, str] = {
    Tensor: "Tensor", int: "SymInt", float: "float", bool: "bool", str: "str", Number: "Scalar", DType: "ScalarType",
    device: "Device",
}  # fmt: skip
LISTED = ("Tensor", "SymInt", "float", "bool", "Scalar")
"""The kinds of which there are lists."""

RETURNED = ("Tensor", "SymInt", "float", "bool", "Scalar", "Tensor[]")


def _kind(annotation: Any) -> str | None:
    """`Tensor?[]` for `list[Tensor | None]`; None if schemas have no such kind."""
    try:
        if annotation in BASES:
            return BASES[annotation]
    except TypeError:
        return None
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (list, collections.abc.Sequence) and len(args) == 1:
        inner = _kind(args[0])
        return f"{inner}[]" if inner is not None and inner.removesuffix("?") in LISTED else None
    if origin in (typing.Union, types.UnionType) and type(None) in args:
        rest = [a for a in args if a is not type(None)]
        inner = _kind(rest[0] if len(rest) == 1 else typing.Union[tuple(rest)])  # noqa: UP007
        return None if inner is None or inner.endswith("?") else f"{inner}?"
    return None


def infer_schema(
    prototype_function: Callable[..., Any], /, *, mutates_args: str | Iterable[str], op_name: str | None = None,
    tags: Any = (),
) -> str:  # fmt: skip
    """The schema that the annotations of a function say.

    mutates_args   names of the arguments that it writes to, or "unknown": then all tensors
    op_name        the name to begin with

    >>> def scaled(x: Tensor, by: float = 2.0) -> Tensor: ...
    >>> infer_schema(scaled, mutates_args=())
    '(Tensor x, float by=2.0) -> Tensor'

    ValueError where an annotation is missing or has no kind in schemas.
    """
    signature = inspect.signature(prototype_function)
    if isinstance(mutates_args, str) and mutates_args != "unknown":
        raise ValueError(
            "mutates_args must either be a sequence of the names of the arguments that are mutated or the string"
            " 'unknown'. "
        )
    writes = mutates_args if mutates_args == "unknown" else tuple(mutates_args)

    def wrong(what: str) -> NoReturn:
        raise ValueError(f"infer_schema(func): {what} Got func with signature {signature})")

    parts: list[str] = []
    written: list[str] = []
    for k, (name, parameter) in enumerate(signature.parameters.items()):
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            wrong("We do not support positional-only args, varargs, or varkwargs.")
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in parts:
            parts.append("*")
        kind = _kind_of(parameter, prototype_function, wrong)
        if (kind.startswith("Tensor") if writes == "unknown" else name in writes):
            if not kind.startswith("Tensor"):
                wrong(
                    f"Parameter {name} is in mutable_args but only Tensors or collections of Tensors can be mutated"
                )
            kind = f"Tensor(a{k}!){kind.removeprefix('Tensor')}"
            written.append(f"Tensor(a{k}!)")
        default = parameter.default
        parts.append(f"{kind} {name}" + ("" if default is parameter.empty else f"={_said(name, default, wrong)}"))
    if writes != "unknown" and (lacking := set(writes) - set(signature.parameters)):
        wrong(
            f"{lacking} in mutates_args were not found in the custom op's signature. mutates_args should contain the"
            " names of all args that the custom op mutates, or just the string 'unknown' if you don't know."
        )
    given_back = {*(tags if isinstance(tags, tuple | list | set) else (tags,))} & {Tag.inplace, Tag.out}
    returned = _returned(_resolved(signature.return_annotation, prototype_function, wrong), wrong)
    if given_back:
        returned = written[0] if len(written) == 1 else f"({', '.join(written)})"
    return f"{op_name or ''}({', '.join(parts)}) -> {returned}"


def _resolved(annotation: Any, function: Callable[..., Any], wrong: Callable[[str], NoReturn]) -> Any:
    """The annotation, if it is a text its meaning."""
    if not isinstance(annotation, str):
        return annotation
    try:
        return typing.get_type_hints(_Holder(annotation), getattr(function, "__globals__", {}))["it"]
    except Exception as error:
        wrong(f"Unsupported type annotation {annotation}. It is not a type. ({type(error).__name__}: {error})")


class _Holder:
    """What `typing.get_type_hints` reads one annotation from."""

    def __init__(self, annotation: str) -> None:
        self.__annotations__ = {"it": annotation}


def _kind_of(parameter: inspect.Parameter, function: Any, wrong: Callable[[str], NoReturn]) -> str:
    name, annotation = parameter.name, parameter.annotation
    if annotation is parameter.empty:
        wrong(f"Parameter {name} must have a type annotation.")
    kind = _kind(_resolved(annotation, function, wrong))
    if kind is None:
        tuples = typing.get_origin(annotation) is tuple
        wrong(
            f"Parameter {name} has unsupported type {annotation}. "
            + ("We do not support Tuple inputs in schema. As a workaround, please try to use List instead. " * tuples)
            + f"The valid types are: {list(BASES)}, lists of them, and these or None."
        )
    return kind


def _said(name: str, default: Any, wrong: Callable[[str], NoReturn]) -> str:
    if default is None or isinstance(default, int | float | bool):
        return str(default)
    if isinstance(default, str | device):
        return f'"{default}"'
    if isinstance(default, DType):
        return default.name
    wrong(f"Parameter {name} has an unsupported default value type {type(default)}.")


def _returned(annotation: Any, wrong: Callable[[str], NoReturn]) -> str:
    if annotation is None or annotation is type(None):
        return "()"
    if annotation is inspect.Parameter.empty:
        wrong("No return type annotation was provided. Please add one.")
    several = typing.get_origin(annotation) is tuple
    kinds = [_kind(each) for each in (typing.get_args(annotation) if several else (annotation,))]
    if any(kind not in RETURNED for kind in kinds):
        wrong(f"Return has unsupported type {annotation}. The valid types are: {RETURNED}.")
    text = ", ".join(map(str, kinds))
    return (f"(({text}))" if len(kinds) == 1 else f"({text})") if several else text


__all__ = ["infer_schema"]
