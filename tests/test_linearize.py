"""linearize holds what its derivative needs; products take static arguments, and aux where it makes sense."""

import pickle
from typing import Any

import numpy as np
import pytest

import pullback as pb

ANY: Any = np.int64
X, W = np.linspace(0.2, 1.1, 5), np.linspace(-1, 1, 5)
A = np.arange(25.0).reshape(5, 5) / 20


def program(x, a):
    y = np.tanh(a @ x) * np.exp(-x)
    return {"y": y, "sums": (np.sum(y * y), [np.cumsum(x) * a[0]])}


def power(x, n):
    return x**n


def flat(tree):
    return np.concatenate([np.ravel(tree["y"]), np.ravel(tree["sums"][0]), np.ravel(tree["sums"][1][0])])


def test_the_linear_part_is_that_of_forward_mode() -> None:
    out, push = pb.linearize(program, X, A)
    np.testing.assert_allclose(flat(out), flat(program(X, A)), rtol=1e-14)
    for t in (W, X - 3):
        wanted = pb.jvp(program, (X, A), (t, A.T))[1]
        np.testing.assert_allclose(flat(push(t, A.T)), flat(wanted), rtol=1e-13)
    np.testing.assert_allclose(flat(push(2 * W, 2 * A)), 2 * flat(push(W, A)), rtol=1e-13)


def test_it_is_that_of_the_point_whatever_becomes_of_the_arrays() -> None:
    x, scale = X.copy(), np.array(3.0)
    _, push = pb.linearize(lambda x: np.sin(x) * scale, x)
    wanted = push(W)
    x[:], scale[...] = 7.0, 5.0
    np.testing.assert_array_equal(push(W), wanted)
    np.testing.assert_allclose(wanted, 3 * np.cos(X) * W, rtol=1e-15)


def test_nothing_of_the_function_is_run_again() -> None:
    _, push = pb.linearize(lambda x: np.exp(np.sin(np.exp(x))), X)
    again = push._halves._second.text("optimized")
    assert "exp" not in again and "sin" not in again
    assert len(push._saved) == 3  # the factors


@pytest.mark.parametrize("given", [1.5, np.float64(1.5), np.float32(1.5)], ids=str)
def test_numbers_keep_their_kinds(given: float) -> None:
    out, push = pb.linearize(lambda x: x * x, given)
    assert type(out) is type(push(given)) is type(given)
    assert push(given) == 2 * given * given


def test_loops_and_decisions() -> None:
    def settle(x):
        s = x
        while np.sum(s * s) > 0.1:
            s = np.sin(s) * 0.9
        return s

    def choose(x):
        return x**3 if x > 1 else x

    for f, x, t in ((settle, X, W), (choose, 2.0, 1.0), (choose, 0.5, 1.0)):
        out, push = pb.linearize(f, x)
        np.testing.assert_allclose(out, f(x), rtol=1e-14)
        np.testing.assert_allclose(push(t), pb.jvp(f, (x,), (t,))[1], rtol=1e-13)


def test_other_tangents_places_and_pickles() -> None:
    _, push = pb.linearize(power, 2.0, 3, argnums=0, static_argnums=-1)
    assert push(1.0) == 12.0 and push(np.float64(0.5)) == 6.0
    again = pickle.loads(pickle.dumps(push))
    assert again(1.0) == 12.0
    _, along = pb.linearize(lambda x: np.sin(x), X)
    into = np.zeros(5)
    assert along(W, out=into) is into
    np.testing.assert_allclose(into, np.cos(X) * W, rtol=1e-15)
    with pytest.raises(TypeError, match="has shape"):
        along(np.ones(3))
    with pytest.raises(TypeError, match="a tangent for each"):
        along()


def test_inside_traced_functions() -> None:
    def f(x):
        _, push = pb.linearize(lambda x: np.sum(x**3), x)
        return push(x)

    np.testing.assert_allclose(pb.grad(f)(X), 9 * X**2, rtol=1e-14)


def test_aux_and_static_arguments() -> None:
    def both(x, n):
        return x**n, {"n": n, "x": x + 1}

    out, push, aux = pb.linearize(both, 2.0, 3, has_aux=True, static_argnums=-1)
    assert (out, push(1.0), aux) == (8.0, 12.0, {"n": 3, "x": 3.0})
    out, back, aux = pb.vjp(both, 2.0, 3, has_aux=True, static_argnames="n")
    assert (out, back(1.0), aux["n"]) == (8.0, (12.0, None), 3)
    assert pb.jvp(power, (2.0, 3), (1.0,), static_argnums=1) == (8.0, 12.0)
    assert pb.linear_transpose(lambda x, n: (n * x, n), 2.0, 3, has_aux=True, static_argnums=1)(1.0) == (3.0,)
    assert pb.taylor(lambda x: (np.exp(x), "k"), 0.0, 1.0, 2, has_aux=True) == ((1.0, 1.0, 0.5), "k")
    assert pb.jet(lambda x: (np.sin(x), x + 1), (0.0,), ([1.0, 0.0],), has_aux=True) == (0.0, [1.0, 0.0], 1.0)
    assert pb.check(lambda x: (x**3, x), 2.0, has_aux=True).elements == 1
    with pytest.raises(ValueError, match="differentiated and static"):
        pb.vjp(power, 2.0, 3.0, argnums=1, static_argnums=1)
    with pytest.raises(TypeError, match="must return"):
        pb.taylor(np.exp, 0.0, 1.0, 2, has_aux=True)


@pytest.mark.parametrize("place", [-1, 1, np.int64(1), np.int32(-1), (1,), [np.int64(1)]], ids=repr)
def test_static_places_as_numpy_and_python_count(place: Any) -> None:
    assert pb.grad(power, static_argnums=place)(2.0, 3) == 12.0
    assert pb.grad(power, argnums=ANY(0), static_argnums=place)(2.0, 3) == 12.0
    assert pb.hvp(power, static_argnums=place)(2.0, 3, 1.0) == 12.0
    assert pb.jacobian(power, static_argnums=place)(2.0, 3) == 12.0


@pytest.mark.parametrize("place", [-3, 2, 1.5, None, "n", True])
def test_static_places_that_are_none(place: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="static_argnums has"):
        pb.grad(power, static_argnums=place)


def test_hashes_of_traced_values_are_those_of_numbers_or_errors() -> None:
    assert pb.grad(lambda x: hash(x) * x)(2.0) == 2.0
    with pytest.raises(TypeError, match=r"hash\(\) of a traced value"):
        pb.vmap(lambda x: hash(x) * 1.0)(X)
    with pytest.raises(TypeError, match="unhashable"):
        pb.jit(lambda x: {x: 1})(X)


def test_what_an_external_function_is_said_to_return_is_looked_at_once() -> None:
    for wrong in ("nonsense", "f64[2", object()):
        with pytest.raises(TypeError, match="its result is said to be"):
            pb.external(lambda x: x, wrong)
    assert pb.jit(pb.external(lambda x: 2 * x, "float"))(1.5) == 3.0
