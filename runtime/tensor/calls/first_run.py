"""A call of a recorded function that runs for the first time, and what is learned from it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..reverse.used import used_up
from ..trace.states import ABSOLUTE, NOTHING, RESULT, SEQUENCE, TENSOR, Step, Template
from ..trace.tape import Tape
from ..value.cells import Cell, Kind, kind_of
from ..value.memory import has_history, leave, tensor_types
from ..value.slots import HISTORY, LEAF, OPEN, SPECIAL, TensorBase
from .call_nodes import learn
from .follow import still
from .number_inputs import CallNumbers
from .reading import SHARED, Reading, Unknown, enter, is_simple, is_whole, place_of


class FirstRun:
    """A call that runs: what it records, to be understood at its end.

    base        the number of the first value of its own
    cells       which argument a value is
    alike       arguments are the same value: which of them an operation reads, nobody can tell
    steps       what it recorded
    constants   (number, cell): values that it made of nothing but the form of its arguments
    written     tensors that it gave another value
    leaves      leaves whose gradient it added to, with what that was before: None or its number
    storages    tensors that got a storage meanwhile
    nodes       what was added to the gradient graph: (number of its step, node)
    """

    def __init__(self, tape: Tape, reading: Reading) -> None:
        self.tape, self.reading, self.state = tape, reading, tape.state
        self.entered: list[tuple[int, int | None, Kind]] = []
        arguments = []
        self.cells: dict[int, int] = {}
        for k, (t, place, cell) in enumerate(zip(reading.tensors, reading.places, reading.cells, strict=True)):
            n = place if type(place) is int else self._enter(t, place, cell)
            arguments.append(n)
            self.cells.setdefault(tape.origin(place[0] if type(place) is tuple else n), k)
        for value in reading.numbers:
            arguments.append(tape.add(value, None))
        self.arguments, self.base = tuple(arguments), tape.count
        self.alike = len(self.cells) < len(reading.tensors)
        self.indices = [t._index for t in reading.tensors]
        self.before = [
            (t, cell, t._node, t._flags & LEAF, t._grad) for t, cell in zip(reading.tensors, reading.cells, strict=True)
        ]
        self.ok, self.open, self.why = True, True, ""
        self.numbers = CallNumbers(self)
        self.steps: list[Step] = []
        self.constants: list[tuple[int, Cell]] = []
        self.written: dict[int, Any] = {}
        self.leaves: list[tuple[Any, Any]] = []
        self.checks: list[tuple[int, Any]] = []
        self.frees: tuple[int, ...] = ()
        self.pause: tuple[int, str] | None = None
        self.has_nodes = self.used_up = False
        self.nodes: list[tuple[int, Any]] = []
        self.owned: set[int] = set()
        self.aliases: list[tuple[int, int]] = []
        self.results: list[tuple[int, Kind, int]] = []

    def _enter(self, t: Any, place: Any, cell: Any) -> int:
        n = self.tape.count
        enter(self.tape, t, place, cell, n)
        self.entered.append((n, None if place is None else place[0], cell.kind))
        return n

    # ---- while it runs

    def has_read(self, t: Any) -> bool:
        """Whether a tensor is an argument, or a view that the call has made of one."""
        seen, base = self.reading.seen, t._whole
        made = base is not None and t._cell.array is None and t._cell.number >= self.base
        return id(t) in seen or (made and id(base) in seen and t._cell.serial == self.tape.serial)

    def refuse(self, why: str) -> None:
        """Let the call be no event."""
        self.ok, self.why = False, self.why or why

    def checked(self, t: Any, test: Callable[[Any], None]) -> None:
        """Note that the values of an argument were asked for, and how."""
        k = self.reading.seen.get(id(t))
        if k is None or self.reading.tensors[k] is not t:
            self.refuse("checks the values of a tensor that is no argument")
        else:
            self.checks.append((k, test))

    def wrote(self, t: Any) -> None:
        """Note that a tensor takes another value."""
        own = t._storage is None or any(t is known for known in self.tape.storages)  # made here, for a part of it
        if not own:
            own = t._node is None and is_whole(t)
        if not own or t._serial != self.tape.serial or not (t._node is None or self._may_renew(t)):
            self.refuse("writes to a tensor whose memory or history others share")
        self.written[id(t)] = t

    def _may_renew(self, t: Any) -> bool:
        """Whether a tensor with a history is an argument, which a call of this trace made and nobody watches."""
        reading = self.reading
        k = None if reading.recorded.exact else reading.seen.get(id(t))
        if k is None or type(reading.places[k]) is not int or t._retains:
            return False
        return t._node.serial == self.tape.serial or reading.cells[k] is None or reading.cells[k].array is None

    def adds(self, leaf: Any) -> None:
        """Note that the gradient of a leaf is about to be added to."""
        tape, have = self.tape, leaf._grad
        hooks = (leaf._hooks or leaf._posts) and not self.reading.recorded.in_parts
        if hooks or leaf._serial != tape.serial or any(x is leaf for x, _ in self.leaves):
            self.refuse("adds to a gradient in an unusual way")
            return
        number = None
        if have is not None:
            try:
                leave(have, tape)  # it may have been looked at as an array, or in part
                if not is_simple(have):
                    raise Unknown("returns what is not computed from its arguments")
                _, place, cell = place_of(have, tape)
                number = place if type(place) is int else self._enter(have, place, cell)
            except Unknown:
                self.refuse("adds to a gradient in an unusual way")
        self.leaves.append((leaf, number))

    def walked(self, order: Sequence[Any], freed: Sequence[Any]) -> None:
        """Note that backward went through these nodes, and freed those."""
        tape = self.tape
        in_parts = self.reading.recorded.in_parts
        hooked = [node.hooks for node in order if node.hooks is not None]
        if any(node.fragment is not None and node.serial != tape.serial for node in order) or (
            hooked and not (in_parts and all(hooks.are_watched(tape.serial) for hooks in hooked))
        ):
            self.refuse("backward passes hooks, or nodes that no recognised call made")
            return
        leaves = [node.variable for node in order if hasattr(node, "variable")]
        hooks = not in_parts and any(leaf._hooks or leaf._posts for leaf in leaves)
        if hooks or any(node.fragment is None and not self._is_usual(node) for node in order):
            self.refuse("backward passes hooks, or nodes that no recognised call made")
            return
        self.used_up = bool(freed)
        if not freed:  # with `retain_graph` all can be gone through again
            return
        gone, known, values = set(freed), {}, [tape.value(n) for n in range(tape.count)]
        late = [n for n, t in enumerate(values) if isinstance(t, TensorBase) and not t._flags & HISTORY]
        for n in late:
            node = values[n]._node if values[n]._number == n else None
            if node is not None and (node in gone or used_up(node, gone, known)):
                self.frees += (n,)

    def _is_usual(self, node: Any) -> bool:
        """Whether a node without an operation is that of a leaf, or of a Function where backward pauses."""
        joined = self.reading.recorded.in_parts and node.joined is not None and node.serial == self.tape.serial
        return joined or hasattr(node, "variable")

    def pauses_at(self, number: int | None, where: str) -> None:
        """Note that a backward pauses at a value: before or after the hooks of a leaf, or at a result with some."""
        if number is None:
            self.refuse("adds to a gradient in an unusual way")
        else:
            self.pause = number, where

    def give_up(self) -> None:
        """Make single events of what was recorded; the call is none."""
        if not self.open:  # another thread has run the trace
            return
        tape = self.tape
        self.ok = self.open = False
        tape.call = None
        for t in self.written.values():
            t._serial = 0
        parts: dict[int, Any] = {n: (again, kind) for n, again, kind in self.entered}
        for k, value in enumerate(self.reading.numbers):
            n = self.arguments[len(self.reading.tensors) + k]
            cell = tape.cell(n)
            parts[n] = (None, kind_of("f64") if cell is None else cell.kind)
            if cell is None:
                tape.put(n, value, None)
        parts.update((n, (None, cell.kind)) for n, cell in self.constants)
        parts.update((s.first, s) for s in self.steps)
        parts.update((n, (again, tape.value(n)._cell.kind)) for n, again in self.aliases)
        for n in sorted(parts):
            part = parts[n]
            if isinstance(part, Step):
                tape.go(tape.state.after_step(part.fragment, part.numbers, part.place))
            else:
                tape.go(tape.state.after_entering(part[1], part[0]))
        if self.has_nodes or self.reading.recorded.in_parts:
            tape.go(tape.state.blur())

    # ---- at its end

    def check_open(self) -> None:
        """Refuse a call in the middle of which the trace ran."""
        if not self.open:
            raise Unknown(self.why or "the trace had to run in the middle of it")

    def understand(self, made: Any) -> Template:
        """What the call did, as a template."""
        self.check_open()
        if not self.ok:
            raise Unknown(self.why)
        t = Template()
        form = self.reading.form
        recorded = t.call = self.reading.recorded
        t.function, t.mode, t.form = recorded.function, form.mode, form.arguments
        had = [HISTORY if before[2] is not None else 0 for before in self.before]
        if [what & HISTORY for what in self.reading.classes] != had:
            raise Unknown("has an argument that must be looked at each time")
        if not all(self._is_same(*before) for before in self.before):
            raise Unknown("changes an argument")
        t.bounds, t.pause = self.numbers.regions(), self.pause
        t.gives = self._given(made, 0)  # NotImplemented for an operand that is refused, whose numbers nobody has used
        if None in self.numbers.dtypes:
            recorded.forget_numbers()
            raise Unknown("does not hand a number on to an operation")
        t.dtypes = list(self.numbers.dtypes)  # type: ignore[arg-type]
        t.assigns = [(self._ref(w._number), self._result(w, keep=False)) for w in self.written.values()]
        t.renewed, t.grads = self._renewed(t.assigns), []
        for leaf, before in self.leaves:
            now = leaf._grad
            if now is None or type(now) not in tensor_types:
                raise Unknown("leaves no gradient")
            ref = self._result(now) if id(now) not in self.written else self._ref(now._number)
            t.grads.append((self._ref(leaf._number), None if before is None else self._ref(before), ref))
        if t.gives == (NOTHING,) and not t.assigns and not t.grads and not recorded.in_parts:
            raise Unknown("returns what is not computed from its arguments")
        t.viewed = tuple(
            -1 - k
            for k, x in enumerate(self.reading.tensors)
            if x._storage is not None and any(r is not None and r._storage is x._storage for r in self._made())
        )
        if any(self.reading.classes[-1 - ref] & OPEN for ref in t.viewed):
            raise Unknown("returns what shares memory with NumPy")
        written = [-1 - n for n, _ in t.assigns if n < 0]
        t.through = bool(t.assigns) and any(self.reading.classes[k] & SHARED for k in written)
        if t.through and not (self._writes_through(written) and not (t.renewed or t.viewed or t.grads)):
            raise Unknown("writes where tensors share memory")
        t.steps = [(s.fragment, tuple(map(self._ref, s.numbers)), s.first - self.base, s.place) for s in self.steps]
        t.constants = [(n - self.base, cell) for n, cell in self.constants]
        t.aliases = [(n - self.base, self._ref(again)) for n, again in self.aliases]
        t.results, t.frees, t.has_nodes, t.checks = self.results, self.frees, self.has_nodes, self.checks
        t.kinds = self._kinds()
        if recorded.exact:
            t.still = still(self.tape, {n for s in self.steps for n in s.numbers if n < self.base})
        learn(self, t)
        if recorded.exact and self.state.blurred:
            raise Unknown("returns what is not computed from its arguments")
        return t

    def _writes_through(self, written: Sequence[int]) -> bool:
        """Whether all that the call does is to write values to memory, of which no gradient is kept."""
        alone = all(not self.reading.classes[k] & SHARED or is_whole(self.reading.tensors[k]) for k in written)
        usual = not self.reading.recorded.exact and not self.has_nodes
        return alone and usual and not any(flags & (SPECIAL | HISTORY) for _, _, flags in self.results)

    def _is_same(self, t: Any, cell: Cell | None, node: Any, leaf: int, grad: Any) -> bool:
        """Whether an argument is what it was, but for what has been noted."""
        if id(t) not in self.written:
            if cell is not None and t._cell is not cell:
                return False
            if cell is None and not t._is_late and t._cell.number != self.tape.origin(t._number):
                return False
        noted = self.reading.recorded.exact
        return (t._node is node or id(t) in self.written) and t._flags & LEAF == leaf and (noted or t._grad is grad)

    def _renewed(self, assigns: Sequence[tuple[int, int]]) -> dict[int, bool]:
        """Of the tensors that were written to, those that have a history now, and whether they had one before.

        The tape knows them by their new numbers only, so that it holds them once.
        """
        found: dict[int, bool] = {}
        for t, (target, ref) in zip(self.written.values(), assigns, strict=True):
            had = target < 0 and self.before[-1 - target][2] is not None
            if t._node is None and not had:
                continue
            if t._node is None or target >= 0 or self.alike or self.reading.recorded.exact:
                raise Unknown("writes to a tensor whose memory or history others share")
            found[ref] = had
            n = self.arguments[-1 - target]
            self.tape.put(n, None, self.tape.cell(n))
        return found

    def _made(self) -> list[Any]:
        return [self.tape.value(self.base + ref) for ref, _, _ in self.results]

    def _kinds(self) -> list[Kind]:
        kinds: dict[int, Kind] = {n: kind for n, _, kind in self.entered}
        kinds.update((n, cell.kind) for n, cell in self.constants)
        for s in self.steps:
            kinds.update(enumerate(s.fragment.results, s.first))
        for n, again in self.aliases:
            kinds[n] = kinds[again] if again in kinds else self.tape.value(n)._cell.kind
        return [kinds[n] for n in range(self.base, self.tape.count)]

    def _given(self, made: Any, depth: int) -> Any:
        cls = type(made)
        if cls in tensor_types:
            k = self.reading.seen.get(id(made))
            if k is not None and self.reading.tensors[k] is made:
                return TENSOR, k
            return RESULT, self._result(made)
        if made is None:
            return (NOTHING,)
        if issubclass(cls, (tuple, list)) and depth < 3 and len(made):
            return SEQUENCE, cls, [self._given(m, depth + 1) for m in made]
        raise Unknown("returns what is not computed from its arguments")

    def _result(self, t: Any, keep: bool = True) -> int:
        """The ref of a tensor that the call gave a value."""
        tape = self.tape
        cell = t._read()
        n = tape.number_of(cell)
        if n is None or type(t) not in tensor_types:
            raise Unknown("returns what is not computed from its arguments")
        if n < self.base or n in self.owned or tape.value(n) is not None:
            again, n = n, tape.count
            tape.put(n, t, cell)
            tape.count = n + 1
            self.aliases.append((n, again))
        self.owned.add(n)
        tape.put(n, t, tape.cell(n))
        t._serial, t._number = tape.serial, n
        if keep:
            flags = t._flags & LEAF | has_history(t) | (SPECIAL if t._storage is not None else 0)
            self.results.append((n - self.base, cell.kind, flags))
        return n - self.base

    def _ref(self, n: int) -> int:
        """How the template names a value."""
        if n >= self.base:
            return n - self.base
        for k, argument in enumerate(self.arguments):
            if argument == n:
                return -1 - k
        k = self.cells.get(n)
        if k is not None:
            return -1 - k
        if self.reading.recorded.exact:
            return ABSOLUTE + n
        raise Unknown("returns what is not computed from its arguments")
