"""Python's integers in traced functions: what 64 bits do not hold is an OverflowError, NumPy's integers wrap around."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pullback import grad, jit


def doubled(n: Any) -> Any:
    made = 1
    for _ in range(n):
        made = made * 2
    return made


def shifted_if_large(n: Any, by: Any) -> Any:
    return n << by if n > 3 else n


def increased(n: Any) -> Any:
    n += n
    return n


TOO_LARGE: list[tuple[Callable[..., Any], tuple[int, ...]]] = [
    (lambda n: n * n, (2**32,)),
    (lambda n: n * n, (-(2**32),)),
    (lambda n: n + n, (2**62,)),
    (lambda n: n - 1, (-(2**63),)),
    (lambda n: 3 * n, (2**62,)),
    (lambda n: n**3, (2**21,)),
    (lambda n: -n, (-(2**63),)),
    (lambda n: abs(n), (-(2**63),)),
    (lambda n: n << 40, (2**23,)),
    (lambda n, k: n << k, (1, 63)),
    (lambda n, k: n << k, (1, 70)),
    (shifted_if_large, (4, 61)),
    (doubled, (63,)),
    (increased, (2**62,)),
]
FITS: list[tuple[Callable[..., Any], tuple[int, ...]]] = [
    (lambda n: n * n, (2**31,)),
    (lambda n: n + n, (2**61,)),
    (lambda n: n**3, (2**20,)),
    (lambda n: n << 40, (2**22,)),
    (lambda n: -n + abs(n), (-(2**40),)),
    (lambda n, k: n >> k, (2**50, 3)),
    (shifted_if_large, (4, 60)),
    (doubled, (62,)),
    (increased, (2**61,)),
]


@pytest.mark.parametrize(("function", "args"), TOO_LARGE)
def test_what_does_not_fit_raises(function: Callable[..., Any], args: tuple[int, ...]) -> None:
    with pytest.raises(OverflowError, match="a Python int needs more than 64 bits; use floats"):
        jit(function)(*args)


@pytest.mark.parametrize(("function", "args"), FITS)
def test_what_fits_is_pythons(function: Callable[..., Any], args: tuple[int, ...]) -> None:
    assert jit(function)(*args) == function(*args)


def test_numpys_integers_wrap_around() -> None:
    with np.errstate(all="ignore"):
        assert jit(lambda n: n * n)(np.int64(2**32)) == np.int64(2**32) * np.int64(2**32) == 0


def test_a_negative_shift_is_an_error() -> None:
    with pytest.raises(ValueError, match="negative shift count"):
        jit(lambda n, k: n << k)(1, -1)


def test_a_gradient_beside_an_integer_that_overflows_raises() -> None:
    assert grad(lambda x, n: x * (n * n))(2.0, 2**20) == 2.0**40
    with pytest.raises(OverflowError):
        grad(lambda x, n: x * (n * n))(2.0, 2**32)
