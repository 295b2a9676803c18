"""Repeated stretches of straight graphs become loops with the same bits, whatever they hand on, read and make."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pullback import grad, hessian, jit, jvp, vmap
from pullback.compiler.ir.graph import Graph, evaluate
from pullback.compiler.ir.text import show
from pullback.compiler.ir.verify import verify
from pullback.compiler.passes import value_and_grad
from pullback.compiler.passes.loops.reroll import reroll
from pullback.runtime.compiled.variants import unguarded


def define(text: str) -> Callable[..., Any]:
    """The function of a text: its loops are unrolled, because no source can be found for it."""
    space: dict[str, Any] = {"np": np}
    exec(text, space)
    return space["f"]


def graph_of(function: Callable[..., Any], *args: Any) -> tuple[Graph, list[np.ndarray]]:
    """The straight graph of a function without guards, and what it is run on."""
    owner: Any = jit(function)
    signature, leaves = owner.flatten(args, {})
    traced = owner._trace(signature, values=leaves)
    graph = unguarded(traced.graph)
    return graph, [np.asarray(x, p.type.numpy) for x, p in zip([*leaves, *traced.extras], graph.params, strict=True)]


def rolled(function: Callable[..., Any], *args: Any, least: int = 256) -> Graph:
    """The graph with its loops, which is checked to give the same bits."""
    graph, inputs = graph_of(function, *args)
    made, tables = reroll(graph, least)
    verify(made)
    for a, b in zip(evaluate(graph, inputs), evaluate(made, [*inputs, *tables]), strict=True):
        assert a.tobytes() == b.tobytes()
    return made


def loops(graph: Graph) -> list[Any]:
    """The bodies' lengths, loops in loops as lists."""
    return [
        [sum(not op.regions for op in region.body), *loops(region)] for op in graph.body for region in op.regions
    ]


RNG = np.random.default_rng(7)
VECTOR, LONG, TABLE = RNG.uniform(0.2, 1.0, 5), RNG.uniform(0.2, 1.0, 120), RNG.uniform(0.2, 1.0, (24, 90))

STEPS = """
def f(x):
    y = 1.0
    for k in range(200): y = y + 0.01 * np.sin(y * x)
    return y
"""
PAIR = """
def f(x):
    a, b, c = x, 2.0 * x, x * x
    for k in range(100): a, b, c = b, c, np.sin(a + b * 0.5)
    return a + 2.0 * b + 3.0 * c
"""
STACKED = """
def f(x):
    s, out = 1.0, []
    for k in range(100):
        s = s * 0.9 + x[k]
        out.append(np.tanh(s))
    return np.sum(np.stack(out) * x[:100]) + out[7] * out[50] + out[-1]
"""
REVERSED = """
def f(x):
    s, out = 1.0, []
    for k in range(119, -1, -1):
        s = s * 0.9 + x[k]
        out.append(s * s)
    return np.sum(np.stack(out[::-1])[1:] * x[1:]) + sum(out[::3])
"""
TIMES = """
def f(x):
    y = x
    for k in range(1, 121): y = y + np.sin(k * 0.25) * y * (k * 0.125) / k
    return y
"""
GRID = """
def f(x):
    y = 1.0
    for i in range(24):
        z = 0.0
        for j in range(90): z = z + np.sin(x[i, j] * y)
        y = y + z * 0.125
    return y
"""
RAGGED = """
def f(x):
    y = 1.0
    for i in range(24):
        z = 0.0
        for j in range(16 + i): z = z + np.sin(x[i, j] * y)
        y = y + z * 0.125
    return y
"""
WINDOWS = """
def f(x):
    s = 0.0
    for k in range(0, 100): s = s * 0.5 + np.sum(x[k:k + 20:2] * x[k]) + np.max(x[k:k + 3])
    return s
"""
HEAT = """
def f(u):
    for k in range(60):
        u = u + 0.1 * (np.roll(u, 1) - 2.0 * u + np.roll(u, -1))
    return np.sum(u * u)
"""
SUM_OF_LOSSES = """
def f(x):
    w, losses = 0.5, []
    for k in range(120):
        w = w - 0.1 * (w - x[k])
        losses.append((w - 1.0) ** 2)
    return sum(losses) / len(losses)
"""
INPLACE = """
def f(x):
    y = np.sin(x)
    for k in range(70):
        y += x * 0.5
        y *= 0.75
        y -= k
    return np.sum(y)
"""
LATE = """
def f(x):
    y, first = x, None
    for k in range(100):
        y = np.cos(y) * x
        first = y if k == 0 else first
        y = y + first
    return y
"""
ROWS = """
def f(x):
    h = x[0]
    rows = [x[i] for i in range(24)]
    for k in range(1, 24):
        h = np.tanh(h * rows[k] + x[k - 1, ::-1]) + h
        h = h - np.mean(h) / (1.0 + k)
        h = h * np.exp(-h * h) + rows[-k] - np.max(rows[k]) + np.min(rows[k])
    return np.sum(h)
"""
PRODUCTS = """
def f(x):
    a, v = x[:, :24], x[0, :24]
    for k in range(90): v = a @ v / np.sqrt(np.sum(v * v))
    return np.sum(v) + np.sum(v * v)
"""
EVERY = {
    "steps": (STEPS, 0.7), "pair": (PAIR, 0.3), "stacked": (STACKED, LONG), "reversed": (REVERSED, LONG),
    "times": (TIMES, 0.3), "grid": (GRID, TABLE), "ragged": (RAGGED, TABLE), "windows": (WINDOWS, LONG),
    "heat": (HEAT, VECTOR), "losses": (SUM_OF_LOSSES, LONG), "inplace": (INPLACE, VECTOR), "late": (LATE, 0.4),
    "rows": (ROWS, TABLE), "products": (PRODUCTS, TABLE),
}
BODIES: dict[str, Any] = {
    "steps": [[5]], "pair": [[4]], "grid": [[5, [4]]], "ragged": 2, "losses": 2, "products": 1, "heat": 1,
}


@pytest.mark.parametrize("name", EVERY)
def test_the_same_bits_in_few_operations(name: str) -> None:
    text, x = EVERY[name]
    made = rolled(define(text), x)
    bodies = loops(made)
    assert bodies and len(made.body) < 150
    if name in BODIES:
        assert (len(bodies) if isinstance(BODIES[name], int) else bodies) == BODIES[name]


@pytest.mark.parametrize("name", EVERY)
def test_compiled_values_and_gradients(name: str) -> None:
    text, x = EVERY[name]
    f = define(text)
    graph, inputs = graph_of(f, x)
    wanted = evaluate(value_and_grad(graph, [0]), inputs)
    value, slope = jit(f), grad(f)
    np.testing.assert_allclose(value(x), wanted[0], rtol=1e-13)
    np.testing.assert_allclose(slope(x), wanted[1], rtol=1e-11, atol=1e-13 * np.max(np.abs(wanted[1])))
    assert "scan" in value.ir() and "scan" in slope.ir("adjoint")


@pytest.mark.parametrize("name", ["steps", "pair", "times", "late"])
def test_second_derivatives(name: str) -> None:
    text, x = EVERY[name]
    slope = grad(define(text))
    near = [slope(x + k * 1e-5) for k in (1, -1)]
    assert grad(slope)(x) == pytest.approx((near[0] - near[1]) / 2e-5, rel=1e-6)


# ---- what is found


TREE = """
def f(p):
    n = 20
    up = np.exp(p[2] / n)
    down = 1 / up
    chance = (np.exp(p[1] / n) - down) / (up - down)
    v = np.maximum(1.05 - p[0] * up ** np.arange(n + 1) * down ** np.arange(n, -1, -1), 0.0)
    for k in range(n - 1, -1, -1):
        worth = 1.05 - p[0] * up ** np.arange(k + 1) * down ** np.arange(k, -1, -1)
        v = np.maximum(np.exp(-p[1] / n) * (chance * v[1:] + (1 - chance) * v[:-1]), worth)
    return v[0]
"""


def test_functions_within_a_trace_are_rolled_before_they_are_differentiated() -> None:
    """A tree of options: rounds of a derivative, whose arrays grow and are put together, would be less alike."""
    f, p, h = define(TREE), np.array([1.0, 0.03, 0.5]), 1e-5
    slope, bent = grad(f), hessian(f)
    want = np.stack([(slope(p + h * e) - slope(p - h * e)) / (2 * h) for e in np.eye(3)])
    np.testing.assert_allclose(bent(p), want, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(jvp(f, (p,), (np.ones(3),))[1], slope(p).sum(), rtol=1e-12)
    both = vmap(grad(f))
    np.testing.assert_allclose(both(np.stack([p, p * 1.1])), [slope(p), slope(p * 1.1)], rtol=1e-12)
    for derived, args, most in ((bent, (p,), 3000), (both, (np.stack([p, p]),), 1000)):  # of 13,800 and 4,600
        lines = [line for line in str(derived.ir("graph", *args)).splitlines() if "=" in line]
        assert len(lines) < most and any("scan" in line for line in lines)


def test_numbers_that_follow_a_rule_need_no_table() -> None:
    made = rolled(define(TIMES.replace("np.sin(k * 0.25)", "(k * 0.25)")), 0.3)
    assert len(made.params) == 1


def test_numbers_without_a_rule_are_read_from_a_table() -> None:
    f = define("""
def f(x):
    rng, y = np.random.Generator(np.random.PCG64(1)), x
    for k in range(100): y = np.cos(y * (k * k % 7 - 2.5)) + x * x
    return y
""")
    made = rolled(f, 0.3)
    assert [p.type.shape for p in made.params] == [(), (100,)]
    value, slope = jit(f), grad(f)
    assert value(0.3) == pytest.approx(f(0.3), rel=1e-14) and value(0.3) == value(0.3)
    assert slope(0.3) == pytest.approx((f(0.3 + 1e-7) - f(0.3 - 1e-7)) / 2e-7, rel=1e-5)


def test_places_without_a_rule() -> None:
    order = [int(k) for k in random.Random(3).sample(range(120), 120)]
    f = define("""
def f(x):
    s = 0.0
    for k in order: s = s * 0.5 + x[k] * x[k // 2]
    return s
""")
    f.__globals__["order"] = order
    rolled(f, LONG)
    assert jit(f)(LONG) == f(LONG)


def test_first_rounds_that_differ_stay_outside() -> None:
    made = rolled(define("""
def f(x):
    y = x
    for k in range(120):
        y = np.sin(y) * x if k < 3 else y * x + np.cos(y)
        y = y + 1.0
    return y
"""), 0.3)
    assert len(loops(made)) == 1 and 5 < sum(not op.regions for op in made.body) < 25


def test_what_follows_on_a_loop_can_be_another() -> None:
    made = rolled(define("""
def f(x):
    y = x
    for k in range(100): y = np.sin(y) * x + 1.0
    for k in range(100): y = y / (x + y) - 0.5
    return y
"""), 0.3)
    assert len(loops(made)) == 2


def test_consecutive_results_are_one_stack() -> None:
    made = rolled(define(STACKED), LONG)
    joined = [op for op in made.body if op.prim.name == "concatenate"]
    assert all(len(op.args) <= 3 for op in joined)


def test_guards_go_into_the_loop() -> None:
    f = define("""
def f(x):
    y = 1.0
    for k in range(150):
        y = y * x + 0.25
        if y > 10.0: y = y * 0.5
    return y
""")
    value, slope = jit(f), grad(f)
    for x in (0.5, 0.6, 0.5, 1.5, 0.6):
        assert value(x) == f(x)
        assert slope(x) == pytest.approx((f(x + 1e-8) - f(x - 1e-8)) / 2e-8, rel=1e-4)
    assert "guard" in value.ir("graph", 0.5) and len(value.ir("graph", 0.5).splitlines()) < 40


def test_an_index_out_of_range_within_the_loop() -> None:
    f = define("""
def f(x, i):
    s = 0.0
    for k in range(100): s = s + x[i[k]] * s + 1.0
    return s
""")
    value, i = jit(f), np.arange(100) % 5
    assert value(VECTOR, i) == f(VECTOR, i)
    assert "scan" in value.ir()
    i[63] = 9
    with pytest.raises(IndexError, match="index 9 is out of bounds for axis 0 with size 5"):
        value(VECTOR, i)


def test_calls_are_the_same_when_the_graph_changes() -> None:
    f = define("def f(x, n):\n    for k in range(n): x = np.sin(x) * 1.5 + 0.25\n    return x")
    value = jit(f)
    for n in (5, 200, 90, 5, 200, 300):
        assert value(0.3, n) == pytest.approx(f(0.3, n), rel=1e-14)


# ---- what is left as it is


@pytest.mark.parametrize(
    "text",
    [
        "def f(x):\n    for k in range(20): x = np.sin(x) + 1.0\n    return x",
        "def f(x):\n    y = x[:1]\n    for k in range(70): y = np.append(y, x[k] * y[-1]) + 1.0\n    return y",
    ],
    ids=["short", "growing"],
)
def test_what_stays_straight(text: str) -> None:
    made = rolled(define(text), LONG)
    assert loops(made) == []


@pytest.mark.parametrize(("length", "rounds"), [(1500, 1), (200, 7)])
def test_what_is_long_but_not_repeated_often_stays_straight(length: int, rounds: int) -> None:
    rng = random.Random(1)
    lines = ["def f(x):", "    v = [x, x + 1.0]", f"    for _ in range({rounds}):"]
    for _ in range(length):
        a, b, op = rng.randrange(1, 9), rng.randrange(1, 9), rng.choice("+-*")
        lines.append(f"        v.append(np.sin(v[-min({a}, len(v))] {op} v[-min({b}, len(v))]))")
    graph, _ = graph_of(define("\n".join([*lines, "    return v[-1]"])), 0.5)
    assert show(reroll(graph)[0]) == show(graph)


# ---- random loops


def program(rng: random.Random) -> str:
    """A function with a loop, perhaps in a loop, over a few numbers that are handed on."""
    names = ["a", "b", "c"][: rng.randint(1, 3)]
    deep = rng.random() < 0.4

    def operand(where: str) -> str:
        choices = [*names, "x", f"{rng.randint(-3, 3)}.25", f"({where} * 0.5)", f"t[{where}]", f"t[{where} % 7 + 2]"]
        return rng.choice(choices)

    def body(pad: str, where: str) -> list[str]:
        made = []
        for _ in range(rng.randint(1, 4)):
            op, function = rng.choice("+-*"), rng.choice(["np.sin", "np.tanh", "abs", ""])
            made.append(f"{pad}{rng.choice(names)} = {function}({operand(where)} {op} {operand(where)})")
        if rng.random() < 0.3:
            made.append(f"{pad}{', '.join(names)} = {', '.join(rng.sample(names, len(names)))}")
        if rng.random() < 0.4:
            made.append(f"{pad}out.append({rng.choice(names)} * x)")
        return made

    lines = ["def f(x, t):", *(f"    {n} = {rng.choice(['x', '1.0', 'x * 2.0'])}" for n in names), "    out = [x]"]
    if deep:
        inner = rng.choice(["range(12)", "range(9 + i)", "range(i, i + 10)"])
        lines += ["    for i in range(12):", *body("        ", "i"), f"        for j in {inner}:"]
        lines += [*body("            ", "j"), *body("        ", "i")]
    else:
        lines += [f"    for i in range({rng.randint(10, 60)}):", *body("        ", "i")]
    pick = rng.choice(["out[-1]", "sum(out)", "np.sum(np.stack([o * 1.0 for o in out]))", "out[len(out) // 2]"])
    return "\n".join([*lines, f"    return {' + '.join(names)} + {pick}"])


@given(st.integers(0, 10**9))
@settings(max_examples=60, deadline=None)
def test_random_loops(seed: int) -> None:
    rolled(define(program(random.Random(seed))), 0.625, RNG.uniform(0.2, 1.0, 80), least=24)
