"""custom_vjp, custom_jvp, custom_formula, stop_gradient: the user's rule is what is used, at every order."""

import doctest
import functools
from collections import namedtuple
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import pullback
from pullback import hessian, hvp, jvp, vjp
from pullback.compiler.ir.text import parse, show
from pullback.compiler.settings import settings
from pullback.runtime import rules
from pullback.runtime.branches import cond
from pullback.runtime.control import checkpoint, fori_loop, scan, while_loop
from pullback.runtime.rules import custom_formula, custom_jvp, custom_vjp, stop_gradient
from pullback.runtime.transforms import grad, jit, value_and_grad
from pullback.runtime.vmap import vmap
from tests.compare import assert_close

Pair = namedtuple("Pair", "x y")


@pytest.fixture(params=["native", "reference"], autouse=True)
def way(request: pytest.FixtureRequest) -> Iterator[str]:
    """Compiled code, and the reference executor."""
    with settings.override(reference=request.param == "reference"):
        yield request.param


def near(got: Any, want: Any, relative: float = 1e-13) -> None:
    assert_close(np.asarray(got, float), np.asarray(want, float), relative=relative, floor=1e-14)


# Every rule says three times the derivative: so it is seen that it is used, how often, and where.


def tripled(kind: str) -> Any:
    """sin, and a rule by which its derivative is three times the cosine."""
    if kind == "pullback":
        f = custom_vjp(lambda x: np.sin(x))
        f.defvjp(lambda x: (np.sin(x), x), lambda x, ct: (3.0 * np.cos(x) * ct,))
    elif kind == "pullback that calls it":
        f = custom_vjp(lambda x: np.sin(x))
        f.defvjp(lambda x: (f(x), np.cos(x)), lambda c, ct: (3.0 * c * ct,))
    elif kind == "pushforward":
        f = custom_jvp(lambda x: np.sin(x))
        f.defjvp(lambda primals, tangents: (f(primals[0]), 3.0 * np.cos(primals[0]) * tangents[0]))
    elif kind == "pushforwards":
        f = custom_jvp(lambda x: np.sin(x))
        f.defjvps(lambda t, result, x: 3.0 * np.cos(x) * t)
    else:
        f = custom_formula(lambda x: np.sin(x))
        f.defformula(lambda x: 3.0 * np.sin(x) + 7.0)
    return f


KINDS = ["pullback", "pullback that calls it", "pushforward", "pushforwards", "formula"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_rule_is_used_at_every_order(kind: str) -> None:
    f = tripled(kind)
    assert f(0.4) == np.sin(0.4)
    near(jit(f)(0.4), np.sin(0.4))
    near(grad(f)(0.4), 3 * np.cos(0.4))
    near(grad(grad(f))(0.4), -3 * np.sin(0.4))
    near(grad(grad(grad(f)))(0.4), -3 * np.cos(0.4))
    value, slope = value_and_grad(lambda x: f(x) * f(x))(0.4)
    near(value, np.sin(0.4) ** 2)
    near(slope, 6 * np.sin(0.4) * np.cos(0.4))
    near(grad(grad(lambda x: f(x) * f(x)))(0.4), 18 * np.cos(0.4) ** 2 - 6 * np.sin(0.4) ** 2)


@pytest.mark.parametrize("kind", KINDS)
def test_forward_mode_follows(kind: str) -> None:
    f = tripled(kind)
    x, v = np.array([0.4, 1.2]), np.array([1.0, -2.0])
    value, moved = jvp(f, (x,), (v,))
    near(value, np.sin(x))
    near(moved, 3 * np.cos(x) * v)
    near(hvp(lambda x: np.sum(f(x)))(x, v), -3 * np.sin(x) * v)
    near(hessian(lambda x: np.sum(f(x) * x))(x), np.diag(6 * np.cos(x) - 3 * np.sin(x) * x))


@pytest.mark.parametrize("kind", KINDS)
def test_rules_in_loops_branches_and_checkpoints(kind: str) -> None:
    f = tripled(kind)
    rows = np.array([0.5, 1.5, -0.7])

    def loop(g, x):
        return scan(lambda c, r: (g(c) * r, g(c)), x, rows)

    def plain(x):  # the same, with the rule in place of the function
        slope = 1.0
        for r in rows:
            slope *= 3 * np.cos(x) * r
            x = np.sin(x) * r
        return slope

    near(grad(lambda x: loop(f, x)[0])(0.4), plain(0.4))
    near(grad(grad(lambda x: loop(f, x)[0]))(0.4), _second(rows, 0.4), 1e-12)
    near(grad(lambda x: cond(x > 0, f, lambda x: x, x))(0.4), 3 * np.cos(0.4))
    near(grad(lambda x: cond(x < 0, f, lambda x: x, x))(0.4), 1.0)
    near(grad(checkpoint(lambda x: f(x) * x))(0.4), 3 * np.cos(0.4) * 0.4 + np.sin(0.4))
    near(grad(lambda x: fori_loop(0, 2, lambda i, s: s + f(x * i), 0.0))(0.4), 3 * np.cos(0.4))


def _second(rows: Any, x: float) -> float:
    """The second derivative by a rule: each function's derivative is g = 3 cos, whose derivative is -3 sin."""
    values, first, second = x, 1.0, 0.0
    for r in rows:
        g, dg = 3 * np.cos(values) * r, -3 * np.sin(values) * r
        first, second = g * first, dg * first * first + g * second
        values = np.sin(values) * r
    return second


def test_a_rule_need_not_be_the_derivative() -> None:
    clipped = custom_vjp(lambda x: x)
    clipped.defvjp(lambda x: (x, None), lambda _, ct: (np.clip(ct, -1.0, 1.0),))
    near(grad(lambda x: np.sum(clipped(x) * np.array([5.0, 0.5, -3.0])))(np.ones(3)), [1.0, 0.5, -1.0])
    rounded = custom_vjp(lambda x: np.round(x))
    rounded.defvjp(lambda x: (np.round(x), None), lambda _, ct: (ct,))
    near(grad(lambda x: np.sum(rounded(x) ** 2))(np.array([0.6, 2.2])), [2.0, 4.0])


def test_trees_in_and_out() -> None:
    f = custom_vjp(lambda p, scale: {"s": np.sum(p["w"]) * scale, "t": Pair(p["b"] * scale, None)})

    def fwd(p, scale):
        return f(p, scale), (p, scale)

    def bwd(saved, ct):
        p, scale = saved
        inner = np.sum(p["w"]) * ct["s"] + np.sum(ct["t"].x * p["b"])
        return {"b": 10.0 * ct["t"].x * scale, "w": ct["s"] * scale * np.ones(3)}, inner

    f.defvjp(fwd, bwd)
    p = {"w": np.arange(3.0), "b": np.array([2.0, 5.0])}

    def loss(p, scale):
        made = f(p, scale)
        return made["s"] ** 2 + np.sum(made["t"].x)

    slopes, scale = grad(loss, argnums=(0, 1))(p, 1.5)
    near(slopes["w"], 2 * 4.5 * 1.5 * np.ones(3))
    near(slopes["b"], 15.0 * np.ones(2))
    near(scale, 3 * 9.0 + 7.0)


def test_a_fixed_point_as_jax_documents_it() -> None:
    """Its rule solves another fixed point, of another function each time."""
    @functools.partial(custom_vjp, nondiff_argnums=(0,))
    def fixed_point(f, a, x):
        return while_loop(lambda s: np.abs(s[0] - s[1]) > 1e-13, lambda s: (s[1], f(a, s[1])), (x, f(a, x)))[1]

    def backwards(f, packed, u):
        a, x, ct = packed
        return ct + vjp(lambda x: f(a, x), x)[1](u)[0]

    def bwd(f, saved, ct):
        a, x = saved
        u = fixed_point(functools.partial(backwards, f), (a, x, ct), ct)
        return vjp(lambda a: f(a, x), a)[1](u)[0], None

    def fwd(f, a, x):
        x = fixed_point(f, a, x)
        return x, (a, x)

    fixed_point.defvjp(fwd, bwd)
    root = lambda a: fixed_point(lambda a, x: 0.5 * (x + a / x), a, a)  # noqa: E731
    near(grad(root)(2.0), 0.5 / np.sqrt(2.0), 1e-11)
    near(grad(grad(root))(2.0), -0.25 * 2.0**-1.5, 1e-10)


def test_several_arguments_some_of_them_not_differentiable() -> None:
    f = custom_vjp(lambda mode, x, k, table: (np.sin(x) if mode == "sin" else np.cos(x)) * k + table[0],
                   nondiff_argnums=(0,))
    f.defvjp(lambda mode, x, k, table: (f(mode, x, k, table), (x, k)), lambda mode, saved, ct: (
        ct * (np.cos(saved[0]) if mode == "sin" else -np.sin(saved[0])) * saved[1], None, None))
    near(grad(lambda x: f("sin", x, 3, np.ones(2)))(0.4), 3 * np.cos(0.4))
    near(grad(lambda x, k: f(mode="cos", x=x, k=k, table=np.ones(2)))(0.4, 2), -2 * np.sin(0.4))
    near(grad(lambda t: f("sin", 0.4, 2, t))(np.ones(2)), [0.0, 0.0])
    g = custom_jvp(lambda x, n: x**n, nondiff_argnums=(1,))
    g.defjvp(lambda n, primals, tangents: (g(primals[0], n), n * primals[0] ** (n - 1) * tangents[0]))
    near(grad(g)(2.0, 3.0), 12.0)
    near(grad(grad(lambda x: g(x, 3)))(2.0), 12.0)


def test_arguments_by_name_and_by_default() -> None:
    f = custom_vjp(lambda x, scale=2.0: x * scale)
    f.defvjp(lambda x, scale: (f(x, scale), scale), lambda scale, ct: (ct * scale * 10.0, 0.0))
    near(grad(lambda x: f(x))(1.0), 20.0)
    near(grad(lambda x: f(scale=3.0, x=x))(1.0), 30.0)
    with pytest.raises(TypeError, match=r"missing a required argument: 'x'.*its signature is \(x, scale=2.0\)"):
        f()


def test_results_that_are_integers() -> None:
    f = custom_vjp(lambda x: (np.sum(x), np.argmax(x)))
    f.defvjp(lambda x: (f(x), x), lambda x, ct: (ct[0] * np.ones(3) * 2.0,))
    value, slope = value_and_grad(lambda x: f(x), has_aux=True)(np.array([1.0, 5.0, 2.0]))
    assert value == (8.0, 1)
    near(slope, [2.0, 2.0, 2.0])
    g = custom_jvp(lambda x: (np.sum(x), np.argmax(x)))
    g.defjvp(lambda p, t: (g(p[0]), (np.sum(t[0]) * 4.0, 0)))
    near(grad(lambda x: g(x)[0])(np.array([1.0, 5.0, 2.0])), [4.0, 4.0, 4.0])


def test_single_precision_stays() -> None:
    f = tripled("pullback")
    made = grad(lambda x: np.sum(f(x)))(np.array([0.4, 1.0], np.float32))
    assert made.dtype == np.float32
    assert_close(made, (3 * np.cos(np.array([0.4, 1.0], np.float32))).astype(np.float32), relative=3e-7)


def test_rules_within_rules() -> None:
    inner = tripled("pushforward")
    outer = custom_vjp(lambda x: inner(x) * 2.0)
    outer.defvjp(lambda x: (outer(x), x), lambda x, ct: (ct * inner(x) * 5.0,))
    near(grad(outer)(0.4), 5 * np.sin(0.4))
    near(grad(grad(outer))(0.4), 15 * np.cos(0.4))
    near(grad(grad(grad(outer)))(0.4), -15 * np.sin(0.4))


def test_rules_that_call_each_other() -> None:
    up, down = custom_vjp(lambda x: np.exp(x)), custom_vjp(lambda x: np.exp(-x))
    up.defvjp(lambda x: (up(x), x), lambda x, ct: (ct / down(x),))
    down.defvjp(lambda x: (down(x), x), lambda x, ct: (-ct / up(x),))
    for order, f in enumerate((grad(up), grad(grad(up)), grad(grad(grad(up))))):
        near(f(0.3), np.exp(0.3), 1e-12)
        near(f(-0.3 - order), np.exp(-0.3 - order), 1e-12)


def test_rules_with_loops_and_branches_in_them() -> None:
    f = custom_vjp(lambda x: x**4)

    def bwd(x, ct):
        total = 0.0
        for k in range(4):
            if k >= 0:
                total = total + x**3
        if x < 0:
            return (ct * total * 2.0,)
        return (ct * total,)

    f.defvjp(lambda x: (f(x), x), bwd)
    near(grad(f)(1.5), 4 * 1.5**3)
    near(grad(f)(-1.5), -8 * 1.5**3)
    near(grad(grad(f))(1.5), 12 * 1.5**2)


def test_a_formula_for_what_should_not_be_differentiated() -> None:
    softplus = custom_formula(lambda x: np.maximum(x, 0.0) + np.log1p(np.exp(-np.abs(x))))
    softplus.defformula(lambda x: np.log(1.0 + np.exp(x)))
    near(softplus(800.0), 800.0)
    near(grad(softplus)(0.0), 0.5)
    near(grad(grad(softplus))(0.0), 0.25)
    near(grad(grad(softplus))(2.0), np.exp(2.0) / (1 + np.exp(2.0)) ** 2)


def test_a_formula_of_sympy() -> None:
    import sympy

    x, y = sympy.symbols("x y")
    f = custom_formula(lambda x, y: float("nan") if False else np.hypot(x, y))
    f.defformula(pullback.lambdify([x, y], sympy.sqrt(x**2 + y**2)))
    near(grad(f, argnums=(0, 1))(3.0, 4.0), (0.6, 0.8))


def test_hidden_inputs_of_rules_are_watched() -> None:
    scale = np.array([2.0])
    f = custom_vjp(lambda x: x * 1.0)
    f.defvjp(lambda x: (x, None), lambda _, ct: (ct * scale[0],))
    slope = grad(lambda x: f(x))
    near(slope(1.0), 2.0)
    scale[0] = 5.0
    near(slope(1.0), 5.0)


# ---- stop_gradient


def test_stop_gradient_at_every_order() -> None:
    f = lambda x: x * stop_gradient(x * x)  # noqa: E731
    near(grad(f)(3.0), 9.0)
    near(grad(grad(f))(3.0), 0.0)
    near(grad(lambda x: stop_gradient(x) + 0 * x)(3.0), 0.0)
    near(jvp(f, (3.0,), (1.0,))[1], 9.0)
    near(grad(lambda x: scan(lambda c, r: (stop_gradient(c) * x + r, None), 1.0, np.ones(3))[0])(2.0), 7.0)
    tree = {"a": np.ones(2), "b": ["text", 3]}
    assert stop_gradient(tree) == tree or stop_gradient(tree)["b"] == tree["b"]
    near(grad(lambda p: np.sum(stop_gradient(p)["a"] * p["b"]))({"a": np.ones(2), "b": np.ones(2)})["a"], [0, 0])


def test_stop_gradient_of_a_tensor_is_detached() -> None:
    x = pullback.tensor([2.0], requires_grad=True)
    (stop_gradient(x) * x).sum().backward()
    near(x.grad.numpy(), [2.0])


@pytest.mark.parametrize("kind", KINDS)
def test_many_at_once(kind: str) -> None:
    f, x = tripled(kind), np.array([0.4, 1.2, -0.3])
    near(vmap(f)(x), np.sin(x))
    near(vmap(grad(f))(x), 3 * np.cos(x))
    near(grad(lambda x: np.sum(vmap(f)(x)))(x), 3 * np.cos(x))
    near(vmap(grad(grad(f)))(x), -3 * np.sin(x))
    text = jit(lambda x: vmap(grad(f))(x)).ir("optimized", x) if not settings.reference else ""
    assert "scan" not in text  # array work, not a loop over the lanes


def test_many_at_once_with_what_they_share() -> None:
    f = custom_vjp(lambda x, y: np.exp(x) * y)
    f.defvjp(lambda x, y: (f(x, y), (f(x, y), x)), lambda s, ct: (3.0 * ct * s[0], ct * np.exp(s[1])))
    x = np.array([0.1, 0.2, 0.3])
    near(grad(lambda y: np.sum(vmap(lambda x: f(x, y))(x)))(2.0), np.sum(np.exp(x)))
    near(vmap(grad(grad(f)), in_axes=(0, None))(x, 2.0), 18 * np.exp(x))
    near(vmap(grad(lambda x: x * stop_gradient(x)))(x), x)
    near(vmap(grad(checkpoint(lambda x: np.sin(x) * x)))(x), np.cos(x) * x + np.sin(x))


# ---- what is wrong


def refused(f: Any, *args: Any) -> str:
    with pytest.raises(TypeError) as error:
        grad(f)(*args)
    return str(error.value)


def test_cotangents_that_do_not_fit_their_arguments() -> None:
    def ruled(bwd: Any, fwd: Any = None) -> Any:
        f = custom_vjp(lambda x, p: np.sum(x) + p["b"])
        f.defvjp(fwd or (lambda x, p: (f(x, p), None)), bwd)
        return f

    args = (np.ones(3), {"b": 2.0})
    text = refused(ruled(lambda _, ct: (ct, {"b": ct})), *args)
    assert "a cotangent for argument x that is not like it" in text
    assert "wanted: float64[3]" in text and "given: a scalar of float64" in text and "test_rules.py:" in text
    text = refused(ruled(lambda _, ct: (ct * np.ones(3), {"c": ct})), *args)
    assert "for argument p that is not like it" in text and "keys 'b'" in text and "keys 'c'" in text
    text = refused(ruled(lambda _, ct: (np.ones(3, np.float32), None)), *args)
    assert "wanted: float64[3]" in text and "given: float32[3]" in text
    text = refused(ruled(lambda _, ct: (ct * np.ones(3),)), *args)
    assert "returns 1 cotangents for 2 arguments" in text and "argument x, argument p" in text
    text = refused(ruled(lambda _, ct: ct), *args)
    assert "bwd of function returns an array" in text and "(ct,)" in text
    text = refused(ruled(lambda _, ct: (None, None), lambda x, p: x), *args)
    assert "fwd of function returns an array" in text and "return (result, saved)" in text
    text = refused(ruled(lambda _, ct: (None, None), lambda x, p: (x, None)), *args)
    assert "the result of fwd of function is not like what function returns" in text


def test_pushforwards_that_are_none() -> None:
    def ruled(rule: Any) -> Any:
        f = custom_jvp(lambda x: x * x)
        f.defjvp(rule)
        return f

    for nonlinear in (lambda p, t: (p[0] * p[0], t[0] * t[0]), lambda p, t: (p[0] * p[0], np.sin(t[0]))):
        assert "is not linear in the tangents" in refused(ruled(nonlinear), 2.0)
    assert "return (result, tangent)" in refused(ruled(lambda p, t: p[0]), 2.0)
    text = refused(ruled(lambda p, t: (p[0] * p[0], t[0] * np.ones(2))), 2.0)
    assert "the tangent that the pushforward of function returns is not like what function returns" in text
    text = refused(ruled(lambda p, t: (p[0] * np.ones(2), t[0])), 2.0)
    assert "the result of the pushforward of function is not like" in text


def test_a_formula_of_something_else() -> None:
    f = custom_formula(lambda x: x * x)
    f.defformula(lambda x: x * np.ones(3))
    assert "the formula of function is not like what function returns" in refused(f, 2.0)


def test_functions_without_a_rule() -> None:
    with pytest.raises(AttributeError, match=r"has no rule yet: call <lambda>.defvjp\(fwd, bwd\)"):
        custom_vjp(lambda x: x)(1.0)
    with pytest.raises(TypeError, match="custom_jvp takes a function, got int"):
        custom_jvp(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="defvjp takes functions, got int"):
        custom_vjp(lambda x: x).defvjp(abs, 3)  # type: ignore[arg-type]
    f = custom_vjp(lambda x: x, nondiff_argnums=(4,))
    f.defvjp(lambda x: (x, None), lambda _, ct: (ct,))
    with pytest.raises(TypeError, match=r"nondiff_argnums is \(4,\), but there are 1 arguments"):
        jit(f)(1.0)


def test_values_from_outside_have_no_derivative() -> None:
    def outer(x, w):
        f = custom_vjp(lambda x: x * w)
        f.defvjp(lambda x: (x * w, None), lambda _, ct: (ct * w,))
        return f(x)

    near(grad(outer)(3.0, 2.0), 2.0)
    with pytest.raises(TypeError, match="differentiated with respect to a value that it takes from outside"):
        grad(outer, argnums=1)(3.0, 2.0)
    with pytest.raises(TypeError, match="that it takes from outside"):
        grad(lambda w: scan(lambda c, r: (outer(c, w), None), 1.0, np.ones(2))[0])(2.0)


def test_a_rule_without_an_end() -> None:
    f = custom_vjp(lambda x, n: x)
    f.defvjp(lambda x, n: (f(x, n + 1), None), lambda _, ct: (ct, None))
    near(grad(lambda x: f(x, 0))(2.0), 1.0)
    f.defvjp(lambda x, n: (f(x, n), (x, n)), lambda s, ct: (ct * f(s[0], s[1] + 1), None))  # f' = f, again and again
    near([grad(lambda x: f(x, 0))(2.0), grad(grad(lambda x: f(x, 0)))(2.0)], [2.0, 2.0])
    text = refused(grad(grad(lambda x: f(x, 0))), 2.0)
    assert "calls function again and again, with other arguments each time" in text and "up to order 2" in text


def test_tensors_would_not_see_the_rule() -> None:
    x = pullback.tensor([2.0], requires_grad=True)
    with pytest.raises(TypeError, match="backward\\(\\) of Tensors does not know the rule"):
        tripled("pullback")(x)


def test_the_text_parses() -> None:
    f = custom_vjp(lambda x: np.exp(x))
    f.defvjp(lambda x: (f(x), f(x)), lambda out, ct: (ct * out,))
    text = grad(lambda x: scan(lambda c, r: (f(c) * r, None), x, np.ones(2))[0]).ir("graph", 0.4)
    assert show(parse(text)) == text
    assert "custom" in text and "again" in text


def test_examples_of_the_documentation(way: str) -> None:
    if way == "native":
        found = doctest.DocTestFinder().find(rules, extraglobs={"np": np, "grad": grad, "jit": jit})
        runner = doctest.DocTestRunner(verbose=False)
        for test in found:
            runner.run(test)
        assert runner.tries and not runner.failures
