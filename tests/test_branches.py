"""Branches on one condition become one, cheap ones become choices, and neither changes what is computed."""

from __future__ import annotations

import numpy as np
import pytest

from pullback.compiler.ir.graph import Builder, Graph, Value, evaluate
from pullback.compiler.ir.primitive import REGISTRY as P
from pullback.compiler.ir.types import Type
from pullback.compiler.ir.verify import verify
from pullback.compiler.ops.source import number
from pullback.compiler.passes import value_and_grad
from pullback.compiler.passes.branches import choose, merge
from pullback.compiler.passes.pipeline import fold, narrow, optimize

F64, TRUTH = Type("f64"), Type("bool")
ARGS = [[np.bool_(p), np.float64(x), np.float64(y)] for p in (True, False) for x, y in ((1.5, -0.25), (0.5, 3.0))]


def arm(*names: str, types=(F64,)) -> Graph:
    """x -> name(x, ...) for each name."""
    b = Builder(names[0], types)
    return b.finish([P[n](b, *b.params[: P[n].arity]) for n in names])


def branch(b: Builder, p: Value, args: list[Value], yes: Graph, no: Graph) -> tuple[Value, ...]:
    return b.emit(P["cond"], p, *args, regions=(yes, no))


def same(before: Graph, after: Graph) -> Graph:
    verify(after)
    for args in ARGS:
        for want, got in zip(evaluate(before, args), evaluate(after, args), strict=True):
            np.testing.assert_array_equal(got, want)
    return after


def conds(graph: Graph) -> list:
    return [op for op in graph.body if op.prim is P["cond"]]


def start() -> tuple[Builder, Value, Value, Value]:
    b = Builder("f", [TRUTH, F64, F64], ["p", "x", "y"])
    p, x, y = b.params
    return b, p, x, y


def test_two_branches_become_one() -> None:
    b, p, x, y = start()
    (u,) = branch(b, p, [x], arm("sin"), arm("cos"))
    v = P["mul"](b, y, y)
    (w,) = branch(b, p, [v], arm("exp"), arm("tanh"))
    made = same(b.finish([u, w]), merge(b.finish([u, w])))
    assert len(conds(made)) == 1
    assert made.body[0].prim is P["mul"]


def test_a_branch_reads_what_the_first_made() -> None:
    b, p, x, y = start()
    (u,) = branch(b, p, [x], arm("sin"), arm("cos"))
    (w,) = branch(b, p, [u], arm("exp"), arm("tanh"))
    (z,) = branch(b, p, [w], arm("neg"), arm("exp"))
    made = same(b.finish([u, z, y]), merge(b.finish([u, z, y])))
    assert len(conds(made)) == 1


@pytest.mark.parametrize("between", ["work on its result", "another condition"])
def test_what_stays_apart(between: str) -> None:
    b, p, x, y = start()
    (u,) = branch(b, p, [x], arm("sin"), arm("cos"))
    if between == "another condition":
        q = P["not_"](b, p)
        (w,) = branch(b, q, [x], arm("exp"), arm("tanh"))
    else:
        (w,) = branch(b, p, [P["mul"](b, u, y)], arm("exp"), arm("tanh"))
    made = same(b.finish([u, w]), merge(b.finish([u, w])))
    assert len(conds(made)) == 2


def test_failures_keep_their_order() -> None:
    """The second branch may fail, and so does what stands before it: it is not moved ahead."""
    b, p, x, y = start()
    (u,) = branch(b, p, [x], arm("sin"), arm("cos"))
    b.emit(P["require"], P["gt"](b, y, number(b, 0.0, F64)), error="ValueError", text="y")
    failing = Builder("failing", [F64])
    failing.emit(P["require"], number(failing, False, TRUTH), error="KeyError", text="second")
    (w,) = branch(b, p, [x], failing.finish([failing.params[0]]), arm("cos"))
    graph = b.finish([u, w])
    made = verify(merge(graph))
    for each in (graph, made):
        with pytest.raises(ValueError, match="y"):
            evaluate(each, ARGS[0])


def test_a_tape_between_two_arms_is_gone() -> None:
    """The gradient of a branch: what the forward arm saves, the backward arm has at hand."""
    b, p, x, _ = start()
    (u,) = branch(b, p, [x], arm("sqrt"), arm("exp"))
    graph = value_and_grad(b.finish([u]), [1])
    made = same(graph, narrow(fold(merge(narrow(graph)))))
    assert len(conds(made)) == 1
    assert "tape" not in {v.type.dtype for op in made.body for v in op.results}


def test_cheap_branches_are_choices() -> None:
    b, p, x, y = start()
    (u,) = branch(b, p, [x, y], arm("add", types=(F64, F64)), arm("sub", types=(F64, F64)))
    graph = b.finish([u])
    made = same(graph, choose(graph))
    assert [op.prim.name for op in made.body] == ["add", "sub", "select"]


@pytest.mark.parametrize("name", ["exp", "sqrt"])
def test_dear_branches_stay(name: str) -> None:
    b, p, x, _ = start()
    (u,) = branch(b, p, [x], arm(name), arm("neg"))
    assert len(conds(same(b.finish([u]), choose(b.finish([u]))))) == 1


def test_a_choice_masks_what_is_not_chosen() -> None:
    """The gradient through the arm that was not taken is exactly zero, though its local derivative is infinite."""
    b, p, x, y = start()
    s = P["sqrt"](b, x)
    (u,) = branch(b, p, [s], arm("neg"), arm("neg"))
    (w,) = branch(b, p, [s, y], arm("sub", types=(F64, F64)), Graph("y", (v := Value(F64), z := Value(F64)), (), (z,)))
    graph = optimize(value_and_grad(choose(b.finish([w])), [1]))
    assert u is not w and v is not z
    value, slope = evaluate(graph, [np.bool_(False), np.float64(0.0), np.float64(2.0)])
    assert (value, slope) == (2.0, 0.0)
