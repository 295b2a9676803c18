"""What a mask selects, x[mask], in functions of NumPy: one compilation for every mask, against differences."""

from typing import Any

import numpy as np
import pytest
import scipy.special
import scipy.stats

from pullback import grad, hvp, jit, value_and_grad

RNG = np.random.default_rng(0)
X = RNG.normal(size=12)
Y = RNG.normal(size=(12, 3))
W = RNG.uniform(0.5, 2.0, size=12)


def squares(x):
    return np.sum(x[x > 0] ** 2)


def logarithms(x):
    return np.mean(np.log(x[x > 0.1])) + np.sum(np.sqrt(x[x > 0.1]))


def centred(x):
    y = x[x > -0.5]
    y = y - y.mean()
    return np.sqrt(np.sum(y * y) / len(y)) + y.std(ddof=1) + np.var(y)


def extremes(x):
    y = x[np.abs(x) < 1.5]
    return y.max() * 2 - np.min(y) + np.sum(np.exp(y - np.max(y)))


def written_back(x):
    z = np.zeros_like(x)
    up = x > 0
    z[up] = x[up] ** 3
    z[~up] = np.exp(x[~up])
    return np.sum(np.sin(z))


def recomputed_mask(x):
    z = x.copy()
    z[x > 0] = 2 * x[x > 0] * W[x > 0]
    z[x < 0] *= 3.0
    z[x > 0] += x[x > 0] ** 2
    return np.sum(z**2)


def places(x):
    at = np.where(x > 0)[0]
    return np.sum(x[at] * W[at]) + np.sum(Y[at, 1] * x[at] ** 2) + np.sum(Y[at] * x[at][:, None])


def narrowed(x):
    keep = x > -1
    y = x[keep]
    at = np.flatnonzero(keep)[y < 1]
    z = x * 1.0
    z[at] = y[y < 1] ** 2
    return np.sum(z) + np.prod(1 + 0.1 * y[y < 1])


def regression(x):
    keep = x > -0.7
    A = np.column_stack([np.ones(keep.sum()), x[keep], x[keep] ** 2])
    c = np.linalg.lstsq(A, np.sin(x[keep]), rcond=None)[0]
    return np.sum((A @ c) ** 2) + c[1] + np.polyval(c, 0.3)


def normal_equations(x):
    keep = x > -0.7
    A = np.stack([np.ones(len(x[keep])), x[keep]], axis=1)
    b = W[keep] * x[keep] ** 2
    c = np.linalg.solve(A.T @ A, A.T @ b)
    return c[0] * c[1] + np.dot(x[keep], b) + np.linalg.norm(A @ c - b)


def fitted(x):
    keep = x > -0.7
    c = np.polyfit(x[keep], np.cos(x[keep]) * x[keep], 2)
    rest = np.polyval(c, x[keep]) - x[keep]
    return c @ c + np.mean(rest**2)


def columns(x):
    z = Y * x[:, None]
    keep = x > 0
    return np.sum(z[keep].sum(axis=0) ** 2) + np.sum(np.mean(z[keep, 1:], axis=1)) + np.sum(z[keep].T @ x[keep])


def of_two_axes(x):
    z = Y * x[:, None]
    z[z > 0] = np.log1p(z[z > 0])
    z[:, 0][z[:, 0] < 0] = 0.5
    return np.sum(z**2) + np.sum(z[z > 0.1])


def scattered(x):
    order = np.argsort(W)
    picked = order[x[order] > 0]
    z = x * 1.0
    z[picked] = x[picked] ** 2
    z[picked] += 1.0
    return np.sum(z**2)


def special(x):
    y = x[x > 0.2]
    return np.sum(scipy.special.gammaln(y)) + np.sum(scipy.stats.norm.logpdf(y, 0.1, 2.0)) + scipy.special.erf(y).sum()


def first_and_last(x):
    y = x[x > 0]
    total = y[0] * y[-1] + np.cumsum(y)[-1]
    for v in y:
        total = total + np.sin(v)
    return total + y[np.argmax(y)] ** 2


def where_inside(x):
    y, w = x[x > -1], W[x > -1]
    lines = np.interp(y, [-3, 0, 3], [0, 1, 4])
    return np.sum(np.where(y > 0, y * w, np.exp(y))) + np.average(y, weights=w) + lines.sum()


def if_any(x):
    y = x[x > 5]
    if len(y) > 0:
        return np.mean(y)
    if y.size == 0 and x[x > 0].size > 1:
        return np.sum(x[x > 0]) * 2
    return np.sum(x)


def helper(y):
    return np.array([y.mean(), y.std()])


def by_a_function(x):
    return np.sum(helper(x[x > 0]) * helper(x[x < 0]))


def in_a_loop(x):
    z, total = x * 1.0, 0.0
    for k in range(6):
        keep = z > 0.05 * k
        y = z[keep]
        z[keep] = y - 0.1 * y.mean()
        total = total + np.sum(y**2)
    return total + np.sum(z)


def in_place(x):
    y = x[x > 0]
    y *= 2.0
    y -= y.mean()
    return np.sum(y**4)


def added_at(x):
    """Forces between pairs that touch, whose number only places tell."""
    i, j = np.triu_indices(12, 1)
    apart = x[i] - x[j]
    touch = np.where(np.abs(apart) < 0.8)[0]
    push = (0.8 - np.abs(apart[touch])) * np.sign(apart[touch])
    force = np.zeros(12)
    np.add.at(force, i[touch], push)
    np.subtract.at(force, j[touch], push)
    np.add.at(force, i[touch], 0.5)
    return np.sum(force**2)


PROGRAMS = [
    squares, logarithms, centred, extremes, written_back, recomputed_mask, places, narrowed, regression, fitted,
    columns, normal_equations, of_two_axes, scattered, special, first_and_last, where_inside, if_any, by_a_function,
    in_a_loop, in_place, added_at,
]  # fmt: skip


def slope(f, x, v, h=1e-5):
    one = lambda h: (f(x + h * v) - f(x - h * v)) / (2 * h)  # noqa: E731
    return (4 * one(h / 2) - one(h)) / 3


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_values_and_two_derivatives(f):
    g, g1, g2 = value_and_grad(f), grad(f), hvp(f)
    for seed in range(3):
        rng = np.random.default_rng(seed)
        x, v = rng.normal(size=12), rng.normal(size=12)
        value, slopes = g(x)
        np.testing.assert_allclose(value, f(x), rtol=1e-12)
        np.testing.assert_allclose(slopes @ v, slope(f, x, v), rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(g2(x, v), slope(g1, x, v), rtol=1e-5, atol=1e-6)
    assert "values of the call" not in str(g.report())


def test_a_row_is_not_what_a_mask_of_two_axes_selects():
    def stored(x):
        z = np.outer(x, x)
        z[z > 0] = np.arange(4.0)
        return np.sum(z)

    with pytest.raises(ValueError, match="broadcast"):
        grad(stored)(np.array([1.0, -2.0, 3.0, 0.5]))


def test_what_is_empty_raises_what_numpy_raises():
    x = -np.ones(4)
    assert np.isnan(value_and_grad(lambda x: np.mean(x[x > 0]))(x)[0])
    for f, error in (
        (lambda x: np.max(x[x > 0]), ValueError),
        (lambda x: x[x > 0][0], IndexError),
        (lambda x: np.polyfit(x[x > 0], x[x > 0], 1)[0], TypeError),
    ):
        with pytest.raises(error):
            f(x)
        with pytest.raises(error):
            grad(f)(x)


def test_an_index_beyond_the_end_is_none():
    at = np.array([0, 7, 1, 2])

    def stored(x):
        z = x * 1.0
        z[at[x > 0]] = x[x > 0]
        return np.sum(z**2)

    np.testing.assert_allclose(grad(stored)(np.array([1.0, -1.0, 2.0, 3.0])), [2.0, 0.0, 4.0, 12.0])
    with pytest.raises(IndexError):
        grad(stored)(np.ones(4))


def test_aliases_of_what_is_changed_in_place_see_it():
    def changed(x):
        y = x[x > 0]
        other = y
        y *= 3.0
        return np.sum(other * y)

    x = np.array([1.0, -1.0, 2.0])
    np.testing.assert_allclose(grad(changed)(x), [18.0, 0.0, 36.0])


def test_what_has_no_whole_form_is_traced_for_each_mask():
    def differences(x):
        return np.sum(np.square(np.diff(np.sort(x[x > 0])))) + np.median(x[x < 0])

    for seed in range(2):
        x, v = np.random.default_rng(seed).normal(size=(2, 12))
        np.testing.assert_allclose(grad(differences)(x) @ v, slope(differences, x, v), rtol=1e-6)


def test_a_selection_that_is_returned_has_its_size():
    kept = jit(lambda x: x[x > 0] * 2)
    np.testing.assert_array_equal(kept(np.array([1.0, -1.0, 2.0])), [2.0, 4.0])
    np.testing.assert_array_equal(kept(np.array([1.0, -1.0, -2.0])), [2.0])


def test_a_mask_of_nothing_selects_nothing() -> None:
    def f(x: Any) -> Any:
        none = x[:0]
        return np.sum(none[none > 0.5] ** 3) + np.sum(x)

    np.testing.assert_array_equal(grad(f)(np.ones(3)), np.ones(3))
    assert jit(f)(np.ones(3)) == 3.0


def test_a_selection_of_a_selection_may_be_empty() -> None:
    def f(x: Any) -> Any:
        above = x[x > 0]
        return np.sum(above[above > 0.5] ** 3)

    for x in (np.ones(4), -np.ones(4)):
        np.testing.assert_array_equal(hvp(f)(x, np.ones(4)), np.where(x > 0.5, 6.0 * x, 0.0))
