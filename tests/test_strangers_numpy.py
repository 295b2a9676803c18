"""Programs of strangers with generators, queues, objects and views inside are plain NumPy's, in values and slopes."""

from __future__ import annotations

import copy
import random
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

from pullback import grad, hvp, jit
from tests.test_ordinary_programs import slope

P = np.arange(10.0) ** 2 / 30 + 0.1
M = np.arange(1.0, 10.0).reshape(3, 3) / 4


def stochastic_descent(w: Any) -> Any:
    """A generator that is seeded inside draws anew in every pass of a loop."""
    rng = np.random.default_rng(0)
    for _ in range(150):
        w = w - 0.05 * (w - 1 + rng.normal(size=w.shape) * 0.1 * w)
    return np.sum(w**2)


def skip_grams(w: Any) -> Any:
    rng, loss = np.random.default_rng(0), 0.0
    for i in range(12):
        for j in range(max(0, i - 2), min(12, i + 3)):
            if i == j:
                continue
            loss += w[i % 10] * np.sum(w[rng.integers(0, 10, 3)])
    return loss


def draws_on_a_condition(w: Any) -> Any:
    rng, s = np.random.default_rng(0), 0.0
    for i in range(300):
        if w[i % 10] > 1.0:
            s += rng.normal() * w[0] ** 2 + w[1]
        s += rng.normal() * w[2] ** 3
    return s


def draws_until(w: Any) -> Any:
    rng, s, k = np.random.default_rng(0), 0.0, 0
    while rng.random() > 0.02:
        s += w[k % 10] ** 2 * k
        k += 1
    return s


def draws_of_a_helper(w: Any) -> Any:
    def draw(x: Any) -> Any:
        return x**2 * np.random.default_rng(7).normal(size=3).sum()

    s = 0.0
    for i in range(300):
        s += draw(w[i % 10])
    return s


def other_generators(w: Any) -> Any:
    old, pythons, new, s = np.random.RandomState(3), random.Random(3), np.random.default_rng(3), 0.0
    for _ in range(150):
        s += w[old.randint(10)] ** 2 * w[pythons.randrange(10)] * stats.norm.rvs(random_state=new)
    return s


def minibatches(w: Any) -> Any:
    rng, s = np.random.default_rng(3), 0.0
    for _ in range(40):
        order = rng.permutation(10)
        rng.shuffle(order)
        for b in range(0, 10, 5):
            s = s * 0.9 + np.sum(w[order[b : b + 5]] ** 2) * b
    return s


class World:
    def __init__(self) -> None:
        self.rng, self.time, self.log, self.cache = np.random.default_rng(1), 0, [], {}

    def step(self, x: Any) -> Any:
        self.time += 1
        x = x * 0.9 + self.rng.normal() * 0.1
        self.log.append(x)
        self.cache[self.time % 3] = x
        return x


def episode(w: Any) -> Any:
    world, x = World(), w[1]
    for _ in range(150):
        x = world.step(x) * w[1]
    return x + sum(world.log) * world.time + world.cache[1]


class Noise:
    def __init__(self) -> None:
        self.rng = np.random.default_rng(1)

    def __call__(self, x: Any) -> Any:
        return x * 0.9 + self.rng.normal() * 0.1


def noisy(w: Any) -> Any:
    noise, x = Noise(), w[1]
    for _ in range(200):
        x = noise(x) * w[2] * 0.5
    return x


def queue_of_the_last(w: Any) -> Any:
    last = deque([1.0, 2.0, 3.0], maxlen=3)
    for i in range(200):
        last.append(0.5 * last[0] + w[i % 10] * 0.01)
    return np.sum(np.array(last) ** 2) + np.stack(last)[0] + last[0] * last[1]


def set_of_the_seen(w: Any) -> Any:
    seen, s = set(), 0.0
    for i in range(200):
        if i * i % 7 in seen:
            s += w[i * i % 7] ** 2
        seen.add(i * i % 7)
    return s


def collections_of_all_sorts(w: Any) -> Any:
    groups, counts, table = defaultdict(list), Counter(), OrderedDict()
    for i in range(20):
        groups[i % 3].append(w[i % 10])
        counts[i % 2] += 1
        table[i] = w[i % 10] ** 2
    return sum(sum(v) ** 2 * k for k, v in groups.items()) * counts[0] + sum(table.values())


def lists_of_all_sorts(w: Any) -> Any:
    made = [w[0], w[1]]
    made.insert(0, w[2] * w[0])
    made.insert(len(made), w[3])
    made.append(made.pop(0) * made.pop())
    made.reverse()
    path = [np.argmax(w)]
    for _ in range(40):
        path.insert(0, (path[0] + 3) % 10)
    return sum(x * (k + 1) for k, x in enumerate(made)) * w[path[0]]


class Plain:
    scale = 2.0


def changed_copy(w: Any) -> Any:
    other = copy.copy(Plain())
    other.scale = w[1] * w[2]
    return np.sum(w) * other.scale + Plain.scale


def symmetric(m: Any) -> Any:
    s, upper = np.eye(3), np.triu_indices(3, 1)
    s[upper] = m[upper]
    s.T[upper] = m[upper]
    return np.linalg.slogdet(s + 9 * np.eye(3))[1] + np.sum(s**3)


def moved_views(m: Any) -> Any:
    s = np.zeros((2, 3, 4))
    w = np.transpose(s, (2, 0, 1))
    w[1, :, 0] = m[0, :2]
    w[0] += m[:2]
    s.swapaxes(0, 2)[3, 2] = m[1, 1:]
    v = np.moveaxis(s, 0, -1)[1:]
    v[0, 2] *= 3
    v.T[0, 1] += 2.0
    s[:1].squeeze()[1, 2] = m[2, 2]
    s[1].T[...] = s[0].T * m[0, 0]
    s.T.T[1, 1, 1] = m[1, 0]
    s.flat[3] = m[1, 2] ** 2
    return np.sum(s**3)


def turned_in_a_loop(m: Any) -> Any:
    b = m.copy()
    for i in range(150):
        b = b.T
        b[0] += 0.1 * m[1]
        b.T[i % 3] *= 0.99
    return np.sum(b**2 * np.arange(9.0).reshape(3, 3))


def ranges_as_indices(m: Any) -> Any:
    q = m.copy()
    q[range(3), range(3)] = 0.0
    for i in range(3):
        q[range(2), range(1, 3)] = q[range(1, 3), range(2)] * i
    return np.sum(q**2) + np.sum(m[range(2)] ** 3)


def least_squares_monte_carlo(w: Any) -> Any:
    """An American option; the places where it may be exercised are as many as the values say."""
    z = np.random.default_rng(1).standard_normal((60, 4))
    s = 3 * w[1] * np.exp(np.cumsum(0.2 * w[2] * z - 0.02 * w[2] ** 2, axis=1))
    payoff = np.maximum(0.5 - s, 0.0)
    v = payoff[:, -1].copy()
    for t in range(2, -1, -1):
        v *= 0.98
        itm = payoff[:, t] > 0
        x = s[itm, t]
        held = np.polyval(np.polyfit(x, v[itm], 2), x)
        places = np.where(itm)[0][payoff[itm, t] > held]
        v[places] = payoff[places, t]
    return np.mean(v) + np.sum(s[np.ix_(s[:, 0] > 0.5, [0, 1])])


class Remembers:
    """Its list, dict and array change beside an array of the function that calls it."""

    def __init__(self, n: int) -> None:
        self.list, self.dict, self.array = [0.0] * n, {}, np.zeros(n)

    def run(self, w: Any, out: Any) -> Any:
        for k in range(len(out)):
            self.list[k] = w[k] ** 2
            self.dict[k] = np.sin(w[k])
            self.array[k] = self.list[k] * self.dict[k]
            out[k] = self.array[k] + k
        return sum(self.list) + sum(self.dict.values()) + self.array.sum()


def objects_that_remember(w: Any) -> Any:
    out = np.zeros(6)
    return Remembers(6).run(w, out) * out.sum()


PROGRAMS = [
    *((f, P) for f in (
        stochastic_descent, skip_grams, draws_on_a_condition, draws_until, draws_of_a_helper, other_generators,
        minibatches, episode, noisy, queue_of_the_last, set_of_the_seen, collections_of_all_sorts, lists_of_all_sorts,
        changed_copy, least_squares_monte_carlo, objects_that_remember,
    )),
    *((f, M) for f in (symmetric, moved_views, turned_in_a_loop, ranges_as_indices)),
]  # fmt: skip


@pytest.mark.parametrize("function, x", PROGRAMS, ids=lambda each: getattr(each, "__name__", ""))
def test_programs(function: Callable[..., Any], x: np.ndarray) -> None:
    compiled, slopes, want = jit(function), grad(function), function(x)
    for _ in range(2):
        assert np.allclose(compiled(x), want, rtol=1e-10, atol=0)
    assert np.allclose(slopes(x), slope(function, (x,)), rtol=1e-5, atol=1e-6 * abs(want))
    v = np.cos(np.arange(x.size)).reshape(x.shape)
    bent = (slopes(x + 1e-5 * v) - slopes(x - 1e-5 * v)) / 2e-5
    assert np.allclose(hvp(function)(x, v), bent, rtol=1e-4, atol=1e-5 * max(abs(want), np.max(np.abs(bent))))


def test_what_a_walk_gives_up_it_takes_back() -> None:
    """A loop that is walked as a region first, and then pass by pass, has drawn once for each pass."""

    def drawn(x):
        rng, s = np.random.default_rng(5), x
        for _ in range(150):
            s = s * 0.9 + rng.normal()
        return s + rng.normal()

    compiled = jit(drawn)
    assert compiled(1.0) == compiled(1.0) == pytest.approx(drawn(1.0), rel=1e-12)
    assert "random numbers are drawn in a loop" in str(compiled.report())


def test_arange_of_traced_numbers_within_traces_that_keep_sizes() -> None:
    """A lookup by NumPy's name while that name is replaced was an error, told as the user's."""

    def tree(s, n=40):
        v = np.maximum(s * 1.1 ** np.arange(n, -1, -1) - 1.0, 0.0)
        for i in range(n - 1, -1, -1):
            v = np.maximum(v[1:] * 0.9, s * s * 1.1 ** np.arange(i, -1, -1) - 1.0)
        return v[0]

    assert grad(grad(tree))(1.5) == pytest.approx((grad(tree)(1.5 + 1e-5) - grad(tree)(1.5 - 1e-5)) / 2e-5, rel=1e-5)
