"""What a trace would freeze without anybody noticing: random draws, and changes to the caller's containers."""

from __future__ import annotations

import contextlib
import functools
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar

from ...ir.containers import apart
from ...ir.graph import Where
from .. import tree
from ..errors import TraceError, message

P = ParamSpec("P")
R = TypeVar("R")

TRIES = 4
"""Runs in which random numbers are drawn before it is the function, and no thread beside it, that draws them."""

SHARED: list[tuple[Callable[[], Any], Callable[[Any], None], Any]] = []
"""How the states of further generators that everybody shares are read and put back, and what they were at first."""

OWN: set[type] = set()
"""Types of further generators, whose attribute `state` is another object after a draw."""


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


def states() -> list[tuple[Callable[[Any], None], Any, Any]]:
    """The states of the generators that everybody shares: how each is put back, the state, and what is compared."""
    found: list[tuple[Callable[[Any], None], Any, Any]] = []
    numpy, python, torch = (sys.modules.get(name) for name in ("numpy.random", "random", "torch"))
    if numpy is not None:
        state = numpy.get_state(legacy=False)
        found.append((numpy.set_state, state, _bits(state)))
    if python is not None:
        state = python.getstate()
        found.append((python.setstate, state, hash(state)))
    if hasattr(torch, "get_rng_state"):
        state = torch.get_rng_state()  # type: ignore[union-attr]
        with contextlib.suppress(RuntimeError, AssertionError):  # within PyTorch's own traces it has no numbers
            found.append((torch.set_rng_state, state, state.numpy().tobytes()))  # type: ignore[union-attr]
    for read, write, _ in SHARED:
        state = read()
        found.append((write, state, state))
    return found


def drawn(before: list[tuple[Callable[[Any], None], Any, Any]]) -> bool:
    """Whether one of them has been drawn from, or seeded."""
    first = [(write, state, state) for _, write, state in SHARED]
    known = {each[0] for each in before}
    before += [each for each in first if each[0] not in known]  # a module that was imported in the meantime
    now = {write: compared for write, _, compared in states()}
    return any(compared != now[write] for write, _, compared in before)


def put_back(before: list[tuple[Callable[[Any], None], Any, Any]]) -> None:
    """Let them draw again what they have drawn, unless another thread may have."""
    if threading.active_count() > 1:
        return
    for write, state, _ in before:
        write(state)


def state(generator: Any) -> Any:
    """The state of a generator, to compare and to put back."""
    if hasattr(generator, "getstate"):
        return generator.getstate()
    return generator.get_state(legacy=False) if hasattr(generator, "get_state") else _owner(generator).state


def set_state(generator: Any, state: Any) -> None:
    """Let a generator draw again what it has drawn."""
    if hasattr(generator, "setstate"):
        generator.setstate(state)
    elif hasattr(generator, "set_state") and hasattr(generator, "get_state"):
        generator.set_state(state)
    else:
        _owner(generator).state = state


def same_state(a: Any, b: Any) -> bool:
    """Whether two states of one generator are the same."""
    return a == b if not isinstance(a, dict) else _bits(a) == _bits(b)


def _owner(generator: Any) -> Any:
    """What holds the state of a generator of NumPy's."""
    return getattr(generator, "bit_generator", None) or generator


def _bits(state: Any) -> Any:
    """Of a state with thousands of bits, those that change with every draw."""
    inner = state["state"]
    if isinstance(inner, dict) and {"key", "pos"} <= set(inner):
        return int(inner["key"][0]), int(inner["pos"]), state.get("has_gauss"), state.get("gauss")
    return repr(state)


def is_generator(x: Any) -> bool:
    """Whether x is a source of random numbers whose state can be read."""
    numpy, python = sys.modules.get("numpy.random"), sys.modules.get("random")
    kinds = () if numpy is None else (numpy.Generator, numpy.RandomState, numpy.BitGenerator)
    if type(x) in OWN:
        return True
    if python is not None and isinstance(x, python.Random):
        return not isinstance(x, python.SystemRandom)
    return isinstance(x, kinds)


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
        elif type(old) is type(new) and (found := apart(old)) is not None:
            after, held = apart(new) or (None, [])
            same = found[0] == after
            pairs = [(a, b, path + k) for a, b, k in zip(found[1], held, found[0].paths, strict=True)] if same else []
        else:
            same = old is new or id(old) not in known
            pairs = []
        if not same or type(old) is not type(new):
            fix = "work on a copy: params = dict(params), items = list(items), state = copy.copy(state)"
            verdict = f"{name!r} changes a container that it was given, at {path}"
            raise TraceError(message(verdict, where, fix))
        pending.extend(pairs)
