"""Functions that raise on some of their arguments: what is raised, and from where."""
# ruff: noqa: B007, F841

import math

import numpy as np

from tests.control.case import Errors

errors = Errors()
case = errors.case

A = np.array([0.5, -1.5, 2.5, 0.25])
M = np.arange(12.0).reshape(3, 4) / 5


@case(returns=[(2.0,)], raises=[(-2.0,)], says="x must be positive")
def raise_in_a_branch(x):
    if x < 0:
        raise ValueError("x must be positive")
    return x**1.5


@case(returns=[(0.5,)], raises=[(2.0,)], says="too large")
def assertion(x):
    assert x < 1, "x is too large"
    return x * x


@case(returns=[(0.5,)], raises=[(2.0,)])
def bare_assertion(x):
    y = x * x
    assert y < 1
    return y


@case(returns=[(0.5, 3)], raises=[(0.5, 30)], says="diverged")
def raise_in_a_loop(x, n):
    for _ in range(n):
        x = x * 1.5
        if x > 100:
            raise RuntimeError("diverged")
    return x


class NoConvergence(Exception):
    """An exception of the user's own."""


@case(returns=[(2.0, 50)], raises=[(2.0, 2)], says="no root")
def exception_of_ones_own(c, limit):
    x = c
    for _ in range(limit):
        x = 0.5 * (x + c / x)
        if abs(x * x - c) < 1e-12:
            return x
    raise NoConvergence("no root")


@case(returns=[(0.5, 2)], raises=[(0.5, 0)], says="last")
def bound_in_a_loop_only(x, n):
    for i in range(n):
        last = x * i
    return last * 2  # pyright: ignore[reportPossiblyUnboundVariable]


@case(returns=[(0.5, 2)], raises=[(0.5, 0)], says="'i'|name i\\b|`i`")
def loop_variable_after_no_round(x, n):
    for i in range(n):
        x = x * 1.1
    return x * i  # pyright: ignore[reportPossiblyUnboundVariable]


@case(returns=[(0.5,)], raises=[(-0.5,)], says="y")
def bound_on_one_path(x):
    if x > 0:
        y = x * x
    return y + 1  # pyright: ignore[reportPossiblyUnboundVariable]


@case(returns=[(A, 3), (A, -4)], raises=[(A, 4), (A, -5)], says=r"index (4|-5).*axis 0.*size 4")
def index_beyond_the_end(a, k):
    if a[0] > 0:
        return a[k] * 2
    return a[0]


@case(returns=[(M, 2)], raises=[(M, 5)], says=r"index 4.*axis 1.*size 4|index 3.*axis 0.*size 3")
def index_in_a_nest(m, n):
    s = 0.0
    for i in range(n):
        for j in range(i + 1):
            s += m[i, j] ** 2 if i < 3 else m[0, j]
    return s


@case(returns=[(A, 3)], raises=[(A, 6)], says=r"index 4.*axis 0.*size 4")
def store_beyond_the_end(a, n):
    b = np.zeros(4)
    for i in range(n):
        b[i] = a[0] * i
    return b.sum()


INSIDE, BEYOND, BEFORE = np.array([0, 3, 1]), np.array([0, 4, 1]), np.array([-5, 0, 1])


@case(returns=[(A, INSIDE)], raises=[(A, BEYOND), (A, BEFORE)], says="index (4|-5)")
def index_from_an_array(a, order):
    s = 0.0
    for k in order:
        s = s * a[k] + 1
    return s


@case(returns=[(A, 2.0)], raises=[(A, 9.0)], says=r"index 4.*axis 0.*size 4")
def while_runs_over_the_end(a, limit):
    i, s = 0, 0.0
    while s < limit:
        s += abs(a[i])
        i += 1
    return s


@case(returns=[(A, 4)], raises=[(A, 5)], says=r"index 4.*axis 0.*size 4")
def dead_read_raises_too(a, n):
    s = 0.0
    for i in range(n):
        unused = a[i]
        s += i * a[0]
    return s


@case(returns=[(3.0, 2.0)], raises=[(3.0, 0.0)], says="division by zero")
def float_division_by_zero(x, y):
    if x > 1:
        return x / y
    return x


@case(returns=[(3.0, 4)], raises=[(3.0, 0)], says="(division|modulo).* zero")
def integer_division_by_zero(x, n):
    while x < 10:
        x = x * 2
    return x * (7 // n) + 7 % n


@case(returns=[(2.0,)], raises=[(-2.0,)], says="math domain error|nonnegative")
def root_of_a_negative(x):
    for _ in range(2):
        x = math.sqrt(x)
    return x


@case(returns=[(2.0,)], raises=[(0.0,), (-1.0,)], says="math domain error|positive")
def logarithm_of_nothing(x):
    if x < 3:
        return math.log(x) * 2
    return x


@case(returns=[(2.0,)], raises=[(800.0,)], says="range error|too large")
def exponential_too_large(x):
    if x > 1:
        return math.exp(x)
    return x


@case(returns=[(A, 2)], raises=[(A, -9)], says="first")
def the_first_error_counts(a, k):
    if k < 0:
        raise KeyError("first")
    s = a[k]
    if s > 100:
        raise ValueError("second")
    return s * a[0]


@case(returns=[(A, 0.1)], raises=[(A, 100.0)], says=r"index 4.*size 4")
def index_error_before_value_error(a, t):
    for i in range(10):
        if a[i] > t:
            return a[i] ** 2
        if i == 7:
            raise ValueError("never reached")
    return t


def checked_root(x):
    if x < 0:
        raise ValueError("negative number under a root")
    return x**0.5


@case(returns=[(A * A,)], raises=[(A,)], says="negative number under a root")
def raise_in_a_helper(a):
    s = 0.0
    for v in a:
        s += checked_root(v + 1e-3)
    return s


@case(returns=[({"a": 1.5, "b": 2.0},)], raises=[({"a": -1.5, "b": 2.0},)], says="missing")
def key_that_is_missing(p):
    if p["a"] > 0:
        return p["a"] * p["b"]
    return p["missing"]


@case(returns=[(A, 1)], raises=[(A, 9)])
def pop_from_an_empty_list(a, n):
    stack = [a[0], a[1]]
    s = 0.0
    for _ in range(n):
        s += stack.pop()
    return s


@case(returns=[(0.5, 3)], raises=[(0.5, 7)], says="unexpected")
def raise_after_a_loop(x, n):
    total = 0
    for i in range(n):
        total += i
    if total > 10:
        raise ValueError("unexpected")
    return x * total
