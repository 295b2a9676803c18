"""How a function can be called, and which calls native code can read."""

from __future__ import annotations

import functools
import inspect
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...compiler.backend.entries import specs
from ...compiler.backend.entries.text import Named
from ...compiler.frontend import tree
from ...compiler.frontend.results import items_of
from ...compiler.frontend.static_keys import static_value
from ...compiler.ir.containers import is_declared
from ...compiler.ir.graph import Where
from .complexes import array_of


def signature_of(function: Callable[..., Any]) -> inspect.Signature | None:
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None


def positional(signature: inspect.Signature | None) -> tuple[int, float]:
    """How many positional arguments a call without keywords may have; (1, 0) if none will do."""
    if signature is None:
        return 0, float("inf")
    parameters = list(signature.parameters.values())
    plain = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if any(p.kind is p.KEYWORD_ONLY and p.default is p.empty for p in parameters):
        return 1, 0
    least = sum(p.default is p.empty for p in plain)
    return least, float("inf") if any(p.kind is p.VAR_POSITIONAL for p in parameters) else len(plain)


def names_of(signature: inspect.Signature | None) -> tuple[str, ...]:
    """The names under which the first arguments can be given; empty texts for those that have none."""
    plain = [p for p in signature.parameters.values() if p.kind <= p.POSITIONAL_OR_KEYWORD] if signature else []
    return tuple([p.name if p.kind is p.POSITIONAL_OR_KEYWORD else "" for p in plain])


_COUNT = "count from 0, or use static_argnames"


def static_places(
    signature: inspect.Signature | None, known: list[str], argnums: Any, argnames: Any
) -> frozenset[int | str]:
    """Positions and names of the static arguments, each by both where it has both; -1 is the last."""
    numbers = _set_of("static_argnums", argnums, int, "a number of an argument; static_argnames has names")
    names = _set_of("static_argnames", argnames, str, "a name of an argument, or a tuple of them")
    if signature is not None:
        for name in names - set(signature.parameters):
            raise ValueError(f"static_argnames has {name!r}, but the signature is {signature}")
        count, most = len(signature.parameters), positional(signature)[1]
        for k in numbers:
            if k < 0 and most == float("inf"):
                why = f"of which no argument is the last: {_COUNT}"
                raise ValueError(f"static_argnums has {k}, but the signature is {signature}, {why}")
            if not (-most if most else 0) <= k < (most or count):
                raise ValueError(f"static_argnums has {k}, but the signature is {signature}: arguments count from 0")
        numbers = {k if k >= 0 else k + int(most) for k in numbers}
    elif any(k < 0 for k in numbers):
        raise ValueError(f"static_argnums has {min(numbers)}, but the signature is not known: {_COUNT}")
    both = {*(known[k] for k in numbers), *(known.index(n) for n in names if n in known)}
    return frozenset({*numbers, *names, *both})


def _set_of(option: str, given: Any, kind: type, expected: str) -> set[Any]:
    several: Iterable[Any] = (given,)
    if isinstance(given, Iterable) and not isinstance(given, (np.integer, str)):
        several = given
    made = set()
    for each in several:
        plain = int(each) if isinstance(each, np.integer) else each
        if type(plain) is not kind:
            raise TypeError(f"{option} has {each!r}, expected {expected}")
        made.add(plain)
    return made


def place_of(function: Any) -> Where | None:
    """Where a function is defined."""
    while isinstance(function, functools.partial) or hasattr(function, "__wrapped__"):
        function = function.func if isinstance(function, functools.partial) else function.__wrapped__
    code = getattr(function, "__code__", None)
    return code and Where(code.co_filename, code.co_firstlineno)


def native_spec(node: tree.Signature, wholes: bool = False) -> Any:
    """What a native entry reads for a part of a signature; None if it cannot. `wholes`: it takes complex arrays."""
    kind = node[0]
    if wholes and (whole := array_of(node)) is not None:
        return whole
    if kind == "float":
        return specs.FloatSpec()
    if kind == "int":
        return specs.IntSpec()
    if kind == "scalar" and node[1] in specs.IN_PLACE:
        return specs.ScalarSpec(node[1])
    if kind == "array":
        return specs.ArraySpec(node[1], node[2])
    if kind == "static":
        return specs.StaticSpec(static_value(node[1]))  # the very object: another one comes to Python
    if kind not in tree.CONTAINERS:
        return None
    inner = tuple([native_spec(each, wholes) for each in node[-1]])
    if any(each is None for each in inner):
        return None
    if kind == "named":
        return _named_spec(node[1], inner)
    if kind == "dict":
        return specs.DictSpec(node[1], inner) if all(type(k) is str for k in node[1]) else None
    return (specs.ListSpec if kind == "list" else specs.TupleSpec)(inner)


def _named_spec(structure: Any, items: tuple[Any, ...]) -> Any:
    """What an entry reads for a named tuple, or a record whose attributes are in its dict; None for others."""
    kind = getattr(structure, "kind", None)
    if kind is None or is_declared(kind):
        return None
    if issubclass(kind, tuple) and kind.__dictoffset__ == 0:
        return specs.TupleSpec(items, kind)
    if issubclass(kind, (dict, list, tuple, deque)) or not kind.__dictoffset__:
        return None
    if any(vars(base).get("__slots__") for base in kind.__mro__) or not all(p[:1] == "." for p in structure.paths):
        return None
    return specs.RecordSpec(tuple([path[1:] for path in structure.paths]), items, kind)


class Way(NamedTuple):
    """How a call gives its arguments: so many by position, and others by these names, in this order."""

    count: int
    names: tuple[str, ...]

    def named(self, arguments: Sequence[str], out: specs.Spec | None) -> Named | None:
        """What is given by name, if `arguments` are the names of what the function gets; None if nothing is."""
        if not self.names:
            return None
        at = [k if k < self.count else self.count + self.names.index(name) for k, name in enumerate(arguments)]
        return Named(self.names, tuple(at), out)


BY_POSITION = Way(0, ())

_RESULTS = (specs.FloatResult, specs.IntResult, specs.BoolResult, specs.ScalarResult, specs.ArrayResult)
_RESULTS += (specs.ConstantResult,)
_CONTAINERS = (specs.DictResult, specs.ListResult, specs.TupleResult, specs.MadeResult)


def is_native(result: Any) -> bool:
    """Whether a native entry can make a result."""
    if isinstance(result, _RESULTS):
        return True
    return isinstance(result, _CONTAINERS) and all(map(is_native, items_of(result) or ()))
