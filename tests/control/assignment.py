"""Assignment into arrays: items, slices, index arrays, masks, views, aliases, in place."""

import math

import numpy as np

from tests.control.case import Corpus

corpus = Corpus()
case = corpus.case
rng = np.random.default_rng(3)

A = rng.normal(size=6)
M = rng.normal(size=(4, 5))


@case((0.5, 6), (0.5, 1))
def fill_with_a_recurrence(x, n):
    z = np.zeros(8)
    z[0] = x
    for i in range(1, n):
        z[i] = z[i - 1] * 0.5 + x * i
    return z


@case((A,))
def running_sum(a):
    out = np.empty_like(a)
    s = 0.0
    for i in range(len(a)):
        s += a[i]
        out[i] = s * s
    return out


@case((A, 0.7))
def change_one_item(a, x):
    b = a.copy()
    b[2] = x * x
    b[-1] *= 3
    return (b * b).sum()


@case((A, 2, 0.5), (A, -1, 0.5), (A, 0, 0.5))
def change_a_chosen_item(a, k, x):
    b = a * 2
    b[k] = x * b[k] + b[0]
    return b


@case((M,))
def fill_a_table(m):
    t = np.zeros((5, 6))
    for i in range(1, 5):
        for j in range(1, 6):
            t[i, j] = m[i - 1, j - 1] + 0.5 * max(t[i - 1, j], t[i, j - 1])
    return t[4, 5]


@case((M,))
def add_into_a_table(m):
    t = np.zeros((4, 5))
    for i in range(4):
        for j in range(5):
            t[i, j] += m[i, j] ** 2
            t[j % 4, i] -= m[i, j]
    return t


@case((A, 0.3))
def slices(a, x):
    b = np.zeros(8)
    b[1:7] = a
    b[:2] += x
    b[::3] *= 2.0
    b[-2:] = b[:2] * x
    return b


@case((A, 0.3, 4))
def smoothing_sweeps(a, k, n):
    u = a.copy()
    for _ in range(n):
        u[1:-1] = u[1:-1] + k * (u[2:] - 2 * u[1:-1] + u[:-2])
    return u


@case((M, 0.5))
def rows_are_views(m, x):
    a = m.copy()
    for i in range(4):
        row = a[i]
        row[1] = x * i
        row += 1.0
    a[0, 0] = 5 * x
    return a


@case((M,))
def columns_are_views(m):
    a = m.copy()
    for j in range(1, 5):
        column = a[:, j]
        column -= 0.3 * a[:, j - 1]
    return (a**3).sum()


@case((A, 0.5))
def alias(a, x):
    b = a * 2
    c = b
    c[0] = x
    return b.sum() * b[0]


@case((A, 0.5), (A, -0.5))
def rebinding_in_a_branch(a, x):
    b = a.copy()
    if x > 0:
        b = b + 1
    b[0] = x
    return (b * b).sum()


@case((A,))
def double_buffer(a):
    u = a.copy()
    new = np.zeros_like(u)
    for _ in range(3):
        for i in range(1, 5):
            new[i] = u[i] + 0.1 * (u[i + 1] - 2 * u[i] + u[i - 1])
        u, new = new, u
    return u


@case((A,), (A[::-1].copy(),))
def insertion_sort(a):
    b = a.copy()
    for i in range(1, len(b)):
        v = b[i]
        j = i - 1
        while j >= 0 and b[j] > v:
            b[j + 1] = b[j]
            j -= 1
        b[j + 1] = v
    return b * np.arange(6)


@case((A,), (-A,))
def bubble_sort(a):
    b = a.copy()
    n = len(b)
    for i in range(n):
        changed = False
        for j in range(n - 1 - i):
            if b[j] > b[j + 1]:
                b[j], b[j + 1] = b[j + 1], b[j]
                changed = True
        if not changed:
            break
    return b[0] * b[1] + b[5] ** 2


@case((A, np.array([0, 2, 3])))
def index_array(a, where):
    b = a.copy()
    b[where] = b[where] ** 2
    b[[1, 5]] = 0.5
    return b


@case((A, np.array([0, 2, 2, 3])))
def add_at_repeated_places(a, where):
    total = np.zeros(6)
    for k in range(len(where)):
        total[where[k]] += a[k] * a[k]
    return total


@case((A, 0.2))
def masks(a, t):
    b = a * a
    b[a > t] = t * t
    b[b < 0.1] *= 2
    return b


@case((A,))
def mask_and_loop(a):
    out = np.zeros(6)
    for i, v in enumerate(a):
        if v < 0:
            continue
        out[i] = v * v
    out[out > 0.5] = 0.5
    return out


@case((M,))
def reversed_view(m):
    a = m.copy()
    b = a[::-1]
    b[0] *= 2
    b[1, 1:3] = 7.0
    return a * m


@case((M,))
def transposed_argument_is_read(m):
    t = m.T
    s = 0.0
    for i in range(5):
        for j in range(4):
            s += t[i, j] ** 2 * (i - j)
    return s


@case((M,))
def in_place_arithmetic(m):
    a = m.copy()
    a += 1.0
    a *= m
    a -= a.mean()
    a /= 2.0
    a **= 2
    return a


@case((A, 5))
def rotate(a, n):
    b = a.copy()
    for _ in range(n):
        first = b[0]
        for i in range(5):
            b[i] = b[i + 1]
        b[5] = first * 0.9
    return b


@case((A,))
def histogram_with_soft_bins(a):
    bins = np.zeros(4)
    for v in a:
        for k in range(4):
            bins[k] += math.exp(-((v - k + 1.5) ** 2))
    return bins / bins.sum()


@case((A, 3), (A, 0))
def windows(a, n):
    s = 0.0
    for i in range(n):
        w = a[i : i + 3]
        s += (w * w).sum() * w[1]
    return s


@case((M,))
def zero_a_row_and_a_column(m):
    a = m.copy()
    a[1] = 0.0
    a[:, 2] = 1.0
    a[3, :] = a[0, :] * 2
    return (a * m).sum()


@case((0.5, 0.25), (1.5, 0.25))
def array_of_scalars(x, y):
    v = np.array([x, y, x * y])
    v[1] = v[0] + v[2]
    if v[1] > 1:
        v[2] = 0.0
    return v


@case((np.array([[2.0, 1.0], [1.0, 3.0]]), 3))
def matrix_power(m, n):
    p = np.eye(2)
    for _ in range(n):
        p = p @ m * 0.5
    return p


@case((A,))
def prefix_maxima(a):
    out = np.zeros(6)
    best = a[0]
    for i in range(6):
        if a[i] > best:
            best = a[i]
        out[i] = best * best
    return out


@case((A, 1), (A, 4))
def swap_items(a, k):
    b = a.copy()
    b[0], b[k] = b[k], b[0]
    b[k] *= b[0]
    return b


@case((A,))
def copy_is_no_alias(a):
    b = a.copy()
    c = b.copy()
    c[0] = 100.0
    b[1] = c[0] * 0.01 + b[0]
    return b * c


@case((M,))
def view_of_a_view(m):
    a = m * 1.0
    inner = a[1:3][:, 1:4]
    inner[0] += 1.0
    inner[1, 2] = a[0, 0] ** 2
    return a


@case((M, 2))
def write_a_row_from_a_row(m, k):
    a = m.copy()
    for i in range(3):
        a[i + 1] = a[i + 1] + a[i] * 0.5
    return a[k] ** 2
