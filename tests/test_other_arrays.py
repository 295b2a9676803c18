"""What NumPy has beside plain arrays, in traced functions: masked arrays, matrices, records, and columns of pandas."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.spatial

from pullback.runtime.transforms import grad

pytestmark = pytest.mark.filterwarnings("ignore:the matrix subclass")

spatial: Any = scipy.spatial
X = np.array([0.7, 1.2, 0.4])
SQUARE = np.arange(9.0).reshape(3, 3) + np.eye(3)
MASKED: Any = np.ma.array([1.0, 2.0, 3.0], mask=[False, True, False])


def _matrix() -> Any:
    return np.matrix(SQUARE)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.sum(_matrix() @ x), lambda x: np.sum(x @ _matrix()), lambda x: (_matrix() * x[:, None]).sum(),
        lambda x: np.sum(np.linalg.solve(_matrix(), x)), lambda x: np.sum(np.hstack([_matrix(), x[:, None]])),
        lambda x: np.einsum("ij,j->i", _matrix(), x)[0], lambda x: np.sum(np.matrix(np.diag(x))),
    ],
)  # fmt: skip
def test_matrices_are_refused(function: Callable[..., Any]) -> None:
    with pytest.raises(TypeError, match=r"(?s)matrix.*test_other_arrays.py.*np.asarray\(m\), with @"):
        grad(function)(X)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.sum(x * MASKED), lambda x: np.sum(MASKED * x), lambda x: np.dot(MASKED, x),
        lambda x: np.sum(np.where(MASKED > 1, x, 0.0)), lambda x: np.ma.masked_where(MASKED.mask, x).sum(),
        lambda x: np.sum(x * MASKED * MASKED.mask),
        lambda x: np.sum(x * np.ma.array([1.0, 2.0, 3.0], mask=MASKED.mask)),
        lambda x: np.ma.array(x).mean(),
    ],
)  # fmt: skip
def test_masked_arrays_are_refused(function: Callable[..., Any]) -> None:
    with pytest.raises(TypeError, match=r"(?s)test_other_arrays.py.*np.where\(mask, 0.0, x\)"):
        grad(function)(X)


def test_the_ways_out() -> None:
    mask = MASKED.mask
    mean = grad(lambda x: np.sum(np.where(mask, 0.0, x * MASKED.data)) / np.sum(~mask))(X)
    np.testing.assert_allclose(mean, [0.5, 0.0, 1.5])
    np.testing.assert_allclose(grad(lambda x: np.sum(x * MASKED.filled(0.0)) + MASKED.mean())(X), [1.0, 0.0, 3.0])
    np.testing.assert_allclose(grad(lambda x: np.sum(np.asarray(_matrix()) @ x))(X), SQUARE.sum(axis=0))


def test_compiled_functions_of_libraries_get_no_traced_arrays() -> None:
    """They have no frame of their own, so what they call looks like the user's call; some crashed."""
    tree, points = spatial.cKDTree(np.ones((2, 3))), np.sin(np.arange(15.0)).reshape(5, 3)
    with pytest.raises(TypeError, match=r"(?s)for scipy.spatial.ConvexHull\(\).*test_other_arrays.py"):
        grad(lambda a: spatial.ConvexHull(np.ascontiguousarray(a)).volume)(points)
    with pytest.raises(TypeError, match=r"(?s)for scipy.spatial.cKDTree.query\(\).*test_other_arrays.py"):
        grad(lambda a: np.sum(tree.query(a)[0]))(points)
    made = grad(lambda a: sum(np.sum(each**2) for each in map(np.ascontiguousarray, [a, a])))(points)
    np.testing.assert_allclose(made, 4 * points)
