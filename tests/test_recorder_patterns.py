"""Native recognition of calls wherever they stand, with patterns made by hand; and `launch`, which runs such traces."""

from __future__ import annotations

import sys
from collections import namedtuple
from collections.abc import Iterator

import pytest

from pullback.runtime.tensor.recorder import BOUND, Need, Range, Search
from pullback.runtime.tensor.recorder.layout import DENSE, HISTORY, LEAF, OPEN, PART, SHARED, SPECIAL, VIEWED
from tests.recorder_bench import Bench, Cell, Parameter, Tensor, installed, late, missed

FIRST, THERE = Search.FIRST, Search.THERE

Pair = namedtuple("Pair", "first second")


@pytest.fixture
def bench() -> Iterator[Bench]:
    with installed() as made:
        yield made


# ---- hits


def test_a_call_that_no_state_knows_is_noted(bench):
    pattern = bench.pattern([bench.any(0)], [bench.result(0, HISTORY)], 1)
    x = bench.tensor()
    y = bench.f(x)
    assert type(y) is Tensor and y._is_late and y._kind is bench.kind
    assert (y._serial, y._number, y._flags, y._written) == (bench.serial, 1, HISTORY, 0)
    assert (x._serial, x._number, x._cell.serial, x._cell.number) == (bench.serial, 0, bench.serial, 0)
    assert bench.tape.count == 2 and bench.tape.value(0) is x and bench.tape.cell(0) is x._cell
    assert bench.tape.value(1) is y and bench.tape.cell(1) is None
    assert bench.tape.known is bench.root and bench.tape.asked == 0 and bench.slow_calls == []
    assert bench.notes() == [(id(pattern), 1, (0,), (FIRST,))]


def test_calls_follow_each_other_wherever_they_stand(bench):
    one = bench.pattern([bench.any(0), bench.any(1)], [bench.result(1)], 2, count=2)
    two = bench.pattern([bench.any(0)], [bench.result(0)], 1, bench.g)
    x, w = bench.tensor(), bench.tensor(Parameter)
    a = bench.f(x, w)
    b = bench.g(a)
    c = bench.f(w, b)
    assert [t._number for t in (x, w, a, b, c)] == [0, 1, 3, 4, 6] and bench.tape.count == 7
    assert bench.notes() == [
        (id(one), 2, (0, 1), (FIRST, FIRST)), (id(two), 4, (3,), (THERE,)), (id(one), 5, (1, 4), (THERE, THERE))]
    assert bench.tape.value(5) is None and bench.tape.value(6) is c and bench.slow_calls == []


def test_a_known_state_comes_before_patterns_unless_there_are_notes(bench):
    state = bench.event([bench.input(0)], [bench.result(1)], 2)
    pattern = bench.pattern([bench.any(0)], [bench.result(0)], 1)
    x = bench.tensor()
    bench.f(x)
    assert bench.tape.known is state and bench.tape.notes() == ()
    bench.event([(Need.VALUE, 1, 0, 0)], [bench.result(2)], 1, parent=state)
    bench.f(x)
    assert bench.tape.known is state and bench.notes() == [(id(pattern), 2, (0,), (THERE,))]
    bench.f(bench.tape.value(1))
    assert bench.tape.known is state and len(bench.notes()) == 2


def test_the_newest_pattern_that_fits_is_taken(bench):
    plain = bench.pattern([bench.any(0), bench.any(1)], [bench.result(0)], 1, count=2)
    leaf = bench.pattern([bench.any(0), bench.any(1, LEAF)], [bench.result(0)], 1, count=2)
    other = bench.pattern([bench.any(0), (Need.SAME, 0)], [bench.result(0)], 1, count=2)
    bench.pattern([bench.any(0)], [bench.result(0)], 1, count=1)
    x, y, w = bench.tensor(), bench.tensor(), bench.tensor()
    w._flags = LEAF
    for args in ((x, w), (x, x), (x, y), (y, y)):
        bench.f(*args)
    assert [note[0] for note in bench.notes()] == [id(leaf), id(other), id(plain), id(other)]
    assert bench.slow_calls == [] and missed(bench, w, w)


def test_mode_count_and_names_are_compared(bench):
    pattern = bench.pattern([bench.any(0), bench.some(0)], [bench.result(0)], 1, count=2, names=("scale",), mode=1)
    x = bench.tensor()
    bench.tape.mode = 1
    for args, kwargs in (((x, 2.0), {}), ((x,), {"other": 2.0}), ((x,), {}), ((), {"x": x, "scale": 2.0}),
                         ((x, 1.0), {"scale": 2.0})):
        assert missed(bench, *args, **kwargs)
    bench.tape.mode = 0
    assert missed(bench, x, scale=2.0)
    bench.tape.mode = 1
    assert not missed(bench, x, **{"".join(["sc", "ale"]): 2.0})
    assert bench.notes() == [(id(pattern), 2, (0,), (FIRST,))] and bench.tape.value(1) == 2.0
    bench.tape.mode = 0


# ---- tensors


@pytest.mark.parametrize("flags", [LEAF, HISTORY, SHARED, OPEN, LEAF | OPEN])
def test_the_class_must_be_the_same(bench, flags):
    bench.pattern([bench.any(0, flags)], [bench.result(0)], 1)
    x = bench.tensor()
    assert missed(bench, x) and x._serial == 0 and x._cell.serial == 0
    x._flags, x._record = flags & ~SHARED | (VIEWED if flags & SHARED else 0), object()
    assert not missed(bench, x)
    y = bench.tensor()
    y._flags = x._flags ^ LEAF
    assert missed(bench, y)


def test_a_node_is_history_too(bench):
    bench.pattern([bench.any(0, HISTORY)], [bench.result(0)], 1)
    x = bench.tensor()
    assert missed(bench, x)
    x._node = "node"
    assert not missed(bench, x)


def test_the_kind_and_the_class_of_the_object_must_be_right(bench):
    class Own(Tensor):
        pass

    bench.pattern([bench.any(0)], [bench.result(0)], 1)
    wrong = late(bench)
    wrong._kind = bench.other_kind
    for x in (bench.tensor(kind=bench.other_kind), wrong, bench.tensor(Own), None, 1.5, "x", (bench.tensor(),)):
        assert missed(bench, x)
    assert not missed(bench, late(bench)) and not missed(bench, bench.tensor(Parameter))


def test_a_leaf_must_be_computed_and_others_be_on_the_trace_or_computed(bench):
    bench.pattern([bench.any(0)], [bench.result(0)], 1)
    bench.pattern([bench.any(0, LEAF)], [bench.result(0)], 1)
    for flags in (0, LEAF):
        there = late(bench, flags)
        assert missed(bench, there) == bool(flags)
        there._cell = Cell(bench.kind, None)
        assert missed(bench, there) == bool(flags)
        there._cell.array = "array"
        assert not missed(bench, there)
        for array in (None, "array"):
            away = bench.tensor(array=array)
            away._flags = flags
            assert missed(bench, away) == (array is None)
    assert missed(bench, late(bench, serial=bench.serial + 1)) and missed(bench, late(bench, serial=bench.serial - 1))


def test_a_number_of_this_trace_does_not_make_a_tensor_stand_there(bench):
    """Another tensor has taken its place; it is late, and nothing tells what it would be."""
    bench.pattern([bench.any(0)], [bench.result(0)], 1)
    x = late(bench)
    bench.tape.put(x._number, late(bench), None)
    assert missed(bench, x)
    x._number = 1 << 60
    assert missed(bench, x)
    x._number = -1
    assert missed(bench, x)


def test_views_are_known_where_they_lie_densely_and_are_late_here(bench):
    bench.pattern([bench.any(0, SHARED)], [bench.result(0)], 1)
    assert not missed(bench, late(bench, SPECIAL | DENSE))
    for flags in (SPECIAL, PART, SPECIAL | PART, DENSE):
        assert missed(bench, late(bench, flags))
    other = late(bench, SPECIAL | DENSE, serial=bench.serial + 1)
    assert missed(bench, other)
    stored = late(bench, SPECIAL | DENSE)
    stored._storage = None
    assert not missed(bench, stored)
    stored._storage = "storage"
    assert missed(bench, stored)
    computed = late(bench, SPECIAL | DENSE)
    computed._cell = Cell(bench.kind, "array")
    assert missed(bench, computed)
    plain = bench.tensor()
    plain._storage = "storage"
    assert missed(bench, plain)


def test_a_cell_that_is_there_under_another_tensor_is_a_value_again(bench):
    bench.pattern([bench.any(0), bench.any(1)], [bench.result(0)], 1, count=2)
    x, y, z = bench.tensor(), bench.tensor(), bench.tensor()
    y._cell = z._cell = x._cell
    bench.f(x, y)
    assert [t._number for t in (x, y)] == [0, 1] and x._cell.number == 0 and bench.tape.cell(1) is x._cell
    bench.f(y, z)
    assert z._number == 3
    assert [note[2:] for note in bench.notes()] == [((0, 1), (FIRST, 0)), ((1, 3), (THERE, 0))]
    pending = late(bench)
    pending._cell = Cell(bench.kind, None, bench.serial, pending._number)
    bench.tape.put(pending._number, pending, pending._cell)
    other = bench.tensor()
    other._cell = pending._cell
    assert not missed(bench, other, x)
    assert bench.notes()[-1][2:] == ((other._number, 0), (pending._number, THERE))


def test_a_cell_with_a_number_that_is_not_its_own_enters_as_new(bench):
    bench.pattern([bench.any(0)], [bench.result(0)], 1)
    bench.f(bench.tensor())
    for number in (0, 1, 2, 1 << 40):
        x = bench.tensor()
        x._cell.serial, x._cell.number = bench.serial, number
        assert not missed(bench, x) and bench.notes()[-1][3] == (FIRST,)
        assert x._cell.number == x._number == bench.tape.count - 2


def test_one_tensor_is_no_two_arguments_and_two_tensors_are_not_one(bench):
    bench.pattern([bench.any(0), bench.any(1)], [bench.result(0)], 1, count=2)
    bench.pattern([bench.any(0), (Need.SAME, 0)], [bench.result(0)], 1, bench.g, count=2)
    x, y = bench.tensor(), late(bench)
    assert missed(bench, x, x) and missed(bench, y, y)
    assert bench.g(x, y) == bench.g(y, x) == ("g", "slow")
    z = bench.tensor()
    z._cell = x._cell
    assert bench.g(x, z) == ("g", "slow")
    assert not missed(bench, x, y) and bench.g(x, x)._is_late and bench.g(y, y)._is_late


def test_what_was_entered_is_withdrawn_when_nothing_fits(bench):
    bench.pattern([bench.any(0), bench.any(1), bench.some(0), bench.any(2, LEAF)], [bench.result(0)], 1, count=4)
    bench.pattern([(Need.SEQUENCE, id(tuple), 2), bench.any(0), bench.any(1, LEAF)], [bench.result(0)], 1)
    bench.pattern([bench.any(0), (Need.STATIC, id(None))], [bench.result(0)], 1, count=2)
    x, y, z = bench.tensor(), bench.tensor(), bench.tensor()
    y._cell = x._cell
    watched = x, y, z, x._cell, z._cell, 2.5
    for args in ((x, y, 2.5, z), ((x, z),), (x, 2.5)):
        before = [sys.getrefcount(each) for each in watched]
        assert missed(bench, *args)
        bench.slow_calls.clear()
        assert [sys.getrefcount(each) for each in watched] == before
        assert [t._serial for t in (x, y, z)] == [-1, -1, 0] and [t._cell.serial for t in (x, z)] == [0] * 2
    z._flags = LEAF
    assert not missed(bench, x, y, 2.5, z) and bench.notes()[-1][2:] == ((0, 1, 2), (FIRST, 0, FIRST))


# ---- other arguments


@pytest.mark.parametrize(
    ("cls", "fits", "good", "bad"),
    [
        (float, Range.F32, [1.5, -0.0, 3.4e38, 1e-50, float("inf")], [1e39, -1e39, 1, True, None]),
        (float, Range.F64, [1e300, float("inf"), float("nan")], [1]),
        (int, Range.I32, [5, -(2**31), 2**31 - 1], [2**31, 10**30, True, 1.0]),
        (int, Range.I64, [2**63 - 1], [2**63, -(2**63) - 1]),
        (int, Range.F32, [2**40], [2**63, 10**30]),
        (bool, Range.ANY, [True, False], [1, 0.0]),
    ],
)
def test_numbers_are_of_a_type_and_in_a_range(bench, cls, fits, good, bad):
    bench.pattern([bench.any(0), bench.some(0, cls, fits)], [bench.result(0)], 1, count=2)
    x = bench.tensor()
    for number in bad:
        assert missed(bench, x, number)
    for number in good:
        assert bench.f(x, number)._is_late
        n = bench.tape.count - 2
        assert bench.tape.value(n) is number and bench.tape.cell(n) is None
        assert bench.notes()[-1][1] == n + 1


def test_numbers_come_behind_the_tensors_in_their_order(bench):
    needs = [bench.some(0, int), bench.any(0), (Need.SEQUENCE, id(list), 2), bench.some(1), bench.any(1)]
    pattern = bench.pattern(needs, [bench.result(0)], 1, count=3)
    x, y = bench.tensor(), bench.tensor()
    made = bench.f(7, x, [2.5, y])
    assert [bench.tape.value(n) for n in range(5)] == [x, y, 7, 2.5, made]
    assert bench.notes() == [(id(pattern), 4, (0, 1), (FIRST, FIRST))]
    assert missed(bench, 7, x, (2.5, y)) and missed(bench, 7, x, [2.5]) and missed(bench, 7.0, x, [2.5, y])


def test_elements_must_have_been_tested(bench):
    test, other = object(), object()
    bench.pattern([bench.any(0), bench.any(1), (Need.TESTED, 1, id(test))], [bench.result(0)], 1, count=2)
    x, y = bench.tensor(), bench.tensor()
    assert missed(bench, x, y) and y._serial == -1
    y._cell.checked = other
    assert missed(bench, x, y)
    x._cell.checked = test
    assert missed(bench, x, y)
    assert missed(bench, x, late(bench))
    y._cell.checked = test
    assert not missed(bench, x, y)


def test_static_arguments_are_compared_by_type_and_value(bench):
    known = (1, "dim", None, 2.0)
    bench.pattern([bench.any(0), (Need.STATIC, id(known)), bench.any(1)], [bench.result(0)], 1, count=3)
    x, y = bench.tensor(), bench.tensor()
    for other in ((True, "dim", None, 2.0), (1, "dim", None, -2.0), (1, "dim", None), [1, "dim", None, 2.0], x):
        assert missed(bench, x, other, y)
    assert not missed(bench, x, (1, "".join(["d", "im"]), None, 1.0 + 1.0), y)


def test_a_sequence_has_its_class_and_length(bench):
    pattern = bench.pattern([(Need.SEQUENCE, id(Pair), 2), bench.any(0), bench.any(1)], [bench.result(0)], 1)
    x, y = bench.tensor(), bench.tensor()
    for other in ((x, y), [x, y], Pair(x, None), Pair(x, x), x):
        assert missed(bench, other)
    assert not missed(bench, Pair(x, y)) and bench.notes() == [(id(pattern), 2, (0, 1), (FIRST, FIRST))]


def test_a_long_trace_is_left_to_python(bench):
    bench.pattern([bench.any(0)], [bench.result(0)], 1)
    x = bench.tensor()
    bench.tape.put(BOUND - 2, None, None)
    assert not missed(bench, x) and bench.tape.count == BOUND + 1
    assert missed(bench, x)


def test_many_notes_and_many_tensors_have_room(bench):
    most, count = Search.MOST, 3000
    bench.pattern([bench.any(k) for k in range(most)], [bench.result(0)], 1, count=most)
    bench.pattern([bench.any(0)], [bench.result(0)], 1, bench.g)
    tensors = [bench.tensor() for _ in range(most)]
    assert bench.f(*tensors)._number == most
    at = tensors[0]
    for _ in range(count):
        at = bench.g(at)
    assert at._number == most + count and len(bench.notes()) == count + 1
    assert bench.notes()[0][2:] == (tuple(range(most)), (FIRST,) * most)
    assert bench.notes()[-1][1:] == (most + count, (most + count - 1,), (THERE,))
