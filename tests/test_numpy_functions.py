"""NumPy's and SciPy's functions on traced arrays, case by case: values, dtypes, layouts, two derivatives, vmap."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pullback.compiler.settings import settings
from pullback.runtime.check import check
from pullback.runtime.transforms import jit
from pullback.runtime.vmap import vmap
from tests.numpy_cases import Case, executed, subjects

CASES = [pytest.param(case, id=f"{subject}-{case.of}") for subject, cases in subjects().items() for case in cases]
SMOOTH = [each for each in CASES if each.values[0].order]  # type: ignore[attr-defined]


def _leaves(made: Any) -> list[Any]:
    return [part for each in made for part in _leaves(each)] if isinstance(made, (tuple, list)) else [made]


def _same(made: Any, want: Any, rtol: float) -> None:
    assert type(made) is type(want) or not isinstance(want, (tuple, list))
    made, want = _leaves(made), _leaves(want)
    assert len(made) == len(want)
    for m, w in zip(made, want, strict=True):
        m, w = np.asarray(m), np.asarray(w)
        assert m.dtype == w.dtype and m.shape == w.shape, (m.dtype, w.dtype, m.shape, w.shape)
        if w.dtype.kind in "fc":
            np.testing.assert_allclose(m, w, rtol=rtol, atol=rtol)
        else:
            np.testing.assert_array_equal(m, w)


def _as(args: tuple[Any, ...], convert: Any) -> list[Any]:
    return [convert(a) if isinstance(a, np.ndarray) and a.dtype == np.float64 else a for a in args]


def _strided(a: np.ndarray) -> np.ndarray:
    wide = np.zeros(tuple(2 * n for n in a.shape), a.dtype)
    wide[tuple(slice(None, None, 2) for _ in a.shape)] = a
    return wide[tuple(slice(None, None, 2) for _ in a.shape)]


LAYOUTS = {"C": np.copy, "F": np.asfortranarray, "strided": _strided}


@pytest.mark.parametrize("case", CASES)
def test_values_are_numpys(case: Case) -> None:
    native = jit(case.function)
    for convert in LAYOUTS.values():
        given = _as(case.args, convert)
        with np.errstate(all="ignore"):
            want = case.function(*given)
        _same(native(*given), want, case.rtol)
    with settings.override(reference=True):
        _same(jit(case.function)(*case.args), case.function(*case.args), case.rtol)
    if case.f32:
        given = _as(case.args, lambda a: a.astype(np.float32))
        with np.errstate(all="ignore"):
            want = case.function(*given)
        _same(native(*given), want, 2e-4)


def _floats(case: Case) -> Any:
    """The results that have derivatives, of complex ones both parts."""

    def parts(each: Any) -> list[Any]:
        return [each.real, each.imag] if each.dtype.kind == "c" else [each]

    def floats(*args: Any) -> list[Any]:
        return [x for each in _leaves(case.function(*args)) for x in parts(each) if x.dtype.kind == "f"]

    return floats


@pytest.mark.parametrize("case", SMOOTH)
def test_derivatives_agree_with_numbers(case: Case) -> None:
    assert _floats(case)(*case.args), "no result that has a derivative"
    with executed(case):
        check(_floats(case), *case.args, order=case.order, elements=0)


@pytest.mark.parametrize("case", SMOOTH)
def test_vmap_is_one_after_the_other(case: Case) -> None:
    places = [isinstance(a, np.ndarray) and a.dtype == np.float64 for a in case.args]
    axes = tuple(0 if wide else None for wide in places)
    given = [np.stack([a, a]) if w else a for a, w in zip(case.args, places, strict=True)]
    with executed(case):
        made = _leaves(vmap(case.function, in_axes=axes)(*given))
    want = _leaves(case.function(*case.args))
    for m, w in zip(made, want, strict=True):
        np.testing.assert_allclose(m, np.stack([w, w]), rtol=1e-9, atol=1e-9)
