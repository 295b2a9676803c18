"""Native recognition of recorded calls, on states made by hand."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import weakref
from collections import namedtuple
from collections.abc import Iterator
from typing import Any

import pytest

from pullback.runtime.tensor import recorder
from pullback.runtime.tensor.recorder import Give, Need, Range, words
from pullback.runtime.tensor.recorder.layout import HISTORY, HOOKED, LEAF, OPEN, SHARED, SPECIAL, VIEWED, Search
from tests.recorder_bench import Bench, Cell, Core, Parameter, Recorded, State, Tensor, installed

Pair = namedtuple("Pair", "first second")


def test_this_interpreter_is_supported():
    assert recorder.SUPPORTED


@pytest.fixture
def bench() -> Iterator[Bench]:
    with installed() as made:
        yield made


# ---- hits


def test_a_recognised_call_gives_a_late_tensor_and_moves_the_tape(bench):
    state = bench.event([bench.input(0)], [bench.result(1, HISTORY)], 2)
    x = bench.tensor()
    y = bench.f(x)
    assert type(y) is Tensor and y._is_late and not x._is_late
    assert (y._serial, y._number, y._flags, y._written) == (bench.serial, 1, HISTORY, 0)
    assert y._kind is bench.kind and y._grad is None and y._storage is None
    assert (x._serial, x._number, x._cell.serial, x._cell.number) == (bench.serial, 0, bench.serial, 0)
    assert bench.tape.state is state and bench.tape.count == 2
    assert bench.tape.value(0) is x and bench.tape.cell(0) is x._cell and bench.tape.value(1) is y
    assert bench.tape.cell(1) is None
    assert bench.slow_calls == []


def test_a_chain_of_calls_refers_to_earlier_results(bench):
    first = bench.event([bench.input(0), bench.input(1)], [bench.result(2)], 3, count=2)
    need = [(Need.VALUE, 2, 0, 0), (Need.VALUE, 0, 0, 0)]
    second = bench.event(need, [bench.result(3)], 1, bench.g, first, count=2)
    x, y = bench.tensor(), bench.tensor()
    z = bench.g(bench.f(x, y), x)
    assert bench.tape.state is second and z._number == 3
    bench.restart()
    assert bench.g(bench.f(x, y), y) == ("g", "slow")
    assert bench.tape.state is first


def test_a_call_that_no_child_knows_goes_the_slow_way(bench):
    x = bench.tensor()
    assert bench.f(x, 1, key=2) == ("f", "slow")
    assert bench.slow_calls == [("f", (x, 1), {"key": 2})]
    bench.event([bench.input(0)], [bench.result(1)], 2)
    assert bench.g(x) == ("g", "slow") and bench.f(x, x) == ("f", "slow")
    bench.tape.mode = 1
    assert bench.f(x) == ("f", "slow")
    bench.tape.mode = 0
    assert type(bench.f(x)) is Tensor


def test_calls_within_recorded_functions_are_plain_and_other_threads_are_slow(bench):
    bench.event([bench.input(0)], [bench.result(1)], 2)
    x = bench.tensor()
    bench.tape.depth = 1
    assert bench.f(x, key=1) == ("f", "plain", (x,), {"key": 1})
    bench.tape.depth = 0
    thread = threading.Thread(target=lambda: bench.f(x))
    thread.start()
    thread.join()
    assert bench.slow_calls == [("f", (x,), {})]
    assert bench.tape.state is bench.root


def test_functions_are_methods_and_have_attributes(bench):
    bench.event([bench.input(0), (Need.STATIC, id(1))], [bench.result(1)], 2, count=2)
    bench.f.__name__ = "f"
    Tensor.recorded = bench.f
    try:
        x = bench.tensor()
        assert type(x.recorded(1)) is Tensor
        bound = x.recorded
        assert bound.__self__ is x and bench.f.__name__ == "f" and Tensor.recorded is bench.f
    finally:
        del Tensor.recorded
    with pytest.raises(TypeError, match="a function and what is called"):
        Recorded(1)
    with pytest.raises(TypeError, match="no function to call"):
        Recorded.__new__(Recorded)(1)


def test_exceptions_of_both_ways_arrive(bench):
    def broken(*args: Any) -> None:
        raise KeyError("here")

    f = Recorded(broken, broken)
    for depth in (0, 1):
        bench.tape.depth = depth
        with pytest.raises(KeyError, match="here"):
            f(1)


# ---- arguments


@pytest.mark.parametrize("known, same, others", [
    (1, [1], [True, 1.0, 2, "1"]),
    (10**30, [10**30], [10**30 + 1]),
    (0.0, [0.0], [-0.0, 0, False]),
    (float("nan"), [float("nan")], [1.0]),
    ("mean", ["".join(["me", "an"])], ["sum", b"mean"]),
    (True, [True], [1, False]),
    (None, [None], [0, False, ...]),
    ((1, (2.0, "a")), [(1, (2.0, "a"))], [(1, (2, "a")), (1, [2.0, "a"]), (1,), Pair(1, (2.0, "a"))]),
    (Pair(1, 2), [Pair(1, 2)], [(1, 2), Pair(1, 3)]),
    ([1, None], [[1, None]], [(1, None), [1, 0], [1]]),
    (slice(1, None, 2), [slice(1, None, 2)], [slice(1, None), slice(1.0, None, 2), (1, None, 2)]),
    (..., [...], [None]),
    (int, [int], [float]),
])  # fmt: skip
def test_static_arguments_are_compared_by_type_and_value(bench, known, same, others):
    bench.event([(Need.STATIC, id(known))], [(Give.NONE,)], 0, keep=known)
    assert all(bench.hits(each) for each in same)
    assert not any(bench.hits(each) for each in others)


def test_equality_of_the_programs_own_classes_is_not_asked(bench):
    class Equal:
        def __eq__(self, other: object) -> bool:
            raise AssertionError

        __hash__ = None  # type: ignore[assignment]

    class Text(str):
        __slots__ = ()
        __eq__ = Equal.__eq__  # type: ignore[assignment]
        __hash__ = str.__hash__

    known = Equal(), Text("a")
    for each in known:
        bench.event([(Need.STATIC, id(each))], [(Give.NONE,)], 0)
    assert all(bench.hits(each) for each in known)
    assert not any(bench.hits(each) for each in (Equal(), Text("a"), "a"))


@pytest.mark.parametrize("kind, limit, fit, misfit", [
    (int, Range.I32, [0, 2**31 - 1, -(2**31)], [2**31, -(2**31) - 1, 10**40, 1.0, True]),
    (int, Range.I64, [2**63 - 1, -(2**63)], [2**63, -(2**63) - 1]),
    (float, Range.F32, [1.0, -3.4e38, float("inf"), float("nan")], [3.5e38, -1e300, 1]),
    (float, Range.F64, [1e300, float("inf"), float("nan")], [1, True]),
    (bool, Range.ANY, [True, False], [1, 0.0]),
])  # fmt: skip
def test_numbers_are_read_at_each_call_if_they_fit(bench, kind, limit, fit, misfit):
    bench.event([(Need.NUMBER, 0, id(kind), limit)], [bench.result(1)], 2)
    for each in fit:
        assert bench.hits(each) and bench.tape.value(0) is each
    assert not any(bench.hits(each) for each in misfit)
    assert bench.tape.count == 0


def test_inputs_must_be_of_the_kind_and_class_and_computed(bench):
    bench.event([bench.input(0, LEAF)], [bench.result(1)], 2)
    x = bench.tensor()
    x._flags = LEAF
    assert bench.hits(x) and bench.hits(bench.tensor(Parameter)) is False
    assert not bench.hits(bench.tensor())
    for change in ({"kind": bench.other_kind}, {"array": None}):
        for name, value in change.items():
            before = getattr(x._cell, name)
            setattr(x._cell, name, value)
            assert not bench.hits(x) and x._serial != bench.serial
            setattr(x._cell, name, before)
    x._node = object()
    assert not bench.hits(x)
    x._node = None
    x._flags = LEAF | HOOKED
    assert not bench.hits(x)
    x._flags = LEAF
    assert bench.hits(x)
    cell = x._cell
    del x._cell
    assert not bench.hits(x)
    x._cell = cell
    assert bench.hits(x)


def test_a_node_that_is_there_says_whether_there_is_history(bench):
    bench.event([bench.input(0, HISTORY)], [bench.result(1)], 2)
    x = bench.tensor()
    assert not bench.hits(x)
    x._node = object()
    assert bench.hits(x)
    x._node = None
    assert not bench.hits(x)
    x._flags, x._record = HISTORY, object()
    assert bench.hits(x)
    del x._node
    assert bench.hits(x)


def test_tensors_that_share_a_cell_enter_as_aliases(bench):
    bench.event([bench.input(0), (Need.ALIAS, 1, 0, LEAF)], [bench.result(2)], 3, count=2)
    x, y = bench.tensor(), Tensor()
    y._cell, y._node, y._flags = x._cell, None, LEAF
    assert bench.hits(x, y)
    assert (x._number, y._number, x._cell.number, bench.tape.cell(1)) == (0, 1, 0, x._cell)
    assert not bench.hits(x, x) and not bench.hits(y, x) and not bench.hits(x, bench.tensor())


def test_instances_of_other_classes_are_not_recognised(bench):
    class Own(Tensor):
        pass

    bench.event([bench.input(0)], [bench.result(1)], 2)
    assert bench.hits(bench.tensor(Parameter)) and not bench.hits(bench.tensor(Own)) and not bench.hits(3)


def test_what_was_entered_is_withdrawn_when_a_later_argument_differs(bench):
    number = (Need.NUMBER, 1, id(float), 0)
    bench.event([bench.input(0), number, (Need.STATIC, id("a"))], [bench.result(2)], 3, count=3)
    state = bench.event([bench.input(0), number, (Need.STATIC, id("b"))], [bench.result(2)], 3, count=3)
    x, value = bench.tensor(), 2.5
    before = sys.getrefcount(x), sys.getrefcount(x._cell), sys.getrefcount(value)
    assert not bench.hits(x, value, "c")
    assert (x._serial, x._cell.serial, bench.tape.count) == (-1, 0, 0)
    bench.slow_calls.clear()
    assert before == (sys.getrefcount(x), sys.getrefcount(x._cell), sys.getrefcount(value))
    assert bench.hits(x, value, "b") and bench.tape.state is state
    assert bench.hits(x, value, "a") and bench.tape.state is not state


def test_elements_must_have_been_checked_for_what_the_call_needs(bench):
    token = object()
    bench.event([bench.input(0), (Need.CHECK, 0, id(token))], [bench.result(1)], 2, keep=token)
    x = bench.tensor()
    assert not bench.hits(x)
    x._cell.checked = object()
    assert not bench.hits(x)
    x._cell.checked = token
    assert bench.hits(x)


def test_sequences_are_compared_item_by_item(bench):
    x, y = bench.tensor(), bench.tensor()
    for kind, sequence in ((tuple, (x, y, 1)), (list, [x, y, 1]), (slice, slice(x, y, 1)), (Pair, Pair(x, y))):
        bench.root.first = None
        items = [bench.input(0), bench.input(1), (Need.STATIC, id(1))][: 2 if kind is Pair else 3]
        bench.event([(Need.SEQUENCE, id(kind), len(items)), *items], [bench.result(2)], 3)
        assert bench.hits(sequence)
        assert not bench.hits([[x, y, 1]]) and not bench.hits((x, 1)) and not bench.hits(x)
    nested = [(Need.SEQUENCE, id(tuple), 2), (Need.SEQUENCE, id(list), 1), bench.input(0), (Need.VALUE, 0)]
    bench.event([*nested, (Need.STATIC, id("end"))], [bench.result(1)], 2, count=2)
    assert bench.hits(([x], x), "end") and not bench.hits(([x], y), "end") and not bench.hits(([x], x), "other")


def test_names_are_compared_by_value(bench):
    state = bench.event([bench.input(0), (Need.STATIC, id(1))], [bench.result(1)], 2, count=2, names=("dim",))
    x = bench.tensor()
    assert bench.hits(x, dim=1) and bench.tape.state is state
    assert bench.hits(x, **{"".join(["d", "im"]): 1})
    assert not bench.hits(x, 1) and not bench.hits(x, axis=1) and not bench.hits(x, dim=2)
    state.names = None
    assert bench.hits(x, 1) and not bench.hits(x, dim=1)


def test_states_that_are_not_well_formed_are_passed_by(bench):
    x = bench.tensor()
    state = bench.event([bench.input(0)], [bench.result(1)], 2)
    for name in ("needs", "gives"):
        kept = getattr(state, name)
        for wrong in (None, 3, b"" if name == "gives" else b"1234"):
            setattr(state, name, wrong)
            assert not bench.hits(x)
        setattr(state, name, kept)
    assert bench.hits(x)
    bench.root.first = 3
    assert not bench.hits(x)
    bench.tape.restart(bench.serial + 1, None)
    assert bench.f(x) == ("f", "slow")


# ---- special tensors


def test_python_looks_at_special_tensors_before_the_comparison(bench):
    bench.event([bench.input(0, SHARED), (Need.VALUE, 0, 0, SHARED)], [bench.result(1)], 2, count=2)
    seen: list[Any] = []
    bench.tape.special = lambda t: seen.append(t) or True
    x = bench.tensor()
    x._flags = SPECIAL
    assert bench.hits(x, x) and seen == [x]
    x._flags, x._storage = 0, object()
    assert bench.hits(x, x) and seen == [x, x]
    bench.tape.special = lambda t: False
    assert not bench.hits(x, x) and x._serial != bench.serial
    bench.tape.special = None
    assert not bench.hits(x, x)


def test_a_special_tensor_may_change_the_tape_while_it_is_looked_at(bench):
    bench.event([bench.input(0), bench.input(1, SHARED)], [bench.result(2)], 3, count=2)
    x, y = bench.tensor(), bench.tensor()
    y._flags = SPECIAL

    def look(t: Any) -> bool:
        bench.restart()
        bench.f(bench.tensor(), bench.tensor())  # a hit of another call, within
        bench.restart()
        return True

    bench.tape.special = look
    assert bench.hits(x, y) and bench.tape.count == 3 and x._serial == bench.serial

    def fail(t: Any) -> bool:
        raise ValueError("cannot be read")

    bench.tape.special = fail
    bench.restart()
    with pytest.raises(ValueError, match="cannot be read"):
        bench.f(x, y)
    assert (x._serial, bench.tape.count) == (-1, 0)


def test_many_special_tensors_go_the_slow_way(bench):
    for n in (Search.LIMIT, Search.LIMIT + 1):
        items = [bench.input(k, SHARED) for k in range(n)]
        bench.event([(Need.SEQUENCE, id(list), n), *items], [(Give.NONE,)], n)
        tensors = [bench.tensor() for _ in range(n)]
        for each in tensors:
            each._flags = SPECIAL
        bench.tape.special = lambda t: True
        assert bench.hits(tensors) is (n == Search.LIMIT)


# ---- effects


def test_what_a_call_returns(bench):
    x = bench.tensor()
    three = [bench.result(1), bench.result(2), (Give.VALUE, 0)]
    for cls in (tuple, list, Pair._make):
        items = three[: 2 if cls == Pair._make else 3]
        bench.root.first = None
        bench.event([bench.input(0)], [(Give.TUPLE, id(cls), len(items)), *items], 3, keep=cls)
        assert bench.hits(x)
        bench.restart()
        made: Any = bench.f(x)
        assert type(made) is (Pair if cls == Pair._make else cls)
        assert [each._number for each in made[:2]] == [1, 2] and made[2:] in ((x,), [x], ())
    bench.root.first = None
    nested = [(Give.TUPLE, id(list), 3), bench.result(1), (Give.TUPLE, id(tuple), 2), (Give.VALUE, 0), bench.result(2),
              (Give.NONE,)]
    bench.event([bench.input(0)], [*nested, bench.result(3), (Give.PUT_GRAD, 0, 3, id(bench.kind))], 4)
    bench.restart()
    one, (argument, two), nothing = bench.f(x)
    assert (one._number, argument, two._number, nothing, x._grad._number) == (1, x, 2, None, 3)
    for gives, returned in (((Give.VALUE, 0), x), ((Give.NONE,), None)):
        bench.root.first = None
        bench.event([bench.input(0)], [gives], 1)
        bench.restart()
        assert bench.f(x) is returned


def test_assigning_gives_a_tensor_a_new_value(bench):
    bench.event([bench.input(0, LEAF)], [(Give.VALUE, 0), (Give.ASSIGN, 0, 1, id(bench.other_kind))], 2)
    x = bench.tensor()
    cell = x._cell
    assert not bench.hits(x)
    x._flags, x._written = LEAF, 4
    assert bench.hits(x)
    assert x._is_late and (x._number, x._written, x._flags, cell.stale) == (1, 5, LEAF, 5)
    assert x._kind is bench.other_kind and x._node is None
    assert bench.tape.value(1) is x and bench.tape.cell(0) is cell and bench.tape.cell(1) is None
    del x._cell
    x._cell, x._storage = cell, object()
    bench.tape.special = lambda t: True
    assert not bench.hits(x) and x._cell is cell


def test_tensors_that_are_read_without_being_given_have_their_memory_still(bench):
    leaf = bench.event([bench.input(0, LEAF)], [bench.result(1, HISTORY)], 2)
    bench.event([(Need.VALUE, 1, 0, HISTORY), (Need.STILL, 0)], [(Give.NONE,), bench.result(2)], 1, bench.g, leaf)
    w = bench.tensor()
    w._flags, looked = LEAF, []
    assert bench.g(bench.f(w)) is None
    bench.restart()
    y = bench.f(w)
    w._serial = 0  # as where it got other memory
    assert bench.g(y) == ("g", "slow")
    bench.restart()
    y = bench.f(w)
    w._flags, w._storage = LEAF | OPEN, object()
    bench.tape.special = lambda t: looked.append(t) is None and len(looked) < 2
    assert bench.g(y) is None and looked == [w]
    bench.restart()
    w._flags, w._storage = LEAF, None
    y = bench.f(w)
    w._flags, w._storage = LEAF | OPEN, object()
    assert bench.g(y) == ("g", "slow") and looked == [w, w]


def test_gradients_are_put_where_what_they_hold_is_as_before(bench):
    leaf = bench.event([bench.input(0, LEAF)], [bench.result(1, HISTORY)], 2)
    first = bench.event([(Need.VALUE, 1, 0, HISTORY), (Need.GRAD, 0, LEAF), (Need.STATIC, id(None))],
                        [(Give.NONE,), (Give.PUT_GRAD, 0, 2, id(bench.kind))], 1, bench.g, leaf)
    again = bench.event([(Need.VALUE, 1, 0, HISTORY), (Need.GRAD, 0, LEAF), bench.input(2)],
                        [(Give.NONE,), (Give.PUT_GRAD, 0, 3, id(bench.kind))], 2, bench.g, leaf)
    w = bench.tensor()
    w._flags = LEAF
    assert bench.g(bench.f(w)) is None and bench.tape.state is first
    assert type(w._grad) is Tensor and w._grad._number == 2 and w._grad._kind is bench.kind
    old = w._grad = bench.tensor()
    bench.restart()
    assert bench.g(bench.f(w)) is None and bench.tape.state is again
    assert w._grad._number == 3 and bench.tape.value(2) is old
    w._flags = LEAF | HOOKED
    bench.restart()
    assert bench.g(bench.f(w)) == ("g", "slow")
    w._flags = LEAF
    bench.restart()
    y = bench.f(w)
    w._flags = 0  # it requires no gradient any more
    assert bench.g(y) == ("g", "slow")


def test_a_call_may_leave_views_of_its_arguments(bench):
    bench.event([bench.input(0)], [bench.result(1, SPECIAL), (Give.VIEWED, 0)], 2)
    write = bench.event([bench.input(0, SHARED)], [(Give.VALUE, 0), (Give.ASSIGN, 0, 1, id(bench.kind))], 2, bench.g)
    x = bench.tensor()
    assert bench.hits(x) and x._flags == VIEWED and bench.tape.value(1)._flags == SPECIAL
    assert not bench.hits(x)
    bench.restart()
    assert bench.g(x) == ("g", "slow") and not x._is_late
    write.needs = words(bench.input(0))
    x._flags = 0
    assert bench.g(x) is x and x._is_late


def test_live_values_are_those_that_somebody_else_refers_to(bench):
    state = bench.root
    for n in range(20):
        need = (Need.VALUE, n, 0, 0) if n else bench.input(0)
        state = bench.event([need], [bench.result(n + 1)], 2 if n == 0 else 1, parent=state)
    bench.restart()
    values = [bench.tensor()]
    for _ in range(20):
        values.append(bench.f(values[-1]))
    assert int.from_bytes(bench.tape.live(), "little") == (1 << 21) - 2
    del values[3:9], values[-1]
    kept = [v._number for v in values[1:]]
    assert int.from_bytes(bench.tape.live(), "little") == sum(1 << n for n in kept)
    assert [t._number for t in bench.tape.tensors()] == kept
    cell = Cell(bench.kind, None)
    bench.tape.put(5, bench.tape.value(5), cell)
    bench.tape.value(5)._cell = cell
    assert int.from_bytes(bench.tape.live(), "little") >> 5 & 1
    assert 5 not in [t._number for t in bench.tape.tensors()]
    del cell
    assert not int.from_bytes(bench.tape.live(), "little") >> 5 & 1


def test_the_tape_refuses_what_it_cannot_hold(bench):
    tape = bench.tape
    tape.put(70, "seventy", None)
    assert tape.count == 71 and tape.value(70) == "seventy" and tape.value(3) is None and tape.cell(70) is None
    for wrong in (-1, 71, 10**6):
        with pytest.raises(IndexError):
            tape.value(wrong)
    for arguments in ((), (1,), (1, 2), (1, 2, 3), (-1, None, None), ("a", 1, None)):
        with pytest.raises((TypeError, IndexError)):
            tape.put(*arguments)
    with pytest.raises((MemoryError, IndexError)):
        tape.put(2**50, None, None)
    for arguments in ((), (1,), ("a", None)):
        with pytest.raises((TypeError, IndexError)):
            tape.restart(*arguments)
    assert tape.pick((70, 3)) == ["seventy", None] and tape.pick(()) == []
    for wrong in ([70], (71,), ("a",), (70, -1)):
        with pytest.raises((TypeError, IndexError)):
            tape.pick(wrong)


# ---- tensors


def test_late_attributes_are_made_when_they_are_read(bench):
    bench.event([bench.input(0)], [bench.result(1)], 2)
    bench.restart()
    y = bench.f(bench.tensor())
    Core.asked = 0
    assert y._is_late and Core.asked == 0
    assert type(y._cell) is Cell and y._node is None and Core.asked == 2 and not y._is_late
    with pytest.raises(TypeError, match="must be a Cell"):
        y._cell = 3
    with pytest.raises(AttributeError):
        recorder.TensorBase()._cell  # noqa: B018 - it has no _late_cell

    class Broken(recorder.TensorBase):
        def _late_node(self) -> None:
            if self.fails:  # type: ignore[attr-defined]
                raise KeyError("cause")

    broken = Broken()
    broken.fails = True
    with pytest.raises(KeyError, match="cause"):
        broken._node  # noqa: B018
    broken.fails = False
    with pytest.raises(AttributeError, match="_node"):
        broken._node  # noqa: B018


def test_tensors_have_user_attributes_weak_references_and_cycles(bench):
    bench.event([bench.input(0)], [bench.result(1)], 2)
    for kind in (Tensor, Parameter, None):
        bench.restart()
        x = bench.f(bench.tensor()) if kind is None else bench.tensor(kind)
        dead: list[Any] = []
        watch = weakref.ref(x, dead.append)
        x.note, x.itself, x._grad, x._node = "note", x, x, [x]
        assert x.note == "note" and watch() is x
        bench.restart()
        del x
        gc.collect()
        assert watch() is None and dead == [watch]


def test_dead_tensors_that_are_used_again_are_as_new(bench):
    bench.event([bench.input(0)], [bench.result(1)], 2)
    x = bench.tensor()
    for _ in range(300):
        bench.restart()
        y = bench.f(x)
        assert y._is_late and y._grad is None and y._storage is None and not vars(y)
        assert (y._flags, y._written, y._number, y._serial) == (0, 0, 1, bench.serial)
        assert gc.is_tracked(y) and weakref.getweakrefcount(y) == 0
        y.extra, y._grad, y._written, y._flags, y._storage = [y], y, 7, SPECIAL, x
        keep = weakref.ref(y)
        assert keep() is y


def test_a_long_chain_of_gradients_dies_without_recursion():
    head = Tensor()
    for _ in range(200_000):
        new = Tensor()
        new._grad = head
        head = new
    del head, new


def test_a_deep_tree_of_states_dies_without_recursion():
    root = state = State()
    for n in range(100_000):
        made = State()
        if n % 3:
            state.first = made
        else:
            made.sibling, state.first = state.first, made
        state = made
    del root, state, made


def test_a_class_with_a_finalizer_is_refused_and_subclasses_may_have_one(bench):
    class Final(Tensor):
        buried = 0

        def __del__(self) -> None:
            Final.buried += 1

    with pytest.raises(TypeError, match="__del__"):
        recorder.install(bench.tape, State, Cell, Final, Parameter)
    x = bench.tensor(Final)
    x.itself = x
    del x
    gc.collect()
    assert Final.buried == 1

    class Larger(Tensor):
        __slots__ = ("more",)

    with pytest.raises(TypeError, match="__slots__"):
        recorder.install(bench.tape, State, Cell, Tensor, Larger)


def test_letting_go_of_a_trace_may_run_code_that_records(bench):
    bench.event([bench.input(0)], [bench.result(1)], 2)
    made: list[Any] = []

    def again(_: Any) -> None:
        made.append(bench.f(bench.tensor()))

    x = bench.tensor()
    watch = weakref.ref(bench.f(x), again)
    bench.restart()
    assert watch() is None and len(made) == 1 and made[0]._serial == bench.serial
    assert bench.tape.count == 2 and bench.tape.value(1) is made[0]


def test_gradients_of_all_parameters(bench):
    tensors = [bench.tensor(cls) for cls in (Tensor, Parameter, Tensor)]
    grad = tensors[1]._grad = bench.tensor()
    count = sys.getrefcount(grad)
    some, grads = recorder.gradients_of(tensors)
    assert some == [tensors[1]] and grads == [grad] and some[0] is tensors[1] and grads[0] is grad
    assert recorder.forget_gradients(tensors) is None and tensors[1]._grad is None
    assert list(map(list, recorder.gradients_of(tensors))) == [[], []] == list(map(list, recorder.gradients_of([])))
    del some, grads
    assert sys.getrefcount(grad) == count - 1
    wrong: Any
    for wrong in ((), [1], [tensors[0], None], None):
        for function in (recorder.gradients_of, recorder.forget_gradients):
            with pytest.raises(TypeError, match="list of tensors"):
                function(wrong)


# ---- operators


@pytest.fixture
def symbols(bench) -> Iterator[Bench]:
    names = ["add", "sub", "mul", "truediv", "floordiv", "mod", "matmul", "pow", "and", "or", "xor", "lshift", "rshift"]
    others = ["neg", "abs", "invert", "pos", "lt", "le", "eq", "ne", "gt", "ge", "getitem"]

    def told(name: str) -> Any:
        return Recorded(None, lambda *args: (name, *args))

    functions = {f"__{r}{name}__": told(r + name) for name in names for r in ("", "r", "i")}
    functions |= {f"__{name}__": told(name) for name in others}
    functions["__setitem__"] = Recorded(None, lambda x, key, value: setattr(x, "note", (key, value)))
    before = recorder.operators(functions)
    yield bench
    recorder.operators(before)


def test_operators_call_the_functions_that_are_given_for_them(symbols):
    x, y = symbols.tensor(), symbols.tensor(Parameter)
    for symbol, name in {"+": "add", "-": "sub", "*": "mul", "/": "truediv", "//": "floordiv", "%": "mod",
                         "@": "matmul", "**": "pow", "&": "and", "|": "or", "^": "xor", "<<": "lshift",
                         ">>": "rshift"}.items():  # fmt: skip
        scope: dict[str, Any] = {"x": x, "y": y, "z": x}
        assert eval(f"x {symbol} 2", scope) == (name, x, 2)
        assert eval(f"2 {symbol} x", scope) == (f"r{name}", x, 2)
        assert eval(f"y {symbol} x", scope) == (name, y, x) and eval(f"x {symbol} y", scope) == (name, x, y)
        exec(f"z {symbol}= 3", scope)
        assert scope["z"] == (f"i{name}", x, 3)
    for symbol, name in {"<": "lt", "<=": "le", "==": "eq", "!=": "ne", ">": "gt", ">=": "ge"}.items():
        assert eval(f"x {symbol} 2", {"x": x}) == (name, x, 2)
    assert eval("3 < x", {"x": x}) == ("gt", x, 3)
    assert (-x, +x, ~x, abs(x)) == (("neg", x), ("pos", x), ("invert", x), ("abs", x))
    assert x[1, 2] == ("getitem", x, (1, 2))
    x[3] = 4
    assert x.note == (3, 4)
    with pytest.raises(TypeError):
        del x[3]
    with pytest.raises(TypeError):
        pow(x, 2, 3)
    assert len({x, y, x}) == 2


def test_operators_without_a_function_are_not_supported(symbols):
    recorder.operators(dict.fromkeys(("__add__", "__radd__", "__neg__", "__getitem__", "__setitem__", "__eq__")))
    x = symbols.tensor()

    class Other:
        def __radd__(self, left: Any) -> tuple[Any, ...]:
            return "other", left

    assert x + Other() == ("other", x)
    assert (x == x, x == 1) == (True, False)
    for action in (lambda: x + 1, lambda: 1 + x, lambda: -x, lambda: x[0]):
        with pytest.raises(TypeError):
            action()
    with pytest.raises(TypeError):
        x[0] = 1
    for name in ("__call__", "__rlt__", "__rneg__", "add", "__radd"):
        assert not recorder.is_operator(name)
        with pytest.raises(ValueError, match="no operator"):
            recorder.operators({name: None})
    assert recorder.is_operator("__rpow__") and recorder.is_operator("__rshift__")


def test_subclasses_may_define_operators_of_their_own(symbols):
    class Own(Tensor):
        def __add__(self, other: Any) -> Any:
            return "own", super().__add__(other)

        def __rmul__(self, other: Any) -> Any:
            return "own", other

    x, y = symbols.tensor(Own), symbols.tensor()
    assert x + 1 == ("own", ("add", x, 1)) and y + x == ("add", y, x) and y * x == ("own", y)
    assert x * 2 == ("mul", x, 2)


# ---- memory


def test_nothing_is_leaked_or_given_back_twice(bench):
    x, w, number, text = bench.tensor(), bench.tensor(Parameter), 2.5, "a text that is equal"
    w._flags = LEAF
    needs = [bench.input(0), bench.input(1, LEAF), (Need.NUMBER, 2, id(float), Range.F32), (Need.STATIC, id(text)),
             (Need.SEQUENCE, id(tuple), 2), (Need.VALUE, 0), (Need.STATIC, id(None))]
    gives = [(Give.TUPLE, id(tuple), 3), bench.result(3), bench.result(4), (Give.VALUE, 0)]
    first = bench.event(needs, gives, 5, count=5, names=("dim",), keep=text)
    second = bench.event([(Need.VALUE, 3), (Need.GRAD, 1, LEAF), (Need.STATIC, id(None))],
                         [(Give.NONE,), (Give.PUT_GRAD, 1, 5, id(bench.kind))], 1, bench.g, first)
    third = bench.event([(Need.VALUE, 1, 0, LEAF)], [(Give.VALUE, 1), (Give.ASSIGN, 1, 6, id(bench.kind))], 1, bench.g,
                        second)
    cell = w._cell
    watched = (x, w, cell, x._cell, number, text, bench.kind, first, second, third, bench.root, bench.f, bench.g, None,
               Tensor, Parameter, float)
    equal = "".join(["a text that", " is equal"])

    def step() -> None:
        y, _, back = bench.f(x, w, number, equal, dim=(x, None))
        assert back is x and bench.g(y) is None and bench.g(w) is w
        assert bench.tape.state is third
        bench.f(w, x, number, equal, dim=(x, None))  # a miss
        assert bench.tape.live() and bench.tape.tensors()
        w._grad, w._cell = None, cell
        bench.restart()
        bench.slow_calls.clear()

    for _ in range(5):
        step()
    gc.collect()
    before, blocks = [sys.getrefcount(each) for each in watched], sys.getallocatedblocks()
    for _ in range(2000):
        step()
    gc.collect()
    after = [sys.getrefcount(each) for each in watched]
    grown = [(each, a - b) for each, a, b in zip(watched, after, before, strict=True) if abs(a - b) > 50]
    assert grown == [] and sys.getallocatedblocks() - blocks < 500


def test_a_tape_with_values_is_collected(bench):
    tape = recorder.TapeBase()
    x = Tensor()
    x.tape = tape
    tape.put(3, x, Cell(None, None))
    watch = weakref.ref(x)
    del x, tape
    gc.collect()
    assert watch() is None


def test_the_interpreter_ends_well_with_values_on_the_tape():
    program = """
import threading
import tests.recorder_bench as t
bench = t.Bench()
t.recorder.install(bench.tape, t.State, t.Cell, t.Tensor, t.Parameter)
bench.event([bench.input(0)], [bench.result(1)], 2)
x = bench.tensor()
x.itself = x
y = bench.f(x)
y.bench = bench
class Late:
    def __del__(self):
        bench.f(x)
x.late = Late()
print("done")
"""
    done = subprocess.run([sys.executable, "-X", "faulthandler", "-c", program], capture_output=True, text=True,
                          timeout=60, check=False)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "done", "")


def test_the_main_thread_is_recognised_whoever_imported_first():
    program = """
import threading
def first():
    import pullback as torch
    assert (torch.ones(3) + 1).tolist() == [2.0] * 3
thread = threading.Thread(target=first)
thread.start()
thread.join()
import pullback as torch
from pullback.runtime.tensor import recorder
from pullback.runtime.tensor.trace.tape import tapes
x = torch.ones(3)
x.tolist()
for _ in range(4):
    y = x * 2 + 1
    late = y._is_late
    assert y.tolist() == [3.0] * 3
print(recorder.installed()[0] is tapes.tape, late)
"""
    done = subprocess.run([sys.executable, "-X", "faulthandler", "-c", program], capture_output=True, text=True,
                          timeout=60, check=False)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "True True", "")
