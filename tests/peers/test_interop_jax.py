"""Compiled functions inside JAX: values, derivatives of every order, lanes, loops, errors; and a sampler."""

import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pullback
from tests.compare import assert_close

jax.config.update("jax_enable_x64", True)
RNG = np.random.default_rng(8)


def rows(*shape):
    return jnp.asarray(RNG.normal(size=shape))


def energy(x, y, m=np):
    return m.sum(m.tanh(x) * y**2) + m.sum(x) ** 2


def jax_energy(x, y):
    return energy(x, y, jnp)


def several(x, p, m=np):
    return {"a": m.exp(x) * p["w"], "b": (x @ p["m"], 3, m.argmax(x)), "c": None}


def alike(ours, theirs):
    assert jax.tree.structure(ours) == jax.tree.structure(theirs)
    for a, b in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        assert np.asarray(a).dtype == np.asarray(b).dtype
        assert_close(np.asarray(a), np.asarray(b), relative=1e-11, floor=1e-11 if np.asarray(a).dtype == "f8" else 1e-5)


F = pullback.to_jax(lambda x, y: energy(x, y))
TRANSFORMS = {
    "grad": lambda f: jax.grad(f, (0, 1)),
    "value_and_grad": jax.value_and_grad,
    "jvp": lambda f: lambda x, y: jax.jvp(f, (x, y), (y, x)),
    "vjp": lambda f: lambda x, y: jax.vjp(f, x, y)[1](2.0),
    "hessian": lambda f: jax.hessian(f, (0, 1)),
    "forward over forward": lambda f: jax.jacfwd(jax.jacfwd(f, 1)),
    "reverse over reverse": lambda f: jax.jacrev(jax.jacrev(f), 1),
    "third order": lambda f: jax.jacfwd(jax.hessian(f)),
    "linearize": lambda f: lambda x, y: jax.linearize(f, x, y)[1](y, x),
    "checkpoint": lambda f: jax.grad(jax.checkpoint(f)),
    "vmap": lambda f: lambda x, y: jax.vmap(f, (0, None))(jnp.stack([x, y, x]), y),
    "vmap along other axes": lambda f: lambda x, y: jax.vmap(f, (1, 0))(jnp.stack([x, y], 1), jnp.stack([y, x])),
    "vmap of vmap": lambda f: lambda x, y: jax.vmap(jax.vmap(f, (None, 0)), (0, None))(
        jnp.stack([x, y]), jnp.stack([y, x, y])),
    "vmap of a gradient": lambda f: lambda x, y: jax.vmap(jax.grad(f), (0, None))(jnp.stack([x, y]), y),
    "gradient of a vmap": lambda f: lambda x, y: jax.grad(
        lambda x: jnp.sum(jax.vmap(f, (0, None))(x, y) ** 2))(jnp.stack([x, y])),
    "scan": lambda f: lambda x, y: jax.lax.scan(lambda c, t: (c - 0.1 * jax.grad(f)(c, t), f(c, t)), x,
                                                jnp.stack([y, x, y])),
    "gradient of a scan": lambda f: jax.grad(lambda x, y: jax.lax.scan(
        lambda c, _: (c + 0.1 * f(c, y), None), x, None, 4)[0].sum()),
    "while": lambda f: lambda x, y: jax.lax.while_loop(lambda c: f(c, y) > 0.1, lambda c: 0.5 * c, x),
    "cond": lambda f: jax.grad(lambda x, y: jax.lax.cond(x[0] > 0, f, lambda x, y: 2 * f(y, x), x, y)),
}


@pytest.mark.parametrize("compiled", [False, True], ids=["as it is", "jit"])
@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms(name, compiled) -> None:
    wrap, x, y = jax.jit if compiled else lambda f: f, rows(3), rows(3)
    alike(wrap(TRANSFORMS[name](F))(x, y), wrap(TRANSFORMS[name](jax_energy))(x, y))


def test_trees_of_several_results() -> None:
    f, x, p = pullback.to_jax(lambda x, p: several(x, p)), rows(3), {"w": rows(3), "m": rows(3, 2)}

    def theirs(x, p):
        return several(x, p, jnp)

    alike(f(x, p), theirs(x, p))

    def weighed(g):
        return lambda x, p: jnp.sum(g(x, p)["a"] ** 2) + jnp.prod(g(x, p)["b"][0])

    alike(jax.grad(weighed(f), (0, 1))(x, p), jax.grad(weighed(theirs), (0, 1))(x, p))
    alike(jax.hessian(weighed(f), (0, 1))(x, p), jax.hessian(weighed(theirs), (0, 1))(x, p))
    lots = jnp.stack([x, -x])
    alike(jax.vmap(jax.hessian(weighed(f)), (0, None))(lots, p), jax.vmap(jax.hessian(weighed(theirs)), (0, None))(
        lots, p))
    alike(jax.jacfwd(lambda x: f(x, p)["a"])(x), jax.jacfwd(lambda x: theirs(x, p)["a"])(x))
    alike(jax.jvp(lambda x: f(x, p)["b"][2], (x,), (x,))[0], theirs(x, p)["b"][2])


@pytest.mark.parametrize("transform", [pullback.grad, pullback.value_and_grad, pullback.jit])
def test_what_was_compiled_before_can_be_used_too(transform) -> None:
    theirs = {pullback.grad: jax.grad, pullback.value_and_grad: jax.value_and_grad, pullback.jit: jax.jit}[transform]
    x, y = rows(4), rows(4)
    ours, wanted = pullback.to_jax(transform(lambda x, y: energy(x, y))), theirs(jax_energy)
    alike(ours(x, y), wanted(x, y))
    alike(jax.jacrev(ours, 1)(x, y), jax.jacrev(wanted, 1)(x, y))


def test_numbers_and_static_arguments() -> None:
    f = pullback.to_jax(lambda x, scale, how: np.sum(x * scale) if how == "sum" else np.prod(x * scale))
    x = rows(3)
    alike(f(x, 2.0, "sum"), jnp.sum(2.0 * x))
    alike(f(x, scale=jnp.float64(3), how="product"), jnp.prod(3 * x))
    alike(jax.grad(f, 1)(x, 2.0, "sum"), jnp.sum(x))
    g = pullback.to_jax(pullback.jit(lambda x, n: x**n, static_argnums=1))
    alike(g(x, 3), x**3)
    h = pullback.to_jax(lambda x, s: x * s)
    assert h(jnp.ones(2, jnp.float32), 2.0).dtype == jnp.float32


def test_without_x64_results_are_of_32_bits() -> None:
    f = pullback.to_jax(lambda x: (np.argmax(x), np.sum(x * np.arange(3.0)), x > 0))
    with jax.enable_x64(False):
        x = jnp.asarray([1.0, 5.0, -2.0])
        place, total, positive = f(x)
        assert (place.dtype, total.dtype, positive.dtype) == (jnp.int32, jnp.float32, jnp.bool_)
        assert (int(place), float(total), positive.tolist()) == (1, 1.0, [True, True, False])
        assert jax.grad(lambda x: f(x)[1])(x).tolist() == [0, 1, 2]


@pytest.mark.parametrize("shape", [(), (0,), (0, 3), (1, 1), (2, 3, 4)])
@pytest.mark.parametrize("dtype", ["bool", "int32", "int64", "float32", "float64"])
def test_dtypes_and_shapes(shape, dtype) -> None:
    x = jnp.asarray(RNG.normal(size=shape) * 3).astype(dtype)
    f = pullback.to_jax(lambda x: (x, np.where(x, x, x), np.sum(x * 2.0)))
    alike(jax.jit(f)(x), (x, x, jnp.sum(x * np.float64(2.0), dtype=f(x)[2].dtype)))


def test_arrays_that_lie_otherwise() -> None:
    x = rows(3, 5)
    f = pullback.to_jax(lambda x: x @ x.T)
    alike(jax.jit(lambda x: f(x.T[::2]))(x), x.T[::2] @ x.T[::2].T)


def test_what_it_reads_from_outside_is_kept() -> None:
    table = np.arange(4.0)
    f = pullback.to_jax(lambda x: np.sum(x * table))
    x = jnp.ones(4)
    compiled = jax.jit(f)
    assert compiled(x) == 6
    table = table * 100
    assert compiled(x) == 6 == f(x) and jax.grad(f)(x).tolist() == [0, 1, 2, 3]


def test_the_same_function_is_registered_once() -> None:
    from pullback.runtime.interop import jax_calls

    pullback.to_jax(lambda x: np.cos(x) * 41)(jnp.ones(3))
    before = len(jax_calls._known)
    for _ in range(5):
        pullback.to_jax(lambda x: np.cos(x) * 41)(jnp.ones(3))
    assert len(jax_calls._known) == before


def test_errors_of_the_kernel_arrive() -> None:
    f = pullback.to_jax(lambda t, i: t[i])
    with pytest.raises(jax.errors.JaxRuntimeError, match="IndexError: index -7 is out of bounds for axis 0"):
        jax.block_until_ready(jax.jit(f)(rows(3), -7))
    assert float(f(jnp.arange(3.0), 1)) == 1.0
    g = pullback.to_jax(pullback.external(failing, float))
    with pytest.raises(jax.errors.JaxRuntimeError, match="ValueError: not today"):
        jax.block_until_ready(jax.jit(g)(2.0))


def failing(x):
    raise ValueError("not today")


def test_python_in_it_is_called() -> None:
    seen = []
    g = pullback.to_jax(pullback.external(lambda x: seen.append(x) or 2 * x, float, differences=True))
    assert float(jax.jit(g)(2.0)) == 4.0 and seen == [2.0]
    assert abs(float(jax.grad(g)(2.0)) - 2.0) < 1e-6


def test_buffers_of_another_kind_are_refused_by_the_handler() -> None:
    from pullback.runtime.interop import jax_calls

    f = pullback.to_jax(lambda x: x * 17)
    f(jnp.ones(3))
    target = next(reversed(jax_calls._known.values())).target
    wrong = {
        "argument 0 is not the f64\\[3\\]": (jax.ShapeDtypeStruct((3,), jnp.float64), (jnp.ones(4),)),
        "argument 0 is not": (jax.ShapeDtypeStruct((3,), jnp.float64), (jnp.ones(3, jnp.float32),)),
        "argument 0 is": (jax.ShapeDtypeStruct((3,), jnp.float64), (jnp.ones((3, 1)),)),
        "result 0 is not": (jax.ShapeDtypeStruct((), jnp.float64), (jnp.ones(3),)),
        "another number of arrays": (jax.ShapeDtypeStruct((3,), jnp.float64), (jnp.ones(3), jnp.ones(3))),
    }
    for text, (result, given) in wrong.items():
        with pytest.raises(jax.errors.JaxRuntimeError, match=text):
            jax.block_until_ready(jax.jit(jax.ffi.ffi_call(target, result))(*given))


def test_refusals() -> None:
    with pytest.raises(TypeError, match="float16"):
        F(jnp.ones(3, jnp.float16), rows(3))
    with pytest.raises(TypeError, match="takes a function"):
        pullback.to_jax(3)
    with pytest.raises(TypeError, match="call <lambda> itself"):
        pullback.jit(lambda x: F(x, x))(np.ones(3))
    with pytest.raises(TypeError, match="its number is not known yet"):
        pullback.to_jax(lambda x: np.zeros(int(x)) + x)(jnp.asarray(2.0))


def test_without_jit_and_from_threads() -> None:
    x, y = rows(3), rows(3)
    with jax.disable_jit():
        alike(F(x, y), jax_energy(x, y))
    slope, wanted, found = jax.jit(jax.grad(F)), jax.grad(jax_energy)(x, y), []

    def work():
        for _ in range(50):
            found.append(np.asarray(slope(x, y)))

    threads = [threading.Thread(target=work) for _ in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert len(found) == 200
    for each in found:
        assert_close(each, np.asarray(wanted), relative=1e-12)


# ---- a sampler


def log_density(p, m=np):
    """Of a bent normal distribution in two dimensions, and a width."""
    x, y, s = p[0], p[1], p[2]
    return -0.5 * (x**2 / 4 + (y - 0.3 * x**2) ** 2 + m.exp(-2 * s) + 2 * s + s**2)


def chain(density, count, steps=12, size=0.18):
    """Hamiltonian Monte Carlo in JAX: the density's value and gradient in each step of a leapfrog inside two scans."""
    both = jax.value_and_grad(density)

    def leap(state, _):
        q, p, _, slope = state
        p = p + 0.5 * size * slope
        q = q + size * p
        value, slope = both(q)
        return (q, p + 0.5 * size * slope, value, slope), None

    def draw(state, key):
        q, value, slope = state
        first, second = jax.random.split(key)
        p = jax.random.normal(first, q.shape)
        (far, momentum, there, bent), _ = jax.lax.scan(leap, (q, p, value, slope), None, steps)
        gain = there - value + 0.5 * (p @ p - momentum @ momentum)
        takes = jnp.log(jax.random.uniform(second)) < gain
        kept = jax.tree.map(lambda a, b: jnp.where(takes, a, b), (far, there, bent), (q, value, slope))
        return kept, (kept[0], takes)

    def run(key, start):
        return jax.lax.scan(draw, (start, *both(start)), jax.random.split(key, count))[1]

    return jax.jit(run)


def test_a_sampler_runs_on_our_density_as_on_jaxs_own() -> None:
    ours, theirs = chain(pullback.to_jax(lambda p: log_density(p)), 60), chain(lambda p: log_density(p, jnp), 60)
    key, start = jax.random.key(1), jnp.asarray([0.1, 0.2, 0.3])
    (a, taken), (b, wanted) = ours(key, start), theirs(key, start)
    assert taken.tolist() == wanted.tolist() and 0.5 < taken.mean() < 1
    assert_close(np.asarray(a), np.asarray(b), relative=1e-6, floor=1e-9)
    several_chains = jax.vmap(ours)(jax.random.split(key, 3), jnp.stack([start, -start, 2 * start]))
    assert several_chains[0].shape == (3, 60, 3)
    long, _ = chain(pullback.to_jax(lambda p: log_density(p)), 4000)(key, start)
    assert abs(float(long[:, 0].mean())) < 0.25 and abs(float(long[:, 0].var()) - 4) < 0.8
    assert abs(float((long[:, 1] - 0.3 * long[:, 0] ** 2).var()) - 1) < 0.15
