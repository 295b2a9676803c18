"""What is hard to compile: effects on what others hold, shapes and kinds that depend on values, constructs seldom used.

Every entry says what must happen: the same as in plain Python, or a refusal whose message has the words of `refuses`.
A maker gives a fresh function and what it may have changed outside, so that effects are compared too.
"""

import contextlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

A = np.array([0.5, -1.5, 2.5, 0.25])


@dataclass(frozen=True)
class Awkward:
    """`make()` gives the function and the outer things whose state is compared."""

    name: str
    make: Callable[[], tuple[Callable[..., Any], Any]]
    args: tuple[tuple[Any, ...], ...]
    refuses: str


CASES: list[Awkward] = []


def case(*args: tuple[Any, ...], refuses: str = "") -> Callable[[Any], Any]:
    """A function by itself."""

    def add(function: Any) -> Any:
        CASES.append(Awkward(function.__name__, lambda: (function, None), args, refuses))
        return function

    return add


def maker(*args: tuple[Any, ...], refuses: str = "") -> Callable[[Any], Any]:
    """A function that makes the function, and what it changes."""

    def add(make: Any) -> Any:
        CASES.append(Awkward(make.__name__, make, args, refuses))
        return make

    return add


# ---- effects on what others hold


@case((A, 0.5), refuses="argument a,.*a = a.copy")
def changes_its_argument(a, x):
    for i in range(1, len(a)):
        a[i] += a[i - 1] * x
    return a[-1]


@case((A, 0.5), (A, -0.5), refuses="argument a,.*a = a.copy")
def changes_its_argument_sometimes(a, x):
    if x > 0:
        a[0] = x
    return a.sum()


@case((A,), refuses="argument u,.*copy")
def swaps_its_argument_away(u):
    new = np.zeros_like(u)
    for _ in range(3):
        new[1:] = u[:-1] + 1
        u, new = new, u
    return u.sum()


@case(([1.0, 2.0], 0.5), refuses="container that it was given, at xs")
def appends_to_its_argument(xs, x):
    if x > 0:
        xs.append(x)
    return len(xs) * x


@case(({"a": 1.0}, 0.5), refuses="container that it was given, at p")
def stores_into_its_dict(p, x):
    for _ in range(2):
        p["a"] = p["a"] * x
    return p["a"]


@maker((0.5, 3), refuses="outer array")
def changes_an_outer_array():
    log = np.zeros(4)

    def function(x, n):
        for i in range(n):
            log[i] += x
        return log.sum()

    return function, log


@maker((0.5,), (-0.5,), refuses="an outer list")
def grows_an_outer_list():
    log = []

    def function(x):
        if x > 0:
            log.append(1)
        return x * len(log)

    return function, log


@maker((0.5,), (-0.5,), refuses="assignment to 'total'.*pass it in")
def counts_in_an_outer_name():
    count = [0]
    total = 0

    def function(x):
        nonlocal total
        if x > 0:
            total += 1
        return x * total

    return function, count


class Counter:
    """An object with a state."""

    def __init__(self):
        self.calls = 0

    def __call__(self, x):
        for _ in range(2):
            self.calls += 1
            x = x * 0.5
        return x * self.calls


@maker((0.5,), refuses="assignment to an attribute.*local name")
def stores_an_attribute():
    counter = Counter()
    return counter, counter.__dict__


# ---- shapes and kinds that depend on values


@case((2.5,), (-1.0,))
def carry_changes_shape(x):
    a = np.ones(2)
    while x > 0:
        a = np.concatenate([a, a])
        x -= 1
    return a.sum() * x


@case((0.5,), (-0.5,))
def branches_of_different_shape(x):
    if x > 0:
        a = np.ones(2) * x
    else:
        a = np.ones(3) * x
    return a.sum()


@case((0.5,), (-0.5,))
def branches_of_different_kind(x):
    y = (1.0, x) if x > 0 else x
    return y


@case((0.5,), (-0.5,))
def none_on_one_path(x):
    if x > 0:
        return x * x


@case((A,))
def mask_of_unknown_size(a):
    return (a[a > 0] ** 2).sum()


@case((2.0, 3), (2.0, 0))
def array_of_a_traced_size(x, n):
    a = np.zeros(n)
    for i in range(n):
        a[i] = x * i
    return a.sum()


@case((2.5,), (-1.0,))
def list_of_unknown_length_as_array(x):
    out = []
    while x > 0:
        out.append(x)
        x -= 1
    return np.array(out).sum()


@case((0.5,), (-0.5,))
def function_chosen_by_a_value(x):
    f = math.sin if x > 0 else math.cos
    return f(x)


@case((0.5,), (-0.5,))
def key_chosen_by_a_value(x):
    table = {"up": x, "down": x * x}
    return table["up" if x > 0 else "down"]


@case((0.5,), (-0.5,))
def text_chosen_by_a_value(x):
    state = "warm" if x > 0 else "cold"
    if state == "warm":
        return x * 2
    return x * x


@case((A, 0.5), (A, -0.5))
def alias_that_depends_on_a_value(a, x):
    c = a.copy()
    b = c if x > 0 else np.zeros(4)
    b[0] = 9.0
    return c[0] * x


@case((A,), (A[:1].copy(),), refuses="np.any")
def truth_of_an_array(a):
    if a > 0:
        return a.sum()
    return a.sum() * 2


@case((3.5,), (0.5,))
def recursion_that_a_value_ends(x):
    return x * x if x < 1 else recursion_that_a_value_ends(x / 2)


@case((0.5, 70), (0.5, 3), refuses="64 bits")
def integers_beyond_64_bits(x, n):
    k = 1
    for _ in range(n):
        k *= 2
    return x * (k % 1000)


# ---- constructs


@case((2.0,), (0.0,))
def try_and_except(x):
    try:
        return 1 / x
    except ZeroDivisionError:
        return 0.0


@case((2.0,), (-2.0,))
def try_and_finally(x):
    y = x
    try:
        if x > 0:
            y = x * x
    finally:
        y = y + 1
    return y


@case((2.0,), (0.0,))
def errstate(x):
    with np.errstate(all="ignore"):
        y = np.float64(x) * 2
        if x > 1:
            y = np.log(y)
    return y


@case((2.0,), (-1.0,))
def suppressed(x):
    y = 1.0
    with contextlib.suppress(ValueError):
        y = math.sqrt(x)
    return y * x


@case((0.5, 3))
def generator_function(x, n):
    def terms():
        for k in range(n):
            yield x**k

    return sum(terms())


@case((0.5,), (-0.5,))
def deletes_a_name(x):
    y = x * x
    if x > 0:
        del y
        y = 1.0
    return y * x


@case((0.5, 3))
def deletes_an_item(x, n):
    xs = [x, x * x, 1.0]
    for _ in range(n):
        pass
    del xs[0]
    return xs[0] * n


@case((0.5, 1), (0.5, 2), (0.5, 3))
def match_statement(x, n):
    match n:
        case 1:
            return x
        case 2:
            return x * x
        case _:
            return x**3


@case((2.5,))
def condition_with_an_effect(x):
    n = 0
    while (x := x - 1) > 0:
        n += 1
    return x * n


@case((0.5, 4))
def iterator_by_hand(x, n):
    it = iter([x, x * 2, x * 3])
    total = 0.0
    for _ in range(n):
        total += next(it, 0.0)
    return total


@case((A,))
def set_of_numbers(a):
    seen = set()
    for k in (1, 2, 1):
        seen.add(k)
    s = 0.0
    for v in a:
        if v > 0:
            s += v * len(seen)
    return s


@case((A,))
def sorted_values(a):
    s = 0.0
    for k, v in enumerate(sorted(a)):
        s += k * v
    return s


@case((A,))
def largest_by_a_key(a):
    best = max(range(4), key=lambda k: a[k])
    return a[best] ** 2


@case((0.5, 3))
def formatted_text(x, n):
    for _ in range(n):
        x = x * x
    label = f"{n:d} rounds"
    return x * len(label)


@case((A,))
def converted_to_python(a):
    s = 0.0
    for v in a.tolist():
        if v > 0:
            s += float(v) * int(v + 1)
    return s


@case((A,))
def transposed_view_is_written(a):
    m = np.outer(a, a)
    t = m.T
    for i in range(4):
        t[i, 0] = 7.0 * a[i]
    return m[0].sum()


@case((A,), refuses=r"\.copy\(\)")
def reshaped_view_is_written(a):
    m = a * 2
    r = m.reshape(2, 2)
    for i in range(2):
        r[i, i] = a[i]
    return (m * a).sum()


@case((A,))
def flattened_copy_is_written(a):
    m = np.outer(a, a)
    f = m.flatten()
    for i in range(3):
        f[i] = 0.0
    return m[0, 1] + f.sum()


@case((A,))
def diagonal_is_written(a):
    m = np.outer(a, a)
    for i in range(4):
        m[i, i] = 0.0
    np.fill_diagonal(m, 1.0)
    return m.sum() * a[0]


@case((A, A), (A, 2 * A))
def one_array_twice(a, b):
    a = a.copy()
    for i in range(3):
        a[i + 1] += b[i]
    return (a * b).sum()
