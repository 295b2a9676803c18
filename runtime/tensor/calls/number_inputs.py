"""The numbers among the arguments of a call that runs for the first time: what operations read of them as inputs."""

from __future__ import annotations

from functools import partial
from typing import Any
from weakref import proxy

from ..trace.states import NUMBER, SEQUENCE
from ..value.cells import Cell
from ..value.given import NumberInput, Region
from ..value.numbers import cell_of_number
from .follow import sequence_of
from .reading import Unknown


class CallNumbers:
    """The numbers of a call.

    run     the call, of which Python code learns
    dtypes  as what operations read them; None of those that none has read
    given   by their places, those that tell what is asked of them
    """

    def __init__(self, run: Any) -> None:
        self.run, reading = proxy(run), run.reading  # without circles, so that what a call was given dies with it
        self.dtypes: list[str | None] = [None] * len(reading.numbers)
        me = proxy(self)
        self.given = {k: NumberInput(reading.numbers[k], partial(CallNumbers.link, me, k)) for k in reading.given}

    def place(self, k: int) -> int:
        """The number that it has on the tape, as a value."""
        return self.run.arguments[len(self.run.reading.tensors) + k]

    def link(self, k: int, given: NumberInput, dtype: str) -> Cell | None:
        """The cell of a number that is an argument, as an operation reads it."""
        run, tape, n = self.run, self.run.tape, self.place(k)
        if not run.open or tape.call is None or tape.call.numbers.given.get(k) is not given:  # it is no event any more
            return None
        known = tape.cell(n)
        if known is None:
            known = cell_of_number(given.value, dtype)
            self.dtypes[k] = dtype
            tape.put(n, given.value, known)
            known.serial, known.number = tape.serial, n
        elif known.kind.dtype != dtype:
            given.ask()
            return None
        return known

    def handed(self, form: Any, value: Any) -> Any:
        """What the function gets for an argument."""
        if form[0] is NUMBER:
            return self.given.get(form[1], value)
        if form[0] is SEQUENCE and self.given:
            return sequence_of(type(value), [self.handed(f, v) for f, v in zip(form[2], value, strict=True)])
        return value

    def asked(self) -> bool:
        """Whether the function must know a number that is to be an input."""
        return any(given.asked for given in self.given.values())

    def number(self, value: float, cell: Cell) -> None:
        """Link a cell that was made of a number to the argument that the number is."""
        run, tape = self.run, self.run.tape
        found = [k for k, v in enumerate(run.reading.numbers) if v is value]
        if len(found) == 1:
            k = found[0]
            n = self.place(k)
            if self.dtypes[k] is None:
                self.dtypes[k] = cell.kind.dtype
                tape.put(n, value, cell)
            else:
                run.refuse("uses a number more than once")  # the same small int may be somebody else's
            cell.serial, cell.number = tape.serial, n
        elif found:
            run.refuse("uses a number more than once")

    def regions(self) -> list[Region | None]:
        """For which numbers the call holds, of each up to the last that tells."""
        if self.asked():
            raise Unknown("must know a number that changes")
        found: list[Region | None] = []
        for k, given in self.given.items():
            self.dtypes[k] = self.dtypes[k] or "f64"  # of one that nobody has read
            found += [None] * (k - len(found)) + [given.region()]
        return found


__all__ = ["CallNumbers"]
