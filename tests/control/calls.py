"""Functions that call functions: helpers, closures, lambdas, methods, decorators, callbacks."""

# ruff: noqa: E731

import functools
import math

import numpy as np

from tests.control.case import Corpus

corpus = Corpus()
case = corpus.case
rng = np.random.default_rng(5)

A = rng.normal(size=5)
TABLE = np.linspace(0.5, 1.5, 5)


def clipped_power(x, n):
    p = 1.0
    for _ in range(n):
        if p > 100:
            return p
        p *= x
    return p


@case((2.5, 3), (2.5, 9), (2.5, 0))
def helper_with_a_loop(x, n):
    return clipped_power(x, n) + clipped_power(0.5 * x, n=n + 1)


def logistic(r, x):
    return r * x * (1 - x)


@case((3.2, 0.4, 5))
def helper_in_a_loop(r, x, n):
    for _ in range(n):
        x = logistic(r, x)
    return x


@case((0.4, 3))
def inner_function(x, n):
    scale = 2.0

    def step(v):
        if v > 1:
            return v / scale
        return v * scale + x

    y = x
    for _ in range(n):
        y = step(y)
    return y * y


@case((0.4, 4), (-0.4, 4))
def nonlocal_counter(x, n):
    count = 0

    def step(v):
        nonlocal count
        if v > 0:
            count += 1
        return v * 0.7 - 0.1

    for _ in range(n):
        x = step(x)
    return x * x + count


@case((0.4, 3))
def lambdas_and_defaults(x, n, f=lambda v, w=2.0: v * w):
    g = lambda v: f(v) + n * v * v
    for _ in range(n):
        x = g(x) if x < 1 else f(x, 0.3)
    return x


def make_polynomial(*coefficients):
    def polynomial(x):
        s = 0.0
        for c in coefficients:
            s = s * x + c
        return s

    return polynomial


case((0.7,), (-2.0,), name="closure_over_constants")(make_polynomial(1.0, -2.0, 0.5, 3.0))


def make_lookup():
    table = np.linspace(0.0, 2.0, 6)

    def lookup(x):
        for i in range(5):
            if table[i + 1] > x:
                t = (x - table[i]) / (table[i + 1] - table[i])
                return t * t * (i + 1)
        return x

    return lookup


case((0.7,), (1.9,), (5.0,), name="closure_over_an_array")(make_lookup())


class Cell:
    """A recurrent cell with weights of its own."""

    def __init__(self, w, bias=0.1):
        self.w, self.bias = w, bias

    def step(self, h, x):
        return np.tanh(self.w @ h + x * self.bias)

    def run(self, h, x, n):
        for i in range(n):
            h = self.step(h, x + i)
        return h.sum()

    @property
    def size(self):
        return len(self.w)

    @staticmethod
    def squash(x):
        return x / (1 + abs(x))

    def squashed(self, x):
        for _ in range(self.size):
            x = self.squash(x) + self.bias
        return x


CELL = Cell(rng.normal(size=(3, 3)) * 0.5)
case((A[:3].copy(), 0.4, 4), (A[:3].copy(), 0.4, 0), name="method")(CELL.run)
case((0.8,), (-0.8,), name="method_property_and_staticmethod")(CELL.squashed)


def doubled(f):
    @functools.wraps(f)
    def wrapper(*args, **kwargs):
        return f(*args, **kwargs) * 2

    return wrapper


@case((0.3,), (2.5,))
@doubled
def decorated(x, bias=1.0):
    while x < 3 and bias > 0:
        x += x * x + bias
    return x


def damped(rate, x, n):
    for _ in range(n):
        x = x * (1 - rate) + 0.1 * x * x
    return x


case((0.9, 3), name="partial")(functools.partial(damped, 0.25))


def bisect(f, lo, hi):
    for _ in range(40):
        mid = 0.5 * (lo + hi)
        if f(lo) * f(mid) <= 0:
            hi = mid
        else:
            lo = mid
    return 0.5 * (lo + hi)


@case((2.0,), (7.0,))
def callback_and_a_polishing_step(c):
    root = bisect(lambda x: x * x - c, 0.0, 4.0)
    for _ in range(3):
        root = root - (root * root - c) / (2 * root)
    return root


@case((A, 0.3))
def outer_array_is_read(a, x):
    s = x
    for i in range(5):
        s += TABLE[i] * a[i] * a[i]
    return s


def divided_differences(xs, ys):
    c = ys.copy()
    n = len(xs)
    for j in range(1, n):
        for i in range(n - 1, j - 1, -1):
            c[i] = (c[i] - c[i - 1]) / (xs[i] - xs[i - j])
    return c


@case((np.array([0.0, 1.0, 2.5, 3.0]), np.array([1.0, -1.0, 0.5, 2.0]), 1.7))
def helper_that_changes_its_own_array(xs, ys, x):
    c = divided_differences(xs, ys)
    s = c[-1]
    for k in range(len(xs) - 2, -1, -1):
        s = s * (x - xs[k]) + c[k]
    return s


def add_into(target, k, v):
    target[k] += v


@case((A, 3))
def helper_that_changes_what_it_is_given(a, n):
    t = np.zeros(5)
    for i in range(n):
        add_into(t, i, a[i] * a[i + 1])
        add_into(t, 0, a[i])
    return t * t


def many(*values, scale=1.0, **more):
    s = 0.0
    for v in values:
        s += v * scale
    for key in more:
        s += more[key] * len(key)
    return s


@case((0.5, 0.7), (0.5, -0.7))
def arguments_of_every_kind(x, y):
    if y > 0:
        return many(x, y, x * y, scale=2.0, extra=x * x)
    return many(x, *[y, y * y], **{"scale": y, "ab": x})


def sign_of(x):
    return 1.0 if x > 0 else -1.0 if x < 0 else 0.0


def smooth_step(x):
    if x <= 0:
        return 0.0
    if x >= 1:
        return 1.0
    return x * x * (3 - 2 * x)


@case((A,))
def helpers_that_return_early(a):
    s = 0.0
    for v in a:
        s += smooth_step(v) + sign_of(v) * v * v
    return s


@case((0.5, 3))
def function_that_returns_several(x, n):
    def step(a, b):
        if a > b:
            return b, a - b * 0.5
        return a + b * 0.3, b

    a, b = x, 1.0
    for _ in range(n):
        a, b = step(a, b)
    return a * b


@case((1.2, 4))
def functions_in_a_list(x, n):
    steps = [lambda v: v * 0.5, lambda v: v * v, math.sin]
    for _ in range(n):
        for f in steps:
            x = f(x) + 0.1
    return x


def power_by_squaring(x, n):
    result = 1.0
    while n > 0:
        if n % 2 == 1:
            result = result * x
        x = x * x
        n //= 2
    return result


@case((1.1, 13), (1.1, 0))
def helper_with_its_own_loop_state(x, n):
    return power_by_squaring(x, n) - power_by_squaring(1 / x, n + 1)


@case((np.array([0.3, 0.6]),))
def global_constant_and_shadowing(a):
    TABLE = a * 2
    s = 0.0
    for v in TABLE:
        s += v * v
    return s


class Penalty:
    """What is given to it is called, and nothing else happens."""

    def __init__(self, model):
        self.model = model

    def __call__(self, x):
        return self.model(x) ** 2


def settle(x):
    while x > 1:
        x = x * 0.6
    return x


case((5.0,), (0.4,), name="callback_in_an_attribute")(Penalty(settle))
