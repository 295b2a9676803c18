"""What a trace would freeze without anybody noticing: random draws, and changes to the caller's containers."""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ParamSpec, TypeVar

from ..ir.graph import Where
from . import tree
from .errors import TraceError, message

P = ParamSpec("P")
R = TypeVar("R")

TRIES = 4
"""Runs in which random numbers are drawn before it is the function, and no thread beside it, that draws them."""


class Drawn(TraceError):
    """Random numbers were drawn while a function was traced, by it or by another thread."""


def unless_drawn(run: Callable[P, R]) -> Callable[P, R]:
    """The same run; another if it may be a thread beside it that has drawn."""

    @functools.wraps(run)
    def again(*args: P.args, **kwargs: P.kwargs) -> R:
        for _ in range(TRIES - 1):
            try:
                return run(*args, **kwargs)
            except Drawn:
                if threading.active_count() == 1:
                    raise
        return run(*args, **kwargs)

    return again


@contextmanager
def no_draws(name: str, where: Where | None, generators: list[Any]) -> Iterator[None]:
    """Refuse a function that draws from a generator of NumPy or of Python: every call would see the same numbers."""
    before = _states(generators)
    yield
    if _states(generators) != before:
        fix = "draw outside of the function and pass the numbers as an argument"
        raise Drawn(message(f"{name!r} draws random numbers, which would be the same in every call", where, fix))


def _states(generators: list[Any]) -> list[Any]:
    found: list[Any] = []
    numpy, python = sys.modules.get("numpy.random"), sys.modules.get("random")
    if numpy is not None:
        found.append(_bits(numpy.get_state(legacy=False)))
    if python is not None:
        found.append(hash(python.getstate()))
    for each in generators:
        bits = getattr(each, "bit_generator", None) or getattr(each, "_bit_generator", None)
        found.append(hash(each.getstate()) if bits is None else _bits(bits.state))
    return found


def _bits(state: Any) -> Any:
    """Of a state with thousands of bits, those that change with every draw."""
    inner = state["state"]
    if isinstance(inner, dict) and {"key", "pos"} <= set(inner):
        return int(inner["key"][0]), int(inner["pos"]), state.get("has_gauss")
    return repr(state)


def is_generator(x: Any) -> bool:
    """Whether x is a source of random numbers whose state can be read."""
    numpy, python = sys.modules.get("numpy.random"), sys.modules.get("random")
    kinds = () if numpy is None else (numpy.Generator, numpy.RandomState)
    return isinstance(x, kinds if python is None else (*kinds, python.Random))


def check_unchanged(
    name: str, names: Sequence[str], signature: tree.Signature, leaves: list[Any], given: Any, where: Where | None
) -> None:
    """Refuse a function that has put something else into the containers it was given."""
    *args, kwargs = tree.rebuild(signature, iter(leaves))
    pending = [*zip(args, given, names, strict=False), *((kwargs[k], given[-1][k], k) for k in kwargs)]
    known = set(map(id, leaves))
    while pending:
        old, new, path = pending.pop()
        if type(old) is dict:
            same = list(old) == list(new)
            pairs = [(old[k], new[k], f"{path}[{k!r}]") for k in old] if same else []
        elif type(old) in (list, tuple):
            same = len(old) == len(new)
            pairs = [(a, b, f"{path}[{k}]") for k, (a, b) in enumerate(zip(old, new, strict=True))] if same else []
        else:
            same = old is new or id(old) not in known
            pairs = []
        if not same or type(old) is not type(new):
            fix = "work on a copy: params = dict(params), items = list(items)"
            verdict = f"{name!r} changes a container that it was given, at {path}"
            raise TraceError(message(verdict, where, fix))
        pending.extend(pairs)
