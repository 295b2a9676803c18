"""Patterns that are given: one that misses an entry is an error at the first call, wherever that is made."""

from __future__ import annotations

import numpy as np
import pytest

from pullback import check, hessian, jacobian

DIAGONAL = np.eye(2)


def product(v):
    return np.stack([v[0] * v[1], v[1]])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("point", [[1.0, 0.0], [0.0, 0.0], [1.0, 5.0]])
def test_an_entry_that_is_zero_at_the_first_point_is_missed_all_the_same(point, dtype):
    with pytest.raises(ValueError, match="the pattern misses an entry in row 0"):
        jacobian(product, pattern=np.array([[0, 1], [0, 1]]))(np.array(point, dtype))


def test_so_it_is_for_a_hessian_and_in_containers():
    with pytest.raises(ValueError, match=r"hessian of .*misses an entry in row 0"):
        hessian(lambda v: v[0] ** 2 + v[0] ** 2 * v[1] ** 2, pattern=DIAGONAL)(np.zeros(2))
    given = {"a": np.zeros(2), "k": 3, "b": 0.0}
    f = lambda d: d["k"] * d["a"] * d["b"]  # noqa: E731
    whole = jacobian(f, pattern=np.array([[1, 0, 1], [0, 1, 1]]))
    assert np.array_equal(whole(given)["a"].toarray(), np.zeros((2, 2)))
    assert np.array_equal(whole({**given, "b": 2.0})["a"].toarray(), 6.0 * np.eye(2))
    with pytest.raises(ValueError, match="misses an entry"):
        jacobian(f, pattern=np.array([[1, 0, 1], [0, 1, 0]]))(given)


def test_where_the_function_is_not_defined_close_by_the_point_of_the_call_decides():
    def picky(v):
        if v[0] > 1.0:
            raise ValueError("beyond one")
        return 2.0 * v

    assert np.array_equal(jacobian(picky, pattern=DIAGONAL)(np.array([1.0, 0.0])).toarray(), 2.0 * DIAGONAL)
    edge = np.array([-1e-9, -1.0])
    made = jacobian(lambda v: np.sqrt(-v), pattern=DIAGONAL)(edge).toarray()
    assert np.allclose(made, np.diag(-0.5 / np.sqrt(-edge)))


def test_more_than_there_is_may_be_given():
    made = jacobian(lambda v: v * v, pattern=np.ones((2, 2)))(np.array([0.0, 3.0]))
    assert made.nnz == 4 and np.array_equal(made.toarray(), np.diag([0.0, 6.0]))


def test_check_finds_what_appears_far_from_the_first_point():
    def f(v):
        return np.stack([np.where(v[0] > 5, v[0] * v[1], v[1]), v[1]])

    near, far = np.array([1.0, 2.0]), np.array([6.0, 2.0])
    missing = jacobian(f, pattern=np.array([[0, 1], [0, 1]]))
    missing(near)
    assert check(missing, near).elements == 2
    with pytest.raises(AssertionError, match=r"gradient for v\[0\] is 0.0(.|\n)*pattern may miss one"):
        check(missing, far)
    assert check(jacobian(f, pattern=np.array([[1, 1], [0, 1]])), far).worst < 1e-12
    with pytest.raises(ValueError, match="misses an entry in row 0"):
        check(jacobian(f, pattern=np.array([[0, 1], [0, 1]])), far)
    curved = hessian(lambda v: np.where(v[0] > 5, v[0] * v[1], 1.0) + np.sum(v**3), pattern=DIAGONAL)
    curved(near)
    with pytest.raises(AssertionError, match="pattern may miss one"):
        check(curved, far)


def test_check_takes_what_sparse_derivatives_are_made_with():
    def f(k, d, n):
        return (np.sum(d["a"] ** n * d["b"]) * k, "aux")

    made = hessian(f, argnums=("d", 0), has_aux=True, sparse=True, static_argnums=2)
    assert check(made, 2.0, {"a": np.array([1.0, 2.0]), "s": "x", "b": 3.0}, 3).elements == 4
    blocks = jacobian(lambda d: {"p": d["a"] * d["b"], "q": d["b"][1:]}, sparse=True)
    assert check(blocks, {"a": np.array([1.0, 2.0]), "b": np.array([3.0, 4.0])}).worst < 1e-12
