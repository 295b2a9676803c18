"""Jacobians and Hessians of functions whose results and arguments are containers: the same containers of blocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

from pullback import grad, hessian, jacfwd, jacrev, jit, vmap

X = np.array([1.0, 2.0, 3.0])
BOTH = pytest.mark.parametrize("jacobian", [jacfwd, jacrev])


class Pair(NamedTuple):
    u: Any
    v: Any


def same(made: Any, wanted: Any) -> None:
    """The same containers, and arrays of the same shapes and values."""
    assert type(made) is type(wanted)
    if isinstance(wanted, dict):
        assert list(made) == list(wanted)
        made, wanted = list(made.values()), list(wanted.values())
    if isinstance(wanted, (list, tuple)):
        assert len(made) == len(wanted)
        for a, b in zip(made, wanted, strict=True):
            same(a, b)
    elif wanted is not None:
        assert made.shape == wanted.shape and made.dtype == wanted.dtype
        np.testing.assert_allclose(made, wanted, rtol=1e-14, atol=1e-14)


def several(x):
    return {"first": x[0], "more": Pair(x * x, [np.sin(x[1]), (x[:2], None)])}


def several_blocks(x: np.ndarray) -> Any:
    unit = np.eye(3)
    return {"first": unit[0], "more": Pair(np.diag(2 * x), [np.cos(x[1]) * unit[1], (unit[:2], None)])}


@BOTH
def test_results_in_containers(jacobian: Callable[..., Any]) -> None:
    same(jacobian(lambda x: [x, 2 * x])(X), [np.eye(3), 2 * np.eye(3)])
    same(jacobian(lambda x: (x[:2], np.sum(x)))(X), (np.eye(3)[:2], np.ones(3)))
    same(jacobian(several)(X), several_blocks(X))
    same(jacobian(lambda x: (x * x, [x]))(2.0), (np.array(4.0), [np.array(1.0)]))
    same(jacobian(lambda x: (x[0], 1.0, np.ones(2)))(X), (np.eye(3)[0], np.zeros(3), np.zeros((2, 3))))
    same(jacobian(lambda x: (x[:0], x[:1]))(X), (np.zeros((0, 3)), np.eye(3)[:1]))
    same(jacobian(lambda x: (2 * x, np.sum(x)))(np.zeros(0)), (np.zeros((0, 0)), np.zeros(0)))
    same(jacobian(lambda x, k, n: [k * x, x**n])(X, 2, 3), [2 * np.eye(3), np.diag(3 * X**2)])


@BOTH
def test_arguments_in_containers(jacobian: Callable[..., Any]) -> None:
    made = jacobian(lambda p: (p["w"] * p["b"], np.sum(p["w"])))({"w": X, "b": 2.0})
    same(made, ({"w": 2 * np.eye(3), "b": X}, {"w": np.ones(3), "b": np.array(0.0)}))
    made = jacobian(lambda p: p[0] * p[1].v)([X, Pair(1.0, X + 1)])
    same(made, [np.diag(X + 1), Pair(np.zeros(3), np.diag(X))])


@BOTH
def test_more_rows_than_one_call_makes(jacobian: Callable[..., Any]) -> None:
    x = np.linspace(0.0, 1.0, 150)
    same(jacobian(lambda x: [x * x, x[:3]])(x), [np.diag(2 * x), np.eye(150)[:3]])


@BOTH
def test_containers_in_other_transforms(jacobian: Callable[..., Any]) -> None:
    same(jit(lambda x: jacobian(several)(x))(X), several_blocks(X))
    lanes = vmap(jacobian(lambda x: (x * x, {"s": np.sum(x)})))(np.stack([X, X + 1]))
    same(lanes, (np.stack([np.diag(2 * X), np.diag(2 * X + 2)]), {"s": np.ones((2, 3))}))
    slope = grad(lambda x: sum(np.sum(block**2) for block in jacobian(lambda x: [x * x, x**3])(x)))
    same(slope(X), 8 * X + 36 * X**3)
    blocks = jacobian(jacobian(lambda x: [x**3]))(X)
    same(blocks, [np.einsum("ij,jk->ijk", np.eye(3), np.diag(6 * X))])


def test_dtypes_of_blocks() -> None:
    x = np.ones(2, np.float32)
    same(jacfwd(lambda x: [x, x.astype(np.float64)])(x), [np.eye(2, dtype=np.float32), np.eye(2)])
    same(jacrev(lambda x: [x, x.astype(np.float64)])(x), [np.eye(2, dtype=np.float32)] * 2)


def test_hessians_in_containers() -> None:
    made = hessian(lambda p: np.sum(p["w"] ** 2) * p["b"] ** 2)({"w": X, "b": 3.0})
    mixed = 12 * X
    same(made, {"w": {"w": 18 * np.eye(3), "b": mixed}, "b": {"w": mixed, "b": np.array(28.0)}})
    swap = np.array([[0.0, 1.0], [1.0, 0.0]])
    same(hessian(lambda x: (np.sum(x**3), [x[0] * x[1]]))(X[:2]), (np.diag(6 * X[:2]), [swap]))
    same(vmap(hessian(lambda x: [np.sum(x**3)]))(X.reshape(3, 1)), [6 * X.reshape(3, 1, 1)])
    same(hessian(lambda x: x**3)(X[:2]), np.einsum("ij,jk->ijk", np.eye(2), np.diag(6 * X[:2])))
    same(hessian(lambda x: {"a": x**3})(2.0), {"a": np.array(12.0)})


@BOTH
def test_places_for_blocks(jacobian: Callable[..., Any]) -> None:
    f = jacobian(lambda x: [x, {"two": 2 * x}])
    place = np.zeros((3, 3))
    made = f(X, out=[None, {"two": place}])
    assert made[1]["two"] is place and np.array_equal(place, 2 * np.eye(3)) and np.array_equal(made[0], np.eye(3))
    given = [np.zeros((3, 3)), {"two": place}]
    assert f(X, out=given) is given and np.array_equal(given[0], np.eye(3))
    with pytest.raises(TypeError, match="out is a tuple of 2, expected a list of 2, or None"):
        f(X, out=(None, None))
    with pytest.raises(ValueError, match=r"out\[1\]\['two'\] has shape \(3,\), expected \(3, 3\)"):
        f(X, out=[None, {"two": X.copy()}])


@BOTH
@pytest.mark.parametrize(("f", "said"), [
    (lambda x: (x[0], 3), r"the result\[1\] is a Python int"),
    (lambda x: {"y": x, "k": np.argmax(x)}, r"the result\['k'\] is an? .* of int64"),
    (lambda x: [x, "text"], r"the result\[1\] is 'text'"),
    (lambda x: x > 0.0, "the result is an array of bool"),
    (lambda x: None, "the result is None"),
])
def test_results_that_are_no_floats(jacobian: Callable[..., Any], f: Callable[..., Any], said: str) -> None:
    with pytest.raises(TypeError, match=rf"{jacobian.__name__} of <lambda> needs floats; {said}(.|\n)*test_jacobians"):
        jacobian(f)(X)


@BOTH
@pytest.mark.parametrize(("x", "said"), [
    (np.arange(3), "argument x is an array of int64"),
    (3, "argument x is a Python int(.|\\n)*fix: pass float"),
    ((X, np.arange(3)), r"argument x\[1\] is an array of int64"),
    ([], r"argument x is \[\]"),
    (X + 1j, "the result is complex"),
])
def test_arguments_that_are_no_floats(jacobian: Callable[..., Any], x: Any, said: str) -> None:
    with pytest.raises(TypeError, match=said):
        jacobian(lambda x: x[0] * 2.0)(x)


def test_hessians_name_what_is_no_float() -> None:
    with pytest.raises(TypeError, match=r"hessian of <lambda> needs floats; the result\[1\] is a Python int"):
        hessian(lambda x: [np.sum(x**2), 3])(X)
    with pytest.raises(TypeError, match="hessian of <lambda> needs floats; argument x is an array of int64"):
        hessian(lambda x: np.sum(x**2))(np.arange(3))
