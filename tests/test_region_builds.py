"""Loops and branches in extension modules: they fail with the user's exceptions, without anything of ours."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pullback import value_and_grad
from tests.built import alone, made


def newton(x, a):
    while abs(x * x - a) > 1e-12:
        x = x - (x * x - a) / (2.0 * x)
    return x


def decayed(c, n):
    total = 0.0
    for i in range(n):
        if c[i] > 100.0:
            raise ArithmeticError("too large")
        total = total * 0.5 + c[i]
    return total


def test_loops_run_in_a_module(tmp_path: Path) -> None:
    """A tape grows in one, an index is out of bounds in the other."""
    functions = {"slope": value_and_grad(newton, argnums=1), "decayed": decayed}
    if made(tmp_path, functions, {"slope": (1e9, 2.0), "decayed": (np.arange(6.0), 4)}, name="loops") is None:
        return
    told = alone(tmp_path, """
        import loops, array
        c = array.array("d", range(6))
        print(*(round(v, 12) for v in loops.slope(1e9, 2.0)), loops.decayed(c, 4))
        print(raised(lambda: loops.decayed(c, 9)))
        c[2] = 200.0
        print(raised(lambda: loops.decayed(c, 9)))
    """).splitlines()
    assert told[0] == f"{2**0.5:.12f} {0.5 / 2**0.5:.12f} 4.25"
    assert told[1].startswith("IndexError: index 6 is out of bounds for axis 0 with size 6")
    assert told[2].startswith("ArithmeticError: too large")
