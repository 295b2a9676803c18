"""A stack of records that is a value: what a forward sweep saves, and the backward sweep reads in opposite order.

    new_tape              an empty one
    push tape, v...       one more record on top
    pop tape {types}      what is below the top record, and the record

Each tape has one phase of pushing and then one of popping, and ends empty; so last in, first out is just the order in
which a backward sweep reads, however loops nest. The pullback of a push is a pop and that of a pop is a push, of floats
only: the cotangent of a tape is a tape.
"""

from __future__ import annotations

from typing import Any, ClassVar

from ..ir.primitive import ALWAYS, Primitive
from ..ir.types import TAPE
from .source import number


class NewTape(Primitive):
    """An empty tape."""

    arity = 0
    again = ALWAYS

    def infer(self, types, attrs, regions):
        if types:
            raise TypeError(f"new_tape takes no arguments, got {', '.join(map(str, types))}")
        return (TAPE,)

    def evaluate(self, args, attrs, regions):
        return [None]

    def pull(self, b, op, cotangents):
        return []

    def samples(self, rng):
        return []


class Push(Primitive):
    """The tape with a record of the values on top."""

    takes = True

    def infer(self, types, attrs, regions):
        if len(types) < 2 or types[0] != TAPE or TAPE in types[1:]:
            raise TypeError(f"push wants a tape and values, got {', '.join(map(str, types))}")
        return (TAPE,)

    def evaluate(self, args, attrs, regions):
        return [(args[0], tuple(args[1:]))]

    def pull_into(self, b, op, cotangents, running):
        (ct,), (tape, *values) = cotangents, op.args
        if ct is None:
            return
        floats = [v for v in values if v.type.is_float]
        if floats:
            ct, *given = b.emit(pop, ct, types=tuple([v.type for v in floats]))
            for v, each in zip(floats, given, strict=True):
                running.give(v, each)
        running.give(tape, ct)

    def samples(self, rng):
        return []


class Pop(Primitive):
    """The tape below its top record, and the values of that."""

    arity = 1
    attributes: ClassVar = {"types": "types"}
    takes = True

    def infer(self, types, attrs, regions):
        record = attrs.get("types")
        if list(types) != [TAPE] or not record or TAPE in record:
            given = ", ".join(map(str, types))
            raise TypeError(f"pop wants a tape and the types of a record, got {given} and {record}")
        return (TAPE, *record)

    def evaluate(self, args, attrs, regions):
        below, record = _record(args[0])
        have = [r.dtype for r in record]
        if have != [t.numpy for t in attrs["types"]]:
            raise ValueError(f"pop wants a record of {', '.join(map(str, attrs['types']))}, found {have}")
        return [below, *record]

    def pull_into(self, b, op, cotangents, running):
        (below, *records), (_, *values) = cotangents, op.results
        tape = new_tape(b) if below is None else below
        floats = [(v, ct) for v, ct in zip(values, records, strict=True) if v.type.is_float]
        if floats:
            tape = push(b, tape, *(number(b, 0, v.type) if ct is None else ct for v, ct in floats))
        running.give(op.args[0], tape)

    def samples(self, rng):
        return []


def _record(tape: Any) -> tuple[Any, tuple[Any, ...]]:
    if tape is None:
        raise ValueError("pop from an empty tape")
    return tape


new_tape, push, pop = NewTape("new_tape"), Push("push"), Pop("pop")

__all__ = ["new_tape", "pop", "push"]
