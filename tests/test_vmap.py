"""vmap, and the Jacobians and products made with it, against loops over lanes and numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback as torch
from pullback import cond as choose
from pullback import fori_loop, grad, hessian, hvp, jacfwd, jacrev, jit, jvp, vmap, while_loop

RNG = np.random.default_rng(7)
ROWS = RNG.normal(size=(6, 3))
TABLE = RNG.normal(size=(4, 3))
ONE = np.array([0.3, -1.2, 0.8])
PICKS = np.array([0, 3, 1, 1, 2, 0])


def energy(x: Any) -> Any:
    return np.sum(np.tanh(x) ** 2) + x[0] * x[1]


def lookup(k: Any, x: Any, table: Any) -> Any:
    return table[k] @ x


FUNCTIONS: list[tuple[Callable[..., Any], tuple[Any, ...], tuple[Any, ...]]] = [
    (lambda x: 2.0 * x + 1.0, (ROWS,), (0,)),
    (energy, (ROWS,), (0,)),
    (grad(energy), (ROWS,), (0,)),
    (lambda x, y: x @ y, (ROWS, ROWS), (0, 0)),
    (lambda x, w: np.tanh(w @ x), (ROWS, TABLE), (0, None)),
    (lambda x, w: np.tanh(w @ x), (ONE, np.stack([TABLE] * 2)), (None, 0)),
    (lambda x: x[::-1] * x[:1], (ROWS,), (0,)),
    (lookup, (PICKS, ROWS, TABLE), (0, 0, None)),
    (lambda x, k: x[k], (ROWS, PICKS % 3), (0, 0)),
    (lambda x: np.where(x > 0, x, np.exp(x)).max(), (ROWS,), (0,)),
    (lambda x: np.concatenate([x, x * x]).reshape(2, 3).T, (ROWS,), (0,)),
    (lambda x: {"a": x.sum(), "b": (x[0], x[1:])}, (ROWS,), (0,)),
    (lambda x, y: np.outer(x, y), (ROWS, ROWS.T), (0, 1)),
]


def lanes(function: Callable[..., Any], args: tuple[Any, ...], axes: tuple[Any, ...]) -> list[Any]:
    """What the function gives for each lane alone."""
    size = next(a.shape[axis] for a, axis in zip(args, axes, strict=True) if axis is not None)
    made = []
    for k in range(size):
        made.append(function(*[a if axis is None else np.take(a, k, axis) for a, axis in zip(args, axes, strict=True)]))
    return made


def flat(tree: Any) -> list[Any]:
    if isinstance(tree, dict):
        return [leaf for each in tree.values() for leaf in flat(each)]
    if isinstance(tree, (list, tuple)):
        return [leaf for each in tree for leaf in flat(each)]
    return [np.asarray(tree)]


@pytest.mark.parametrize("k", range(len(FUNCTIONS)))
def test_lanes(k: int) -> None:
    function, args, axes = FUNCTIONS[k]
    made = flat(vmap(function, in_axes=axes)(*args))
    for column, want in zip(made, zip(*map(flat, lanes(function, args, axes)), strict=True), strict=True):
        np.testing.assert_allclose(column, np.stack(want), rtol=1e-14, atol=1e-14)


def test_nested_and_under_grad() -> None:
    distance = lambda x, y: np.sqrt(np.sum((x - y) ** 2))  # noqa: E731
    table = vmap(vmap(distance, in_axes=(None, 0)), in_axes=(0, None))(ROWS, TABLE)
    np.testing.assert_allclose(table, np.linalg.norm(ROWS[:, None] - TABLE[None], axis=2), rtol=1e-14)
    slope = grad(lambda w: np.sum(vmap(lambda x: np.tanh(x @ w))(ROWS)))(ONE)
    np.testing.assert_allclose(slope, (1 - np.tanh(ROWS @ ONE) ** 2) @ ROWS, rtol=1e-13)


def test_axes_of_trees_and_results() -> None:
    made = vmap(lambda d, s: d["x"] * s["k"], in_axes=({"x": 1, "y": None}, None), out_axes=1)
    found = made({"x": ROWS, "y": ONE}, {"k": 2.0})
    np.testing.assert_array_equal(found, 2.0 * ROWS)


def test_what_comes_beside_the_value() -> None:
    value, aux = vmap(lambda x: (x * ONE, {"sum": np.sum(x)}), out_axes=1, has_aux=True)(ROWS)
    np.testing.assert_array_equal(value, (ROWS * ONE).T)
    np.testing.assert_allclose(aux["sum"], ROWS.sum(1), rtol=1e-14)
    slopes, aux = vmap(grad(lambda x: (np.sum(x**3), x[0]), has_aux=True), has_aux=True)(ROWS)
    np.testing.assert_allclose(slopes, 3 * ROWS**2, rtol=1e-14)
    np.testing.assert_array_equal(aux, ROWS[:, 0])
    with pytest.raises(TypeError, match=r"out_axes is \(0, 0\), expected .*, got one result"):
        vmap(lambda x: x, has_aux=True)(ROWS)


def test_branches_under_masks() -> None:
    """Lanes part at a branch: both arms are made, each lane takes its own, and the gradient is that arm's."""
    function = lambda x: choose(x > 0.0, np.sqrt, lambda x: -x, x)  # noqa: E731
    x = np.array([4.0, -2.0, 0.0, 9.0])
    with np.errstate(invalid="ignore"):
        assert vmap(function)(x).tolist() == [2.0, 2.0, 0.0, 3.0]
    assert vmap(grad(function))(x).tolist() == [0.25, -1.0, -1.0, 1 / 6]


def test_loops_of_shared_and_of_own_lengths() -> None:
    power = lambda x, n: fori_loop(0, n, lambda i, p: p * x, 1.0)  # noqa: E731
    x, n = np.array([2.0, 3.0, 0.5]), np.array([3, 0, 2])
    assert vmap(power, in_axes=(0, None))(x, 3).tolist() == [8.0, 27.0, 0.125]
    assert vmap(power)(x, n).tolist() == [8.0, 1.0, 0.25]
    root = lambda a: while_loop(lambda x: abs(x * x - a) > 1e-12, lambda x: 0.5 * (x + a / x), a)  # noqa: E731
    np.testing.assert_allclose(vmap(grad(root))(np.array([4.0, 9.0, 2.0])), [0.25, 1 / 6, 0.125**0.5], rtol=1e-9)


def test_tensors_keep_their_history() -> None:
    double = vmap(lambda row, k: (row * row).sum() * k, in_dims=(0, None))
    assert double(ROWS, 2.0).shape == (6,)
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    y = double(x, 2.0)
    assert y.requires_grad
    y.sum().backward()
    assert x.grad.tolist() == [[4.0, 8.0], [12.0, 16.0]]


def test_products_and_jacobians() -> None:
    f = lambda x, a: np.stack([x[0] * x[1] * a, np.sin(x[2]), x[0] ** 3])  # noqa: E731
    a, v = 1.7, np.array([0.5, -1.0, 2.0])
    x = ONE
    exact = np.array([[x[1] * a, x[0] * a, 0], [0, 0, np.cos(x[2])], [3 * x[0] ** 2, 0, 0]])
    for made in (jacrev(f), jacfwd(f), jit(jacrev(f)), jit(jacfwd(f))):
        np.testing.assert_allclose(made(x, a), exact, rtol=1e-14, atol=1e-15)
    value, tangent = jvp(lambda x: f(x, a), (x,), (v,))
    np.testing.assert_allclose(value, f(x, a), rtol=1e-15)
    np.testing.assert_allclose(tangent, exact @ v, rtol=1e-14)
    assert jacrev(lambda x: x**3)(2.0) == 12.0
    assert jacfwd(lambda x: x**3)(2.0) == 12.0


def test_hessian_of_many_rows() -> None:
    x = np.linspace(0.1, 1.0, 70)
    f = lambda x: np.sum(np.sin(x)) + x[0] * x[69] ** 2  # noqa: E731
    exact = np.diag(-np.sin(x))
    exact[0, 69] = exact[69, 0] = 2 * x[69]
    exact[69, 69] += 2 * x[0]
    np.testing.assert_allclose(hessian(f)(x), exact, rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(hvp(f)(x, x), exact @ x, rtol=1e-13)


three: Any = 3
one: Any = 1.0


def powers(x: Any, n: int, mode: str = "all") -> Any:
    out = np.zeros(n)
    for k in range(n):
        out[k] = x**k
    return out if mode == "all" else {"sum": np.sum(out)}


def test_static_arguments_are_shared_by_all_lanes() -> None:
    x = np.array([2.0, 3.0])
    wanted = np.array([[1.0, 2.0, 4.0], [1.0, 3.0, 9.0]])
    for mapped in (vmap(powers, static_argnums=1), vmap(powers, (0, None), static_argnums=1)):
        assert np.array_equal(mapped(x, 3), wanted)
        assert np.array_equal(mapped(x, 2), wanted[:, :2])
    named = vmap(powers, static_argnames=("n", "mode"))
    assert np.array_equal(named(x, 3, mode="sum")["sum"], wanted.sum(1))
    assert np.array_equal(named(x, n=3), wanted)
    slopes = jacrev(vmap(powers, static_argnums=1))(x, 3)
    assert np.array_equal(slopes[0, :, 0], [0.0, 1.0, 4.0]) and not slopes[0, :, 1].any()
    with pytest.raises(ValueError, match="static_argnums has 7, but the signature is"):
        vmap(powers, static_argnums=7)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: vmap(three), TypeError, "vmap takes a function, got int: 3"),
        (lambda: vmap(energy, axes=0), TypeError, "vmap has no argument axes; it takes in_axes and out_axes"),
        (lambda: vmap(energy, in_axes=(0, 0))(ROWS), ValueError, "in_axes has 2 axes for 1 arguments"),
        (lambda: vmap(energy, in_axes=2)(ROWS), TypeError, "has 2 axes, and none with number 2"),
        (lambda: vmap(lambda x, y: x @ y)(ROWS, TABLE), ValueError, "different numbers of lanes: 6, 4"),
        (lambda: vmap(energy, in_axes=None)(ROWS), ValueError, "in_axes is None for all of them"),
        (lambda: vmap(energy, in_axes=("a",))(ROWS), TypeError, "in_axes of argument 0 is 'a'"),
        (lambda: jvp(np.sin, one, one), TypeError, "jvp takes a tuple of primals, got float"),
        (lambda: jvp(np.sin, (1.0,), ()), TypeError, "got 1 primals and 0 tangents"),
        (lambda: jacrev(energy)(np.arange(2)), TypeError, "jacrev of energy needs floats; argument x is an array"),
    ],
)
def test_wrong_calls(call: Callable[[], Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words.replace("(", r"\(")):
        call()
