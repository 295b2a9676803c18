"""Lists, tuples, dicts, and what loops run over: enumerate, zip, reversed, rows, comprehensions."""

# ruff: noqa: B007, B905, RUF007

import math

import numpy as np

from tests.control.case import Corpus

corpus = Corpus()
case = corpus.case
rng = np.random.default_rng(4)

A, B = rng.normal(size=6), rng.normal(size=6)
M = rng.normal(size=(4, 3))


@case((A,))
def append_then_array(a):
    out = []
    s = 0.0
    for v in a:
        s += v * v
        out.append(s)
    return np.array(out) * 2


@case((2.0,), (0.05,))
def list_of_unknown_length(x):
    out = [x]
    while abs(out[-1]) > 0.1:
        out.append(out[-1] * 0.5)
    total = 0.0
    for v in out:
        total += v * v
    return total


@case((A, B))
def enumerate_of_zip(xs, ys):
    s = 0.0
    for i, (x, y) in enumerate(zip(xs, ys)):
        s += i * x * y
    for x, y in zip(xs, ys[1:]):
        s -= x * y * y
    return s


@case((A,))
def reversed_array(a):
    s = 0.0
    for v in reversed(a):
        s = s * 0.5 + v * v
    return s


@case((M,))
def rows(m):
    best = m[0]
    for row in m:
        if row.sum() > best.sum():
            best = row
    return best * best


@case((M, rng.normal(size=(3, 3)) * 0.4))
def recurrent(xs, w):
    h = np.zeros(3)
    hs = []
    for x in xs:
        h = np.tanh(w @ h + x)
        hs.append(h)
    return np.array(hs).sum(axis=0)


@case((0.4, 5))
def tuple_state(x, n):
    state = (x, 1.0)
    for i in range(n):
        state = (state[0] + 0.1 * state[1], state[1] - 0.1 * state[0] * i)
    return state


@case((0.4, 5), (0.4, 0))
def dict_state(x, n):
    state = {"position": x, "speed": 0.0}
    for _ in range(n):
        state["speed"] -= 0.1 * math.sin(state["position"])
        state["position"] += 0.1 * state["speed"]
    return state["position"] * state["speed"] + state["position"]


@case(({"w": A, "b": 0.3}, 3))
def dict_of_parameters(p, n):
    y = 0.0
    for i in range(n):
        y = math.tanh(p["w"][i] * y + p["b"])
    return y


@case((0.5, 4), (0.5, 0))
def list_as_memory(x, n):
    xs = [1.0, x]
    for k in range(n):
        xs.append(xs[-1] * 0.5 + xs[-2] * x)
    xs[0] = 7.0
    return sum(xs)


@case((A,))
def comprehension(a):
    squares = [v * v for v in a]
    return sum([s * (i + 1) for i, s in enumerate(squares)])


@case((A,))
def comprehension_with_a_condition(a):
    return sum([v * v for v in a if v > 0])


@case((A,))
def generator_in_sum(a):
    return sum(v * math.exp(-v * v) for v in a) / len(a)


@case((A, 0.1), (A, -5.0))
def any_and_all(a, t):
    if any(v < t for v in a):
        return (a * a).sum() * t
    if all(v > t for v in a):
        return a.sum() ** 2
    return t


@case(([0.3, 0.9, -0.4],))
def list_argument(xs):
    best = xs[0]
    for i in range(1, len(xs)):
        if xs[i] > best:
            best = xs[i]
    return best * best + max(xs) * min(xs)


@case(((0.3, (0.5, 1.5)), 3))
def nested_tuple_argument(p, n):
    a, (b, c) = p
    for _ in range(n):
        a, b = a * b + c, b * 0.5
    return a


@case((0.3, 0.8))
def loop_over_a_tuple_of_constants(x, y):
    s = 0.0
    for weight, power in ((0.5, 1), (0.25, 2), (2.0, 3)):
        s += weight * x**power * y
    return s


@case((0.3,))
def loop_over_functions(x):
    for f in (math.sin, math.exp, math.tanh):
        x = f(x)
    return x


@case((A, np.array([2, 0, 1, 2])))
def loop_over_an_integer_array(a, order):
    s = 1.0
    for k in order:
        s = s * a[k] + k
    return s


@case((0.5, 3))
def list_of_lists(x, n):
    grid = [[0.0 for _ in range(3)] for _ in range(3)]
    for i in range(3):
        for j in range(3):
            grid[i][j] = x ** (i + 1) * (j + 1)
    for _ in range(n):
        grid[1][1] = grid[0][1] * 0.5 + grid[2][1] * grid[1][0]
    return grid[1][1] + grid[2][2]


@case((A,))
def pop_from_a_list(a):
    stack = [a[0], a[1], a[2]]
    s = 0.0
    while stack:
        v = stack.pop()
        s = s * v + v
    return s


@case((0.7, 4))
def star_unpacking(x, n):
    first, *rest = [x, x * x, x * 3]
    for _ in range(n):
        first = first * 0.5 + rest[0] * rest[-1]
    return first


@case((M,))
def enumerate_of_rows(m):
    s = np.zeros(3)
    for i, row in enumerate(m, start=1):
        s += row * row / i
    return s


@case((A,))
def pairs_of_neighbours(a):
    s = 0.0
    for left, right in zip(a[:-1], a[1:]):
        d = right - left
        s += d * d if d > 0 else -d
    return s


@case((0.5, 3), (0.5, 0))
def dict_with_counts(x, n):
    table = {}
    table["sum"] = 0.0
    table["product"] = 1.0
    for i in range(n):
        table["sum"] += x * i
        table["product"] *= x
    total = 0.0
    for key, value in table.items():
        total += value * len(key)
    return total


@case((A, B))
def zip_of_three(a, b):
    s = 0.0
    for x, y, k in zip(a, b, range(4)):
        s += x * y ** (k % 2 + 1)
    return s


@case((A,))
def map_and_filter_by_hand(a):
    kept = []
    for v in a:
        if v > 0:
            kept.append(v)
    s = 0.0
    for v in kept:
        s += v * v * v
    return s


@case((M,))
def nested_comprehension(m):
    t = np.array([[m[i, j] * m[j, i] for j in range(3)] for i in range(3)])
    return t
