"""A recorded function on tensors whose sizes are SymInts: arguments go in, and what operations it calls comes out.

Nothing is computed, and nothing of it is on a tape in use: only what the function does with sizes is followed, and
compared step by step with what it did when it was called with the sizes of the example.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import is_not
from typing import Any, NamedTuple

from ....compiler.ir.symint import example
from ..reverse.modes import mode
from ..reverse.nodes import Node
from ..trace.fragments.fragments import Fragment
from ..trace.fragments.outlines import outlined
from ..trace.states import NUMBER, RESULT, SEQUENCE, TENSOR, Template
from ..trace.tape import Tape, tapes
from ..value.cells import Cell, Kind, kind_of
from ..value.memory import tensor_types, usable
from ..value.numbers import cell_of_number
from ..value.paths import Path
from ..value.slots import HISTORY, LEAF, SPECIAL
from ..value.storage import PartHome, Storage
from .follow import sequence_of

Test = Callable[[Any], None]
Arguments = tuple[list[Any], dict[str, Any]]
"""As `Form.arguments`."""


class Given(NamedTuple):
    """An argument that is a tensor: its kind and flags; and if it is a part of memory, the kind of that and the way."""

    kind: Kind
    flags: int
    whole: Kind
    path: Path


class OtherSteps(Exception):
    """Raised where a function does with SymInts what it did not do with the numbers."""


class SymbolicRun:
    """The steps of a call that runs with SymInts, while it is `tape.again`.

    template   what the same call did with numbers; fragments those of its steps, with SymInts
    cells      of the values: arguments by their refs, and the call's own
    given      the tensors that the function was given
    checks     (argument, test), as in the template
    sized      numbers that were computed from sizes, by the constants of the template that they were in the example
    stand_in   the node of whatever has a history
    """

    past = False

    def __init__(self, tape: Tape, template: Template) -> None:
        self.tape, self.template, self.stand_in = tape, template, Node((), None)
        self.fragments: list[Fragment] = []
        self.cells: dict[int, Cell] = {}
        self.numbers: dict[int, int] = {}
        self.given: dict[int, Any] = {}
        self.checks: list[tuple[int, Test]] = []
        self.constants = dict(template.constants)
        self.computed: dict[int, Any] = {}
        self.sized: dict[int, Any] = {}
        self.keep: list[Any] = []

    def tensor(self, k: int, given: Given) -> Any:
        """What stands for argument `k`."""
        made = self.given[k] = self._tensor(self._put(Cell(given.kind, None), -1 - k), given.flags)
        if given.path:
            base = self._tensor(Cell(given.whole, None), given.flags)
            storage = made._storage = base._storage = Storage(base._cell)
            storage.viewed = True
            made._steps = made._part = given.path
            made._whole, made._cell.home = base, PartHome(storage, given.path)
        return made

    def _tensor(self, cell: Cell, flags: int) -> Any:
        cls: Any = tensor_types[0]
        made = cls.__new__(cls)
        made._cell, made._node = cell, self.stand_in if flags & HISTORY else None
        made._requires = bool(flags & LEAF)
        return made

    def _put(self, cell: Cell, ref: int) -> Cell:
        self.cells[ref], self.numbers[id(cell)] = cell, ref
        return cell

    def number(self, value: Any, dtype: str) -> Cell:
        """A cell of a number that was computed from sizes."""
        cell = Cell(kind_of(dtype), None)
        self.computed[id(cell)] = value
        self.keep.append(cell)
        return cell

    def has_next(self, _: Fragment) -> bool:
        """As of a call that runs again; what was written unseen is none that can be followed."""
        raise OtherSteps

    def step(self, fragment: Fragment, cells: Sequence[Cell]) -> list[Cell]:
        """The results of the next step, if it is that of the template."""
        at, steps = len(self.fragments), self.template.steps
        if at == len(steps) or len(steps[at][1]) != len(cells):
            raise OtherSteps
        known, refs, first, _ = steps[at]
        alike = fragment.operation is known.operation and fragment.numbers == known.numbers
        if not alike or bare(fragment.attributes) != bare(known.attributes):
            raise OtherSteps
        if bare_kinds(fragment.inputs) != bare_kinds(known.inputs):
            raise OtherSteps
        for cell, ref in zip(cells, refs, strict=True):
            if self.numbers.get(id(cell), ref if self._is_other(cell, ref) else None) != ref:
                raise OtherSteps
        if bare_kinds(fragment.results) != bare_kinds(known.results):
            raise OtherSteps
        self.fragments.append(fragment)
        self.keep += cells  # so that no other has the address of one
        return [self._put(Cell(kind, None), ref) for ref, kind in enumerate(fragment.results, first)]

    def _is_other(self, cell: Cell, ref: int) -> bool:
        """Whether a cell is that of a number, or of a constant that is the same."""
        constant, computed = self.constants.get(ref), self.computed.get(id(cell))
        if computed is not None and constant is not None:
            self.sized[ref] = computed
            cell = cell_of_number(example(computed), cell.kind.dtype)
        if cell.array is None:
            return False
        if constant is None:
            return len(self.template.dtypes) - self.argument_count() > ref
        assert constant.array is not None
        return constant.kind is cell.kind and constant.array.tobytes() == cell.array.tobytes()

    def argument_count(self) -> int:
        """How many arguments are tensors or numbers."""
        return len(self.given) + len(self.template.dtypes)

    def checked(self, x: Any, test: Test) -> None:
        """Note that the values of an argument are asked for."""
        found = [k for k, t in self.given.items() if t is x]
        if not found:
            raise OtherSteps
        self.checks.append((found[0], test))

    def path(self, ref: int, of: int) -> Path:
        """The way to a value of the call's own that is a part of an argument, or of another such value."""
        home, steps = self.cells[ref].home, self.given[-1 - of]._steps if of < 0 else ()
        if type(home) is not PartHome or bare(home.path[: len(steps)]) != bare(steps):
            raise OtherSteps
        return home.path[len(steps) :]


    def gave(self, made: Any) -> None:
        """Raise an error unless this is what the call gave."""
        self._gave(made, self.template.gives)
        written = dict(self.template.assigns)
        now = [self.cells[written.get(-1 - k, -1 - k)] for k in self.given]
        if len(self.fragments) != len(self.template.steps):
            raise OtherSteps
        if any(map(is_not, now, [t._cell for t in self.given.values()])):
            raise OtherSteps

    def _gave(self, made: Any, form: Any) -> None:
        what = form[0]
        if what is SEQUENCE:
            if type(made) is not form[1] or len(made) != len(form[2]):
                raise OtherSteps
            for part, f in zip(made, form[2], strict=True):
                self._gave(part, f)
        elif what is TENSOR:
            if made is not self.given[form[1]]:
                raise OtherSteps
        elif what is RESULT:
            flags = next(flags for ref, _, flags in self.template.results if ref == form[1])
            has = bool(flags & HISTORY), bool(flags & SPECIAL)
            if made._cell is not self.cells[form[1]] or has != (made._node is not None, made._storage is not None):
                raise OtherSteps
        elif made is not None:
            raise OtherSteps


def bare(attribute: Any) -> tuple[Any, list[Any]]:
    """An attribute and its numbers; they are compared without a guard."""
    numbers: list[Any] = []
    return outlined(attribute, numbers), [*map(example, numbers)]


def bare_kinds(kinds: Sequence[Kind]) -> list[Any]:
    """The same of kinds."""
    return [(k.dtype, k.order, *map(example, k.shape)) for k in kinds]


def run_with(
    template: Template, arguments: Arguments, given: Sequence[Given], numbers: Sequence[float]
) -> SymbolicRun:
    """What a call does whose tensors are these, with SymInts for sizes; `arguments` have such numbers, too.

    Raises whatever the function does where it asks for more than a number that stands for others can tell.
    """
    alone = "tape" not in tapes.__dict__
    if alone:  # the thread that makes kernels records nothing
        scratch = tapes.tape = Tape(False)
        scratch.special = usable
    mine = tapes.tape
    run = SymbolicRun(mine, template)
    positional, named = arguments
    tensors = [run.tensor(k, each) for k, each in enumerate(given)]
    saved = mine.again, mine.storages, mode.enabled
    mine.again, mine.storages, mode.enabled = run, [], bool(template.mode & 1)
    mine.depth += 1
    try:
        args = [_argument(f, tensors, numbers) for f in positional]
        run.gave(template.function(*args, **{name: _argument(f, tensors, numbers) for name, f in named.items()}))
    finally:
        mine.depth -= 1
        mine.again, mine.storages, mode.enabled = saved
        if alone:
            del tapes.tape
    return run


def _argument(form: Any, tensors: Sequence[Any], numbers: Sequence[float]) -> Any:
    what = form[0]
    if what is SEQUENCE:
        return sequence_of(form[1], [_argument(f, tensors, numbers) for f in form[2]])
    return tensors[form[1]] if what is TENSOR else numbers[form[1]] if what is NUMBER else form[1]


__all__ = ["Given", "OtherSteps", "SymbolicRun", "run_with"]
