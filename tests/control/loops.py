"""Loops: for, while, break, continue, else, return, in every position, and loops that run no times."""

# ruff: noqa: B007

import math

import numpy as np

from tests.control.case import Corpus

corpus = Corpus()
case = corpus.case
rng = np.random.default_rng(2)


@case((1.1, 5), (1.1, 0), (0.7, 12))
def power_by_products(x, n):
    p = 1.0
    for _ in range(n):
        p *= x
    return p


@case((0.3, 4), (0.3, 0))
def zero_trips(x, n):
    s = x
    for i in range(n):
        s = s * s * 0.5 + i * x
    return s


@case((0.3, 3), (0.3, 1))
def name_first_bound_in_the_loop(x, n):
    for i in range(n):
        last = x * x * (i + 1)
    return last + i  # pyright: ignore[reportOperatorIssue]


@case((0.9, 10), (0.2, 10), (0.9, 0))
def leave_when_large(x, n):
    s = x
    for i in range(n):
        s = s + s * s
        if s > 5:
            break
    return s


@case((0.9, 10), (-0.2, 3))
def skip_some(x, n):
    s = 0.0
    for i in range(n):
        if i % 3 == 1:
            continue
        s += math.sin(x * i)
    return s


@case((0.9, 10), (0.05, 4), (0.9, 0))
def for_else(x, n):
    s = x
    for i in range(n):
        s *= 1.0 + x
        if s > 3:
            s = s * s
            break
    else:
        s = -s
    return s


@case((np.array([0.1, 0.5, 0.9, 0.3]), 0.8), (np.array([0.1, 0.5, 0.9, 0.3]), 2.0))
def return_from_a_loop(a, t):
    for i in range(len(a)):
        if a[i] > t:
            return a[i] ** 2 * (i + 1)
    return a.sum() * t


@case((np.arange(12.0).reshape(3, 4) / 7, 0.8), (np.arange(12.0).reshape(3, 4) / 7, 5.0))
def return_from_nested_loops(a, t):
    for i in range(3):
        for j in range(4):
            if a[i, j] > t:
                return a[i, j] * t + i * a[j % 3, 0]
    return t * t


@case((0.4, 4, 5), (0.4, 0, 5), (0.4, 4, 0), (1.4, 5, 5))
def break_continue_and_else_in_a_nest(x, n, m):
    total = 0.0
    for i in range(n):
        for j in range(m):
            if j == 2:
                continue
            if i * j > 6:
                break
            total += x * x * i + j * x
        else:
            total += math.exp(-x)
        if total > 25:
            break
    else:
        total = total * x
    return total


@case((20.0,), (0.5,), (1.3,))
def halve_until_small(x):
    while x > 1:
        x = x * 0.5 + 0.1 * math.sin(x)
    return x * x


@case((2.0, 20), (2.0, 2), (2.0, 0))
def while_with_counter(x, n):
    i = 0
    y = 1.0
    while i < n and abs(y * y - x) > 1e-13:
        y = 0.5 * (y + x / y)
        i += 1
    return y * x


@case((0.5,), (3.5,))
def while_else(x):
    n = 0
    while x < 10:
        x = x * x + 1
        n += 1
        if n == 3:
            break
    else:
        x = math.log(x)
    return x + n


@case((np.array([0.3, 0.4, 0.5, 0.6]), 1.0), (np.array([0.1, 0.1, 0.1, 0.1]), 1.0))
def while_true(a, limit):
    i = 0
    s = 0.0
    while True:
        s += a[i] * a[i] * (i + 1)
        i += 1
        if s > limit:
            s = s * 2
            break
        if i == len(a):
            break
    return s * limit


@case((np.array([0.3, 0.4, 1.5, 0.6]),), (np.array([1.3, 0.4, 1.5, 0.6]),), (np.array([0.3, 0.4, 0.5, 0.6]),))
def short_circuit_guards_the_index(a):
    i = 0
    while i < len(a) and a[i] < 1.0:
        i += 1
    s = 0.0
    for k in range(i):
        s += a[k] ** 2
    return s


@case((1.0, 5), (1.0, 1), (1.0, 0))
def triangular_nest(x, n):
    s = 0.0
    for i in range(n):
        for j in range(i):
            s += math.cos(x * (i - j))
    return s


@case((0.3, 6), (0.3, 2))
def backwards(x, n):
    s = x
    for i in range(n, 0, -2):
        s = s * x + i
    return s


@case((0.3, 2, 9, 3), (0.3, 2, 2, 3), (0.3, 9, 2, -2))
def range_with_three_arguments(x, start, stop, step):
    s = 0.0
    for i in range(start, stop, step):
        s = s * 0.5 + x * x * i
    return s


@case((0.4, 3), (0.4, 0))
def loop_variable_is_used_after(x, n):
    i = 7
    for i in range(n):
        x = x * 1.1
    return x * x * (i + 1)


@case((0.4, 5))
def loop_variable_is_changed_inside(x, n):
    s = 0.0
    for i in range(n):
        i = i * 2
        s += i * x
        i += 100
    return s * x


@case((1.3, 27), (1.3, 1), (1.3, 6))
def collatz_weighs(x, n):
    s = x
    while n != 1:
        if n % 2 == 0:
            n = n // 2
            s = s * 1.01
        else:
            n = 3 * n + 1
            s = s + x * x
    return s


@case((48, 36, 0.5), (7, 3, 0.5))
def greatest_common_divisor(a, b, x):
    while b:
        a, b = b, a % b
        x = x * x + 0.1
    return a * x


@case((0.7, 4), (0.7, 0))
def two_loops_in_a_row(x, n):
    a = 0.0
    for i in range(n):
        a += x * i
    b = 1.0
    for i in range(n + 1):
        b = b * a * 0.1 + x
    return a * b


@case((0.5, 6))
def swaps_in_a_loop(x, n):
    a, b = x, x * x
    for _ in range(n):
        a, b = b, a + 0.5 * b * b
    return a * b


@case((0.8, 5), (-0.8, 5))
def branch_in_a_loop(x, n):
    s = 0.1
    for i in range(n):
        if s * x > 0.05:
            s = s * s + x
        else:
            s = s - x * i
    return s


@case((0.6, 7, 3))
def three_deep(x, n, m):
    s = 0.0
    for i in range(n):
        p = 1.0
        for j in range(m):
            q = x
            for k in range(j):
                q = q * q
            p = p * (q + i * 0.1)
        s += p
    return s


@case((0.5, 3), (0.5, 9))
def returns_in_every_position(x, n):
    if n > 8:
        return x
    for i in range(n):
        if i == 5:
            return -x
        x = x * x + 0.3
        while x > 0.8:
            x = x - 0.3
            if x < 0.1:
                return x * 7
    else:
        x = x * 3
        if x > 1:
            return x**3
    return x * x


@case((0.5, 40))
def break_from_an_inner_while(x, n):
    total = 0.0
    for i in range(n):
        y = x
        while True:
            y = y * 0.7
            if y < 0.1:
                break
        total += y * i
    return total


@case((1.5,), (0.3,))
def pass_and_nothing(x):
    for _ in range(3):
        pass
    if x > 1:
        pass
    else:
        x = x * x
    return x * 2


@case((0.2, 100))
def geometric_series_until_it_settles(r, n):
    term, total = 1.0, 0.0
    for k in range(n):
        previous = total
        total += term
        term *= r
        if total == previous:
            break
    return total


@case((0.9, 30), (0.9, 3))
def continue_in_a_while(x, n):
    i = 0
    s = 0.0
    while i < n:
        i += 1
        if i % 2:
            continue
        if s > 4:
            return s * x
        s += x**2
    return s


@case((np.array([0.5, 1.5, 2.5]), 2), (np.array([0.5, 1.5, 2.5]), 0))
def loop_over_elements(a, n):
    s = 0.0
    for v in a:
        s = s * 0.5 + v * v
    for v in a[n:]:
        s += math.sqrt(v)
    return s


@case((0.3, 5, True), (0.3, 5, False))
def loop_under_a_branch(x, n, forward):
    s = x
    if forward:
        for i in range(n):
            s = s + s * s * 0.1
    else:
        while s < 5:
            s = s * 2
    return s


@case((0.6, 4))
def flag_that_is_a_carry(x, n):
    found = False
    s = 0.0
    for i in range(n):
        if not found and x * i > 1:
            found = True
            s += x * 10
        elif found:
            s += x * x
    return s if found else -s
