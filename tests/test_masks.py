"""What is not taken contributes exactly nothing, though its local derivative may be infinite or NaN.

A formula is put behind a mask, with one element where it is singular, which the mask hides, and one where it
is not.  The gradient and the second derivative of the first are those of the other branch alone; those of the
second have the bits they have without the singular neighbour.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from pullback.compiler.ops import reduce, shape
from pullback.compiler.ops.term import Term, Terms
from tests.compare import assert_same
from tests.formulas import Formula, gradient, second_derivative

#: a formula, an element where it or its derivative is not finite, and one where both are
SINGULAR: dict[str, tuple[Formula, float, float]] = {
    "sqrt x at 0": (lambda m, x: m.sqrt(x), 0.0, 4.0),
    "sqrt x below 0": (lambda m, x: m.sqrt(x), -1.0, 4.0),
    "log x at 0": (lambda m, x: m.log(x), 0.0, 3.0),
    "log x below 0": (lambda m, x: m.log(x), -2.0, 3.0),
    "1/x at 0": (lambda m, x: 1 / x, 0.0, 2.0),
    "x/x at 0": (lambda m, x: x / x, 0.0, 2.0),
    "1/(x x) at 0": (lambda m, x: 1 / (x * x), 0.0, 2.0),
    "log1p at -1": (lambda m, x: m.log1p(x), -1.0, 2.0),
    "log1p below -1": (lambda m, x: m.log1p(x), -3.0, 2.0),
    "exp overflows": (lambda m, x: m.exp(-400 * x), -2.0, 1e-3),
    "expm1 overflows": (lambda m, x: m.expm1(-400 * x), -2.0, 1e-3),
    "x^(1/2) at 0": (lambda m, x: m.pow(x, 0.5), 0.0, 2.0),
    "x^-1 at 0": (lambda m, x: m.pow(x, -1), 0.0, 2.0),
    "x^x below 0": (lambda m, x: m.pow(x, x), -0.5, 2.0),
    "2^x overflows": (lambda m, x: m.pow(2, -1e4 * x), -2.0, 1e-4),
    "the norm at 0": (lambda m, x: m.sqrt(x * x), 0.0, 2.0),
    "x log x at 0": (lambda m, x: x * m.log(x), 0.0, 2.0),
    "sin(1/x) at 0": (lambda m, x: m.sin(1 / x), 0.0, 2.0),
    "tanh(1/x) at 0": (lambda m, x: m.tanh(1 / x), 0.0, 2.0),
    "sigmoid(log x) at 0": (lambda m, x: m.sigmoid(m.log(x)), 0.0, 2.0),
    "exp(exp) overflows": (lambda m, x: m.exp(m.exp(-4 * x)), -2.0, 0.5),
    "x/sqrt x at 0": (lambda m, x: x / m.sqrt(x), 0.0, 2.0),
    "sqrt(sqrt x) at 0": (lambda m, x: m.sqrt(m.sqrt(x)), 0.0, 2.0),
    "a product overflows": (lambda m, x: (x * x) * (x * x), -1e200, 2.0),
    "log2 below 0": (lambda m, x: m.log2(x), -2.0, 3.0),
    "log10 at 0": (lambda m, x: m.log10(x), 0.0, 3.0),
    "cbrt at 0": (lambda m, x: m.cbrt(x), 0.0, 2.0),
    "arcsin at 1": (lambda m, x: m.arcsin(x), 1.0, 0.25),
    "arccos beyond -1": (lambda m, x: m.arccos(x), -3.0, 0.25),
    "arctan(1/x) at 0": (lambda m, x: m.arctan(1 / x), 0.0, 2.0),
    "arctan2 at the origin": (lambda m, x: m.arctan2(x, x), 0.0, 2.0),
    "tan(1/x) at 0": (lambda m, x: m.tan(1 / x), 0.0, 2.0),
    "cosh overflows": (lambda m, x: m.cosh(400 * x), -2.0, 1e-3),
    "exp2 overflows": (lambda m, x: m.exp2(-1e4 * x), -2.0, 1e-4),
    "mod by 0": (lambda m, x: m.mod(2.5, x), 0.0, 2.0),
}


Mask = Callable[[Terms, Term, Term, Term], Term]


def _moved(m: Terms, g: Term) -> Term:
    folded = shape.reshape(m.b, g.value, shape=(1, 2, 1))
    turned = shape.transpose(m.b, folded, axes=(2, 1, 0))
    return m(shape.reshape(m.b, turned, shape=(2,)))


def _spread(m: Terms, g: Term) -> Term:
    """A select on a larger array, summed back."""
    return m(reduce.spread(m.b, g.value, shape=(3, 2), axes=(1,)))


def _summed(m: Terms, g: Term) -> Term:
    return m(reduce.sum_(m.b, g.value, axes=(0,)))


#: (m, g, x, p) -> what hides g where p does not hold, and the derivative there
MASKS: dict[str, tuple[Mask, float]] = {
    "where": (lambda m, g, x, p: m.select(p, g, 3 * x), 3.0),
    "where not": (lambda m, g, x, p: m.select(m.not_(p), 3 * x, g), 3.0),
    "where, scaled before": (lambda m, g, x, p: m.select(p, -2 * g, 3 * x), 3.0),
    "where, scaled after": (lambda m, g, x, p: 2 * m.select(p, g, 3 * x), 6.0),
    "where in where": (lambda m, g, x, p: m.select(p, m.select(p, g, 0), 3 * x), 3.0),
    "where of a function": (lambda m, g, x, p: m.select(p, m.sin(g), 3 * x), 3.0),
    "where, then a function": (lambda m, g, x, p: m.sin(m.select(p, g, 0 * x)), 0.0),
    "where, moved": (lambda m, g, x, p: m.select(p, _moved(m, g), 3 * x), 3.0),
    "where, twice": (lambda m, g, x, p: m.select(p, g, 3 * x) + m.select(p, g * g, 0), 3.0),
    "where on rows": (lambda m, g, x, p: _summed(m, m.select(_spread(m, p), _spread(m, g), _spread(m, x))), 3.0),
}


def _hidden(singular: str, mask: str) -> Formula:
    g, hide = SINGULAR[singular][0], MASKS[mask][0]
    return lambda m, x, p: hide(m, g(m, x), x, m.gt(p, 0))


#: every formula behind two masks, and every mask before four formulas
FEW = ["sqrt x at 0", "log x below 0", "tanh(1/x) at 0", "x^x below 0"]
PAIRS = [(s, m) for s in SINGULAR for m in MASKS if s in FEW or m in ("where", "where on rows")]


@pytest.mark.parametrize(("singular", "mask"), PAIRS)
def test_what_is_hidden_contributes_nothing(singular: str, mask: str) -> None:
    formula, slope = _hidden(singular, mask), MASKS[mask][1]
    _, bad, good = SINGULAR[singular]
    hides = np.array([0.0, 1.0])
    got, _ = gradient(formula, [bad, good], hides)
    clean, _ = gradient(formula, [good, good], hides)
    assert got[0] == slope
    assert_same([got[1:]], [clean[1:]])
    got = second_derivative(formula, np.array([bad, good]), hides)
    clean = second_derivative(formula, np.array([good, good]), hides)
    assert got[0] == 0
    assert_same([got[1:]], [clean[1:]])
