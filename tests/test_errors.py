"""What a wrong call, or a function that cannot be traced, is told: what is wrong, where, and a way out."""

import math
import operator
import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from pullback import hessian, hvp, vjp
from pullback.compiler.backend.kernel import compile_graph
from pullback.compiler.frontend.array import Array
from pullback.compiler.frontend.errors import TraceError
from pullback.compiler.frontend.tracing import Tracing, running
from pullback.compiler.ir.text import parse
from pullback.compiler.ir.types import Type
from pullback.compiler.ir.verify import VerifyError, verify
from pullback.compiler.settings import settings
from pullback.runtime.check import check
from pullback.runtime.transforms import grad, jit, value_and_grad

X = np.ones(3)


def loss(w, x):
    return np.sum(w * x)


def said(kind: type[Exception], function: Callable[[], Any]) -> str:
    with pytest.raises(kind) as caught:
        function()
    text = str(caught.value)
    assert len(text.splitlines()) <= 6, "more than a glance"
    return text


# ---- arguments


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda f: f(X), "loss() missing a required argument: 'x'; its signature is (w, x)"),
        (lambda f: f(X, X, X), "loss() too many positional arguments"),
        (lambda f: f(X, y=X), "loss() missing a required argument: 'x'"),
        (lambda f: f(X, X, y=X), "loss() got an unexpected keyword argument 'y'"),
        (lambda f: f(X, w=X, x=X), "loss() multiple values for argument 'w'"),
    ],
)
def test_wrong_counts_and_names(call: Callable[[Any], Any], words: str) -> None:
    assert said(TypeError, lambda: call(grad(loss))).startswith(words)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (np.array([1, None]), "loss: argument w is an array of dtype object; accepted are bool, int32, int64"),
        (np.ones(2, np.longdouble), "loss: argument w is an array of dtype float128"),
        (np.array(["a"]), "loss: argument w is an array of dtype <U1"),
        (2**70, "loss: argument w is the int 1180591620717411303424, which needs more than 64 bits"),
        ({"a": [1.0, np.ones(2, np.longdouble)]}, "loss: argument w['a'][1] is an array of dtype float128"),
        (np.ma.masked_array([1.0], [True]), "loss: argument w is a MaskedArray"),
        (memoryview(b"ab").__class__ and type("Series", (), {"__array__": None})(), "pass np.asarray(...) of it"),
    ],
)  # fmt: skip
def test_what_no_argument_can_be(given: Any, words: str) -> None:
    for transform in (jit, grad):
        assert words in said(TypeError, lambda t=transform: t(loss)(given, 1.0))  # type: ignore[misc]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (2, "grad of square needs floats; argument x is a Python int: pass float(...)"),
        (np.arange(3), "argument x is an array of int64, shape (3,): pass x.astype(float)"),
        (np.int32(3), "argument x is a NumPy scalar of int32: pass x.astype(float)"),
        (np.ones(2, bool), "argument x is an array of bool, shape (2,)"),
        ({"w": 1.0, "n": [np.arange(2)]}, "argument x['n'][0] is an array of int64, shape (2,)"),
        ({"n": [2]}, "argument x['n'][0] is 2: pass floats"),
        (None, "argument x is None: pass floats"),
        ("text", "argument x is 'text': pass floats"),
        ([], "argument x is empty: pass floats"),
    ],
)
def test_gradients_need_floats(given: Any, words: str) -> None:
    def square(x):
        return 1.0

    assert words in said(TypeError, lambda: grad(square)(given))


def test_argnums() -> None:
    assert "argnums has 2, but there are 2 positional arguments" in said(TypeError, lambda: grad(loss, 2)(X, X))
    assert "argnums is 2.5, expected an int" in said(TypeError, lambda: grad(loss, argnums=2.5))  # type: ignore[call-overload]
    assert "argnums has 'v', but the arguments passed are w, x" in said(TypeError, lambda: grad(loss, "v")(X, X))
    assert "argnums has 1 twice" in said(ValueError, lambda: grad(loss, argnums=(1, 0, 1)))
    assert "argnums is (0, 'w'), where two mean the same" in said(ValueError, lambda: grad(loss, (0, "w"))(X, X))
    assert "static_argnames has 'n'" in said(ValueError, lambda: jit(static_argnames="n")(loss))


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda x: x * 2, "returned an array of float64, shape (3,)"),
        (lambda x: np.argmax(x), "returned a scalar of int64"),
        (lambda x: (x.sum(), x), "returned several values"),
        (lambda x: None, "returned None"),
        (lambda x: np.sum(x) > 1, "returned a scalar of bool"),
    ],
)
def test_gradients_need_a_float_scalar(function: Callable[[Any], Any], words: str) -> None:
    text = said(TypeError, lambda: grad(function)(X))
    assert words in text and "fix: " in text and "test_errors.py:" in text


def test_aux_needs_a_pair() -> None:
    assert "must return (value, aux)" in said(TypeError, lambda: grad(lambda x: x, has_aux=True)(1.0))


# ---- what a traced value cannot be


REFUSED: list[tuple[str, Callable[[Any], Any], str]] = [
    ("bool", lambda x: x if x > 0 else -x, "np.any(x) or np.all(x)"),
    ("index or size", lambda x: [1, 2][x[0]], "static_argnames=('n',)"),
    ("index or size", lambda x: np.ones(x), "static_argnames=('n',)"),
    ("assignment", lambda x: _assigned(x, 1.0), "work on a copy: x = x.copy()"),
    ("np.packbits", lambda x: np.packbits(x), "outside of the function"),
    ("np.bitwise_count", lambda x: np.bitwise_count(np.arange(3) + x.astype(int)), "outside of the function"),
    ("ndarray.tobytes", lambda x: x.tobytes(), "outside of the function"),
    ("assignment into the argument x", lambda x: _increased(x), "x = x.copy()"),
    ("size that depends on values", lambda x: np.polydiv(x, x[:2]), "synthetic division"),
    ("shapes (3,) and (2,) do not broadcast", lambda x: x + np.ones(2), "x[:, None]"),
    ("shapes (3,) and (2, 2) do not fit", lambda x: x @ np.ones((2, 2)), "transpose"),
    ("cannot reshape array of size 3 into shape (2,)", lambda x: x.reshape(2), "multiply to the same number"),
    ("index 5 is out of bounds for axis 0 with size 3", lambda x: x[5], "from -3 to 2"),
    ("too many indices: 2", lambda x: x[0, 1], "fix: "),
    ("axis 1 is out of bounds", lambda x: x.sum(axis=1), "from -1 to 0"),
    ("over an axis without elements", lambda x: np.max(x[:0]), "check the size"),
    ("integer or boolean type, got float64", lambda x: x[np.ones(2)], "integer arrays"),
    ("a str 'text' meets a traced array", lambda x: np.add(x, "text"), "NumPy arrays"),
    ("a str 'text' meets a traced array", lambda x: x * "text", "NumPy arrays"),
    ("a bytes b'text' meets a traced array", lambda x: b"text" * x, "NumPy arrays"),
    ("a NoneType meets a traced array", lambda x: x * None, "NumPy arrays"),
    ("an array of dtype object", lambda x: x + np.array([1, None, 2]), "known are bool"),
    ("an array of dtype float128", lambda x: x + np.ones(3, np.longdouble), ".astype(float)"),
    ("returned an array of dtype <U1", lambda x: np.array(["a"]), "return NumPy arrays"),
    ("does not take", lambda x: x << 1, "x.astype(int)"),
    ("einsum", lambda x: np.einsum("ij->i", x), "one letter for each axis"),
]


def _assigned(z, x):
    z[0] = x[0] if np.ndim(x) else x
    return z


def _increased(x):
    x += 1
    return x


@pytest.mark.parametrize(("what", "function", "way"), REFUSED, ids=[f"{k}-{r[0]}" for k, r in enumerate(REFUSED)])
def test_what_a_trace_refuses(what: str, function: Callable[[Any], Any], way: str) -> None:
    with pytest.raises((TraceError, ValueError)) as caught:
        jit(function)(X)
    lines = str(caught.value).splitlines()
    assert what in lines[0]
    assert "test_errors.py:" in "".join(lines[1:2])
    assert lines[-1].startswith("  fix: ") and way in lines[-1]
    assert len(lines) <= 5


@pytest.mark.parametrize(
    ("kind", "function"),
    [
        (TypeError, lambda x: float(x)),
        (NotImplementedError, lambda x: np.packbits(x)),
        (IndexError, lambda x: x[7]),
        (ValueError, lambda x: x + np.ones(2)),
        (AttributeError, lambda x: x.tobytes()),
        (AttributeError, lambda x: x.nonsense),
        (OverflowError, lambda x: np.argmax(x) + 2**70),
    ],
)
def test_errors_are_also_what_numpy_raises(kind: type[Exception], function: Callable[[Any], Any]) -> None:
    with pytest.raises(kind):
        jit(function)(X)


def test_probing_for_attributes_is_no_error() -> None:
    assert jit(lambda x: x * 2 if hasattr(x, "detach") or hasattr(x, "tobytes") else x)(1.0) == 1.0


def test_the_line_is_the_users_own_within_helpers() -> None:
    text = said(TraceError, lambda: grad(lambda x: _packed(x))(X))
    assert "return np.packbits(x)" in text


def _packed(x):
    return np.packbits(x)


def test_exceptions_of_the_user_pass_through() -> None:
    def f(x):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        jit(f)(1.0)
    assert jit(lambda x: x)(1.0) == 1.0


# ---- what a trace would freeze


GENERATOR = np.random.default_rng(1)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x + np.random.rand(3),
        lambda x: x + random.random(),
        lambda x: x + GENERATOR.normal(size=3),
        lambda x: np.sum(x) if np.random.randint(2) < 5 else 0,
    ],
)
def test_random_draws(function: Callable[[Any], Any]) -> None:
    text = said(TraceError, lambda: jit(function)(X))
    assert "draws random numbers" in text and "pass the numbers as an argument" in text


def test_a_generator_of_its_own_is_no_draw() -> None:
    f = jit(lambda x: x + np.random.default_rng(3).normal(size=3))
    np.testing.assert_array_equal(f(X), X + np.random.default_rng(3).normal(size=3))


def _put(tree, key, value):
    tree[key] = value


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (lambda t: _put(t, "new", 1.0), "at t\n"),
        (lambda t: t.pop("w"), "at t\n"),
        (lambda t: _put(t, "w", t["w"] * 2), "at t['w']"),
        (lambda t: t["l"].append(1.0), "at t['l']"),
        (lambda t: _put(t["l"], 0, 3.0), "at t['l'][0]"),
    ],
)
def test_changes_of_the_callers_containers(change: Callable[[Any], Any], place: str) -> None:
    def f(t):
        change(t)
        return np.sum(t["l"][0])

    text = said(TraceError, lambda: grad(f)({"w": 1.0, "l": [2.0]}))
    assert "changes a container that it was given" in text and "dict(params)" in text
    own = {"w": 1.0, "l": [2.0]}
    assert grad(lambda t: t.pop("w") if (t := dict(t)) else 0.0)(own) == {"w": 1.0, "l": [0.0]}


# ---- leaks


def leak(dtype: str, shape: tuple[int, ...] = ()) -> Any:
    """A traced value whose function has returned, by whatever way it came out."""
    now = Tracing("f")
    with running(now):
        return Array(now, now.builder.param(Type(dtype, shape)), not shape)


def test_leaked_values() -> None:
    kept = leak("f64")
    text = said(TraceError, lambda: kept + 1)
    assert "used after the function has returned" in text and "return the value from the function" in text
    assert "used after" in said(TraceError, lambda: jit(lambda x: x * kept)(1.0))
    assert "used after" in said(TraceError, lambda: jit(lambda x: x)(kept))
    assert "used after" in said(TraceError, lambda: jit(lambda x: kept)(1.0))


USES: list[Callable[[Any], Any]] = [
    lambda d: 1 + d, lambda d: np.ones(3) * d, np.sin, np.sum, bool, float, int, complex, abs, round, len, list,
    operator.index, operator.neg, np.asarray, lambda d: d[0], lambda d: operator.setitem(d, 0, 1.0), math.sin,
    lambda d: d.sum(), lambda d: d.item(), lambda d: d == 1, lambda d: d < 1, lambda d: d.T, lambda d: d.astype(int),
    lambda d: d.copy(), lambda d: d.tolist(), lambda d: d @ np.ones(3), lambda d: np.where(d, 1, 2),
    lambda d: np.stack([d, d]), lambda d: np.array([d, d]), lambda d: divmod(d, 2), lambda d: d in [1.0, 2.0],
    lambda d: jit(lambda x: x if d > 0 else -x)(1.0), lambda d: grad(lambda x: x * d)(1.0),
]  # fmt: skip


@pytest.mark.parametrize("given", [("f64",), ("i64",), ("f64", (3,)), ("i64", (3,))])
def test_no_use_of_a_leaked_value_is_silent(given: Any) -> None:
    dead = leak(*given)
    for use in USES:
        assert "used after the function has returned" in said(TraceError, lambda use=use: use(dead))
    assert all("which has returned: it has no number" in text for text in (repr(dead), str(dead), f"{dead}"))


def test_values_of_another_thread() -> None:
    def f(x):
        return ThreadPoolExecutor(1).submit(lambda: jit(lambda y: y * x)(1.0)).result()

    assert "used in another thread" in said(TraceError, lambda: jit(f)(1.0))


# ---- kernels


@pytest.mark.parametrize("reference", [False, True])
def test_bad_indices_raise_with_the_users_line(reference: bool) -> None:
    def pick(x, i):
        return np.sum(x[i])

    with settings.override(reference=reference):
        f = value_and_grad(pick)
        assert f(X, np.array([0, 2]))[0] == 2.0
        for indices in (np.array([0, 3]), np.array([1, 7])):
            with pytest.raises(IndexError, match="out of bounds for axis 0 with size 3") as caught:
                f(X, indices)
            (note,) = caught.value.__notes__
            assert "test_errors.py" in note
        with pytest.raises(IndexError):
            f(X, 5)
        assert f(X, np.array([-1, 1]))[1].tolist() == [0, 1, 1]


def test_each_signature_reports_its_own_kernel() -> None:
    f = jit(lambda x, i: np.sum(x[i]) + np.sum(np.sin(x)[i]))
    sizes = (3, 5, 7)
    for _ in range(2):
        for size in sizes:
            assert f(np.zeros(size), np.array([0])) == 0.0
        for size in sizes:
            with pytest.raises(IndexError, match=f"index {size} is out of bounds for axis 0 with size {size}"):
                f(np.zeros(size), np.array([size]))


# ---- the other transforms


def test_vjp_hvp_hessian_and_check() -> None:
    assert "vjp needs an argument with floats, got a Python int" in said(TypeError, lambda: vjp(np.sin, 2))
    _, pullback = vjp(np.sin, X)
    assert "has shape (2,), where an array of shape (3,)" in said(TypeError, lambda: pullback(np.ones(2)))
    assert "takes the arguments and then a vector" in said(TypeError, lambda: hvp(loss)(X))
    verdict = said(TypeError, lambda: hessian(loss)([1], X))
    assert "hessian of loss needs floats; argument w[0] is a Python int" in verdict and "fix: pass float" in verdict
    assert "check: order is 3, expected 1 or 2" in said(ValueError, lambda: check(loss, X, X, order=3))
    assert "check needs an argument with floats" in said(TypeError, lambda: check(loss, 1, 2))


def test_in_place_updates_of_own_arrays_are_seen_by_all_names() -> None:
    def f(x):
        total = np.zeros_like(x)
        same = total
        total += x
        same *= 2
        return total

    assert jit(f)(X).tolist() == f(X).tolist() == [2, 2, 2]


def test_in_place_updates_keep_the_dtype() -> None:
    def f(x):
        total = np.zeros_like(x)
        total += x * np.ones(3)
        return total

    x = np.ones(3, np.float32)
    assert jit(f)(x).dtype == f(x).dtype == np.float32
    assert "Cannot cast" in said(TypeError, lambda: jit(lambda n: _increased_by_half(np.zeros_like(n)))(np.arange(3)))


def _increased_by_half(x):
    x += 0.5
    return x


# ---- arguments that nest without end, and subclasses


def test_containers_without_end_are_refused() -> None:
    itself: list[Any] = []
    itself.append(itself)
    deep: Any = 1.0
    for _ in range(10_000):
        deep = (deep,)
    for each in (itself, deep, {"a": itself}):
        assert "contains itself; pass a flatter one" in said(TypeError, lambda each=each: jit(loss)(each, X))


def test_an_array_of_too_many_axes_names_its_argument() -> None:
    text = said(TypeError, lambda: jit(loss)(np.ones((1,) * 33), X))
    assert text.startswith("loss: argument w is an array of 33 axes; at most 32")


def test_subclasses_of_containers_have_no_wrong_gradient() -> None:
    class Weights(dict):  # type: ignore[type-arg]
        pass

    made = grad(lambda w: w["a"] * w["inner"]["a"])({"inner": Weights(a=1.0), "a": 2.0})
    assert made == {"inner": {"a": 2.0}, "a": 1.0} and type(made["inner"]) is Weights


def test_subclasses_of_numbers_are_numbers() -> None:
    class Metres(float):
        pass

    assert jit(lambda x: 1.0 / x)(Metres(0.5)) == 2.0
    inverse = jit(lambda x: x * 1.0)
    assert [math.copysign(1.0, inverse(Metres(z))) for z in (0.0, -0.0)] == [1.0, -1.0]
    assert grad(lambda t: t["x"] ** 2)({"x": Metres(3.0)}) == {"x": 6.0}


def test_an_int_of_thousands_of_digits_is_refused_shortly() -> None:
    assert said(TypeError, lambda: jit(loss)(10**5000, X)).startswith("loss: argument w is an int, which needs more")


# ---- graphs as text


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("sum %x", "sum wants the attribute axes (axes)"),
        ("sum %x {axes=0}", "sum: axes wants axes, got 0"),
        ("sum %x {axes=(false,)}", "sum: axes wants axes, got (False,)"),
        ("sum %x {axes=(0,), keep=1}", "sum has no attribute keep; there are: axes"),
        ("sum %x, %x {axes=(0,)}", "sum takes 1 arguments, got 2"),
        ("const {type=3.0, value=0.0}", "const: type wants type, got 3.0"),
        ("contract %x, %x {left=(0,), right=(0,), batch=(1,)}", "contract: batch wants pairs, got (1,)"),
    ],
)
def test_bad_attributes_do_not_verify(line: str, words: str) -> None:
    graph = parse(f"graph @f(%x: f64[3]) {{\n  %0: f64[] = {line}\n  return %0\n}}")
    assert words in said(VerifyError, lambda: verify(graph))


def test_a_symbolic_attribute_is_refused_when_compiling() -> None:
    line = "  %0: f64[9] = pad %x {shape=(9,), start=(n,), step=(1,)}"
    graph = verify(parse(f"graph @f(%x: f64[3]) {{\n{line}\n  return %0\n}}"))
    assert "pad: start=" in said(TypeError, lambda: compile_graph(graph))


def test_any_graph_name_compiles() -> None:
    graph = verify(parse("graph @6(%x: f64[3]) {\n  %0: f64[3] = neg %x\n  return %0\n}"))
    assert compile_graph(graph).run([X])[0].tolist() == [-1.0] * 3
