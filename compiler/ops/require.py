"""Conditions that must hold where they stand: what `assert` and `raise` of captured code become."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from ..ir.primitive import ALWAYS, Effect, Primitive
from ..ir.types import Type
from ..loops import Apply, Check, Number
from .elementwise import cast, eq, not_
from .reduce import max_, spread

ERRORS: dict[str, type[Exception]] = {
    name: made for name, made in vars(builtins).items() if isinstance(made, type) and issubclass(made, Exception)
}
"""Exceptions by the names under which graphs speak of them; front ends add the user's own."""

UNTOLD = "untold "
"""What the name begins with where the message needs numbers that only the call has."""


class Warned(Exception):
    """A warning is due, which only Python can give: no exception that anybody sees."""


ERRORS["Warned"] = Warned


def untold(error: BaseException) -> BaseException:
    """Mark an exception whose message names what it should tell: whoever can run the function in Python does."""
    error.__untold__ = True  # type: ignore[attr-defined]
    return error


def is_untold(error: BaseException) -> bool:
    return isinstance(error, Warned) or getattr(error, "__untold__", False)


def made_of(kind: type[BaseException], args: Sequence[Any]) -> BaseException:
    """An exception with these arguments, also where its class takes others."""
    try:
        return kind(*args)
    except Exception:
        made = kind.__new__(kind)
        made.args = tuple(args)
        return made


class Require(Primitive):
    """The condition itself, if it holds; else the exception called `error`, with `text`."""

    arity = 1
    attributes: ClassVar = {"error": "word", "text": "word"}
    effect = Effect.MAY_FAIL
    again = ALWAYS

    def infer(self, types, attrs, regions):
        if list(types) != [Type("bool")]:
            raise TypeError(f"require wants a bool[], got {', '.join(map(str, types))}")
        return (types[0],)

    def evaluate(self, args, attrs, regions):
        if not bool(args[0]):
            raise self.error(0, attrs["error"], attrs["text"])
        return [args[0]]

    @staticmethod
    def error(report, error, text):
        """The exception; the facts are the attributes in order of names."""
        kind = ERRORS.get(error.removeprefix(UNTOLD))
        if kind is None:
            return RuntimeError(f"{error}: {text}")
        made = made_of(kind, [text] if text else [])
        return untold(made) if error.startswith(UNTOLD) else made

    def define(self, op, reads):
        def fails(index):
            return Apply("not_", (reads[0](index),), "bool")

        return Check(fails, lambda index: Number(0, "i64"))

    def pull(self, b, op, cotangents):
        return [None]

    def batch(self, m):
        """It must hold in every lane."""
        (held,) = m.emit(self, every(m, m.args[0]), **m.op.attrs)
        return m.emit(spread, held, shape=(m.size,), axes=())

    def samples(self, rng):
        return [([np.bool_(True)], {"error": "ValueError", "text": 'it has {braces}, "quotes" # and a hash'})]


def every(m, holds):
    """Whether a condition holds in every lane."""
    (wrong,) = m.emit(cast, m.emit(not_, holds)[0], dtype="i64")
    (some,) = m.emit(max_, wrong, axes=(0,))
    return m.emit(eq, some, m.constant(0, Type("i64")))[0]


require = Require("require")

__all__ = ["ERRORS", "UNTOLD", "Warned", "every", "is_untold", "made_of", "require", "untold"]
