"""Transforms of functions of Tensors: the results of `func.*`, numbers beside them, and errors in words."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback as pb

A, B = np.array([0.3, -1.2, 0.7]), np.array([1.1, 0.4, -0.6])


def tensor(array: np.ndarray) -> Any:
    return pb.tensor(array.tolist(), dtype=pb.float64)


def energy(t: Any) -> Any:
    return (t.sin() * pb.linalg.norm(t)).sum() + t.std()


def of_dict(d: Any) -> Any:
    return energy(d["a"]) * d["b"].exp().sum()


def rows(t: Any) -> Any:
    return t * pb.linalg.norm(t)


def alike(made: Any, wanted: Any) -> None:
    assert type(made) is type(wanted)
    if isinstance(made, dict):
        assert made.keys() == wanted.keys()
        for key in made:
            alike(made[key], wanted[key])
    elif isinstance(made, (tuple, list)):
        for one, other in zip(made, wanted, strict=True):
            alike(one, other)
    else:
        assert made.dtype == wanted.dtype and made.requires_grad == wanted.requires_grad
        np.testing.assert_array_equal(made.detach().numpy(), wanted.detach().numpy())


def numbers(f: Callable[[Any], Any], x: np.ndarray) -> np.ndarray:
    """Central differences of a function of one vector, along the last axis."""
    h, made = 1e-6, []
    for k in range(len(x)):
        step = h * np.eye(len(x))[k]
        made.append((f(tensor(x + step)).numpy() - f(tensor(x - step)).numpy()) / (2 * h))
    return np.stack(made, -1)


TRANSFORMS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "grad": (lambda m, f, x: m.grad(f)(x), lambda f, x: numbers(f, x)),
    "hessian": (lambda m, f, x: m.hessian(f)(x), lambda f, x: numbers(pb.func.grad(f), x)),
    "grad of grad": (lambda m, f, x: m.grad(lambda t: m.grad(f)(t).sum())(x),
                     lambda f, x: numbers(pb.func.grad(f), x).sum(0)),
    "jacrev of grad": (lambda m, f, x: m.jacrev(m.grad(f))(x), lambda f, x: numbers(pb.func.grad(f), x)),
    "jacfwd of grad": (lambda m, f, x: m.jacfwd(m.grad(f))(x), lambda f, x: numbers(pb.func.grad(f), x)),
}  # fmt: skip


@pytest.mark.parametrize("name", TRANSFORMS)
def test_scalars_are_those_of_func_and_of_numbers(name: str) -> None:
    transform, reference = TRANSFORMS[name]
    made = transform(pb, energy, tensor(A))
    alike(made, transform(pb.func, energy, tensor(A)))
    np.testing.assert_allclose(made.numpy(), reference(energy, A), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", ["grad", "hessian", "jacrev", "jacfwd"])
@pytest.mark.parametrize("has_b", [True, False])
def test_dicts_of_tensors(name: str, has_b: bool) -> None:
    given = {"a": tensor(A), "b": tensor(B)}
    f: Any = of_dict if has_b else lambda d: energy(d["a"])
    alike(getattr(pb, name)(f)(given), getattr(pb.func, name)(f)(given))


@pytest.mark.parametrize("name", ["jacrev", "jacfwd"])
def test_jacobians(name: str) -> None:
    made = getattr(pb, name)(rows)(tensor(A))
    alike(made, getattr(pb.func, name)(rows)(tensor(A)))
    np.testing.assert_allclose(made.numpy(), numbers(rows, A), rtol=1e-6)
    alike(getattr(pb, name)(lambda t, k: rows(t) * k)(tensor(A), 2.0), made * 2)


def test_products() -> None:
    x, v = tensor(A), tensor(B)
    alike(pb.jvp(rows, (x,), (v,)), pb.func.jvp(rows, (x,), (v,)))
    value, pulled = pb.vjp(rows, x)
    wanted, wanted_pulled = pb.func.vjp(rows, x)
    alike(value, wanted)
    alike(pulled(v), wanted_pulled(v))
    np.testing.assert_allclose(pb.hvp(energy)(x, v).numpy(), pb.func.hessian(energy)(x).numpy() @ B)
    scaled = pb.hvp(lambda t, k: energy(t) * k)(x, 2.0, v)
    np.testing.assert_allclose(scaled.numpy(), 2 * pb.func.hessian(energy)(x).numpy() @ B)


def test_lanes_of_both_kinds_nest() -> None:
    both = pb.stack([tensor(A), tensor(B)])
    wanted = pb.func.vmap(pb.func.grad(energy))(both)
    for made in (pb.vmap(pb.grad(energy))(both), pb.func.vmap(pb.grad(energy))(both),
                 pb.vmap(pb.func.grad(energy))(both),
                 pb.grad(lambda t: pb.vmap(energy)(t).sum())(both),
                 pb.jit(pb.vmap(pb.grad(energy)))(both)):  # fmt: skip
        np.testing.assert_allclose(made.numpy(), wanted.numpy(), rtol=1e-14)
    hessian = pb.vmap(pb.hessian(energy))(both)[0]
    np.testing.assert_allclose(hessian.numpy(), numbers(pb.func.grad(energy), A), rtol=1e-6)


def test_values_aux_argnums_and_names() -> None:
    x, y = tensor(A), tensor(B)

    @pb.value_and_grad(argnums=(0, 2), has_aux=True)
    def step(a: Any, k: float, b: Any) -> Any:
        return energy(a) * k + energy(b), (a + b, "text")

    (value, (total, text)), slopes = step(x, 2.0, y)
    alike(value, energy(x) * 2 + energy(y))
    alike(total, x + y)
    assert text == "text"
    alike(slopes, (pb.func.grad(lambda a: energy(a) * 2)(x), pb.func.grad(energy)(y)))
    alike(step(x, b=y, k=2.0)[1], slopes)
    alike(pb.grad(lambda k, t: energy(t) * k, argnums=-1)(2.0, x), slopes[0])


def test_methods_count_after_self() -> None:
    class Model:
        scale = 3.0

        @pb.grad(argnums=1)
        def slope(self, t: Any, u: Any) -> Any:
            return self.scale * energy(u) + t.sum()

    alike(Model().slope(tensor(A), tensor(B)), pb.func.grad(lambda u: 3.0 * energy(u))(tensor(B)))


def test_history_of_what_is_outside_is_kept() -> None:
    w = tensor(B).requires_grad_()
    slope = pb.grad(lambda t: (t.sin() * w).sum())(tensor(A))
    slope.sum().backward()
    np.testing.assert_allclose(w.grad.numpy(), np.cos(A))
    u = tensor(A).requires_grad_()
    pb.jit(lambda d: (d["u"].sin() * pb.linalg.norm(d["u"])).sum() * d["k"])({"u": u, "k": 2.0}).backward()
    alike(u.grad, 2 * pb.func.grad(lambda t: (t.sin() * pb.linalg.norm(t)).sum())(tensor(A)))
    with pb.no_grad():
        assert not pb.jit(energy)(u).requires_grad


def test_modules_by_their_parameters() -> None:
    model = pb.nn.Linear(3, 1)
    x, parameters = pb.ones(3), dict(model.named_parameters())

    def loss(p: Any) -> Any:
        return pb.func.functional_call(model, p, (x,)).square().sum()

    alike(pb.grad(loss)(parameters), pb.func.grad(loss)(parameters))
    alike(pb.jit(model)(x), model(x))


@pytest.mark.parametrize("f", [lambda t: np.sum(np.sin(t) * t), lambda t: np.dot(t, t) * np.sin(t).sum()])
def test_functions_of_numpy_take_tensors_still(f: Any) -> None:
    x = tensor(A)
    made = pb.grad(f)(x)
    assert isinstance(made, pb.Tensor)
    np.testing.assert_allclose(made.numpy(), pb.grad(f)(A))
    assert isinstance(pb.jit(f)(x), pb.Tensor)
    np.testing.assert_allclose(pb.hvp(f)(x, x).numpy(), pb.hvp(f)(A, A))


def test_what_a_tensor_means_is_a_tensors_meaning() -> None:
    assert pb.jit(lambda t: t.std())(tensor(A)).item() == pytest.approx(np.std(A, ddof=1))
    assert pb.jit(lambda t: t.std())(A) == pytest.approx(np.std(A))
    assert pb.jit(lambda t: t.max(0).indices)(tensor(A)).item() == 2


CONSTANTS: dict[str, Callable[[Any], Any]] = {
    "np.pi": lambda t: (t * np.pi).std() / np.pi,
    "math.e": lambda t: (t * math.e).std() / math.e,
    "np.newaxis": lambda t: t[np.newaxis].std(),
    "np.inf inside": lambda t: min((t.std(), np.inf), key=lambda m: float(m > np.inf)),
}


@pytest.mark.parametrize("name", CONSTANTS)
def test_constants_of_numpy_and_math_say_nothing_of_arguments(name: str) -> None:
    assert pb.jit(CONSTANTS[name])(tensor(A)).item() == pytest.approx(np.std(A, ddof=1))


def test_functions_that_name_numpy_or_math_are_of_arrays_and_run_once(capsys: pytest.CaptureFixture[str]) -> None:
    def of_math(t: Any) -> Any:
        return math.sin(t[0]) * t[1]  # a Tensor would give math a float, and no gradient

    np.testing.assert_allclose(pb.grad(of_math)(tensor(A)).numpy(), [A[1] * np.cos(A[0]), np.sin(A[0]), 0.0])

    def helper(t: Any) -> Any:
        import numpy

        print("here")
        return numpy.sum(t * t)

    np.testing.assert_allclose(pb.grad(lambda t: 2.0 * helper(t))(tensor(A)).numpy(), 4 * A)
    assert capsys.readouterr().out == "here\n"


MIXED: dict[str, Callable[[Any], Any]] = {
    "an array": lambda t: pb.linalg.solve(pb.outer(t, t) + pb.tensor(np.eye(3)), t).sum(),
    "a literal": lambda t: (t * pb.tensor(np.array([1.0, 2.0, 3.0]))).exp().sum(),
    "np.sqrt of a size": lambda t: pb.linalg.norm(t) / np.sqrt(len(t)),
    "math.sqrt of a size": lambda t: (pb.softmax(t / math.sqrt(t.shape[0]), 0) * t).sum(),
    "from_numpy": lambda t: (pb.linalg.inv(pb.diag(t)) @ pb.from_numpy(np.ones(3))).sum(),
    "a function of nn": lambda t: pb.nn.functional.softplus(t * float(np.log(3.0))).sum(),
}


@pytest.mark.parametrize("name", MIXED)
def test_functions_of_tensors_may_name_numpy_for_what_is_constant(name: str) -> None:
    """They were taken for functions of arrays, which Tensors' functions refused."""
    f, x = MIXED[name], tensor(A)
    np.testing.assert_allclose(pb.grad(f)(x).numpy(), pb.func.grad(f)(x).numpy(), rtol=1e-12)
    np.testing.assert_allclose(pb.value_and_grad(f)(x)[0].numpy(), f(x).numpy(), rtol=1e-12)
    np.testing.assert_allclose(pb.hessian(f)(x).numpy(), pb.func.hessian(f)(x).numpy(), rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(pb.jit(f)(x).numpy(), f(x).numpy(), rtol=1e-12)
    wide = pb.stack([x, 2 * x])
    np.testing.assert_allclose(pb.vmap(f)(wide).numpy(), [f(x).item(), f(2 * x).item()], rtol=1e-12)
    np.testing.assert_allclose(pb.grad(f)(x).numpy(), numbers(f, A), rtol=1e-6)


def test_options_without_meaning_are_refused() -> None:
    x = tensor(A)
    for call in (pb.grad(energy), pb.jit(energy), pb.hessian(energy), pb.jacrev(rows), pb.jacfwd(rows)):
        with pytest.raises(TypeError, match="out must be None"):
            call(x, out=np.zeros(3))
    with pytest.raises(TypeError, match="max_memory is for functions of arrays"):
        pb.grad(energy, max_memory="1 MB")(x)
    with pytest.raises(TypeError, match="gradcheck"):
        pb.check(energy, x)
    with pytest.raises(RuntimeError, match="scalar tensor"):
        pb.grad(rows)(x)


def test_chosen_arguments_and_aux() -> None:
    t, u = tensor(A), tensor(B)

    def f(k: Any, x: Any, y: Any) -> Any:
        return (x.sin() * y).sum() * k, k

    slope, aux = pb.grad(f, argnums=(1, 2), has_aux=True)(2, t, u)
    alike(slope, (2 * t.cos() * u, 2 * t.sin()))
    assert aux == 2
    h, aux = pb.hessian(f, argnums=1, has_aux=True)(2, t, u)
    np.testing.assert_allclose(h.numpy(), np.diag(-2 * np.sin(A) * B))
    made, aux = pb.hvp(f, argnums=1, has_aux=True)(2, t, u, u)
    np.testing.assert_allclose(made.numpy(), -2 * np.sin(A) * B * B)
    for transform in (pb.jacobian, pb.jacrev, pb.jacfwd):
        one, other = transform(lambda k, x, y: x * y * k, argnums=(1, 2))(2, t, u)
        np.testing.assert_allclose(one.numpy(), np.diag(2 * B))
        np.testing.assert_allclose(other.numpy(), np.diag(2 * A))
    pullback = pb.vjp(lambda k, x: x.sin() * k, 2, t, argnums=1)[1]
    np.testing.assert_allclose(pullback(u).numpy(), 2 * np.cos(A) * B)
    tangent = pb.jvp(lambda k, x: x.sin() * k, (2, t), u, argnums=1)[1]
    np.testing.assert_allclose(tangent.numpy(), 2 * np.cos(A) * B)
    push = pb.linearize(lambda x: x.sin(), t)[1]
    np.testing.assert_allclose(push(u).numpy(), np.cos(A) * B)


@pytest.mark.parametrize("call", [
    lambda t: pb.taylor(lambda x: x.sin(), t, t, 2), lambda t: pb.gnvp(lambda x: x.sin())(t, t),
    lambda t: pb.jacobian(lambda x: x.sin(), sparse=True)(t), lambda t: pb.linear_transpose(lambda x: x.neg(), t)(t),
])
def test_transforms_of_arrays_alone_say_so(call: Callable[[Any], Any]) -> None:
    with pytest.raises(TypeError, match="is for functions of arrays: write it with NumPy"):
        call(tensor(A))


def test_tensors_with_a_history_within_records_are_refused() -> None:
    @dataclasses.dataclass
    class Held:
        x: Any

    t = pb.tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(TypeError, match="requires grad, and what a compiled function returns has no history"):
        pb.grad(lambda h: np.sum(h.x))(Held(t))
    assert type(pb.grad(lambda h: np.sum(h.x))(Held(t.detach())).x) is pb.Tensor
