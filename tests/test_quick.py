"""exp and log in loops over numbers: the short way for ordinary arguments has the bits of the whole function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pullback import jit
from pullback.compiler.settings import settings

SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 5e-324, 1e-310, 2.2e-308, 2.3e-308, 1e-40, 1.2e-38, 1e300]
EDGES = [87.0, 88.7, 88.8, 103.9, 104.0, 707.9, 708.0, 708.3, 709.78, 709.79, 745.1, 745.2, 748.0, 1e5]


def numbers(dtype: type) -> np.ndarray:
    rng = np.random.default_rng(2)
    drawn = [rng.normal(size=3000) * 30, np.exp(rng.uniform(-700, 700, 3000)), rng.uniform(-760, 720, 3000)]
    with np.errstate(over="ignore", under="ignore"):
        return np.concatenate([SPECIAL, EDGES, np.negative(EDGES), *drawn]).astype(dtype)


def one_by_one(function: Any) -> Callable[..., Any]:
    """Each number waits for the one before, so that the loop stays one."""

    def loop(x, chosen):
        out, y = x.copy(), x[0]
        for i in range(len(x)):
            a = x[i] if chosen[i] else y
            y = function(a)
            out[i] = y
        return out

    return loop


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", ["exp", "log"])
@pytest.mark.parametrize("level", [0, 2])
def test_same_bits_as_over_arrays(name: str, dtype: type, level: int) -> None:
    function, x = getattr(np, name), numbers(dtype)
    with settings.override(level=level), np.errstate(all="ignore"):
        single = jit(one_by_one(function))
        made, want = single(x, np.ones(len(x), bool)), jit(lambda x: function(x))(x)
    assert f"{name}.rare" in single.ir("llvm")
    word = {8: np.int64, 4: np.int32}[x.itemsize]
    known = ~np.isnan(want)
    assert np.array_equal(np.isnan(made), ~known)
    assert np.array_equal(made[known].view(word), want[known].view(word))
