"""Numerical methods: roots, quadrature, differential equations, linear systems, minimisers, series, polynomials."""

import math

import numpy as np

from tests.control.case import Corpus

corpus = Corpus()
case = corpus.case
rng = np.random.default_rng(6)

S = rng.normal(size=(4, 4)) * 0.3
S = S @ S.T + np.diag([2.0, 3.0, 2.5, 4.0])
V = rng.normal(size=4)


# ---- roots


@case((2.0,), (30.0,))
def newton_square_root(c):
    x = c
    while abs(x * x - c) > 1e-12:
        x = 0.5 * (x + c / x)
    return x


@case((0.3, 0.8), (2.0, 0.1))
def kepler(mean, e):
    angle = mean
    for _ in range(50):
        step = (angle - e * math.sin(angle) - mean) / (1 - e * math.cos(angle))
        angle -= step
        if abs(step) < 1e-13:
            break
    return angle


@case((2.0, 1.0), (0.7, 3.0), tolerance=1e-6)
def secant(c, k):
    a, b = 0.1, 3.0
    fa, fb = math.exp(a) - c - k * a * a * 0.1, math.exp(b) - c - k * b * b * 0.1
    n = 0
    while abs(fb) > 1e-12 and n < 60:
        a, b, fa = b, b - fb * (b - a) / (fb - fa), fb
        fb = math.exp(b) - c - k * b * b * 0.1
        n += 1
    return b


@case((0.7,), (1.4,))
def fixed_point_of_a_cosine(k):
    x = 0.5
    for _ in range(200):
        new = math.cos(k * x)
        if abs(new - x) < 1e-15:
            break
        x = 0.5 * (x + new)
    return x * k


@case((0.25, 1.0, 0.3), orders=1)
def regula_falsi(a, b, c):
    lo, hi = 0.0, 2.0
    f_lo, f_hi = -b, a * 8 + c * 2 - b
    for _ in range(30):
        x = (lo * f_hi - hi * f_lo) / (f_hi - f_lo)
        fx = a * x**3 + c * x - b
        if fx * f_lo > 0:
            lo, f_lo = x, fx
            f_hi *= 0.5
        else:
            hi, f_hi = x, fx
            f_lo *= 0.5
        if abs(fx) < 1e-10:
            break
    return x


# ---- quadrature and series


@case((0.5, 2.0, 8), (0.5, 2.0, 0))
def trapezoidal_rule(a, b, n):
    if n == 0:
        return (b - a) * math.exp(-a * b)
    h = (b - a) / n
    s = 0.5 * (math.exp(-a * a) + math.exp(-b * b))
    for i in range(1, n):
        x = a + i * h
        s += math.exp(-x * x)
    return s * h


@case((0.5, 2.0, 6))
def simpson(a, b, n):
    h = (b - a) / n
    s = math.sin(a) / a + math.sin(b) / b
    for i in range(1, n):
        x = a + i * h
        s += (4 if i % 2 else 2) * math.sin(x) / x
    return s * h / 3


@case((0.2, 1.7))
def romberg(a, b):
    r = np.zeros((4, 4))
    h = b - a
    r[0, 0] = 0.5 * h * (math.exp(a) / a + math.exp(b) / b)
    for k in range(1, 4):
        h = h / 2
        s = 0.0
        for i in range(1, 2**k, 2):
            x = a + i * h
            s += math.exp(x) / x
        r[k, 0] = 0.5 * r[k - 1, 0] + h * s
        for j in range(1, k + 1):
            r[k, j] = r[k, j - 1] + (r[k, j - 1] - r[k - 1, j - 1]) / (4**j - 1)
    return r[3, 3]


@case((0.7,), (-2.0,))
def exponential_series(x):
    term, total, k = 1.0, 1.0, 1
    while abs(term) > 1e-17:
        term *= x / k
        total += term
        k += 1
    return total


@case((0.5, 1.5), (2.5, 0.7))
def bessel_series(x, nu):
    term = (0.5 * x) ** nu
    total = term
    for k in range(1, 25):
        term = -term * 0.25 * x * x / (k * (k + nu))
        total += term
    return total


@case((0.7, 20), (3.0, 5))
def continued_fraction(x, n):
    f = 0.0
    for k in range(n, 0, -1):
        f = k * k * x * x / (2 * k + 1 + f)
    return x / (1 + f)


@case((np.array([1.0, -2.0, 0.5, 3.0]), 0.7), (np.array([2.0]), 0.7))
def horner_with_derivative(c, x):
    p, d = 0.0, 0.0
    for a in c:
        d = d * x + p
        p = p * x + a
    return p, d


@case((0.3, 6), (-0.8, 1), (0.5, 0))
def legendre(x, n):
    if n == 0:
        return 1.0
    before, now = 1.0, x
    for k in range(1, n):
        before, now = now, ((2 * k + 1) * x * now - k * before) / (k + 1)
    return now


@case((np.array([0.5, -0.3, 0.2, 0.1]), 0.4))
def clenshaw(c, x):
    b1 = b2 = 0.0
    for a in c[:0:-1]:
        b1, b2 = 2 * x * b1 - b2 + a, b1
    return x * b1 - b2 + c[0]


@case((2.0, 0.5, 1e-10), (1.0, 0.9, 1e-8), wrt=(0, 1))
def arithmetic_geometric_mean(a, b, tolerance):
    while abs(a - b) > tolerance:
        a, b = 0.5 * (a + b), math.sqrt(a * b)
    return 0.5 * (a + b)


# ---- differential equations


@case((1.0, 0.5, 40))
def euler_of_a_pendulum(angle, speed, n):
    for _ in range(n):
        speed, angle = speed - 0.05 * math.sin(angle), angle + 0.05 * speed
    return angle * angle + speed


@case((1.1, 0.4, 0.1, 0.4, 2.0, 1.0))
def runge_kutta_of_lotka_volterra(a, b, c, d, x, y):
    def rhs(x, y):
        return a * x - b * x * y, c * x * y - d * y

    h = 0.05
    for _ in range(30):
        k1 = rhs(x, y)
        k2 = rhs(x + h / 2 * k1[0], y + h / 2 * k1[1])
        k3 = rhs(x + h / 2 * k2[0], y + h / 2 * k2[1])
        k4 = rhs(x + h * k3[0], y + h * k3[1])
        x = x + h / 6 * (k1[0] + 2 * k2[0] + 2 * k3[0] + k4[0])
        y = y + h / 6 * (k1[1] + 2 * k2[1] + 2 * k3[1] + k4[1])
    return x * y


@case((0.8, 2.0))
def adaptive_steps(y, rate):
    t, h = 0.0, 0.1
    while t < 1:
        if t + h > 1:
            h = 1 - t
        k1 = -rate * y
        k2 = -rate * (y + h * k1)
        small = y + h * k1
        big = y + 0.5 * h * (k1 + k2)
        if abs(big - small) < 0.01:
            y = big
            t += h
            h *= 1.5
        else:
            h *= 0.5
        if h < 1e-8:
            break
    return y


@case((1.0, 10.0, 12))
def implicit_euler_with_newton(y, k, n):
    h = 0.1
    for _ in range(n):
        z = y
        while True:
            f = z - y + h * k * z**3
            step = f / (1 + 3 * h * k * z * z)
            z -= step
            if abs(step) < 1e-12:
                break
        y = z
    return y


@case((np.array([1.0, 0.0, 0.5]), 0.9, 15))
def lorenz_as_arrays(s, rho, n):
    def rhs(s):
        x, y, z = s
        return np.array([10 * (y - x), x * (28 * rho - z) - y, x * y - 8 / 3 * z])

    for _ in range(n):
        half = s + 0.005 * rhs(s)
        s = s + 0.01 * rhs(half)
    return s


# ---- linear systems


@case((S, V))
def gaussian_elimination(a, b):
    a, b = a.copy(), b.copy()
    n = len(b)
    for k in range(n):
        for i in range(k + 1, n):
            f = a[i, k] / a[k, k]
            for j in range(k, n):
                a[i, j] -= f * a[k, j]
            b[i] -= f * b[k]
    x = np.zeros(n)
    for i in range(n - 1, -1, -1):
        s = b[i]
        for j in range(i + 1, n):
            s -= a[i, j] * x[j]
        x[i] = s / a[i, i]
    return x


@case((S[::-1].copy(), V), (S, V))
def elimination_with_pivots(a, b):
    a, b = a.copy(), b.copy()
    n = len(b)
    for k in range(n):
        best = k
        for i in range(k + 1, n):
            if abs(a[i, k]) > abs(a[best, k]):
                best = i
        if best != k:
            for j in range(n):
                a[k, j], a[best, j] = a[best, j], a[k, j]
            b[k], b[best] = b[best], b[k]
        for i in range(k + 1, n):
            f = a[i, k] / a[k, k]
            a[i, k:] = a[i, k:] - f * a[k, k:]
            b[i] -= f * b[k]
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            b[i] -= a[i, j] * b[j]
        b[i] /= a[i, i]
    return b


@case((S,))
def cholesky(a):
    n = a.shape[0]
    low = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            s = a[i, j]
            for k in range(j):
                s -= low[i, k] * low[j, k]
            low[i, j] = math.sqrt(s) if i == j else s / low[j, j]
    return low


@case((np.array([0.5, 0.3, 0.2]), np.array([2.0, 2.5, 3.0, 2.2]), np.array([0.4, 0.6, 0.1]), V))
def thomas(lower, diagonal, upper, b):
    n = len(b)
    c, d = np.zeros(n), np.zeros(n)
    c[0], d[0] = upper[0] / diagonal[0], b[0] / diagonal[0]
    for i in range(1, n):
        m = diagonal[i] - lower[i - 1] * c[i - 1]
        if i < n - 1:
            c[i] = upper[i] / m
        d[i] = (b[i] - lower[i - 1] * d[i - 1]) / m
    for i in range(n - 2, -1, -1):
        d[i] -= c[i] * d[i + 1]
    return d


@case((S, V, 12))
def jacobi(a, b, sweeps):
    x = np.zeros(4)
    d = np.array([a[i, i] for i in range(4)])
    for _ in range(sweeps):
        x = x + (b - a @ x) / d
    return x


@case((S, V), (S * 2, -V))
def gauss_seidel_until_it_settles(a, b):
    n = len(b)
    x = np.zeros(n)
    change = 1.0
    while change > 1e-9:
        change = 0.0
        for i in range(n):
            s = b[i]
            for j in range(n):
                if j != i:
                    s -= a[i, j] * x[j]
            new = s / a[i, i]
            change = max(change, abs(new - x[i]))
            x[i] = new
    return x


@case((S, V))
def conjugate_gradients(a, b):
    x = np.zeros_like(b)
    r = b - a @ x
    p = r
    rr = r @ r
    for _ in range(3):
        ap = a @ p
        alpha = rr / (p @ ap)
        x = x + alpha * p
        r = r - alpha * ap
        new = r @ r
        p = r + new / rr * p
        rr = new
    return x


@case((S,))
def power_iteration(a):
    v = np.ones(4)
    for _ in range(8):
        w = a @ v
        v = w / np.sqrt(w @ w)
    return v @ a @ v


@case((S,))
def gram_schmidt(a):
    q = np.zeros((4, 4))
    for j in range(4):
        v = a[:, j]
        for k in range(j):
            v = v - (q[:, k] @ a[:, j]) * q[:, k]
        q[:, j] = v / np.sqrt(np.sum(v * v))
    return q


@case((S[:3, :3].copy(),))
def determinant_by_cofactors(a):
    d = 0.0
    for j in range(3):
        rest = [c for c in range(3) if c != j]
        minor = a[1, rest[0]] * a[2, rest[1]] - a[1, rest[1]] * a[2, rest[0]]
        d += (-1) ** j * a[0, j] * minor
    return d


@case((S,))
def determinant_by_recursion(a):
    def det(rows, cols):
        if len(cols) == 1:
            return a[rows[0], cols[0]]
        total, sign = 0.0, 1.0
        for k, c in enumerate(cols):
            total += sign * a[rows[0], c] * det(rows[1:], cols[:k] + cols[k + 1 :])
            sign = -sign
        return total

    return det([0, 1, 2, 3], [0, 1, 2, 3])


# ---- minimisers


@case((0.3, -1.0, 2.0))
def gradient_descent(x, y, k):
    for _ in range(15):
        gx, gy = 2 * (x - k) + y, 4 * y**3 + x
        x, y = x - 0.05 * gx, y - 0.05 * gy
    return x * x + y


@case((np.array([1.5, -0.5]), 0.9))
def momentum_with_clipping(w, beta):
    v = np.zeros(2)
    for _ in range(10):
        g = 2 * w + np.array([w[1], w[0] ** 2])
        length = np.sqrt(g @ g)
        if length > 1:
            g = g / length
        v = beta * v + g
        w = w - 0.1 * v
    return w


@case((2.0, 0.5), (-1.0, 0.8))
def backtracking_line_search(x, c):
    f = x**4 - c * x
    for _ in range(4):
        g = 4 * x**3 - c
        t = 1.0
        while (x - t * g) ** 4 - c * (x - t * g) > f - 0.3 * t * g * g and t > 1e-6:
            t *= 0.5
        x = x - t * g
        f = x**4 - c * x
    return x


@case((1.3, 0.4), orders=1)
def golden_section_then_evaluate(a, b):
    lo, hi = 0.0, 3.0
    r = 0.6180339887498949
    while hi - lo > 1e-3:
        m1, m2 = hi - r * (hi - lo), lo + r * (hi - lo)
        if (m1 - a) ** 2 + b * m1 < (m2 - a) ** 2 + b * m2:
            hi = m2
        else:
            lo = m1
    x = 0.5 * (lo + hi)
    return (x - a) ** 2 + b * x


# ---- interpolation

XS, YS = np.array([0.0, 1.0, 2.5, 4.0]), np.array([1.0, -1.0, 0.5, 2.0])


@case((XS, YS, 1.7), (XS, YS, 3.9), (XS, YS, -1.0))
def linear_interpolation(xs, ys, x):
    n = len(xs)
    if x <= xs[0]:
        return ys[0] * x
    for i in range(1, n):
        if x < xs[i]:
            t = (x - xs[i - 1]) / (xs[i] - xs[i - 1])
            return ys[i - 1] * (1 - t) + ys[i] * t
    return ys[-1]


@case((XS, YS, 1.7), (XS, YS, 3.9))
def interpolation_by_bisection(xs, ys, x):
    lo, hi = 0, len(xs) - 1
    while hi - lo > 1:
        mid = (lo + hi) // 2
        if xs[mid] > x:
            hi = mid
        else:
            lo = mid
    t = (x - xs[lo]) / (xs[hi] - xs[lo])
    t = t * t * (3 - 2 * t)
    return ys[lo] * (1 - t) + ys[hi] * t


@case((XS, YS, 1.7))
def lagrange(xs, ys, x):
    s = 0.0
    for i in range(4):
        p = ys[i]
        for j in range(4):
            if j != i:
                p *= (x - xs[j]) / (xs[i] - xs[j])
        s += p
    return s


@case((np.array([[0.0, 0.0], [1.0, 2.0], [2.0, -1.0], [3.0, 0.5]]), 0.3))
def de_casteljau(points, t):
    p = points.copy()
    for k in range(1, 4):
        for i in range(4 - k):
            p[i] = (1 - t) * p[i] + t * p[i + 1]
    return p[0]
