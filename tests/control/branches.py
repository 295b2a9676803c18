"""Branches: every way in which Python chooses."""

import math

import numpy as np

from tests.control.case import Corpus

corpus = Corpus()
case = corpus.case
rng = np.random.default_rng(1)

UP = (2.0,), (-1.5,), (0.3,)


@case(*UP)
def if_else(x):
    if x > 0:
        y = x * x
    else:
        y = -3 * x
    return y + 1


@case(*UP)
def if_without_else(x):
    y = x * x * x
    if x > 1:
        y = y + math.sin(x)
    return y * 2


@case(*UP)
def int_becomes_float(x):
    y = 0
    if x > 0:
        y = x * x
    return y + 1


@case(*UP)
def three_ways(x):
    if x < -1:
        return -x * x
    elif x > 1:
        return x**3
    z = x * x
    return z * x + z


@case(*UP)
def early_returns(x):
    if x > 1.5:
        return math.exp(-x)
    y = x * 2
    if y < -2:
        return y * y
    return y * y * y


@case(*UP)
def conditional_expression(x):
    return x * x if x > 0 else math.cos(x) if x > -1 else -(x**3)


@case((0.5, 1.0), (-2.0, 1.0), (1.5, 1.0), (0.5, 0.1))
def chained_comparison(x, y):
    a = 1.0 if -1 < x < y else 2.0
    return a * x * x + y * x


@case((0.5, 1.0), (-2.0, 1.0), (1.5, -1.0), (-0.5, -0.1))
def and_or_not(x, y):
    a = x * y
    if x > 0 and y > 0:
        a += x * x
    if x < 0 or y < 0:
        a *= y
    if not (x > 0 or y > x):
        a -= 3 * x * x
    return a


@case((0.5, 1.0), (0.0, 2.0), (3.0, 0.0))
def operands_of_and_or(x, y):
    z = (x and y) + (x or y)
    return z * z


@case((0.4, 0.7), (0.7, 0.4), (-0.4, 0.1))
def nested_branches(x, y):
    if x > 0:
        if y > x:
            r = x * y
        else:
            r = x / (1 + y * y)
            if y > 0.2:
                r = r * r
    else:
        if y > 0:
            r = math.exp(x) * y
        else:
            r = 0.0
    return r


@case((0.5,), (2.5,), (5.0,))
def tax(income):
    owed = 0.0
    rest = income
    if rest > 3.0:
        owed += (rest - 3.0) * 0.45
        rest = 3.0
    if rest > 1.0:
        owed += (rest - 1.0) * 0.3 * rest
        rest = 1.0
    return owed + rest * 0.1 * rest


@case((3.0, 2.0), (-3.0, 2.0), (3.0, -2.0), (-3.0, -2.0))
def quadrant(x, y):
    if x >= 0:
        return math.atan(y / x) if y >= 0 else -math.atan(-y / x)
    return math.pi + math.atan(y / x) if y >= 0 else math.atan(y / x) - math.pi


@case((0.2, 1.0), (1.7, 1.0), (-3.0, 0.5))
def huber(r, delta):
    a = abs(r)
    if a <= delta:
        return 0.5 * r * r
    return delta * (a - 0.5 * delta)


@case((1.0, -3.0, 2.0), (1.0, 1.0, 2.0), (1.0, -2.0, 0.5))
def roots_of_a_quadratic(a, b, c):
    d = b * b - 4 * a * c
    if d > 0:
        s = math.sqrt(d)
        x = (-b + s) / (2 * a)
        y = (-b - s) / (2 * a)
    else:
        s = math.sqrt(-d)
        x = -b / (2 * a)
        y = s / (2 * a)
    return x, y


@case((3.0, 1.0, 2.0), (1.0, 2.0, 3.0), (2.0, 3.0, 1.0))
def median_of_three(a, b, c):
    if a > b:
        a, b = b, a
    if b > c:
        b, c = c, b
    if a > b:
        a, b = b, a
    return b * b + 0.5 * a * c


@case((0.3, -0.2, 0.5), (-1.0, 0.1, 0.2))
def clamp_with_min_and_max(x, lo, hi):
    y = min(max(x, lo), hi)
    return y * y + x


@case((np.array([1.0, -2.0, 3.0]), 0.5), (np.array([-1.0, -2.0, 0.3]), 0.5))
def branch_on_a_sum(a, t):
    if a.sum() > t:
        b = a * 2
    else:
        b = a / (1 + a * a)
    return b.sum() + b[0] * t


@case((np.array([0.5, -0.2, 0.9]),), (np.array([-0.5, 0.2, -0.9]),))
def branch_on_an_element(a):
    if a[0] > a[1] and a[2] > 0:
        return a[0] * a[2]
    return np.sum(a * a)


@case((0.7, 1), (0.7, 2), (0.7, 7))
def branch_on_an_int(x, mode):
    if mode == 1:
        y = math.sin(x)
    elif mode == 2:
        y = math.cos(x)
    else:
        y = x**mode if mode < 3 else x
    return y * x


@case((0.8, True), (0.8, False))
def flag(x, use_log):
    if use_log:
        return math.log(x)
    return x * x


@case((0.3,), (0.9,), (-0.5,))
def walrus(x):
    if (y := x * x) > 0.5:
        return y * y
    elif (z := y + x) > 0:
        return z**3
    return y - z


@case((1.2, 0.4), (-1.2, 0.4))
def different_names_in_each_arm(x, y):
    if x > 0:
        a = x * y
        out = a * a
    else:
        b = x - y
        c = b * b
        out = c / (1 + b * b)
    return out


@case((1.2,), (-1.2,))
def pair_from_a_branch(x):
    low, high = (x, x * x) if x > 0 else (x * x, -x)
    return low * 3 + high * high


@case((2.0,), (0.4,), (-0.7,))
def leaky_relu_by_hand(x):
    slope = 1.0
    if x < 0:
        slope = 0.01
    return slope * x * abs(x)


@case((1.5, 0.7), (0.2, 0.7), (0.7, 0.2))
def dead_value_of_another_type(x, y):
    if x > y:
        t = (x, y)
        r = t[0] * t[1]
    else:
        t = x - y
        r = t * t
    t = None
    return r * x


@case((np.array([[1.0, 2.0], [3.0, 4.0]]), True), (np.array([[1.0, 2.0], [3.0, 4.0]]), False))
def transpose_or_not(a, turned):
    b = a.T if turned else a
    return b[0] @ b[1] + b[0, 1] ** 2


@case((0.5,), (1.5,), (2.5,), (9.0,))
def piecewise_spline(x):
    if x < 1:
        return x * x * x / 6
    if x < 2:
        t = x - 1
        return (1 + 3 * t + 3 * t * t - 3 * t**3) / 6
    if x < 3:
        t = x - 2
        return (4 - 6 * t * t + 3 * t**3) / 6
    return 0.0 * x


@case((0.2, 0.9), (0.9, 0.2))
def assignment_expression_in_a_condition(x, y):
    if (d := x - y) > 0 or d * d > 0.4:
        return d**3 + x
    return d * y
