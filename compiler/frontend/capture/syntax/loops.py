"""for and while: unrolled if they are short or do nothing traced, else rolled into regions.

A loop whose end is known is walked pass by pass as long as it emits nothing (it computes tables, sizes, indices); once
it does, the first pass tells what the loop would cost. Up to UNROLLED operations in all it stays unrolled, else it
is rolled. A loop that cannot be rolled is unrolled after all, and the report says why.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ...array import Array
from ...errors import TooManyOperations, TraceError
from .. import numbers
from ..containers.iterate import iterate, plus
from ..containers.objects import take_back
from ..machine import STATEMENTS, Machine
from ..regions import branch, choose
from ..roll import Impure, Roll
from ..source import reads_elsewhere
from ..values import Iter
from .statements import bind, block

UNROLLED = 100
"""The most operations that a loop may have when it is unrolled."""

LONGEST = 100_000
"""The most passes that are walked one by one."""

FORCED = 3000
"""The most passes of loops that are unrolled because they cannot be rolled."""

NOT_ENOUGH = 20
"""Passes of a while loop that are walked one by one, if they emit something, before it is rolled."""


class TooLong(Exception):
    """A loop is not worth unrolling."""


def size(m: Machine, begin: int) -> int:
    """How many operations have been emitted since there were `begin`, those in regions counted."""
    return sum(1 + sum(len(g.body) for g in op.regions) for op in m.now.builder.body[begin:])


class Looping:
    """A loop that is being walked: its statement and the names of its exits."""

    def __init__(self, m: Machine, s: ast.For | ast.While) -> None:
        self.m, self.s, self.frame = m, s, m.frame
        depth = self.frame.vars["#depth"] = self.frame.vars["#depth"] + 1
        self.broke, self.again = f"#break{depth}", f"#continue{depth}"
        self.frame.vars[self.broke] = self.frame.vars[self.again] = False

    @property
    def elsewhere(self) -> frozenset[str] | None:
        """The names that the function reads outside of the loop's body."""
        tree = self.frame.parsed
        return None if tree is None or tree.node is self.s else reads_elsewhere(tree.node, self.s)

    def finish(self) -> None:
        """Behind the loop: its `else` runs unless it was left."""
        names = self.frame.vars
        names.pop(self.again, None)
        left = names.pop(self.broke, False)
        names["#depth"] -= 1
        if self.s.orelse:
            left = numbers.logic(self.m, "or", left, names["#return"])
            branch(self.m, numbers.negate(self.m, left), lambda: block(self.m, self.s.orelse), lambda: None)

    def one_pass(self, start: Callable[[], None] | None = None) -> None:
        names = self.frame.vars
        names[self.broke] = names[self.again] = names["#return"] = False
        if start is not None:
            start()
        block(self.m, self.s.body)
        self.frame.vars[self.again] = False

    def left(self) -> Any:
        """Whether the loop has been left."""
        names = self.frame.vars
        return numbers.logic(self.m, "or", names.get(self.broke, False), names.get("#return", False))

    def goes_on(self, test: Callable[[], Any]) -> Any:
        """Whether there is another pass."""
        return choose(self.m, numbers.negate(self.m, self.left()), lambda: numbers.truth(self.m, test()), lambda: False)

    # ---- pass by pass

    def unroll(self, more: Callable[[int], Any], start: Callable[[int], None], budget: int | None, k: int = 0) -> None:
        """Walk pass after pass; TooLong if that would emit more than `budget` operations."""
        m, begin = self.m, len(self.m.now.builder.body)
        first = k
        if budget is None and k == 0 and self.trips is not None and not leaves_loop(self.s.body):
            self._refuse_forced(self.trips)  # before the first pass, as it is known how many will follow
        while True:
            self.frame.line = self.s.lineno
            go = more(k)
            if isinstance(go, Array):
                if budget is not None:
                    raise TooLong
                m.refuse("the end of this loop depends on traced values, and it cannot become a region", "see above")
            if not go:
                return
            if k - first > LONGEST:
                m.refuse(f"more than {LONGEST} passes of a loop would be unrolled", "let it become a region")
            self.one_pass(lambda k=k: start(k))
            k += 1
            m.passes += budget is None and not m.freezing
            self._refuse_forced(0)
            if budget is not None:
                self._afford(begin, budget, k)
            out = self.left()
            if out is True:
                return
            if isinstance(out, Array):
                if budget is not None:
                    raise TooLong
                branch(m, numbers.negate(m, out), lambda k=k: self.unroll(more, start, None, k), lambda: None)
                return

    def _refuse_forced(self, more: int) -> None:
        """Refuse what would be more passes in all than a walk for all values may have, with so many to come."""
        if self.m.passes + (0 if self.m.freezing else more) > FORCED:
            self.m.refuse(f"more than {FORCED} passes of loops would be unrolled", "let the loops become regions")

    def _afford(self, begin: int, budget: int, k: int) -> None:
        emitted = size(self.m, begin)
        trips = self.trips if self.trips is not None else max(k, NOT_ENOUGH // 4)
        if emitted and (emitted / k * trips > budget or (self.trips is None and k >= NOT_ENOUGH)):
            raise TooLong

    trips: int | None = None

    def either(self, short: Callable[[int | None], None] | None, rolled: Callable[[], None]) -> None:
        """Unroll within the budget, else roll, else unroll: what a round needs to know of its number is known there."""
        m = self.m
        long = m.rolled.get((self.s, self.trips), False)  # it was too long when it was walked before
        if short is not None and not long and self._attempt(lambda: short(UNROLLED), TooLong) is None:
            return
        m.rolled[self.s, self.trips] = True
        refused = m.rolled.get((self.s, "refused")) if short is not None else None
        refusal = refused or self._attempt(rolled, TraceError if short is not None else ())
        if refusal is not None:
            m.rolled[self.s, "refused"] = refusal
            note = f"the loop at {m.where()} is unrolled: " + str(refusal).partition("\n")[0]
            m.report += [] if note in m.report else [note]
            assert short is not None
            short(None)

    def _attempt(self, action: Callable[[], None], caught: Any) -> Exception | None:
        """Run it; on failure the state, the graph and where we are become what they were."""
        m = self.m
        state, now, emitted, stack = m.snapshot(), m.now, len(m.now.builder.body), list(m.frames)
        notes, line, changes = len(m.report), self.frame.line, len(m.changed)
        try:
            action()
        except caught as error:
            if isinstance(error, TooManyOperations):
                raise
            m.frames[:] = stack
            m.restore(state)
            take_back(m, changes)
            m.now = now
            del now.builder.body[emitted:], m.report[notes:]
            self.frame.line = line
            return error
        return None


def leaves_loop(body: list[ast.stmt], own: bool = True) -> bool:
    """Whether a loop's body has a break of this loop, or a return."""
    for n in body:
        if isinstance(n, ast.Return) or (isinstance(n, ast.Break) and own):
            return True
        if isinstance(n, (ast.For, ast.While)):
            if leaves_loop(n.body, False) or leaves_loop(n.orelse, own):
                return True
        elif not isinstance(n, (ast.FunctionDef, ast.ClassDef)):
            inner = [c for c in ast.iter_child_nodes(n) if isinstance(c, (ast.stmt, ast.match_case, ast.ExceptHandler))]
            if leaves_loop([c for c in inner if isinstance(c, ast.stmt)], own):
                return True
    return False


def breaks(body: list[ast.stmt]) -> bool:
    """Whether a loop's body has a break of this loop."""
    pending: list[ast.AST] = list(body)
    while pending:
        n = pending.pop()
        if isinstance(n, ast.Break):
            return True
        if isinstance(n, (ast.For, ast.While)):
            pending += n.orelse
        elif not isinstance(n, (ast.FunctionDef, ast.ClassDef, ast.Lambda)):
            pending.extend(ast.iter_child_nodes(n))
    return False


def walk_for(m: Machine, s: ast.For) -> None:
    it = iterate(m, m.eval(s.iter))
    it = replace(it, trip=m.ranges.counted(m, it.trip))
    loop = Looping(m, s)
    known = isinstance(it.trip, int)
    loop.trips = it.trip if known else None

    def short(budget: int | None) -> None:
        loop.unroll(lambda k: k < it.trip, lambda k: bind(m, s.target, it.item(k)), budget)

    if known and (not it.rolled or it.trip <= 1 or m.freezing):
        short(None)
    else:
        loop.either(short if known else None, lambda: _roll_for(loop, it))
    it.check()
    loop.finish()


def _roll_for(loop: Looping, it: Iter) -> None:
    m, s = loop.m, loop.s
    assert isinstance(s, ast.For)
    limit: Any = it.trip if isinstance(it.trip, int) else m.ranges.lengths.get(it.trip.value)
    sure = (isinstance(limit, int) and limit > 0) or m.ranges.inside(it.trip, 1, None)
    if not leaves_loop(s.body):
        each = lambda i: loop.one_pass(lambda: bind(m, s.target, it.item(i)))  # noqa: E731
        Roll(m, it.trip, None, each, sure, limit, loop.elsewhere, s).run()
        return
    counter = f"#k{loop.frame.vars['#depth']}"
    names = loop.frame.vars
    names[counter] = 0

    def step(_: Any) -> None:
        names = loop.frame.vars
        k = names[counter]
        if isinstance(k, Array):
            m.ranges.counts(k, it.trip)
        names[counter] = plus(m, k, 1)
        loop.one_pass(lambda: bind(m, s.target, it.item(k)))

    def test() -> Any:
        return loop.goes_on(lambda: below(m, loop.frame.vars[counter], it.trip))

    Roll(m, None, test, step, sure, limit, loop.elsewhere, s).run()
    loop.frame.vars.pop(counter, None)


def below(m: Machine, a: Any, b: Any) -> Any:
    """a < b of plain or traced integers."""
    if not isinstance(a, Array) and not isinstance(b, Array):
        return a < b
    return numbers.binary(m, operator.lt, a, b)


def walk_while(m: Machine, s: ast.While) -> None:
    loop = Looping(m, s)
    if m.freezing:
        loop.unroll(lambda k: numbers.truth(m, m.eval(s.test)), lambda k: None, None)
        loop.finish()
        return
    first = _first_test(loop)
    if first is not False:

        def short(budget: int | None) -> None:
            test = lambda k: numbers.truth(m, m.eval(s.test))  # noqa: E731
            loop.unroll(test if budget is None else lambda k: _unasked(m, lambda: test(k)), lambda k: None, budget)

        loop.either(short if first is True else None, lambda: _roll_while(loop, first is True))
        if isinstance(s.test, ast.Constant) and not breaks(s.body):
            loop.frame.vars["#return"] = True  # there is no other way out
    loop.finish()


def _first_test(loop: Looping) -> Any:
    """The condition at the start, evaluated beside the graph."""
    m, s = loop.m, loop.s
    assert isinstance(s, ast.While)
    state = m.snapshot()
    try:
        with m.within(m.region("test")):
            first = _unasked(m, lambda: numbers.truth(m, m.eval(s.test)))
    except TooLong:
        first = None
    m.restore(state)
    return first


def _unasked(m: Machine, test: Callable[[], Any]) -> Any:
    """The truth of a test that asks nothing of named sizes; TooLong if it does, for every pass would ask again."""
    if m.root.sizes is None:
        return test()
    with m.root.sizes.unasked() as asked:
        found = test()
    if asked:
        raise TooLong
    return found


def _roll_while(loop: Looping, sure: bool) -> None:
    m, s = loop.m, loop.s
    assert isinstance(s, ast.While)
    state, stack = m.snapshot(), list(m.frames)
    try:
        more = lambda: loop.goes_on(lambda: m.eval(s.test))  # noqa: E731
        Roll(m, None, more, lambda i: loop.one_pass(), sure, None, loop.elsewhere, s).run()
        return
    except Impure:
        m.testing = False
        m.frames[:] = stack
        m.restore(state)
    stop = f"#stop{loop.frame.vars['#depth']}"
    loop.frame.vars[stop] = False

    def step(_: Any) -> None:
        """The condition as the first statement of the body."""
        go = numbers.truth(m, m.eval(s.test))
        branch(m, go, loop.one_pass, lambda: loop.frame.vars.update({stop: True}))

    def test() -> Any:
        return loop.goes_on(lambda: numbers.negate(m, loop.frame.vars[stop]))

    Roll(m, None, test, step, True, None, loop.elsewhere).run()
    loop.frame.vars.pop(stop, None)


STATEMENTS[ast.For] = walk_for
STATEMENTS[ast.While] = walk_while
