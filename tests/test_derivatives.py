"""Functions x transforms x containers x where they stand, against complex steps: sixteen hundred derivatives.

A function of a vector of five is handed its vector in a container. Jacobians are compared with complex steps of the
plain function, Hessians with differences of these.
"""

from __future__ import annotations

import collections
import dataclasses
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import attrs
import numpy as np
import pytest

import pullback as pb
from pullback.compiler.frontend.errors import TraceError
from pullback.compiler.settings import settings

ANY: Any = pb
"""The same, for calls that type checkers would refuse."""

V = np.array([0.7, 1.3, 0.4, 1.9, 0.8])
W = np.array([0.3, -0.5, 1.1, 0.2, -0.7])


@pytest.fixture(scope="module", autouse=True)
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Containers differ and their functions do not: of five kernels four are those of another container."""
    with settings.override(cache=True, cache_dir=str(tmp_path_factory.mktemp("kept"))):
        yield


class Named(NamedTuple):
    p: Any
    q: Any


@dataclasses.dataclass
class Record:
    p: Any
    q: Any
    name: str = "fit"


@dataclasses.dataclass(frozen=True, slots=True)
class Frozen:
    p: Any
    q: Any
    count: int = 3


@attrs.define
class Slotted:
    p: Any
    q: Any
    label: str = "slots"


@attrs.frozen(slots=False)
class Unchanging:
    p: Any
    q: Any = attrs.field(converter=np.asarray)
    degree: int = 2


class Own:
    """A user's class that is registered."""

    def __init__(self, p: Any, q: Any) -> None:
        self.p, self.q = p, q


class Telling:
    """A user's class that says itself of what it is made."""

    def __init__(self, p: Any, q: Any) -> None:
        self.p, self.q = p, q

    def __pullback_flatten__(self) -> Any:
        return (self.p, self.q), "telling"

    @classmethod
    def __pullback_unflatten__(cls, rest: Any, parts: Any) -> Telling:
        assert rest == "telling"
        return cls(*parts)


class Weights(dict):  # type: ignore[type-arg]
    """A subclass of dict."""


pb.register(Own, lambda own: ((own.p, own.q), None), lambda _, parts: Own(*parts))

CONTAINERS: dict[str, tuple[Callable[[Any, Any], Any], Callable[[Any], tuple[Any, Any]]]] = {
    "tuple": (lambda p, q: (p, q), lambda c: (c[0], c[1])),
    "list": (lambda p, q: [p, [q], None], lambda c: (c[0], c[1][0])),
    "dict": (lambda p, q: {"p": p, "k": 3, "s": "text", "in": {"q": q}}, lambda c: (c["p"], c["in"]["q"])),
    "named": (Named, lambda c: (c.p, c.q)),
    "dataclass": (Record, lambda c: (c.p, c.q)),
    "frozen": (Frozen, lambda c: (c.p, c.q)),
    "attrs": (Slotted, lambda c: (c.p, c.q)),
    "attrs_frozen": (Unchanging, lambda c: (c.p, c.q)),
    "OrderedDict": (lambda p, q: collections.OrderedDict(q=q, p=p), lambda c: (c["p"], c["q"])),
    "defaultdict": (lambda p, q: collections.defaultdict(float, p=p, q=q), lambda c: (c["p"], c["q"])),
    "subclass": (lambda p, q: Weights(p=p, q=q), lambda c: (c["p"], c["q"])),
    "namespace": (lambda p, q: types.SimpleNamespace(p=p, q=q), lambda c: (c.p, c.q)),
    "mapping": (lambda p, q: types.MappingProxyType({"p": p, "q": q}), lambda c: (c["p"], c["q"])),
    "registered": (Own, lambda c: (c.p, c.q)),
    "telling": (Telling, lambda c: (c.p, c.q)),
    "nested": (lambda p, q: [Record(Named(p, 0.0), {"q": Frozen(q, 0.0)})], lambda c: (c[0].p.p, c[0].q["q"].p)),
}

SCALARS: dict[str, Callable[[Any], Any]] = {
    "sum": lambda v: np.sum(np.sin(v) * v),
    "norm": lambda v: np.sqrt(np.dot(v, v) + v[0] * v[3]),
    "product": lambda v: v[0] * v[1] ** 2 * np.exp(v[4]) + v[2] / v[3],
}
VECTORS: dict[str, Callable[[Any], Any]] = {
    "short": lambda v: np.stack([v[0] * v[4], np.sum(v**3)]),
    "matrix": lambda v: np.outer(v[:2], v[2:]) @ v[2:],
    "long": lambda v: np.concatenate([v * v[::-1], np.cos(v)]),
}


def jacobian_of(g: Callable[[Any], Any], v: np.ndarray) -> np.ndarray:
    """By complex steps."""
    columns = [np.imag(g(v + 1e-30j * e)) / 1e-30 for e in np.eye(len(v))]
    return np.stack(columns, -1)


def hessian_of(g: Callable[[Any], Any], v: np.ndarray) -> np.ndarray:
    """By differences of complex steps, extrapolated."""
    def slope(h: float) -> np.ndarray:
        pairs = [(jacobian_of(g, v + h * e), jacobian_of(g, v - h * e)) for e in np.eye(len(v))]
        return np.stack([(a - b) / (2 * h) for a, b in pairs], -1)

    return (4 * slope(5e-4) - slope(1e-3)) / 3


class Case:
    """A function of a container, and its derivatives for the vector in it."""

    def __init__(self, g: Callable[[Any], Any], name: str) -> None:
        make, self.take = CONTAINERS[name]
        self.at, self.along = make(V[:2], V[2:]), make(W[:2], W[2:])
        self.f = lambda c: g(np.concatenate(self.take(c)))

    def matrix(self, c: Any) -> np.ndarray:
        """The blocks in a container like the argument, side by side; whole numbers in it have no slope."""
        assert type(c) is type(self.at)
        before, after = (pb.tree_flatten(each)[0] for each in (self.at, c))
        assert [x for x in before if type(x) is str] == [x for x in after if type(x) is str]
        assert not any(type(x) is int for x in after)
        return np.concatenate([np.asarray(each) for each in self.take(c)], -1)

    def square(self, c: Any) -> np.ndarray:
        """The blocks in a container of containers."""
        return np.concatenate([self.matrix(each) for each in self.take(c)])

    def in_tuples(self, c: Any) -> np.ndarray:
        """The same where each of the inner containers is in a tuple."""
        return np.concatenate([self.matrix(*each) for each in self.take(c)])


STANDING: dict[str, Callable[[Any, Any, Any], Any]] = {
    "alone": lambda t, f, c: t(f)(c),
    "second argument": lambda t, f, c: t(lambda k, c: f(c), argnums=1)("static", c),
    "by name": lambda t, f, c: t(lambda k, *, c: f(c), argnums="c")(2.0, c=c),
    "tuple": lambda t, f, c: t(lambda c, k: f(c), argnums=(0,))(c, 3)[0],
    "aux": lambda t, f, c: t(lambda c: (f(c), {"seen": 1.5}), has_aux=True)(c)[0],
    "in jit": lambda t, f, c: pb.jit(lambda x: t(f)(c))(0.0),
}
"""How a transform is called: the container is the first argument, or another, or passed by name, or within a trace."""


def standing(name: str, container: str, names: dict[str, Any]) -> dict[str, Callable[[Any, Any, Any], Any]]:
    """Where a transform of this function of this container stands: everywhere with one function of each container.

    Functions see the vector and not what it was in, so every function stands everywhere in some containers, and every
    container everywhere with some function; all of them stand alone.
    """
    whole = [*CONTAINERS].index(container) % len(names) == [*names].index(name)
    return STANDING if whole else {"alone": STANDING["alone"]}


def near(made: Any, wanted: Any, second: bool = False) -> None:
    tolerance = 2e-7 if second else 1e-12
    np.testing.assert_allclose(made, wanted, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("name", SCALARS)
def test_gradients_and_hessians(name: str, container: str) -> None:
    g, case = SCALARS[name], Case(SCALARS[name], container)
    slope, curve = jacobian_of(g, V), hessian_of(g, V)
    for where, call in standing(name, container, SCALARS).items():
        near(case.matrix(call(pb.grad, case.f, case.at)), slope)
        made = call(pb.hessian, case.f, case.at)
        near(case.in_tuples(made) if where == "tuple" else case.square(made), curve, second=True)
    value, made = pb.value_and_grad(case.f)(case.at)
    near(value, g(V))
    near(case.matrix(made), slope)
    near(case.matrix(pb.hvp(case.f)(case.at, case.along)), curve @ W, second=True)
    (made,) = pb.hvp(lambda k, c: case.f(c), argnums=(1,))(3, case.at, (case.along,))
    near(case.matrix(made), curve @ W, second=True)
    made, aux = pb.hvp(lambda k, c: (case.f(c), k), argnums="c", has_aux=True)(3, case.at, case.along)
    near(case.matrix(made), curve @ W, second=True)
    assert aux == 3
    sparse = pb.hessian(case.f, sparse=True)(case.at)
    near(np.concatenate([np.concatenate([b.toarray() for b in case.take(each)], -1) for each in case.take(sparse)]),
         curve, second=True)
    assert pb.check(case.f, case.at).worst < 1e-7


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("name", VECTORS)
def test_jacobians_and_products(name: str, container: str) -> None:
    g, case = VECTORS[name], Case(VECTORS[name], container)
    jacobian = jacobian_of(g, V)
    ct = np.linspace(-1.0, 1.0, len(jacobian))
    for transform in (pb.jacrev, pb.jacfwd, pb.jacobian):
        for call in standing(name, container, VECTORS).values():
            near(case.matrix(call(transform, case.f, case.at)), jacobian)
    blocks = pb.jacobian(case.f, sparse=True)(case.at)
    near(np.concatenate([each.toarray() for each in case.take(blocks)], -1), jacobian)
    out, pullback = pb.vjp(case.f, case.at)
    near(out, g(V))
    near(case.matrix(pullback(ct)[0]), ct @ jacobian)
    out, pullback, aux = pb.vjp(lambda k, c: (case.f(c), k), "k", case.at, argnums=1, has_aux=True)
    near(case.matrix(pullback(ct)), ct @ jacobian)
    assert aux == "k"
    for out, tangent in (
        pb.jvp(case.f, (case.at,), (case.along,)),
        pb.jvp(lambda k, c: case.f(c), (3, case.at), case.along, argnums="c"),
        pb.jvp(lambda c: (case.f(c), 1), (case.at,), (case.along,), has_aux=True)[:2],
        pb.jit(lambda x: pb.jvp(case.f, (case.at,), (case.along,)))(0.0),
    ):
        near(out, g(V))
        near(tangent, jacobian @ W)
    out, push = pb.linearize(lambda k, c: case.f(c), "static", case.at, argnums=1)
    near(out, g(V))
    near(push(case.along), jacobian @ W)
    near(push(case.at), jacobian @ V)


def test_there_are_sixteen_hundred() -> None:
    scalar = sum(2 * len(standing(name, each, SCALARS)) + 6 for name in SCALARS for each in CONTAINERS)
    vector = sum(3 * len(standing(name, each, VECTORS)) + 10 for name in VECTORS for each in CONTAINERS)
    orders = len(NESTS) * len(SLOPES) * 4
    assert scalar + vector + orders >= 1600
    for names in (SCALARS, VECTORS):
        assert all(sum(standing(name, each, names) is STANDING for each in CONTAINERS) >= 5 for name in names)


# ---- nesting, to the fourth order

SLOPES: dict[str, Callable[[Any], Any]] = {
    "grad": lambda f: pb.grad(f),
    "value_and_grad": lambda f: lambda x: pb.value_and_grad(f)(x)[1],
    "jacrev": lambda f: lambda x: pb.jacrev(f)(x),
    "jacfwd": lambda f: pb.jacfwd(f),
    "jacobian": lambda f: pb.jacobian(f),
    "jvp": lambda f: lambda x: pb.jvp(f, (x,), (1.0,))[1],
    "vjp": lambda f: lambda x: pb.vjp(f, x)[1](1.0)[0],
    "linearize": lambda f: lambda x: pb.linearize(f, x)[1](1.0),
    "jit": lambda f: pb.jit(lambda x: pb.grad(f)(x)),
    "vmap": lambda f: lambda x: pb.vmap(pb.grad(f))(np.stack([x, x]))[0],
}
"""Ways to the derivative of a function of a number, each a function of a number again."""


def branching(x: Any) -> Any:
    return np.sin(x) * x**2 if x > 0.0 else x


def looping(x: Any) -> Any:
    y = x
    for _ in range(3):
        y = y * np.cos(x)
    return y


def until(x: Any) -> Any:
    y = x
    while y < 3.0:
        y = y * y * x
    return y


def in_place(x: Any) -> Any:
    table = np.zeros(4)
    table[0] = x
    for k in range(1, 4):
        table[k] = table[k - 1] * x + np.sin(table[k - 1])
    return np.sum(table)


NESTS: dict[str, tuple[Callable[[Any], Any], float, str]] = {
    "exp(sin)": (lambda x: np.exp(np.sin(x)), 0.7, "exp(sin(x))"),
    "quotient": (lambda x: x / (1.0 + x * x), 0.4, "x/(1 + x**2)"),
    "branch": (branching, 0.8, "sin(x)*x**2"),
    "loop": (looping, 0.6, "x*cos(x)**3"),
    "while": (until, 1.3, "x**7"),
    "in place": (in_place, 0.5, "sum"),
}


def derivatives(text: str, at: float) -> list[float]:
    """The first four, by SymPy."""
    import sympy

    x = sympy.Symbol("x")
    if text == "sum":
        rows: list[Any] = [x]
        for _ in range(3):
            rows.append(rows[-1] * x + sympy.sin(rows[-1]))
        formula = sum(rows)
    else:
        formula = sympy.sympify(text)
    return [float(sympy.diff(formula, x, order).subs(x, at).evalf(30)) for order in range(1, 5)]


@pytest.mark.parametrize("outer", SLOPES)
@pytest.mark.parametrize("name", NESTS)
def test_transforms_nest_to_the_fourth_order(name: str, outer: str) -> None:
    f, at, text = NESTS[name]
    wanted = derivatives(text, at)
    ways = [*SLOPES]
    first = ways.index(outer)
    made = f
    for order in range(4):  # each inner transform is another one
        made = SLOPES[ways[(first + 3 * order) % len(ways)]](made)
        near(made(at), wanted[order])


def test_modes_that_meet_branches_loops_and_stores() -> None:
    xs = np.array([0.5, 0.9, -0.3])
    for f in (branching, looping, in_place):
        slopes = np.array([pb.grad(f)(float(x)) for x in xs])
        near(pb.vmap(pb.grad(f))(xs), slopes)
        near(pb.jvp(lambda v, f=f: pb.vmap(f)(v), (xs,), (np.ones(3),))[1], slopes)
        near(np.diag(pb.jacrev(pb.vmap(f))(xs)), slopes)
        near(np.diag(pb.jacfwd(pb.vmap(f))(xs)), slopes)
    near(pb.jvp(until, (1.3,), (1.0,))[1], derivatives("x**7", 1.3)[0])


# ---- linear functions


def test_transposes_of_linear_functions() -> None:
    a = np.arange(6.0).reshape(2, 3)
    transpose = pb.linear_transpose(lambda x: a @ x, np.zeros(3))
    assert np.array_equal(transpose(np.array([1.0, 2.0]))[0], a.T @ [1.0, 2.0])
    both = pb.linear_transpose(lambda x, y: 2.0 * x[::-1] + np.sum(y), np.zeros(2), np.zeros(3))
    x, y = both(np.array([1.0, 3.0]))
    assert x.tolist() == [6.0, 2.0] and y.tolist() == [4.0] * 3
    scaled = pb.linear_transpose(lambda k, x: k * np.cumsum(x), 3.0, np.zeros(2), argnums=1)
    assert scaled(np.array([1.0, 1.0])).tolist() == [6.0, 3.0]
    out = np.zeros(2)
    assert scaled(np.array([1.0, 1.0]), out=out) is out and out.tolist() == [6.0, 3.0]
    with pytest.raises(TypeError, match=r"is not linear in the arguments that are transposed(.|\n)*fix: vjp"):
        pb.linear_transpose(lambda x: x * x, np.zeros(3))(np.ones(3))


# ---- what is wrong


@pytest.mark.parametrize(("call", "error", "said"), [
    (lambda: ANY.jacrev(3), TypeError, "jacrev takes a function, got int: 3"),
    (lambda: pb.jacobian(np.sin, argnums=(0, 0)), ValueError, "jacobian: argnums has 0 twice"),
    (lambda: ANY.hessian(np.sin, argnums=1.5), TypeError, "hessian: argnums is 1.5, expected an int or a tuple"),
    (lambda: pb.jacfwd(lambda x, y: x, argnums=2)(V, V), TypeError, "argnums has 2, but there are 2 positional"),
    (lambda: pb.jacfwd(lambda x, y: x, argnums="z")(V, V), TypeError, "argnums has 'z', but the arguments passed"),
    (lambda: pb.jacfwd(lambda x, y: x, argnums=(0, "x"))(V, V), ValueError, "two mean the same argument"),
    (lambda: pb.jacrev(lambda p: p.p)(Record(V, np.arange(2))), TypeError, r"argument p\.q is an array of int64"),
    (lambda: pb.jacrev(lambda p: p["p"])({"p": V, "q": [V, np.ones(2, bool)]}), TypeError, r"argument p\['q'\]\[1\]"),
    (lambda: pb.jacrev(lambda x: x, has_aux=True)(V), TypeError, "must return \\(value, aux\\) because of has_aux"),
    (lambda: pb.grad(lambda p: np.sum(p.p))(Record(V, np.arange(2))), TypeError, r"argument p\.q is an array of int64"),
    (lambda: pb.vjp(lambda x: x, 3), TypeError, "vjp needs an argument with floats, got a Python int"),
    (lambda: pb.vjp(lambda x: x, V, argnums=1), TypeError, "vjp of <lambda>: argnums has 1, but there are 1"),
    (lambda: pb.linearize(lambda x, y: x * y, V, V)[1](V), TypeError, "a tangent for each argument that changes, 2"),
    (lambda: pb.hvp(lambda p: np.sum(p.p))(Record(V, V), Record(V, W[:2])), TypeError, "the vector has shape .* at .q"),
    (lambda: pb.jvp(lambda p: p["a"], ({"a": V},), ({"b": V},)), TypeError, r"has nothing at \[0\]\['a'\]"),
    (lambda: ANY.register(3, len, len), TypeError, "register takes a class, got 3"),
    (lambda: ANY.register(dict, len, len), TypeError, "register: dict has a meaning already"),
    (lambda: ANY.register(Case, 3, len), TypeError, "register of Case: flatten is 3, expected a function"),
])
def test_errors(call: Callable[[], Any], error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        call()


def test_what_changes_its_argument_is_refused() -> None:
    def changes(p: Any) -> Any:
        p.q = 2.0
        return np.sum(p.p)

    with pytest.raises(TraceError, match=r"changes a container that it was given, at p\.q"):
        pb.grad(changes)(Record(V, W))


def test_numbers_from_the_end() -> None:
    def f(k: Any, x: Any) -> Any:
        return np.sum(x**3) * k

    near(pb.hvp(f, argnums=-1)(2.0, V, W), 12 * V * W)
    near(pb.hvp(f, argnums=(0, -1))(2.0, V, (0.0, W))[1], 12 * V * W)
    near(pb.gnvp(lambda k, x: k * x**2, argnums=-1)(2.0, V, W), 16 * V**2 * W)
    near(pb.jacobian(lambda k, x: k * x**2, argnums=-1, sparse=True)(2.0, V).diagonal(), 4 * V)
    near(pb.hessian(f, argnums=-1, sparse=True)(2.0, V).diagonal(), 12 * V)
    near(pb.vjp(f, 2.0, V, argnums=-1)[1](1.0), 6 * V**2)
    near(pb.jvp(f, (2.0, V), W, argnums=-1)[1], 6 * V**2 @ W)
    near(pb.linearize(f, 2.0, V, argnums=-1)[1](W), 6 * V**2 @ W)
    near(pb.jacfwd(f, argnums=-1)(2.0, V), 6 * V**2)
    near(pb.hvp(lambda x, k=2.0: np.sum(x**3) * k)(V, W), 12 * V * W)
    near(pb.hvp(lambda x, k: np.sum(x**3) * k)(V, W, k=2.0), 12 * V * W)


def test_another_structure_is_another_compilation() -> None:
    f = pb.grad(lambda p: np.sum(p["w"] ** p["k"]))
    assert f({"w": V, "k": 2})["w"].tolist() == (2 * V).tolist()
    near(f({"w": V, "k": 3})["w"], 3 * V**2)
    near(f({"w": V, "k": 2, "more": 1.0})["w"], 2 * V)
    assert len(f.report().forms if hasattr(f.report(), "forms") else str(f.report()).split("\n\n")) >= 3


def test_objects_with_state_of_their_own_keep_it() -> None:
    weights: Any = Weights(p=V)
    weights.scale = 2.0
    made: Any = pb.grad(lambda w: np.sum(w["p"]) * w.scale)(weights)
    assert type(made) is Weights and made["p"].tolist() == [2.0] * 5
    near(vars(made)["scale"], np.sum(V))


def test_unregistered_objects_say_what_to_do() -> None:
    class Bare:
        def __init__(self) -> None:
            self.p = V

    with pytest.raises(TypeError, match=r"needs floats; argument b is .*Bare"):
        pb.grad(lambda b: np.sum(b.p))(Bare())


# ---- complex numbers

Z = np.array([0.3 + 0.4j, -0.7 + 0.2j])


def test_derivatives_of_holomorphic_functions() -> None:
    def f(z: Any) -> Any:
        return np.sum(np.exp(z) * z[0])

    def values(z: Any) -> Any:
        return {"a": z * z, "b": np.sin(z[0])}

    slope = np.exp(Z) * Z[0] + np.array([np.sum(np.exp(Z)), 0])
    near(pb.grad(f, holomorphic=True)(Z), slope)
    value, made = pb.value_and_grad(lambda k, z: (f(z), k), argnums="z", has_aux=True, holomorphic=True)(2.0, Z)
    near(value[0], f(Z))
    near(made, slope)
    near(pb.grad(pb.grad(lambda z: z**3, holomorphic=True), holomorphic=True)(Z[0]), 6 * Z[0])
    near(pb.vmap(pb.grad(np.sin, holomorphic=True))(Z), np.cos(Z))
    for transform in (pb.jacrev, pb.jacfwd, pb.jacobian):
        blocks = transform(values, holomorphic=True)(Z)
        near(blocks["a"], np.diag(2 * Z))
        near(blocks["b"], [np.cos(Z[0]), 0])
    step = 1e-6
    for direction in (1.0, 1j):  # a holomorphic function has one derivative, whichever way z goes
        near(slope[0], (f(Z + step * direction * np.eye(2)[0]) - f(Z - step * direction * np.eye(2)[0]))
             / (2 * step * direction), second=True)


# ---- arguments whose values decide how the program looks


def powers(table: Any, v: Any, n: Any) -> Any:
    """The argument before it is a container with texts and numbers, the one behind a whole number of Python's."""
    assert type(n) is int and type(table["base"]) is float, "both are values, not traced"
    for _ in range(n):
        v = getattr(np, table["name"])(v) * table["base"]
    return v


def total(table: Any, v: Any, n: Any) -> Any:
    return np.sum(powers(table, v, n))


TABLE = {"name": "sin", "base": 1.5}
STATIC: dict[str, Callable[..., Any]] = {
    "grad": lambda f, a, v, b, **s: pb.grad(total, 1, **s)(a, v, b),
    "value_and_grad": lambda f, a, v, b, **s: pb.value_and_grad(total, 1, **s)(a, v, b)[1],
    "has_aux": lambda f, a, v, b, **s: pb.grad(lambda table, v, n: (total(table, v, n), v), 1, True, **s)(a, v, b)[0],
    "jacfwd": lambda f, a, v, b, **s: pb.jacfwd(f, 1, **s)(a, v, b) @ np.ones(5),
    "jacrev": lambda f, a, v, b, **s: np.ones(5) @ pb.jacrev(f, 1, **s)(a, v, b),
    "jacobian": lambda f, a, v, b, **s: pb.jacobian(f, 1, **s)(a, v, b) @ np.ones(5),
    "sparse": lambda f, a, v, b, **s: pb.jacobian(f, 1, sparse=True, **s)(a, v, b) @ np.ones(5),
    "vjp": lambda f, a, v, b, **s: pb.vjp(f, a, v, b, argnums=1, **s)[1](np.ones(5)),
    "jvp": lambda f, a, v, b, **s: pb.jvp(f, (a, v, b), np.ones(5), argnums=1, **s)[1],
    "linearize": lambda f, a, v, b, **s: pb.linearize(f, a, v, b, argnums=1, **s)[1](np.ones(5)),
    "taylor": lambda f, a, v, b, **s: pb.taylor(f, (a, v, b), np.ones(5), 1, argnums=1, **s)[1],
    "vmap": lambda f, a, v, b, **s: pb.vmap(pb.grad(f, 1, **s), in_axes=(None, 0, None), **s)(a, v, b),
    "hvp": lambda f, a, v, b, **s: pb.hvp(total, 1, **s)(a, v, b, np.ones(5)),
    "hessian": lambda f, a, v, b, **s: pb.hessian(total, 1, **s)(a, v, b) @ np.ones(5),
}


@pytest.mark.parametrize("name", STATIC)
@pytest.mark.parametrize("static", [{"static_argnums": (0, 2)}, {"static_argnames": ("table", "n")},
                                    {"static_argnums": -1, "static_argnames": "table"}], ids=str)
def test_static_arguments(name: str, static: dict[str, Any]) -> None:
    def slope(v: np.ndarray, n: int) -> np.ndarray:
        return np.imag(np.vectorize(lambda x: powers(TABLE, x + 1e-30j, n))(v)) / 1e-30

    for n in (2, 3):  # another value is another program
        wanted = slope(V, n)
        if name in ("hvp", "hessian"):
            wanted = (slope(V + 1e-6, n) - slope(V - 1e-6, n)) / 2e-6
        near(STATIC[name](powers, TABLE, V, n, **static), wanted, second=name in ("hvp", "hessian"))


def test_static_arguments_of_linear_maps_and_of_check() -> None:
    scaled = lambda table, v, n: n * table["base"] * v[:3]  # noqa: E731
    back = pb.linear_transpose(scaled, TABLE, V, 4, argnums=1, static_argnums=(0, 2))
    near(back(np.ones(3)), [6, 6, 6, 0, 0])
    assert pb.check(lambda *x: np.sum(powers(*x)), TABLE, V, 2, argnums=1, static_argnums=(0, 2)).ulps < 1e6


def test_wirtinger_derivatives() -> None:
    def f(z: Any) -> Any:
        return np.sum(z**2 * np.conj(z)) + z[0] * np.imag(z[1])

    def numbers(direction: complex) -> np.ndarray:
        h = 1e-6 * direction
        return np.array([(f(Z + h * e) - f(Z - h * e)) / 2e-6 for e in np.eye(2)])

    one, other = pb.wirtinger(f)(Z)
    along_x, along_y = numbers(1.0), numbers(1j)
    near(one, (along_x - 1j * along_y) / 2, second=True)
    near(other, (along_x + 1j * along_y) / 2, second=True)
    one, other = pb.wirtinger(lambda k, p: k * p["z"] ** 3, argnums="p")(2.0, {"z": 0.3 + 0.4j})
    near(one["z"], 6 * (0.3 + 0.4j) ** 2)
    near(other["z"], 0.0)
    near(pb.wirtinger(lambda z: np.abs(z) ** 2)(0.3 + 0.4j)[1], 0.3 + 0.4j)


@pytest.mark.parametrize(("call", "said"), [
    (lambda: pb.wirtinger(np.sin)(1.0), "the argument is real; pass z"),
    (lambda: pb.grad(np.sin, holomorphic=True)(1.0), "argument x.* has real numbers: pass z"),
    (lambda: pb.grad(np.abs, holomorphic=True)(1j), "needs a complex scalar; absolute returned a real"),
    (lambda: pb.jacrev(np.real, holomorphic=True)(Z), "the result is real; pass z"),
    (lambda: pb.jacfwd(np.sin, holomorphic=True)(V), "the argument is real; pass z"),
    (lambda: pb.grad(np.exp)(1j), "returned complex numbers(.|\\n)*holomorphic=True gives"),
])
def test_what_is_not_holomorphic(call: Callable[[], Any], said: str) -> None:
    with pytest.raises(TypeError, match=said):
        call()


# ---- the checker


@pb.custom_vjp
def wrong(x):
    return x * x


wrong.defvjp(lambda x: (x * x, x), lambda x, ct: (3 * x * ct,))


def uses_it(x):
    y = np.sin(x)
    return np.sum(wrong(y) * y)


def uses_it_in_a_loop(x):
    for _ in range(3):
        x = wrong(x) * 0.5
    return x


def test_the_checker_names_the_operation_at_fault() -> None:
    for f, x in ((uses_it, np.array([0.3, 0.4])), (uses_it_in_a_loop, 0.7)):
        with pytest.raises(AssertionError) as caught:
            pb.check(f, x)
        text = str(caught.value)
        assert "the first operation at fault: wrong at" in text and "test_derivatives.py" in text
        assert "the derivative for its argument 0" in text and "differences give" in text


@pytest.mark.parametrize(("f", "x", "kink"), [
    (lambda x: np.where(x > 0, x, 2 * x), 0.0, "gt at"), (lambda x: np.max(x), np.ones(3), "max at"),
    (lambda x: np.sum(np.maximum(x, 1.0)), np.array([1.0, 2.0]), "maximum at"),
    (lambda x: np.floor(x) + x, 2.0, "floor at"), (branching, 0.0, "gt at"),
])
def test_the_checker_says_where_the_point_is_a_kink(f: Callable[[Any], Any], x: Any, kink: str) -> None:
    try:
        text = str(pb.check(f, x))
    except AssertionError as error:
        text = str(error)
    assert kink in text and "kink" in text
    assert not pb.check(f, x + 0.25 * (np.arange(3.0) if np.ndim(x) and len(x) == 3 else 1.0)).kinks


def test_the_checker_takes_argnums_and_counts_ulps() -> None:
    report = pb.check(lambda k, x: np.sum(np.exp(x)) * k, 2.0, V, argnums="x")
    assert report.elements == 5 and report.ulps <= 4 and report.kinks == ()
    assert pb.check(lambda k, x: np.sum(np.exp(x)) * k, 2.0, V, argnums=0).elements == 1


@pytest.mark.parametrize("make", [Named, Record, lambda p, q: types.SimpleNamespace(p=p, q=q)])
def test_records_go_through_native_entries(make: Callable[[Any, Any], Any]) -> None:
    f = pb.grad(lambda c: np.sum(c.p * c.q))
    at = make(V, W)
    for _ in range(3):
        made = f(at)
        assert type(made) is type(at) and np.array_equal(made.p, W) and np.array_equal(made.q, V)
    counts = [sys.getrefcount(x) for x in (V, W, type(at), at)]
    for _ in range(50):
        f(at)
    assert [sys.getrefcount(x) for x in (V, W, type(at), at)] == counts
    assert "native entry" in str(f.report(at))
    assert np.array_equal(f(make(V, 2.0)).p, np.full(5, 2.0))  # another kind of part is another compilation
    if not isinstance(at, tuple):
        at.more = 1.0
        assert f(at).more == 0.0 and f(make(V, W)).p is not None
        del at.more
        assert not hasattr(f(at), "more")
        at.q = V
        assert np.array_equal(f(at).p, V)
