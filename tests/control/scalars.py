"""Numbers: math.*, np.* on scalars, ints beside floats, powers, remainders, rounding, special values."""

import math

import numpy as np

from tests.control.case import Corpus

corpus = Corpus()
case = corpus.case


@case((0.4, 3), (0.4, 0))
def every_smooth_function_of_math(x, n):
    for _ in range(n):
        x = math.sin(x) + math.cos(x) * math.tan(x * 0.5)
        x = math.exp(-x * x) + math.log(1 + x * x) + math.sqrt(x * x + 1)
        x = math.tanh(x) + math.atan(x) + math.asinh(x) * 0.1
    return x


@case((0.4, 2))
def more_of_math(x, n):
    for _ in range(n):
        x = math.expm1(x * 0.3) + math.log1p(x) - math.erf(x)
        x = math.sinh(x * 0.2) + math.cosh(x) * 0.3 + math.asin(x * 0.1) - math.acos(x * 0.1) * 0.2
    return x


@case((3.0, 4.0), (-3.0, 0.5))
def two_arguments(x, y):
    r = math.hypot(x, y)
    if r > 4:
        return r * math.atan2(y, x)
    return math.pow(r, 1.5) + np.hypot(x, y) * np.arctan2(x, y)


@case((0.4, 3))
def scalars_of_numpy(x, n):
    y = np.float64(x)
    for _ in range(n):
        y = np.sin(y) + np.sqrt(np.abs(y) + 1) * np.exp(-y)
    return y


@case((2.7, 1.17), (-2.7, 1.17))
def remainders(x, y):
    n = 0
    while n < 3:
        x = x % y + 1.9
        n += 1
    return x * x


@case((7, 3, 0.5), (-7, 3, 0.5), (7, -3, 0.5))
def integer_arithmetic(a, b, x):
    q, r = a // b, a % b
    while q > 0:
        q -= 1
        x = x * 1.1 + r
    return x * r + a * x


@case((3.7, 2), (-3.7, 2))
def rounding(x, n):
    s = 0.0
    for k in range(n):
        s += math.floor(x) * x + math.ceil(x + k)
        if x - math.floor(x) > 0.5:
            s += x * x
    return s


@case((1.3, 3), (1.3, -2), (1.3, 0))
def powers_by_an_int(x, n):
    if n < 0:
        return (1 / x) ** 2 * x**n
    return x**n + x**3 - x**-1


@case((1.3, 0.7), (0.3, -1.7))
def powers_of_floats(x, y):
    s = x**y
    for _ in range(2):
        s = s**0.5 + x ** (y * 0.5)
    return s


@case((0.5, 6))
def alternating_signs(x, n):
    s = 0.0
    sign = 1
    for k in range(1, n):
        s += sign * x**k / k
        sign = -sign
    return s


@case((0.5, 6), (0.5, 0))
def factorials(x, n):
    s, f = 0.0, 1
    for k in range(n):
        if k > 0:
            f *= k
        s += x**2 / f
    return s


@case((0.7, 5), (0.7, 2))
def booleans_as_numbers(x, n):
    count = 0
    for k in range(n):
        count += x * k > 1
    return count * x * x + (n > 3) * x


@case((0.7, 10), (0.7, 3))
def fibonacci(x, n):
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a * x * x


@case((5, 0.4), (0, 0.4))
def bits_of_an_int(n, x):
    s = x
    while n:
        if n & 1:
            s = s * x + 1
        s = s * s * 0.5
        n >>= 1
    return s


@case((np.array([3.0, -1.0, 2.0]),))
def builtins_over_arrays(a):
    s = 0.0
    for k in range(len(a)):
        s += abs(a[k]) * max(a[k], 0.5) + min(a[0], a[k])
    return s * sum(a)


@case((0.0,), (1e-9,), (0.5,))
def cardinal_sine(x):
    if abs(x) < 1e-4:
        return 1 - x * x / 6
    return math.sin(x) / x


@case((800.0,), (-800.0,), (0.3,))
def stable_sigmoid(x):
    if x >= 0:
        return 1 / (1 + math.exp(-x))
    e = math.exp(x)
    return e / (1 + e)


@case((3.0, float("inf")), (3.0, 2.0))
def infinite_bound(x, bound):
    best = -math.inf
    for k in range(4):
        v = x * k - k * k * x * 0.3
        if v > best and v < bound:
            best = v
    return best


@case((float("nan"), 2.0), (1.0, 2.0), orders=0)
def not_a_number_in_conditions(x, y):
    n = 0
    if x > 1:
        n += 1
    if not x > 1:
        n += 10
    if x == x:
        n += 100
    if x != x or x < y:
        n += 1000
    while x < 5 and n < 10000:
        x += 1
        n += 1
    return n + y


@case((5, 3), (0, 0), orders=0)
def results_of_ints(a, b):
    s = 0
    for i in range(a):
        s += i * b
    return s, s > 10, a - b


@case((np.float32(0.5), 3), orders=0)
def single_precision(x, n):
    y = x
    for _ in range(n):
        y = y * x + np.float32(1.5)
    return y
