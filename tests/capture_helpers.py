"""A module of helpers, which functions under test reach through its name."""

from __future__ import annotations

import numpy as np

TABLE = np.array([1.0, 2.0, 3.0])


def root(x):
    y = x
    for _ in range(60):
        y = 0.5 * (y + x / y)
    return y


class Solver:
    tolerance = 1e-12

    def solve(self, x):
        y = x
        while abs(y * y - x) > self.tolerance:
            y = 0.5 * (y + x / y)
        return y


default = Solver()


# ---- what raises: here, because pytest writes the assertions of tests anew


class Beyond(Exception):
    """An exception that takes more than a text."""

    def __init__(self, value: float, limit: float) -> None:
        super().__init__(f"{value:.2f} is beyond {limit}")
        self.value, self.limit = value, limit


def asserted(x):
    assert x > 0, f"x must be positive, got {x!r}: {x:.3f}, {x=}, {type(x).__name__}"
    return x * x


def in_a_loop(x):
    total = 0.0
    for i in range(50):
        total = total + x * i
        if total < -20:
            raise ValueError(f"total {total} at {i}")
    return total


def formatted(x):
    if x < 0:
        raise ValueError("bad %g, {:.1f}, ".format(x) % x + str(x), x)  # noqa: UP032
    return x * x


def named_before(x):
    text = f"{'negative' if x < 0 else 'positive'} {-x}"
    if x < 0:
        raise KeyError(text)
    return x * x


def of_its_own_class(x):
    if x < -1:
        raise Beyond(x, -1.0)
    return x * x


def of_an_array(x):
    y = np.array([x, 2 * x])
    assert np.all(y > 0), f"y = {y}, sum {np.sum(y):.1f}, {len(y)}"
    return np.sum(y)


def stepped(w):
    assert w[0] < 4, f"w is {w[0]}"
    return w * 2
