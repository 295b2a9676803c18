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
