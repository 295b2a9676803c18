"""Arrays that are put together of parts as thin as one element, whose loops share rows: native code and the reference.

A guard leaves one step of an axis, which so is no step along memory; a row's slice of a buffer was once addressed as if
it were, where a row lies as far away as that axis would step.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pullback import hessian
from pullback.compiler.settings import settings
from pullback.runtime.transforms import grad, jit

W = np.arange(36.0).reshape(6, 6) / 7


def _quadratic(q: Any) -> Any:
    return np.sum((q @ W[: q.shape[1], : q.shape[1]]) * q)


def _outer(q: Any) -> Any:
    return np.sum(np.sum(q[:, :, None] * q[:, None, :], axis=0) * W[: q.shape[1], : q.shape[1]])


def _chosen(rows: Any) -> Any:
    s = np.sum(rows * rows, axis=1, keepdims=True)
    return np.concatenate([rows, np.where(s < 1e-6, 1.0, s * s)], axis=1)


def _between(rows: Any) -> Any:
    s = np.sum(rows * rows, axis=1, keepdims=True)
    return np.concatenate([np.where(s < 1e-6, s, np.cos(s)), rows, np.where(s < 2.0, s, s * s)], axis=1)


def _below(rows: Any) -> Any:
    s = np.sum(rows * rows, axis=0, keepdims=True)
    return np.concatenate([rows, np.where(s < 1e-6, 1.0, s * s), rows[:1] * s], axis=0)


def _padded(rows: Any) -> Any:
    s = np.sum(rows**3, axis=1, keepdims=True)
    thin = np.where(s > 0.5, s, s * rows[:, :1])
    return np.pad(thin, ((0, 0), (2, 1))) + np.pad(rows, ((0, 0), (0, 4 - rows.shape[1])))


MADE = {"chosen": _chosen, "between": _between, "below": _below, "padded": _padded}


@pytest.mark.parametrize("shape", [(2, 2), (3, 3), (2, 1), (1, 3), (4, 2)], ids=str)
@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize("of", [_quadratic, _outer])
def test_second_derivatives_are_the_references(of: Callable[..., Any], made: str, shape: tuple[int, int]) -> None:
    def f(v: Any) -> Any:
        return of(MADE[made](np.reshape(v, shape)))

    v = np.sin(np.arange(1.0, shape[0] * shape[1] + 1))
    given = [(make(f), make(f)) for make in (jit, grad, hessian)]
    with settings.override(reference=True):
        want = [reference(v) for _, reference in given]
    for (native, _), each in zip(given, want, strict=True):
        np.testing.assert_allclose(native(v), each, rtol=1e-10, atol=1e-10)
