"""What a graph was made for: values that decided how the traced function ran.

    %p: bool[] = lt %x, 0.0
    %q: bool[] = not_ %p
    guard %q, 0             # the run that was traced found x >= 0

A graph that is run on values for which a guard does not hold is another function's, so it fails: not with an error that
anybody sees, but so that the function is traced again.
"""

from __future__ import annotations

import numpy as np

from ..ir.primitive import Effect, NotBatchable, Primitive
from ..ir.types import Type
from ..loops import Apply, Check
from .reduce import spread
from .require import every

TRUTH, INDEX = Type("bool"), Type("i64")


class Stale(Exception):
    """A graph was run on values that it was not made for; `number` tells the guard that noticed."""

    def __init__(self, number: int) -> None:
        super().__init__(f"guard {number} does not hold")
        self.number = number


class Guard(Primitive):
    """The first argument, if it holds; else the graph is stale, as the guard with that number noticed.

    A third argument is the float of which a number has been taken: derivatives do not see what was made of it.
    """

    effect = Effect.MAY_FAIL

    def infer(self, types, attrs, regions):
        if list(types[:2]) != [TRUTH, INDEX] or len(types) > 3 or any(t.shape or not t.is_float for t in types[2:]):
            raise TypeError(f"guard wants a bool[], an i64[] and perhaps one float, got {', '.join(map(str, types))}")
        return (TRUTH,)

    def evaluate(self, args, attrs, regions):
        if not bool(args[0]):
            raise self.error(int(args[1]))
        return [args[0]]

    @staticmethod
    def error(number):
        """What the kernel's status stands for."""
        return Stale(number)

    def define(self, op, reads):
        return Check(lambda index: Apply("not_", (reads[0](index),), "bool"), lambda index: reads[1](index))

    def pull(self, b, op, cotangents):
        return [None] * len(op.args)

    def batch(self, m):
        """It must hold in every lane, for which one number tells."""
        if any(m.flags[1:]):
            raise NotBatchable("what lanes have been made for differs from lane to lane")
        (held,) = m.emit(self, every(m, m.args[0]), *m.args[1:])
        return m.emit(spread, held, shape=(m.size,), axes=())

    def samples(self, rng):
        return [([np.bool_(True), np.int64(7), *more], {}) for more in ([], [np.float64(rng.normal())])]


guard = Guard("guard")

__all__ = ["Guard", "Stale", "guard"]
