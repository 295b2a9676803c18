"""Every registered primitive, from its own samples: types, text, both meanings, and derivatives to second order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest

from pullback.compiler.backend.kernel import compile_graph
from pullback.compiler.ir.graph import Builder, Graph, evaluate
from pullback.compiler.ir.primitive import REGISTRY, Effect, Primitive
from pullback.compiler.ir.text import parse, show
from pullback.compiler.ir.types import type_of
from pullback.compiler.ir.verify import verify
from pullback.compiler.ops.control import Region
from pullback.compiler.ops.elementwise import Elementwise
from pullback.compiler.ops.library import Library
from pullback.compiler.ops.scipy.special import Special
from pullback.compiler.passes import adjoint
from tests.compare import difference, directional
from tests.exact import ROUNDINGS, STEPS, bounds, pulled_wrong

Sample = tuple[Sequence[np.ndarray], Mapping[str, Any]]
SHAPES: tuple[tuple[int, ...], ...] = ((), (0,), (1,), (2, 0, 3), (67,), (5, 1, 3))
SPECIAL = [0.0, 1.0, 2.0, 0.5, 3.7, 1e-310, 5e-324, 2.0**-1022, 1e-40, 1e30, 1e300, np.inf]
WHOLE = [0, 1, 2, 7, 31, 2**31 - 1, 2**62]

#: shapes of arguments and attributes where axes are none, empty, one or long
EDGES: dict[str, list[tuple[list[tuple[int, ...]], dict[str, Any]]]] = {
    "sum": [
        ([()], {"axes": ()}),
        ([(0,)], {"axes": (0,)}),
        ([(3, 0, 2)], {"axes": (1,)}),
        ([(3, 0, 2)], {"axes": (0, 2)}),
        ([(1001,)], {"axes": (0,)}),
        ([(3, 301)], {"axes": (0,)}),
        ([(13, 1, 65)], {"axes": (0, 2)}),
    ],
    "max": [
        ([()], {"axes": ()}),
        ([(1,)], {"axes": (0,)}),
        ([(0, 3)], {"axes": (1,)}),
        ([(301,)], {"axes": (0,)}),
        ([(13, 1, 35)], {"axes": (0, 2)}),
    ],
    "spread": [
        ([()], {"shape": (3, 2), "axes": ()}),
        ([()], {"shape": (), "axes": ()}),
        ([(0,)], {"shape": (2, 0), "axes": (1,)}),
        ([(1,)], {"shape": (1, 67), "axes": (0,)}),
        ([(3,)], {"shape": (0, 3), "axes": (1,)}),
    ],
    "reshape": [
        ([()], {"shape": (1, 1)}),
        ([(1,)], {"shape": ()}),
        ([(0, 3)], {"shape": (3, 2, 0)}),
        ([(35,)], {"shape": (5, 7)}),
        ([(4, 9)], {"shape": (6, 6)}),
    ],
    "transpose": [
        ([()], {"axes": ()}),
        ([(0, 3)], {"axes": (1, 0)}),
        ([(33, 17)], {"axes": (1, 0)}),
        ([(2, 3, 1, 5)], {"axes": (3, 1, 0, 2)}),
    ],
    "slice": [
        ([()], {"start": (), "step": (), "shape": ()}),
        ([(5,)], {"start": (0,), "step": (1,), "shape": (0,)}),
        ([(0, 4)], {"start": (0, 1), "step": (1, 2), "shape": (0, 2)}),
        ([(67,)], {"start": (66,), "step": (-3,), "shape": (23,)}),
    ],
    "pad": [
        ([()], {"start": (), "step": (), "shape": ()}),
        ([(0,)], {"start": (0,), "step": (1,), "shape": (5,)}),
        ([(0, 2)], {"start": (0, 1), "step": (1, 2), "shape": (0, 4)}),
        ([(23,)], {"start": (66,), "step": (-3,), "shape": (67,)}),
    ],
    "concatenate": [
        ([(3,)], {"axis": 0}),
        ([(0,), (3,), (1,), (0,)], {"axis": 0}),
        ([(0,), (0,)], {"axis": 0}),
        ([(2, 17, 1), (2, 33, 1)], {"axis": 1}),
    ],
    "contract": [
        ([(), ()], {"left": (), "right": ()}),
        ([(), (3,)], {"left": (), "right": ()}),
        ([(1,), (1,)], {"left": (0,), "right": (0,)}),
        ([(0, 3), (3, 2)], {"left": (1,), "right": (0,)}),
        ([(5, 3), (3,)], {"left": (1,), "right": (0,)}),
        ([(3,), (3, 5)], {"left": (0,), "right": (0,)}),
        ([(9, 17), (17, 33)], {"left": (1,), "right": (0,)}),
        ([(3, 4), (4, 3)], {"left": (0, 1), "right": (1, 0)}),
        ([(2, 5), (5, 2)], {"left": (), "right": (), "batch": ((0, 1), (1, 0))}),
        ([(3, 2, 5), (4, 5, 3)], {"left": (2,), "right": (1,), "batch": ((0, 2),)}),
    ],
}
EDGES["min"] = EDGES["max"]
WITHOUT = {
    "new_tape": "test_adjoint_regions", "push": "test_adjoint_regions", "pop": "test_adjoint_regions",
    "external": "test_rules", "again": "test_rules", "refused": "test_rules", "called": "test_scipy",
    "complex": "test_numpy_complex", "real": "test_numpy_complex", "imag": "test_numpy_complex",
}  # fmt: skip
"""What has no arguments that are arrays, or stands for a function of the user's, and the tests that have both."""

names = pytest.mark.parametrize("name", sorted(set(REGISTRY) - set(WITHOUT)))


def one(prim: Primitive, args: Sequence[np.ndarray], attrs: Mapping[str, Any]) -> Graph:
    """The graph of one operation."""
    regions = prim.sample_regions() if isinstance(prim, Region) else ()
    b = Builder(prim.name, [type_of(a) for a in args], [f"a{k}" for k in range(len(args))])
    return b.finish(b.emit(prim, *b.params, regions=regions, **attrs))


@cache
def samples(name: str) -> tuple[Sample, ...]:
    """The primitive's samples, and more in other shapes."""
    prim, rng = REGISTRY[name], np.random.default_rng(11)
    made = [([np.asarray(a) for a in args], attrs) for args, attrs in prim.samples(rng)]
    for shapes, attrs in EDGES.get(name, ()):
        for kind in ("f8", "f4", "i8", "i4", "?")[: 4 if name in ("sum", "max", "min", "contract") else 5]:
            made.append(([np.asarray(rng.normal(size=s) * 3).astype(kind) for s in shapes], attrs))
    if isinstance(prim, Elementwise):
        made += [([np.resize(a, s) for a in args], attrs) for args, attrs in made for s in SHAPES]
    assert made, f"the primitive {name} has no samples: tests would pass without looking"
    return tuple(made)


def specials(prim: Elementwise) -> Iterator[list[np.ndarray]]:
    """Zeros, subnormals, infinities and NaN in every combination, for each element kind."""
    for dtype in prim.kinds:
        kind = np.dtype({"bool": "?", "i32": "i4", "i64": "i8", "f32": "f4", "f64": "f8"}[dtype])
        if kind.kind == "f":
            with np.errstate(over="ignore"):
                line = np.array([*SPECIAL, *(-x for x in SPECIAL), np.nan]).astype(kind)
        elif kind.kind == "b":
            line = np.array([False, True])
        else:
            info = np.iinfo(kind)
            fit = [w for w in WHOLE if w <= info.max]
            line = np.array([*fit, *(-w for w in fit), info.min, info.max], kind)
        yield [g.ravel() for g in np.meshgrid(*[line] * prim.arity, indexing="ij")]


def _without_rounded_products(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> list[np.ndarray]:
    """Without numbers whose product overflows, underflows or cancels: it is rounded before the sum, or it is not."""
    with np.errstate(all="ignore"):
        product = x * y
        exact = ~np.isfinite(x) | ~np.isfinite(y) | (x == 0) | (y == 0)
        size = np.abs(product)
        normal = (size >= np.finfo(x.dtype).tiny) & (size < np.inf)
        kept = exact | normal & ~(np.sign(product) * np.sign(z) < 0)
    return [a[kept] for a in (x, y, z)]


def told(prim: Primitive, args: Sequence[np.ndarray], attrs: Mapping[str, Any]) -> str:
    return f"{prim.name} {dict(attrs)} of {', '.join(str(type_of(a)) for a in args)}"


@names
def test_types_are_those_of_numpy(name: str) -> None:
    prim = REGISTRY[name]
    for args, attrs in samples(name):
        graph = one(prim, args, attrs)
        with np.errstate(all="ignore"):
            made = prim.evaluate(args, attrs, graph.body[0].regions)
        assert [type_of(m) for m in made] == [r.type for r in graph.results], told(prim, args, attrs)


@names
def test_text_parses_back(name: str) -> None:
    for args, attrs in samples(name):
        graph = one(REGISTRY[name], args, attrs)
        for bare in (False, True):
            again = verify(parse(show(graph, bare)))
            assert show(again, bare) == show(graph, bare)
            assert [r.type for r in again.results] == [r.type for r in graph.results]


@names
def test_wrong_numbers_of_arguments_are_refused(name: str) -> None:
    prim = REGISTRY[name]
    args, attrs = samples(name)[0]
    if prim.name == "concatenate":
        args = []
    with pytest.raises((TypeError, ValueError)):
        one(prim, [*args, np.zeros(3, np.float32)], attrs)


def holds_regions(graph: Graph) -> bool:
    """Whether there are loops or branches: they round as NumPy does, in the same order."""
    return any(op.regions for op in graph.body)


def assert_native(graph: Graph, args: Sequence[np.ndarray], what: str) -> None:
    """The kernel of `graph` agrees with its NumPy meaning within the bound for its rounding errors."""
    got, want = compile_graph(graph).run(args), evaluate(graph, args)
    assert len(got) == len(want)
    _, floors = bounds(graph, args) if not holds_regions(graph) else (want, [0.0] * len(want))
    for g, w, floor in zip(got, want, floors, strict=True):
        wrong = difference(g, w, floor=2 * floor)
        assert wrong is None, f"{what}: {wrong}\n{show(graph)}"


@names
def test_native_code_is_the_numpy_meaning(name: str) -> None:
    prim = REGISTRY[name]
    for args, attrs in samples(name):
        if isinstance(prim, Special):  # whose formulas are many operations
            (got,), (want,) = compile_graph(one(prim, args, attrs)).run(args), prim.evaluate(args, attrs, ())
            np.testing.assert_allclose(got, want, rtol=2e-6 if want.dtype == np.float32 else 2e-13)
        elif isinstance(prim, Library):  # small matrices are written out and round elsewhere
            got, want = compile_graph(one(prim, args, attrs)).run(args), prim.evaluate(args, attrs, ())
            for g, w in zip(got, want, strict=True):
                np.testing.assert_allclose(g, w, rtol=1e-4 if w.dtype == np.float32 else 1e-13, atol=1e-13)
        elif any(not np.isfinite(a).all() for a in args):
            got, want = compile_graph(one(prim, args, attrs)).run(args), prim.evaluate(args, attrs, ())
            assert all(difference(g, w) is None for g, w in zip(got, want, strict=True))
        else:
            assert_native(one(prim, args, attrs), args, told(prim, args, attrs))


ELEMENTWISE = [n for n, p in sorted(REGISTRY.items()) if isinstance(p, Elementwise)]


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_native_code_on_special_values(name: str) -> None:
    """Exactly, or within the stated roundings; the sign of zero included."""
    prim = REGISTRY[name]
    assert isinstance(prim, Elementwise)
    for args in specials(prim):
        if name == "muladd":
            args = _without_rounded_products(*args)
        graph = one(prim, args, {})
        (got,), (want,) = compile_graph(graph).run(args), evaluate(graph, args)
        what, relative, floor = told(prim, args, {}), 0.0, 0.0
        if want.dtype.kind == "f" and name in ROUNDINGS:
            relative = ROUNDINGS[name] * 2.0 ** (-52 if want.dtype == np.float64 else -23)
            floor = 4 * float(np.finfo(want.dtype).smallest_subnormal)
        wrong = difference(got, want, relative=relative, floor=floor)
        at = [a[int(wrong.split("[")[1].split("]")[0])] for a in args] if wrong else ()
        assert wrong is None, f"{what} at {at}: {wrong}"
        if want.dtype.kind == "f":
            off = (np.signbit(got) != np.signbit(want)) & (want == 0)
            assert not off.any(), f"{what} at {[a[off][0] for a in args]}: the sign of zero"


def draw(graph: Graph, rng: np.random.Generator) -> list[np.ndarray]:
    """Cotangents for the float results."""
    floats = [r.type for r in graph.results if r.type.is_float]
    return [np.asarray(rng.normal(size=t.static_shape())).astype(t.numpy) for t in floats]


def assert_derivative(graph: Graph, args: Sequence[np.ndarray], rng: np.random.Generator) -> tuple[Graph, list]:
    """The adjoint for all floats, once it has been checked, with arguments for it."""
    wrt = [k for k, p in enumerate(graph.params) if p.type.is_float]
    joint = verify(adjoint(graph, wrt))
    weights, many = draw(graph, rng), len(graph.results)
    given = [*args, *weights]
    values, errors = bounds(joint, given)
    wrong = pulled_wrong(graph, args, wrt, weights, values[many:], errors[many:], rng)
    assert wrong is None, f"{wrong}\n{show(joint)}"
    return joint, given


ELSEWHERE = {n for n, p in REGISTRY.items() if isinstance(p, (Region, Special, Library))}
"""Whose second derivatives have tests of their own: loops, special functions, linear algebra and transforms."""


@pytest.mark.parametrize("name", sorted(set(REGISTRY) - set(WITHOUT) - ELSEWHERE))
def test_derivatives_to_second_order(name: str) -> None:
    """The adjoint, and the adjoint of the adjoint, in both executors."""
    prim, rng = REGISTRY[name], np.random.default_rng(13)
    for args, attrs in samples(name):
        graph = one(prim, args, attrs)
        if not any(r.type.is_float for r in graph.results) or not all(np.isfinite(a).all() for a in args):
            continue
        for order in (1, 2):
            graph, args = assert_derivative(graph, args, rng)
            assert_native(graph, args, f"order {order} of {told(prim, args, attrs)}")


PARTLY = {"potrf", "getri", "getrs", "trsm", "cholesky", "complex_cholesky"}
PARTLY |= {"commutator", "complement", "complex_complement"}
PARTLY |= {"gammainc", "gammaincc", "polynomial", "zeta", "gamma_draw_slope", "share_draw_slope"}
"""What has no derivative in some argument, or only along symmetric matrices, or is what others expand to."""


@pytest.mark.parametrize("name", sorted(set(REGISTRY) - STEPS - PARTLY - set(WITHOUT)))
def test_native_gradients_by_central_differences(name: str) -> None:
    """The kernel of the adjoint against the kernel of the primitive, to what differences of f64 can show."""
    prim, rng = REGISTRY[name], np.random.default_rng(17)
    for args, attrs in samples(name):
        graph = one(prim, args, attrs)
        wrt = [k for k, p in enumerate(graph.params) if p.type.dtype == "f64"]
        if not wrt or [r.type.dtype for r in graph.results] != ["f64"] or not all(np.isfinite(a).all() for a in args):
            continue
        along = [np.asarray(rng.normal(size=a.shape) * (k in wrt)) for k, a in enumerate(args)]
        (weight,) = draw(graph, rng)
        pulled = compile_graph(adjoint(graph, wrt)).run([*args, weight])[1:]
        (slope,) = directional(compile_graph(graph).run, args, along)
        got = sum(np.sum(p * along[k]) for p, k in zip(pulled, wrt, strict=True))
        scale = np.sum(np.abs(slope * weight)) + np.sum(np.abs(evaluate(graph, args)[0]))
        assert abs(got - np.sum(slope * weight)) <= 1e-9 * scale + 1e-12, told(prim, args, attrs)


@names
def test_what_is_no_float_gets_no_cotangent(name: str) -> None:
    prim = REGISTRY[name]
    if isinstance(prim, Region) or prim.takes:  # their cotangents run through a sweep
        return
    for args, attrs in samples(name):
        b = Builder(name, [type_of(a) for a in args])
        out = b.emit(prim, *b.params, **attrs)
        given = [b.param(r.type) if r.type.is_float else None for r in out]
        made = prim.pull(b, b.body[0], given)
        assert len(made) == len(args)
        for a, ct in zip(b.params, made, strict=False):
            assert ct is None or (a.type.is_float and ct.type == a.type)
        assert all(ct is None for ct in prim.pull(b, b.body[0], [None] * len(out)))


@names
def test_what_may_fail_says_so(name: str) -> None:
    prim = REGISTRY[name]
    assert (prim.effect is Effect.MAY_FAIL) == (name in {"check_indices", "external", "guard", "require"})
