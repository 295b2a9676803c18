"""What calls that follow a pattern give, and what the tape notes of them, on patterns made by hand."""

from __future__ import annotations

import gc
import sys
import weakref
from collections import namedtuple
from collections.abc import Iterator
from typing import Any

import pytest

from pullback.runtime.tensor import recorder
from pullback.runtime.tensor.recorder import Give, Need, Search, forget_places, native
from pullback.runtime.tensor.recorder.layout import DENSE, HISTORY, LEAF, SHARED, SPECIAL, VIEWED
from tests.recorder_bench import Bench, Cell, Parameter, State, Tape, Tensor, installed, late

FIRST, THERE = Search.FIRST, Search.THERE

Pair = namedtuple("Pair", "first second")


@pytest.fixture
def bench() -> Iterator[Bench]:
    with installed() as made:
        yield made


# ---- what calls give


def test_what_a_call_returns(bench):
    def returned(*gives: Any) -> Any:
        bench.restart()
        bench.f.pattern = None
        bench.pattern([bench.any(0), bench.any(1)], list(gives), 3, count=2)
        return bench.f(x, y)

    x, y = bench.tensor(), bench.tensor()
    assert returned((Give.NONE,)) is None
    assert returned((Give.VALUE, -1)) is x and returned((Give.VALUE, -2)) is y
    a, b = returned((Give.TUPLE, id(tuple), 2), bench.result(2, HISTORY), bench.result(0))
    assert (a._number, a._flags, b._number, b._flags) == (4, HISTORY, 2, 0)
    made = returned((Give.TUPLE, id(list), 3), (Give.VALUE, -2), (Give.NONE,), bench.result(1))
    assert type(made) is list and made[0] is y and made[1] is None and made[2]._number == 3
    make = Pair._make
    made = returned((Give.TUPLE, id(make), 2), bench.result(0), (Give.TUPLE, id(tuple), 1), (Give.VALUE, 0))
    assert type(made) is Pair and made.second == (made.first,)
    made = returned(bench.result(0), bench.result(1))
    assert made._number == 2 and bench.tape.value(3)._is_late and bench.tape.count == 5


def test_an_error_while_a_result_is_built_is_raised_and_the_call_is_noted(bench):
    def make(items: Any) -> Any:
        raise KeyError("make")

    pattern = bench.pattern([bench.any(0)], [(Give.TUPLE, id(make), 1), bench.result(0)], 1)
    with pytest.raises(KeyError, match="make"):
        bench.f(bench.tensor())
    assert bench.notes() == [(id(pattern), 1, (0,), (FIRST,))] and bench.slow_calls == []


def test_assigning_gives_an_argument_a_new_value(bench):
    gives = [(Give.VALUE, -1), (Give.ASSIGN, -1, 0, id(bench.other_kind))]
    pattern = bench.pattern([bench.any(0), bench.any(1)], gives, 1, count=2)
    x, y = bench.tensor(), late(bench)
    cell = x._cell
    assert bench.f(x, y) is x
    assert x._is_late and (x._number, x._written, cell.stale) == (2, 1, 1) and x._kind is bench.other_kind
    assert bench.tape.value(2) is x and bench.tape.cell(1) is cell and bench.tape.cell(2) is None
    bench.pattern([bench.any(0, 0, bench.other_kind)], [(Give.VALUE, -1), gives[1]], 1, bench.g)
    assert bench.g(x) is x and (x._number, x._written) == (3, 2)
    assert bench.notes()[0] == (id(pattern), 2, (1, 0), (FIRST, THERE)) and bench.notes()[1][2] == (2,)


def test_an_argument_may_have_views_from_then_on(bench):
    bench.pattern([bench.any(0)], [bench.result(0, SPECIAL | DENSE), (Give.VIEWED, -1)], 1)
    bench.pattern([bench.any(0, SHARED)], [bench.result(0), (Give.VIEWED, 0)], 1)
    x = bench.tensor()
    view = bench.f(x)
    assert x._flags == VIEWED and view._flags == SPECIAL | DENSE
    assert bench.f(view)._flags == VIEWED and bench.f(x)._flags == VIEWED and bench.slow_calls == []


# ---- the tape's notes


def test_whoever_reads_the_state_has_the_notes_settled(bench):
    bench.pattern([bench.any(0)], [bench.result(0)], 1)
    tape, state = bench.tape, State()
    assert tape.state is bench.root and tape.asked == 0
    bench.f(bench.tensor())
    count = len(tape.notes())
    assert tape.state is bench.root and tape.asked == 1 and len(tape.notes()) == count
    assert tape.settled(count - 1, state) is False and tape.settled(count + 1, state) is False
    assert tape.known is bench.root and len(tape.notes()) == count
    tape.settling = lambda: tape.settled(len(tape.notes()), state)
    assert tape.state is state and tape.known is state and tape.notes() == () and tape.asked == 2
    assert tape.state is state and tape.asked == 2

    def fail() -> None:
        raise KeyError("settling")

    tape.settling = fail
    bench.f(bench.tensor())
    with pytest.raises(KeyError, match="settling"):
        tape.state  # noqa: B018
    assert len(bench.notes()) == 1 and tape.known is state
    tape.state = bench.root
    assert tape.known is bench.root and len(bench.notes()) == 1
    wrong: Any
    for wrong in ((), (1,), (1, 2, 3), ("a", state), (-1, state), (None, state)):
        with pytest.raises((TypeError, IndexError)):
            tape.settled(*wrong)


def test_another_trace_begins_without_notes(bench):
    bench.pattern([bench.any(0)], [bench.result(0)], 1)
    bench.f(bench.tensor())
    bench.restart()
    assert bench.tape.notes() == () and bench.tape.state is bench.root and bench.tape.asked == 0


def test_a_trace_with_notes_is_not_run_again(bench):
    bench.pattern([bench.any(0)], [bench.result(0)], 1)
    x = bench.tensor()
    y = bench.f(x)
    bench.root.live, bench.root.plan = bench.tape.live(), ("no", "plan")
    assert bench.tape.rerun(bench.root, True) is NotImplemented
    bench.tape.settled(len(bench.tape.notes()), bench.root)
    with pytest.raises(TypeError, match="replay"):
        bench.tape.rerun(bench.root, True)  # which has found the plan
    assert y._is_late


def test_a_tape_with_notes_dies(bench):
    pattern = bench.pattern([bench.any(0)], [bench.result(0)], 1)
    tape, before = Tape(), bench.tape
    tape.owner, tape.mode = before.owner, before.mode
    tape.restart(7, bench.root)
    recorder.install(tape, State, Cell, Tensor, Parameter)
    x = bench.tensor()
    x.tape = tape
    bench.f(x)
    assert tape.notes()[0] == id(pattern)
    watch = weakref.ref(x)
    recorder.install(before, State, Cell, Tensor, Parameter)
    del x, tape
    gc.collect()
    assert watch() is None


def test_code_that_runs_while_a_call_is_placed_may_record(bench):
    """What asks for the place uses up the spare tensors that were there."""
    bench.pattern([bench.any(0)], [bench.result(k) for k in range(200)], 200, bench.g)
    gives = [(Give.TUPLE, id(tuple), 100), *[bench.result(k) for k in range(100)]]
    pattern = bench.pattern([bench.any(0)], gives, 100)
    x, held, asked = bench.tensor(), [], []

    def inside(code: Any) -> bool:
        asked.append(code)
        if len(asked) == 1:
            held.extend(bench.g(x) for _ in range(3))
            held.append([bench.tape.value(n) for n in range(bench.tape.count)])
        return False

    with placing(inside):
        made = bench.f(x)
    assert type(made) is tuple and len({id(t) for t in made}) == 100 and all(t._is_late for t in made)
    assert bench.notes()[-1] == (id(pattern), bench.tape.count - 100, (0,), (THERE,)) and len(held) == 4


class placing:
    """Let a function tell which code is the library's."""

    def __init__(self, inside: Any) -> None:
        self.inside = inside

    def __enter__(self) -> None:
        self.before = list(native._inside)
        recorder.find_places(self.inside)
        forget_places()

    def __exit__(self, *_: Any) -> None:
        forget_places()
        if self.before:
            recorder.find_places(self.before[0])
        else:
            native._inside.clear()
            native.library.assign("inside", 0)


def test_a_call_stands_where_the_innermost_code_of_the_program_is(bench):
    scope: dict[str, Any] = {"f": bench.f}
    exec(compile("def library(x):\n    return f(x)\ndef deeper(x):\n    return library(x)\n", "library", "exec"), scope)
    exec(compile("def program(call, x):\n    call(x)\n    call(x)\n", "program", "exec"), scope)
    bench.pattern([bench.any(0)], [bench.result(0)], 1)
    asked: list[Any] = []

    def inside(code: Any) -> bool:
        asked.append(code)
        return code.co_filename == "library"

    x, program = bench.tensor(), scope["program"].__code__
    with placing(inside):
        for call in (bench.f, scope["deeper"], scope["library"]):
            bench.restart()
            scope["program"](call, x)
            words = bench.tape.notes()
            assert words[2] == words[8] == id(program)
            lines = [next(line for start, end, line in program.co_lines() if start <= at < end)
                     for at in (words[3], words[9])]
            assert lines == [2, 3]
        assert sorted(code.co_name for code in asked) == ["deeper", "library", "program"]
        forget_places()
        scope["program"](scope["library"], x)
        assert len(asked) == 5
        scope["f"] = lambda x: bench.f(x)
        assert bench.f(x)._is_late and bench.tape.notes()[-4] == id(sys._getframe().f_code)


def test_an_error_of_what_tells_places_is_raised_and_nothing_is_noted(bench):
    def inside(code: Any) -> bool:
        raise KeyError("inside")

    bench.pattern([bench.any(0)], [bench.result(0)], 1)
    x = bench.tensor()
    with placing(inside):
        with pytest.raises(KeyError, match="inside"):
            bench.f(x)
        assert bench.tape.count == 0 and bench.tape.notes() == () and x._serial == 0 and bench.slow_calls == []
    assert bench.f(x)._is_late


def test_nothing_is_leaked_or_given_back_twice(bench):
    x, w, number, text = bench.tensor(), bench.tensor(Parameter), 2.5, "a text"
    w._flags = LEAF
    needs = [bench.any(0), (Need.SEQUENCE, id(tuple), 2), bench.any(1, LEAF), (Need.SAME, 0), bench.some(0),
             (Need.STATIC, id(text))]
    one = bench.pattern(needs, [(Give.TUPLE, id(tuple), 2), bench.result(0), (Give.VALUE, -1)], 1, count=4)
    gives = [(Give.VALUE, -1), (Give.ASSIGN, -1, 0, id(bench.kind)), (Give.VIEWED, -1)]
    two = bench.pattern([bench.any(0, LEAF)], gives, 1, bench.g)
    cell = w._cell
    watched = (x, w, cell, x._cell, number, text, bench.kind, one, two, bench.root, bench.f, None, Tensor, float,
               sys._getframe().f_code)

    def step() -> None:
        made, back = bench.f(x, (w, x), number, text)
        assert back is x and bench.g(w) is w and len(bench.notes()) == 2
        assert bench.f(x, (w, made), number, text) == bench.f(x, (made, x), number, text) == ("f", "slow")
        bench.tape.settled(len(bench.tape.notes()), bench.root)
        bench.restart()
        w._cell = cell
        bench.slow_calls.clear()

    for _ in range(5):
        step()
    gc.collect()
    before, blocks = [sys.getrefcount(each) for each in watched], sys.getallocatedblocks()
    for _ in range(1000):
        step()
    gc.collect()
    after = [sys.getrefcount(each) for each in watched]
    assert [(each, b - a) for each, a, b in zip(watched, before, after, strict=True) if abs(b - a) > 50] == []
    assert sys.getallocatedblocks() - blocks < 500
