"""A trace written out: a state goes in, and where each value comes from comes out, with the steps that compute it."""

from __future__ import annotations

from copy import copy

from ..value.cells import Cell, Kind, kind_of
from ..value.slots import HISTORY
from .sharing import Views
from .spent import spend
from .states import ABSOLUTE, Again, Call, Enter, State, Step, events


class Program:
    """A trace written out: where each value comes from, and the steps.

    kinds      of all values
    inputs     numbers of computed values that are read, numbers of Python's with their dtypes, constants
    again      values that are others again
    """

    def __init__(self, state: State) -> None:
        self.kinds: list[Kind] = []
        self.inputs: list[int] = []
        self.numbers: dict[int, str] = {}
        self.constants: dict[int, Cell] = {}
        self.again: dict[int, int] = {}
        self.steps: list[Step] = []
        self.history: dict[int, bool] = {}
        self.spent: set[int] = set()
        self.views = Views()
        self._write(events(state))

    def extended(self, path: list[State]) -> Program:
        """The same with what follows: a trace that is looked at again and again is written out once."""
        made = copy(self)
        for name in ("kinds", "inputs", "numbers", "constants", "again", "steps", "history", "spent"):
            setattr(made, name, getattr(self, name).copy())
        made.views = self.views.copied()
        made._write(path)
        return made

    def _write(self, path: list[State]) -> None:
        for at in path:
            event = at.event
            if isinstance(event, Enter):
                self.inputs.append(len(self.kinds))
                self.kinds.append(event.kind)
            elif isinstance(event, Again):
                self.again[len(self.kinds)] = self.number(event.number)
                self.kinds.append(event.kind)
            elif isinstance(event, Step):
                self.steps.append(event)
                self.kinds += event.fragment.results
            else:
                self._add(event)  # type: ignore[arg-type]

    def number(self, n: int) -> int:
        """The value that `n` is, or is again."""
        return self.again.get(n, n)

    def _add(self, call: Call) -> None:
        template = call.template
        again, base, arguments = self.again, call.base, call.arguments
        self.kinds += [kind for n, _, kind in call.entered if n < base]
        tensors = len(call.arguments) - len(template.dtypes)
        for n, other, _ in call.entered:
            if other is None:
                self.inputs.append(n)
            else:
                again[n] = self.number(other)
        for n, dtype in zip(call.arguments[tensors:], template.dtypes, strict=True):
            self.numbers[n] = dtype
            self.kinds.append(kind_of(dtype))
        self.kinds += template.kinds
        for ref, cell in template.constants:
            self.constants[call.number(ref)] = cell
        for ref, other in template.aliases:
            self.again[call.number(ref)] = self.number(call.number(other))
        for fragment, refs, first, place in template.steps:
            numbers = [
                arguments[-1 - r] if r < 0 else base + r if r < ABSOLUTE else r - ABSOLUTE for r in refs
            ]  # what `call.number` says
            known = tuple([again.get(n, n) for n in numbers])
            self.steps.append(Step(fragment, known, base + first, call.place or place))
        for ref, _, flags in template.results:
            self.history[call.number(ref)] = bool(flags & HISTORY)
        for target, ref in template.assigns:
            self.history[call.number(ref)] = ref in template.renewed
            self.history[call.number(target)] = False
        self.views.add(call, self.again)
        for n in spend(call, self.spent):
            self.history[n] = False
