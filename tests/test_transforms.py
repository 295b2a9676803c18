"""grad, value_and_grad, jit, vjp, hvp, hessian, check: what goes in comes back, at every order."""

import doctest
import functools
import os
import sys
import threading
from collections import namedtuple
from typing import Any

import numpy as np
import pytest

from pullback import hessian, hvp, vjp
from pullback.compiler.backend.entries.native import NativeFunction, entry_count
from pullback.compiler.frontend.tree import register_leaf
from pullback.compiler.ir.text import parse
from pullback.compiler.settings import settings
from pullback.runtime import check as checks
from pullback.runtime import transforms
from pullback.runtime.check import check
from pullback.runtime.compiled.function import Function
from pullback.runtime.transforms import grad, jit, value_and_grad

Point = namedtuple("Point", "x y")


def entries(function: Any) -> int:
    assert isinstance(function, NativeFunction)
    return entry_count(function)


def cube(x):
    return x**3


def energy(x):
    return np.sum(np.sin(x) * x)


# ---- what went in comes back


@pytest.mark.parametrize(
    ("given", "kind"), [(2.0, float), (np.float64(2), np.float64), (np.float32(2), np.float32)], ids=str
)
def test_a_gradient_of_a_number_is_a_number_of_its_kind(given: Any, kind: type) -> None:
    value, slope = value_and_grad(cube)(given)
    assert type(value) is type(slope) is kind
    assert (value, slope) == (8, 12)


def test_a_gradient_of_an_array_is_an_array() -> None:
    x = np.arange(6.0).reshape(2, 3)
    value, slope = value_and_grad(energy)(x)
    assert type(value) is np.float64 and type(slope) is np.ndarray
    np.testing.assert_allclose(slope, np.sin(x) + x * np.cos(x), rtol=1e-14)
    zero = grad(cube)(np.array(2.0))
    assert type(zero) is np.ndarray and zero.shape == () and zero == 12


def test_values_are_python_numbers_only_where_all_floats_were() -> None:
    double = jit(lambda x, y: x * y)
    assert type(double(2.0, 3.0)) is float
    assert type(double(2.0, np.float64(3))) is np.float64
    assert type(double(2.0, np.float32(3))) is np.float32
    assert type(double(2, 3)) is int and double(2, 3) == 6
    assert type(double(2, 3.0)) is float
    assert type(double(np.int64(2), 3)) is np.int64
    assert type(jit(lambda x: x > 1)(2.0)) is bool
    assert type(jit(lambda x: x > 1)(np.float64(2.0))) is np.bool


def test_structures_come_back() -> None:
    def loss(tree):
        return np.sum(tree["w"] ** 2) * tree["p"].x + tree["l"][0] * tree["l"][1][0] + tree["p"].y

    tree = {"w": np.ones(2, np.float32), "p": Point(2.0, 1.0), "l": [3.0, (np.float64(4.0),)], "none": None}
    slope = grad(loss)(tree)
    assert list(slope) == ["w", "p", "l", "none"]
    assert slope["w"].dtype == np.float32 and slope["w"].tolist() == [4, 4]
    assert isinstance(slope["p"], Point) and slope["p"] == (2.0, 1.0)
    assert slope["l"] == [4.0, (3.0,)] and type(slope["l"][1][0]) is np.float64
    assert slope["none"] is None


def test_any_tree_of_results_comes_back() -> None:
    out = jit(lambda x: {"a": x * 2, "b": [x, "text", None], "c": (x > 1, 3)})(2.0)
    assert out == {"a": 4.0, "b": [2.0, "text", None], "c": (True, 3)}
    assert jit(lambda x: Point(x, x))(1.0) == Point(1.0, 1.0)
    assert jit(lambda x: {1: x})(1.0) == {1: 1.0}
    given = np.ones(2)
    assert jit(lambda x: x)(given) is not given


def test_registered_types_come_back_as_they_are() -> None:
    class Box:
        def __init__(self, array):
            self.array = array

    register_leaf(Box, lambda box: box.array, Box)
    slope = grad(energy)(Box(np.ones(3)))
    assert type(slope) is Box and slope.array.shape == (3,)
    assert type(jit(energy)(Box(np.ones(3)))) is Box


# ---- options


def test_argnums_and_aux() -> None:
    def f(x, y, z):
        return x * y**2 * z, {"seen": x + y}

    assert grad(lambda x, y: x * y, argnums=1)(3.0, 5.0) == 3.0
    assert grad(lambda x, y: x * y, argnums=(1, 0))(3.0, 5.0) == (3.0, 5.0)
    assert grad(lambda x, y: x * y, argnums=(0,))(3.0, 5.0) == (5.0,)
    assert grad(lambda x, y: x * y, argnums=-1)(3.0, 5.0) == 3.0
    assert grad(f, has_aux=True)(2.0, 3.0, 4.0) == (36.0, {"seen": 5.0})
    assert value_and_grad(f, argnums=(0, 2), has_aux=True)(2.0, 3.0, 4.0) == ((72.0, {"seen": 5.0}), (36.0, 18.0))


def test_decorators_with_and_without_options() -> None:
    @grad
    def one(x: float) -> float:
        """The first."""
        return x * x

    @grad(argnums=1)
    def two(x: float, y: float) -> float:
        return x * y * y

    @jit(static_argnames="n")
    def three(x, n):
        for _ in range(n):
            x = x * x
        return x

    assert (one(3.0), two(2.0, 3.0), three(2.0, n=3), three(2.0, 2)) == (6.0, 12.0, 256.0, 16.0)
    assert one.__name__ == "one" and one.__doc__ == "The first." and one.__wrapped__(3.0) == 9.0
    assert repr(one) == "<grad of one>"


def test_keywords_defaults_and_variable_arguments() -> None:
    def f(x, scale=2.0, *more, power=1, mode="sum"):
        return x * scale**power + sum(more) + (mode == "sum")

    g = jit(f)
    assert g(3.0) == f(3.0)
    assert g(3.0, power=2) == f(3.0, power=2)
    assert g(scale=5.0, x=3.0) == f(3.0, 5.0)
    assert g(3.0, 4.0, 1.0, 2.0, mode="x") == f(3.0, 4.0, 1.0, 2.0, mode="x")
    assert grad(f)(x=3.0) == 2.0


def test_methods_lambdas_partials_and_callables() -> None:
    class Model:
        def __init__(self, w: float) -> None:
            self.w = w

        @grad
        def slope(self, x):
            return self.w * x * x

        def __call__(self, x):
            return self.w * x

    model = Model(3.0)
    assert model.slope(2.0) == 12.0
    assert Model.slope(model, 2.0) == 12.0
    assert Model(5.0).slope(2.0) == 20.0
    assert grad(model)(2.0) == 3.0
    assert grad(functools.partial(lambda a, x: a * x, 4.0))(2.0) == 4.0
    assert grad(np.sin)(0.0) == 1.0
    model.w = 7.0
    assert model.slope(2.0) == 28.0 and grad(model)(2.0) == 7.0


def test_static_arguments_are_part_of_the_signature() -> None:
    @jit
    def f(x, how=None, flag=False, then=np.sin):
        return then(x) if flag else x * (2 if how == "twice" else 3)

    assert [f(2.0), f(2.0, "twice"), f(2.0, "twice"), f(2.0, "thrice")] == [6.0, 4.0, 4.0, 6.0]
    assert f(0.0, flag=True) == 0.0 and f(0.0, flag=True, then=np.cos) == 1.0
    assert len(f.report().forms) == 5


def test_signatures_compare_types_and_bits() -> None:
    kinds = jit(lambda x, n: np.copysign(1.0, n) * x, static_argnums=1)
    assert kinds(1.0, 0.0) == 1.0 and kinds(1.0, -0.0) == -1.0
    which = jit(lambda x, s: x + (10 if s is True else 20 if type(s) is int else 30), static_argnums=1)
    assert [which(0.0, s) for s in (True, 1, 1.0)] == [10, 20, 30]


def test_argument_layouts() -> None:
    base = np.arange(24.0).reshape(4, 6)
    record = np.zeros(5, dtype=np.dtype([("a", "i1"), ("b", "f8")]))
    record["b"] = np.arange(5.0)
    frozen = base.copy()
    frozen.flags.writeable = False
    swapped = base.astype(">f8")
    for x in (base, base[::2, ::-3], np.asfortranarray(base), frozen, record["b"], swapped, base[:0], np.array(2.0)):
        value, slope = value_and_grad(lambda x: np.sum(x * x))(x)
        np.testing.assert_allclose(value, np.sum(x * x))
        np.testing.assert_allclose(slope, 2 * x)
        assert slope.shape == x.shape


# ---- orders


def test_higher_orders() -> None:
    f = grad(grad(grad(lambda x: x**5)))
    assert f(2.0) == 240.0
    assert grad(grad(np.sin))(1.0) == pytest.approx(-np.sin(1.0), rel=1e-15)
    x = np.linspace(0.1, 1, 4)
    np.testing.assert_allclose(grad(lambda x: np.sum(grad(energy)(x) ** 2))(x), hvp(energy)(x, 2 * grad(energy)(x)))


def test_gradients_inside_traced_functions() -> None:
    assert grad(lambda y: grad(lambda x: x * x * y)(3.0))(5.0) == 6.0
    assert grad(lambda y: y * grad(lambda x: x * jit(lambda z: z * y)(x))(2.0))(3.0) == 24.0
    assert jit(lambda x: value_and_grad(cube)(x))(2.0) == (8.0, 12.0)
    assert jit(lambda x: x * grad(cube)(2.0))(1.0) == 12.0


def test_a_concrete_gradient_inside_a_trace_is_a_number() -> None:
    def f(x):
        return x if grad(cube)(2.0) > 11 else -x

    assert jit(f)(1.0) == 1.0


def test_hvp_and_hessian() -> None:
    x, v = np.array([1.0, 2.0, 3.0]), np.array([0.5, -1.0, 2.0])

    def f(x):
        return np.sum(x**3) * x[0]

    full = hessian(f)(x)
    np.testing.assert_allclose(full, full.T)
    np.testing.assert_allclose(hvp(f)(x, v), full @ v)
    assert hessian(cube)(2.0) == 12.0 and hvp(cube)(2.0, 1.0) == 12.0
    assert hessian(lambda x: np.sum(x**4))(np.ones((2, 2))).shape == (2, 2, 2, 2)
    np.testing.assert_allclose(jit(lambda x: hessian(f)(x))(x), full)
    tree = {"a": 2.0, "b": np.ones(2)}
    made = hvp(lambda t: t["a"] ** 2 * np.sum(t["b"]))(tree, {"a": 1.0, "b": np.zeros(2)})
    assert made["a"] == 4.0 and made["b"].tolist() == [4.0, 4.0]


def test_vjp() -> None:
    x, y = np.array([1.0, 2.0]), 3.0
    out, pullback = vjp(lambda x, y, n: {"p": x * y, "q": np.sum(x)}, x, y, 2)
    assert out["p"].tolist() == [3.0, 6.0] and out["q"] == 3.0
    dx, dy, dn = pullback({"p": np.array([1.0, 10.0]), "q": np.float64(100.0)})
    assert dx.tolist() == [103.0, 130.0] and dy == 21.0 and dn is None


def test_functions_of_constants() -> None:
    assert value_and_grad(lambda x: 3.0)(2.0) == (3.0, 0.0)
    assert grad(lambda x: (1, x), has_aux=True)(2.0) == (0.0, 2.0)
    assert grad(lambda x, y: x)(1.0, np.ones(3)) == 1.0
    assert grad(lambda x, y: x, argnums=1)(1.0, np.ones(3)).tolist() == [0, 0, 0]


# ---- check


def test_check_with_static_arguments() -> None:
    def f(n: int, x: Any, mode: str = "powers") -> Any:
        return np.sum(x**n) if mode == "powers" else np.sum(np.sin(x) * n)

    x = np.array([1.0, 2.0])
    assert check(f, 3, x, static_argnums=0).elements == 2
    assert check(f, 3, x, "sines", static_argnames=("n", "mode"), argnums="x", order=2).elements == 4
    assert check(lambda n, x: (np.sum(x[:n]), n), 1, x, static_argnums=0, has_aux=True).elements == 2
    with pytest.raises(ValueError, match="argument 0 is differentiated and static"):
        check(f, 3, x, static_argnums=0, argnums="n")


def test_check_reports_and_finds_planted_faults(monkeypatch: pytest.MonkeyPatch) -> None:
    report = check(lambda x, y: np.sum(np.tanh(x) * y), np.linspace(-1, 1, 5), np.ones(5))
    assert report.method == "complex step" and report.elements == 10 and report.worst < 1e-12
    assert check(lambda x: np.logaddexp(x, 0.0), 0.3, order=2).elements == 2
    assert check(lambda x: x**2.5, 1.3).method == "central differences"
    assert check(lambda x: np.exp(x), np.ones(3, np.float32)).elements == 3
    known = checks._traced
    cubes = lambda x: np.sum(x * x * x * (1 + 0 * x))  # noqa: E731
    monkeypatch.setattr(checks, "_traced", lambda scalar, *rest: known(cubes, *rest))
    with pytest.raises(AssertionError, match=r"the gradient for x\[0\] is 2.0, the complex step gives 3.0"):
        check(lambda x: np.sum(x * x), np.array([1.0, 2.0]))
    with pytest.raises(AssertionError, match=r"the gradient for x\[0\] is 0.0, the complex step gives nan"):
        check(lambda x: np.sum(x * x), np.array([0.0, np.inf]))


def test_docstrings_show_what_happens() -> None:
    for module in (transforms, sys.modules["pullback.runtime.check"]):
        assert doctest.testmod(module, extraglobs={"np": np}).failed == 0


# ---- looking inside


def test_stages_print_and_graphs_parse() -> None:
    f = value_and_grad(lambda x: np.sum(np.tanh(x) ** 2))
    with pytest.raises(ValueError, match="has not been compiled yet"):
        f.ir()
    f(np.ones(3))
    assert "tanh %x" in f.ir() and "test_transforms.py" in f.ir()
    for stage in ("graph", "adjoint", "optimized"):
        parse(f.ir(stage))
    assert "f64[7]" in f.ir("adjoint", np.ones(7))
    if not settings.reference:
        assert all(f.ir(stage) for stage in ("loops", "llvm", "asm"))
    with pytest.raises(ValueError, match="no stage 'nonsense'"):
        f.ir("nonsense")
    joint = parse(jit(cube).ir("adjoint", 1.0))
    assert len(joint.params) == len(joint.results) == 2


def test_dumps(capfd: pytest.CaptureFixture[str]) -> None:
    with settings.override(dump="graph,adjoint"):
        grad(cube)(2.0)
    said = capfd.readouterr().err
    assert "-- graph of cube --" in said and "-- adjoint of cube --" in said


def test_native_entries_are_installed_where_nothing_is_hidden() -> None:
    f = grad(lambda x: x * x)
    for x in (2.0, 3.0):
        assert f(x) == 2 * x
    assert entries(f) == (not settings.disable_native_entry and not settings.reference)
    g = grad(lambda t: np.sum(t["w"] * t["l"][0]))
    for _ in range(2):
        assert g({"w": np.ones(2), "l": [np.ones(2)]})["l"][0].tolist() == [1, 1]
    assert entries(g) == entries(f)


def test_the_reference_executor_gives_the_same() -> None:
    x = np.linspace(-2, 2, 7)
    native = value_and_grad(energy)(x)
    with settings.override(reference=True):
        reference = value_and_grad(energy)(x)
    np.testing.assert_allclose(native[1], reference[1], rtol=1e-13)


def test_threads_trace_apart() -> None:
    slopes: dict[tuple[int, int], Any] = {}
    shared = grad(lambda x: np.sum(np.sin(x) ** 2))

    def work(n: int) -> None:
        for size in range(1, 6):
            slopes[n, size] = shared(np.ones(size + n)), grad(lambda x: x**n)(2.0)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(slopes) == 20
    for (n, size), (slope, number) in slopes.items():
        np.testing.assert_allclose(slope, np.sin(2.0) * np.ones(size + n), rtol=1e-14)
        assert number == n * 2.0 ** (n - 1)


def test_signatures_are_forgotten_beyond_a_bound() -> None:
    with settings.override(reference=True):
        f = jit(lambda x, name: x)
        for k in range(300):
            f(1.0, str(k))
    assert len(vars(f)["_groups"]) == 256


def test_functions_are_functions() -> None:
    assert isinstance(jit(cube), Function) and callable(jit(cube))
    with pytest.raises(TypeError, match="jit takes a function, got float"):
        jit(3.0)  # type: ignore[call-overload]
    assert os.path.basename(__file__) in repr(jit(cube).__wrapped__.__code__)
