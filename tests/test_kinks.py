"""Where a derivative is a convention: at a kink it is the documented one, in both executors."""

from __future__ import annotations

import numpy as np
import pytest

import pullback
from pullback.compiler.ops import reduce
from pullback.compiler.ops.term import Term, Terms
from tests.compare import assert_all_close, assert_same
from tests.formulas import Formula, gradient


def relu(m: Terms, x: Term) -> Term:
    return m.select(m.gt(x, 0), x, 0)


def clip(m: Terms, x: Term) -> Term:
    return m.minimum(m.maximum(x, -1), 1)


KINKS: list[tuple[str, Formula, tuple[float, ...], tuple[float, ...]]] = [
    ("abs at 0", lambda m, x: m.abs(x), (0.0,), (0.0,)),
    ("abs at -0", lambda m, x: m.abs(x), (-0.0,), (0.0,)),
    ("relu at 0", relu, (0.0,), (0.0,)),
    ("relu above 0", relu, (5e-324,), (1.0,)),
    ("maximum with 0 at 0", lambda m, x: m.maximum(x, 0), (0.0,), (0.5,)),
    ("0 with maximum at 0", lambda m, x: m.maximum(0, x), (0.0,), (0.5,)),
    ("maximum at a tie", lambda m, x, y: m.maximum(x, y), (2.0, 2.0), (0.5, 0.5)),
    ("minimum at a tie", lambda m, x, y: m.minimum(x, y), (2.0, 2.0), (0.5, 0.5)),
    ("maximum of signed zeros", lambda m, x, y: m.maximum(x, y), (0.0, -0.0), (0.5, 0.5)),
    ("maximum of itself", lambda m, x: m.maximum(x, x), (3.0,), (1.0,)),
    ("clip at the lower edge", clip, (-1.0,), (0.5,)),
    ("clip at the upper edge", clip, (1.0,), (0.5,)),
    ("clip inside", clip, (0.25,), (1.0,)),
    ("clip outside", clip, (1.25,), (0.0,)),
    ("sign at 0", lambda m, x: m.sign(x), (0.0,), (0.0,)),
    ("floor at a jump", lambda m, x: m.floor(x), (2.0,), (0.0,)),
    ("mod at a jump", lambda m, x: m.mod(x, 2), (4.0,), (1.0,)),
    ("x^0 at 0", lambda m, x: m.pow(x, 0), (0.0,), (0.0,)),
    ("x^1 at 0", lambda m, x: m.pow(x, 1), (0.0,), (1.0,)),
    ("x^2 at 0", lambda m, x: m.pow(x, 2), (0.0,), (0.0,)),
    ("x^2 below 0", lambda m, x: m.pow(x, 2), (-3.0,), (-6.0,)),
    ("x^(1/2) at 0", lambda m, x: m.pow(x, 0.5), (0.0,), (np.inf,)),
    ("0^y", lambda m, y: m.pow(0, y), (2.0,), (0.0,)),
    ("0^y at 0", lambda m, y: m.pow(0, y), (0.0,), (0.0,)),
    ("x^y at 0, 0", lambda m, x, y: m.pow(x, y), (0.0, 0.0), (0.0, 0.0)),
    ("sqrt at 0", lambda m, x: m.sqrt(x), (0.0,), (np.inf,)),
    ("cbrt at 0", lambda m, x: m.cbrt(x), (0.0,), (np.inf,)),
    ("cbrt at -0", lambda m, x: m.cbrt(x), (-0.0,), (np.inf,)),
    ("arcsin at 1", lambda m, x: m.arcsin(x), (1.0,), (np.inf,)),
    ("arccos at -1", lambda m, x: m.arccos(x), (-1.0,), (-np.inf,)),
    ("arctan at infinity", lambda m, x: m.arctan(x), (-np.inf,), (0.0,)),
    ("arctan far out", lambda m, x: m.arctan(x), (2.0**520,), (2.0**-1040,)),
    ("arctan2 on its cut", lambda m, y, x: m.arctan2(y, x), (0.0, -2.0), (-0.5, 0.0)),
    ("arctan2 far out", lambda m, y, x: m.arctan2(y, x), (2.0**1000, 2.0**1000), (2.0**-1001, -(2.0**-1001))),
    ("arctan2 near the origin", lambda m, y, x: m.arctan2(y, x), (2.0**-1000, 2.0**-1000), (2.0**999, -(2.0**999))),
    ("softplus at 0", lambda m, x: m.softplus(x), (0.0,), (0.5,)),
    ("sigmoid far below 0", lambda m, x: m.sigmoid(x), (-1000.0,), (0.0,)),
    ("tanh far above 0", lambda m, x: m.tanh(x), (1000.0,), (0.0,)),
    ("gauss at infinity", lambda m, x: m.gauss(x), (np.inf,), (0.0,)),
]


@pytest.mark.parametrize(("formula", "at", "want"), [k[1:] for k in KINKS], ids=[k[0] for k in KINKS])
def test_a_kink(formula: Formula, at: tuple[float, ...], want: tuple[float, ...]) -> None:
    got = gradient(formula, *at)
    assert_all_close(got, [np.array(w) for w in want])


def test_ties_of_a_fold_share_evenly() -> None:
    def largest(m: Terms, x: Term) -> Term:
        return m(reduce.max_(m.b, x.value, axes=(1,)))

    got = gradient(largest, [[1.0, 1.0, 0.0], [2.0, 2.0, 2.0], [-np.inf, -np.inf, -np.inf]])
    third = 1 / 3
    assert_same(got, [np.array([[0.5, 0.5, 0.0], [third] * 3, [third] * 3])])


def test_lengths_have_a_gradient_of_zero_at_zero():
    zero = np.zeros(3)
    for function in (np.linalg.norm, np.std):
        assert_same([pullback.grad(lambda x, f=function: f(x))(zero)], [zero])
        assert_same([pullback.grad(lambda x, f=function: f(x))(zero + 2.0)],
                    [zero if function is np.std else np.full(3, 2.0) / np.linalg.norm(zero + 2.0)])
        hessian = pullback.hessian(lambda x, f=function: f(x * x))(np.array([1.0, 2.0, 4.0]))
        assert np.all(np.isfinite(hessian))
