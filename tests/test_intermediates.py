"""What is read out with names for its parts: short, exact, and with the names of the source; and readings that end."""

import sys

import numpy as np
import pytest
import sympy

from pullback import grad, hessian, jit, lambdify, value_and_grad
from pullback.runtime.symbolic.shared import lets, work


def entropy(z):
    e = np.exp(z - np.max(z))
    p = e / np.sum(e)
    return -np.sum(p * np.log(p))


def well(q):
    """Twenty lines of a potential."""
    x, y = q[0], q[1]
    r = np.sqrt(x * x + y * y + 0.1)
    angle = np.arctan2(y, x)
    wave = np.sin(3 * angle) * np.exp(-r)
    near = np.where(r < 1.0, r * r, 2 * r - 1)
    s = wave + near
    for k in range(3):
        s = s + np.cos(s * r) / (k + 1)
    u = np.tanh(s) + wave * near
    v = np.log1p(u * u)
    w = u / (1 + v)
    return np.sin(w) * v + u


def size(e):
    return len(str(e))


CASES = [
    (grad(entropy), np.array([0.3, -0.2, 1.1, 0.4, 0.0, -1.0])),
    (grad(well), np.array([0.7, -0.4])),
    (grad(well), np.array([1.3, 0.6])),
    (hessian(well), np.array([0.7, -0.4])),
]


@pytest.mark.parametrize("fn, at", CASES, ids=["entropy", "well", "well_outside", "hessian"])
def test_a_long_gradient_has_names_and_is_exact(fn, at):
    made = fn.sympy(at)
    assert isinstance(made, lets.kinds()[1]), "an array with names"
    plain = fn.sympy(at, intermediates=False)
    assert size(made) < (6000 if len(np.shape(fn(at))) == 1 else 30_000)
    assert made.doit() == plain
    base = next(iter(made.atoms(sympy.IndexedBase)))
    want = fn(at)
    assert np.allclose(lambdify([base], made)(at), want, rtol=1e-13, atol=1e-15)
    values = dict(zip([base[k] for k in range(len(at))], map(sympy.Float, at), strict=True))
    for index in np.ndindex(*want.shape):
        exact = made[index].evalf(30, subs=values)
        assert abs(exact - want[index]) < 1e-12 * (1 + abs(want[index]))
    bound = made.bindings
    for k, (symbol, value) in enumerate(bound):
        later = {s for s, _ in bound[k:]}
        assert not later & value.free_symbols, f"{symbol} stands in front of what it is made of"


def test_the_text_is_as_long_as_the_program():
    at = np.ones(6)
    plain, made = grad(entropy).sympy(at, intermediates=False), grad(entropy).sympy(at)
    assert size(plain) > 100_000 and size(made) < 3000
    assert len(grad(entropy).latex(at)) < 5000


def test_names_are_those_of_the_source():
    made = grad(entropy).sympy(np.ones(6))
    names = [s.name for s, _ in made.bindings]
    assert {f"e_{k}" for k in range(6)} <= {*names}
    assert {s.name: e for s, e in made.bindings}["e_2"].func == sympy.exp
    text = grad(entropy).latex(np.ones(6))
    assert "e_{0} &= e^{" in text
    assert {"r", "near", "u"} <= {s.name for s, _ in grad(well).sympy(np.ones(2)).bindings}


def test_a_name_of_the_source_that_an_argument_has_is_numbered():
    def f(x):
        x = np.sin(x * x)
        return x * np.exp(x) + x**3

    made = jit(f).sympy(intermediates=True)
    assert [s.name for s, _ in made.bindings] == ["x_1"]
    assert made.free_symbols == {sympy.Symbol("x", real=True)}
    assert made.doit() == jit(f).sympy()


def test_what_is_short_stays_an_expression():
    f = jit(lambda x, y: np.sin(x * y) + np.cos(x * y))
    assert isinstance(f.sympy(), sympy.Add)
    assert isinstance(grad(f).sympy(), sympy.Expr) and not isinstance(grad(f).sympy(), lets.kinds())
    assert isinstance(hessian(lambda x: np.sum(x**3)).sympy(np.ones(2)), sympy.ImmutableMatrix)


def test_each_result_has_the_names_that_it_needs():
    value, slope = value_and_grad(well).sympy(np.ones(2))
    assert isinstance(slope, lets.kinds()[1])
    known = dict(slope.bindings)
    assert all(known.get(s, e) == e for s, e in getattr(value, "bindings", []))
    text = value_and_grad(well).latex(np.ones(2))
    heads = [line.split(" &= ")[0] for line in text.splitlines()[1:-1]]
    assert len(heads) == len({*heads}), "each name has one line"


def test_what_has_names_computes():
    x, y, t = sympy.symbols("x y t", real=True)
    e = lets.let([(t, x * y)], sympy.sin(t) + t**2)
    plain = sympy.sin(x * y) + (x * y) ** 2
    assert e.doit() == plain and (e + 1).free_symbols == {x, y}
    assert sympy.simplify(e.diff(x).doit() - plain.diff(x)) == 0
    assert sympy.simplify(e.diff(x, y).doit() - plain.diff(x, y)) == 0
    assert e.subs(x, t).doit() == plain.subs(x, t), "a symbol of the same name is another one"
    assert e.subs(t, 5) == e
    assert abs(e.subs({x: 0.5, y: 0.25}).evalf(20) - plain.subs({x: 0.5, y: 0.25}).evalf(20)) < 1e-15
    assert lambdify([x, y], e + 1)(0.5, 0.25) == lambdify([x, y], plain + 1)(0.5, 0.25)
    assert abs(sympy.lambdify([x, y], e)(0.5, 0.25) - float(plain.subs({x: 0.5, y: 0.25}))) < 1e-15
    assert str(e) == "t**2 + sin(t), where\n    t = x*y"
    assert sympy.latex(e).count("&=") == 1 and "t" in sympy.pretty(e)


def test_arrays_with_names_are_indexed_and_say_what_else_they_do():
    x, t = sympy.symbols("x t", real=True)
    a = lets.let([(t, sympy.sin(x))], sympy.Matrix([[t, 1], [t**2, x]]).as_immutable())
    assert a.shape == (2, 2) and a[0, 1] == 1 and a[1, 1] == x
    assert a[1, 0].doit() == sympy.sin(x) ** 2
    with pytest.raises(AttributeError, match=r"doit\(\) gives the ImmutableDenseMatrix"):
        a.applyfunc(sympy.cos)


def test_complex_results_share_their_names():
    def f(x):
        z = np.exp(1j * x) * x
        return z * z + z

    made = jit(f).sympy(intermediates=True)
    point = {sympy.Symbol("x", real=True): sympy.Float(0.7)}
    assert abs(complex(made.doit().xreplace(point).evalf()) - jit(f)(0.7)) < 1e-14


def test_notebooks_show_both():
    text = grad(well).latex(np.ones(2))
    assert isinstance(text, str) and text._repr_latex_() == f"$\\displaystyle {text}$"
    shown = grad(well).sympy(np.ones(2))._repr_latex_()
    assert shown.startswith("$\\displaystyle \\begin{aligned}") and "near &=" in shown


def test_a_large_array_has_names_within_its_formula():
    def f(x):
        s = np.sin(x) * np.cos(x)
        for _ in range(6):
            s = s * np.exp(s) + np.tanh(s)
        return s

    made = jit(f).sympy(np.ones(100))
    assert size(made) < 1000
    base = next(iter(made.atoms(sympy.IndexedBase)))
    at = np.linspace(0, 1, 100)
    values = {base[3]: sympy.Float(at[3])}
    one = made.function.subs(made.limits[0][0], 3).doit().xreplace(values).evalf(20)
    assert abs(one - jit(f)(at)[3]) < 1e-13 * (1 + abs(one))


def test_a_reading_that_does_not_end_is_refused(monkeypatch):
    monkeypatch.setattr(work, "CALLS", 1_000_000)

    def f(x):
        for _ in range(20):
            x = np.concatenate([x[:1], x[1:-1] + 0.1 * (x[2:] - 2 * x[1:-1] + x[:-2]), x[-1:]])
        return np.sum(x * x)

    with pytest.raises(TypeError, match="fewer elements or rounds"):
        jit(f).sympy(np.ones(100))
    assert sys.gettrace() is None
    assert jit(lambda x: x * x).sympy() == sympy.Symbol("x", real=True) ** 2
