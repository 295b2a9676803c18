"""Whether a program of nests means what it says: native code, the reference executor and Duals must agree.

    examine(program) -> "equal" | "refused: ..." | "undecided" | "raises"          or a Difference

The program runs natively with each of its arguments, then with the first ones again, which must give the same bits and
leave them as they were.
"""

from __future__ import annotations

import itertools
import linecache
import math
import warnings
from typing import Any

import numpy as np

import pullback
from pullback.compiler.frontend.errors import TraceError
from pullback.compiler.settings import settings
from pullback.runtime.compiled.derive import NotScalar
from tests.fuzz import plainly
from tests.fuzz.duals import Undecided, computed
from tests.fuzz.nests import Program

LARGEST = 1e7
"""Results beyond it are not compared: rounding errors have grown too."""

ROUNDING = 10.0
"""So many times what Duals of floats lose may be lost."""

_serial = itertools.count()


class Difference(AssertionError):
    """A program that means something else when it is compiled."""


def names() -> dict[str, Any]:
    return {"np": np, "math": math, **{name: getattr(pullback, name) for name in plainly.TRANSFORMS}}


def executed(source: str, namespace: dict[str, Any]) -> Any:
    """The program's main; its text is found by its file's name, as that of a file is."""
    name = f"<program {next(_serial)}>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    exec(compile(source, name, "exec"), namespace)
    return namespace["main"]


def arguments(call: str) -> tuple[Any, ...]:
    return eval(call, {"np": np})


def expected(program: Program, call: str, exactly: bool = False) -> Any:
    """What the call gives by Duals."""
    args = arguments(call)
    near = 1e-3 if "float32" in call else 1e-6
    with computed(exactly, near):
        main = executed(program.source, plainly.meanings())
        return plainly.plain(main(*plainly.lifted(args)))


def outcome(main: Any, args: tuple[Any, ...]) -> tuple[Any, Any]:
    """A result, or an exception."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return main(*args), None
        except Exception as error:
            return None, error


def examine(program: Program, reference: bool = True) -> str:
    """The verdict on a program, of the reference executor as well if that is asked for."""
    verdicts = []
    with settings.override(cache=False, **program.options):
        main = executed(program.source, names())
        first = None
        for call in program.calls:
            try:
                want = expected(program, call)
            except Undecided:
                verdicts.append("undecided")
                continue
            except OverflowError:
                verdicts.append("large")
                continue
            args = arguments(call)
            made, error = outcome(main, args)
            if error is not None:
                verdicts.append(refusal(error, call))
                continue
            verdicts.append(compare("native", made, want, call, program))
            same("arguments", args, arguments(call))
            first = first or (call, made)
        if first is not None:
            again, error = outcome(main, arguments(first[0]))
            if error is not None:
                raise Difference(f"called again it raises {error!r} for {first[0]}") from error
            same("called again", again, first[1])
    if first is not None and reference and "equal" in verdicts:
        with settings.override(cache=False, reference=True):
            made, error = outcome(executed(program.source, names()), arguments(first[0]))
            if error is not None:
                raise Difference(f"the reference executor raises {error!r} for {first[0]}") from error
            compare("reference", made, expected(program, first[0]), first[0], program)
    order = ("refused", "equal", "large", "undecided")
    return min(verdicts, key=lambda v: next(k for k, o in enumerate(order) if v.startswith(o)))


def refusal(error: Exception, call: str) -> str:
    """What pullback says that it does not do; anything else is a fault."""
    if isinstance(error, (TraceError, NotScalar)) or (isinstance(error, ValueError) and "max_memory" in str(error)):
        return f"refused: {str(error).splitlines()[0]}"
    raise Difference(f"raises {type(error).__name__}: {error} for {call}") from error


def flat(tree: Any) -> list[np.ndarray]:
    if isinstance(tree, dict):
        return [x for key in sorted(tree) for x in flat(tree[key])]
    if isinstance(tree, (tuple, list)):
        return [x for each in tree for x in flat(each)]
    return [] if tree is None else [np.asarray(tree)]


def compare(how: str, made: Any, want: Any, call: str, program: Program) -> str:
    """Up to rounding errors."""
    ours, theirs = flat(made), flat(want)
    shapes = [a.shape for a in ours], [b.shape for b in theirs]
    if shapes[0] != shapes[1]:
        raise Difference(f"{how}: shapes {shapes[0]}, expected {shapes[1]}, for {call}")
    largest = max((float(np.max(np.abs(b), initial=0.0)) for b in theirs), default=0.0)
    if not largest < LARGEST:
        return "large"
    tolerance = 2e-3 if "float32" in call else 1e-8
    for k, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        near = a.dtype != object and np.abs(a - b) <= tolerance * (1.0 + largest)
        if not np.all(near) and (a.dtype == object or not within_rounding(program, call, k, a, b)):
            raise Difference(f"{how} result {k}: {a.tolist()}, expected {b.tolist()}, for {call}")
    return "equal"


def within_rounding(program: Program, call: str, k: int, a: np.ndarray, b: np.ndarray) -> bool:
    """Whether result k is as near to that of 40 digits as floats come that are computed in another order."""
    try:
        exact = flat(expected(program, call, exactly=True))[k]
    except (Undecided, OverflowError):
        return True
    return bool(np.all(np.abs(a - exact) <= ROUNDING * np.max(np.abs(b - exact), initial=0.0)))


def same(what: str, made: Any, want: Any) -> None:
    """To the bit."""
    for a, b in zip(flat(made), flat(want), strict=True):
        if a.dtype != b.dtype or a.tobytes() != b.tobytes():
            raise Difference(f"{what}: {a.tolist()}, was {b.tolist()}")
