"""The comparator is itself tested: every planted defect must be found, and nothing sound be refused."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from tests.compare import assert_same, difference, differences, directional

Defect = Callable[[np.ndarray], np.ndarray]
RELATIVE = 1e-12


def _at(x: np.ndarray, place: int, value: float) -> np.ndarray:
    y = x.copy()
    y.flat[place] = value
    return y


DEFECTS: dict[str, Defect] = {
    "a NaN": lambda x: _at(x, 3, np.nan),
    "an infinity": lambda x: _at(x, 3, np.inf),
    "a negative infinity": lambda x: _at(x, 3, -np.inf),
    "all NaN": lambda x: np.full_like(x, np.nan),
    "one sign": lambda x: _at(x, 5, -x.flat[5]),
    "every sign": lambda x: -x,
    "a relative error of 1e-9": lambda x: x * (1 + 1e-9),
    "one relative error of 1e-9": lambda x: _at(x, 7, x.flat[7] * (1 + 1e-9)),
    "the smallest element wrong by 1e-9 of itself": lambda x: _at(
        x, int(np.argmin(abs(x))), x.flat[int(np.argmin(abs(x)))] * (1 + 1e-9)
    ),
    "an element dropped to zero": lambda x: _at(x, 2, 0.0),
    "transposed": lambda x: x.T.copy(),
    "a missing reduction": lambda x: x[None],
    "a reduction too many": lambda x: x.sum(0),
    "a missing axis of one": lambda x: x[:, :1],
    "single precision": lambda x: x.astype(np.float32),
    "single precision, cast back": lambda x: x.astype(np.float32).astype(np.float64),
    "an object array": lambda x: x.astype(object),
    "a list": lambda x: x.tolist(),
    "doubled": lambda x: 2 * x,
    "shifted by one element": lambda x: np.roll(x, 1),
}


@pytest.fixture
def right(rng: np.random.Generator) -> np.ndarray:
    """A square matrix with elements of very different sizes."""
    return rng.normal(size=(6, 6)) * 10.0 ** rng.integers(-9, 9, (6, 6))


@pytest.mark.parametrize("name", DEFECTS)
def test_a_planted_defect_is_found(name: str, right: np.ndarray) -> None:
    assert difference(right, right.copy(), relative=RELATIVE) is None
    assert difference(DEFECTS[name](right), right, relative=RELATIVE)


def test_one_wrong_element_in_a_million_is_found(rng: np.random.Generator) -> None:
    right = rng.normal(size=1_000_000)
    for place in (0, 499_999, 999_999):
        assert difference(_at(right, place, right[place] * (1 + 1e-9)), right, relative=RELATIVE)
        assert difference(_at(right, place, np.nan), right, relative=RELATIVE)
    text = difference(_at(right, 123, 7.0), right, relative=RELATIVE)
    assert text is not None and "[123]" in text


def test_the_other_way_round() -> None:
    wrong = np.array([1.0, np.nan, np.inf, -np.inf])
    for k in (1, 2, 3):
        assert difference(_at(wrong, k, 0.0), wrong, relative=1.0, floor=1e300)
    assert difference(_at(wrong, 2, -np.inf), wrong)
    assert difference(wrong.copy(), wrong) is None


def test_integers_and_bools_are_compared_exactly() -> None:
    i = np.array([1, 2**53 + 1, -3])
    assert difference(i.copy(), i, relative=1.0, floor=1.0) is None
    assert difference(i + np.array([0, 1, 0]), i, relative=1.0, floor=1.0)
    assert difference(i.astype(np.int32), i)
    assert difference(np.array([True, False]), np.array([True, True]))


def test_a_floor_holds_for_its_own_element_only() -> None:
    want = np.array([1e9, 1e-9])
    assert difference(want + np.array([0, 1e-9]), want, floor=np.array([0.0, 1e-9]) * 1.01) is None
    assert difference(want + np.array([0, 1e-9]), want, floor=np.array([1e-9, 0.0]))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -1.0, np.ones(3), np.ones((2, 1))])
def test_a_bound_that_would_pass_anything_is_refused(bad: object) -> None:
    want = np.ones((2, 2))
    with pytest.raises(ValueError, match="bound"):
        difference(want, want, floor=bad)
    with pytest.raises(ValueError, match="bound"):
        difference(want, want, relative=bad)


def test_lists_of_results() -> None:
    x = np.arange(3.0)
    assert differences([x], [x]) == []
    assert differences([x, x], [x])
    assert differences([], [x])
    assert "result 1" in differences([x, x + 1], [x, x])[0]
    assert differences([], []) == []


def test_the_same_means_signed_zeros_too() -> None:
    zero = np.array([0.0])
    assert_same([zero], [zero])
    assert_same([np.array([-np.nan])], [np.array([np.nan])])
    with pytest.raises(AssertionError, match="sign"):
        assert_same([-zero], [zero])
    with pytest.raises(AssertionError):
        assert_same([np.nextafter(1.0, 2.0)], [np.array(1.0)])


def test_no_elements_and_no_axes() -> None:
    assert difference(np.zeros((0, 3)), np.zeros((0, 3))) is None
    assert difference(np.zeros((0, 3)), np.zeros((3, 0)))
    assert difference(np.float64(2.0), np.array(2.0)) is None
    assert difference(np.float64(2.0), np.array([2.0]))


def test_directional_derivatives(rng: np.random.Generator) -> None:
    x, v, n = rng.normal(size=5), rng.normal(size=5), np.arange(5)
    zero = np.zeros(5)

    def f(args: Sequence[np.ndarray]) -> list[np.ndarray]:
        return [np.sin(args[0]) * args[1], np.exp(args[0]).sum(keepdims=True), args[1]]

    got = directional(f, [x, n], [v, zero])
    want = [np.cos(x) * n * v, (np.exp(x) * v).sum(keepdims=True), zero]
    for g, w in zip(got, want, strict=True):
        assert difference(g.astype(float), w, relative=1e-11, floor=1e-12) is None
