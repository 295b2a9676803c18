"""Containers of many small leaves: they go into a kernel, and come out of it, as one vector of each dtype."""

import gc
import sys
from collections import OrderedDict, namedtuple
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from pullback import grad, hvp, jit, value_and_grad
from pullback.compiler.backend.entries.native import entry_count
from pullback.compiler.ir.graph import evaluate
from pullback.compiler.ir.verify import verify
from pullback.compiler.passes.packing import MANY, packed, together
from pullback.runtime.compiled.packed import PackedKernel
from tests.work import calls_of

N = 3 * MANY
Pair = namedtuple("Pair", "a b")


@dataclass
class Layer:
    w: np.ndarray
    b: float
    name: str = "layer"


def numbers(n=N):
    return {f"k{k}": 0.1 + k / n for k in range(n)}


def squares(p):
    return sum(v * v for v in p.values())


def is_packed(f: Any) -> bool:
    return isinstance(f._latest.kernel, PackedKernel)


def test_the_gradient_of_many_numbers_and_of_the_next_ones():
    f: Any = grad(squares)
    for shift in (0.0, 1.0, -2.5):
        p = {k: v + shift for k, v in numbers().items()}
        assert f(p) == {k: 2 * v for k, v in p.items()}
        assert all(type(v) is float for v in f(p).values())
    assert is_packed(f)
    assert entry_count(f) == 1


def test_a_chain_over_neighbours_becomes_a_loop_over_the_vector():
    def f(p):
        x = list(p.values())
        s = 0.0
        for i in range(1, len(x)):
            s = s + (x[i] - x[i - 1]) ** 2 * np.sin(x[i])
        return s

    p = numbers(500)
    g: Any = grad(f)
    made = g(p)
    for key in ("k0", "k77", "k499"):
        h = 1e-6
        up, down = f({**p, key: p[key] + h}), f({**p, key: p[key] - h})
        assert made[key] == pytest.approx((up - down) / (2 * h), rel=1e-6, abs=1e-8)
    assert len(g._latest.kernel.kernel.graph.body) < 60


def mixed():
    items = [{"w": np.arange(6.0).reshape(2, 3) + k, "pair": (0.5 + k, [1.5 * k])} for k in range(MANY)]
    return {
        "items": items, "big": np.linspace(0, 1, 500), "none": None, "single": np.array([2, 3], np.float32),
        "pairs": [Pair(1.0 + k, 2.0 - k) for k in range(5)],
        "layers": [Layer(np.ones(3) * k, 0.1 * k) for k in range(4)],
        "ordered": OrderedDict(a=1.0, b=np.ones(2)), "name": SimpleNamespace(x=3.0, y=np.float64(2.0)),
    }


def weighed(p):
    total = np.sum(p["big"] ** 3) + np.sum(p["single"] ** 2)
    for k, item in enumerate(p["items"]):
        total = total + np.sum(np.sin(item["w"])) * item["pair"][0] + item["pair"][1][0] ** 2 * (k + 1)
    for k, pair in enumerate(p["pairs"]):
        total = total + pair.a * pair.b * (k + 2)
    for layer in p["layers"]:
        total = total + np.sum(layer.w) * layer.b
    return total + p["ordered"]["a"] * np.sum(p["ordered"]["b"]) + p["name"].x * p["name"].y


def test_leaves_of_all_kinds_in_containers_of_all_kinds():
    p = mixed()
    f = value_and_grad(weighed)
    for _ in range(3):
        value, g = f(p)
    assert value == pytest.approx(float(weighed(p)))
    assert is_packed(f)
    for k, item in enumerate(p["items"]):
        np.testing.assert_allclose(g["items"][k]["w"], np.cos(item["w"]) * item["pair"][0])
        np.testing.assert_allclose(g["items"][k]["pair"][0], np.sum(np.sin(item["w"])))
        assert g["items"][k]["pair"][1] == [2 * item["pair"][1][0] * (k + 1)]
        assert g["items"][k]["w"].flags.owndata
    np.testing.assert_allclose(g["big"], 3 * p["big"] ** 2)
    assert g["none"] is None
    assert g["single"].dtype == np.float32
    assert g["pairs"][2] == Pair(0.0 * 4, 3.0 * 4)
    assert type(g["layers"][3]) is Layer
    np.testing.assert_allclose(g["layers"][3].w, [0.3] * 3)
    assert list(g["ordered"]) == ["a", "b"]
    assert g["name"].x == 2.0


def test_results_of_every_kind():
    @jit
    def f(p):
        made = {f"r{k}": v * k if k % 3 else v > 50 for k, v in enumerate(p)}
        return made, [v + 0.5 for v in p], tuple(np.array([v, 2 * v]) for v in p), np.arange(400.0) * p[1], "text", None

    p = list(range(2 * MANY))
    first = f(p)
    again = f(p)
    for made, halves, arrays, big, text, none in (first, again):
        assert made == {f"r{k}": v * k if k % 3 else v > 50 for k, v in enumerate(p)}
        assert {type(v) for v in made.values()} == {int, bool}
        assert halves == [v + 0.5 for v in p]
        assert [list(a) for a in arrays] == [[v, 2 * v] for v in p]
        np.testing.assert_array_equal(big, np.arange(400.0))
        assert text == "text"
        assert none is None
    first[2][0][:] = 7  # arrays of their own
    assert list(first[2][1]) == [1, 2]


def test_other_structures_sizes_and_kinds_are_other_signatures():
    f = grad(squares)
    p = numbers()
    for _ in range(2):
        f(p)
    assert f({**p, "k0": np.float64(2.0)})["k0"] == 4.0
    assert type(f({**p, "k0": np.float64(2.0)})["k0"]) is np.float64
    np.testing.assert_array_equal(grad(lambda p: np.sum(squares(p)))({**p, "k0": np.ones(3)})["k0"], 2 * np.ones(3))
    fewer = dict(list(p.items())[:-1])
    assert f(fewer) == {k: 2 * v for k, v in fewer.items()}
    other = dict(reversed(p.items()))
    assert f(other) == {k: 2 * v for k, v in p.items()}
    with pytest.raises(TypeError, match=r"p\['k1'\] is a str|'k1'"):
        f({**p, "k1": np.array("text")})


def test_integers_beyond_64_bits_are_refused_by_the_entry_too():
    f = jit(lambda p: [v + 1 for v in p])
    p = list(range(N))
    for _ in range(2):
        f(p)
    with pytest.raises(TypeError, match=r"p\[3\].*64 bits"):
        f([0, 1, 2, 2**70, *p[4:]])


def test_out_keywords_and_products():
    p = {f"k{k}": np.full(2, 0.5 + k) for k in range(N)}

    def f(p, scale):
        return scale * sum(np.sum(v**3) for v in p.values())

    g = grad(f)
    out = {k: np.zeros(2) for k in p}
    assert g(p, 2.0, out=out) is out
    np.testing.assert_allclose(out["k5"], 6 * p["k5"] ** 2)
    for _ in range(3):
        np.testing.assert_allclose(g(p=p, scale=1.0)["k7"], 3 * p["k7"] ** 2)

    def along(p):
        return sum(np.sum(v * w) for v, w in zip(g(p, 1.0).values(), p.values(), strict=True))

    np.testing.assert_allclose(grad(along)(p)["k3"], 9 * p["k3"] ** 2)
    np.testing.assert_allclose(hvp(lambda p: f(p, 1.0))(p, p)["k4"], 6 * p["k4"] ** 2)


def test_errors_of_the_kernel_come_through_and_calls_that_decide_otherwise_are_traced_anew():
    @grad
    def f(p):
        s = squares(p)
        if float(s) > 1e3:
            s = 2 * s
        return s

    p = numbers()
    big = {k: v + 10 for k, v in p.items()}
    for _ in range(3):
        assert f(p)["k9"] == 2 * p["k9"]
        assert f(big)["k9"] == 4 * big["k9"]

    @jit
    def g(p, i):
        return np.array(list(p.values()))[i]

    assert g(p, 3) == p["k3"]
    with pytest.raises(IndexError):
        g(p, N)
    with pytest.raises(IndexError):
        g(p, N)


def test_nothing_is_kept_or_lost():
    f = grad(squares)
    p = {k: v + 1000.5 for k, v in numbers().items()}
    for _ in range(2):
        f(p)
    value = p["k1"]
    before, keys = sys.getrefcount(value), sys.getrefcount("k1")
    gc.collect()
    blocks = sys.getallocatedblocks()
    for _ in range(50):
        f(p)
    assert sys.getrefcount(value) == before
    assert abs(sys.getrefcount("k1") - keys) < 5
    gc.collect()
    assert sys.getallocatedblocks() - blocks < N


def test_a_graph_of_packed_values_means_the_same():
    f: Any = grad(weighed)
    p = mixed()
    f(p)
    graph = f._latest.graph
    whole = packed(graph, together(graph.params), together(graph.results))
    verify(whole)
    rng = np.random.default_rng(0)
    args = [np.asarray(rng.normal(size=q.type.static_shape()), q.type.numpy) for q in graph.params]
    kernel = f._latest.kernel
    wanted = evaluate(graph, args)
    for a, b in zip(wanted, kernel.run(args), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6 if a.dtype == np.float32 else 1e-13, atol=1e-13)
    for a, b in zip(wanted, kernel.plain.run(args), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6 if a.dtype == np.float32 else 1e-13, atol=1e-13)


def test_constants_of_results_keep_their_bits():
    values = [0.0, -0.0, float("nan"), float("inf"), 1.0]
    f = jit(lambda p: [np.float64(c) for _, c in zip(p, values * N, strict=False)])
    made = np.array(f([1.0] * N))
    assert made.tobytes() == np.array((values * N)[:N]).tobytes()


def test_small_containers_stay_as_they_are():
    f = grad(squares)
    f(numbers(MANY - 1))
    assert not is_packed(f)


def test_the_work_is_that_of_the_number_of_leaves():
    def first(n):
        p, f, made = numbers(n), grad(lambda p: np.sum(np.array(list(p.values())) ** 2)), []
        calls = calls_of(lambda: made.append(f(p)))
        assert made[0][f"k{n - 1}"] == 2 * p[f"k{n - 1}"]
        return calls

    first(100)
    small, large = first(2000), first(8000)
    assert large < 5 * small
