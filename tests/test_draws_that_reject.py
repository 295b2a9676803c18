"""Draws by native loops: the numbers and the states are those of the functions that the loops are made of."""

import math
from typing import Any

import numpy as np
import pytest

import pullback as torch
from pullback.runtime.tensor.ops.random.rejections import COUNTS, GAMMAS, SUCCESSES
from pullback.runtime.tensor.ops.random.streams import Loop
from pullback.runtime.tensor.ops.random.twister import Twister


class Stream:
    """Uniform numbers one at a time."""

    def __init__(self, source: Twister) -> None:
        self.source = source
        self.normal = math.nan if source.normal is None else source.normal

    def unit(self) -> float:
        return float(self.source.doubles(1)[0])


POISSON = [6.0, 27.0, 0.0, 7.0]
BINOMIAL = [6.0, 179.0, 3.0]
DIRICHLET = [
    0.02170975897163588, 0.21301771129499367, 0.15074276829604258, 0.005543547421662977, 0.34712780207148886,
    0.26185841194417603,
]  # fmt: skip
rng = np.random.default_rng(0)
SIZE = 700
GIVEN: dict[str, tuple[Any, list[np.ndarray]]] = {
    "gamma": (GAMMAS, [a := rng.choice([0.0, 0.02, 0.4, 1.0, 2.5, 300.0, math.nan], SIZE), 1 / np.maximum(a, 1e-3),
                       np.where(a < 1, a + 1, a) - 1 / 3, 1 / np.sqrt(9 * np.where(a < 1, a + 1, a) - 3)]),
    "poisson": (COUNTS, [rng.choice([0.0, 1e-3, 0.7, 9.99, 10.0, 37.5, 1e4, 1e9], SIZE)]),
    "binomial": (SUCCESSES, [rng.choice([0.0, 1.0, 12.0, 90.0, 1e5, math.nan], SIZE),
                             p := rng.choice([0.0, 1e-4, 0.3, 0.5, 0.8, 1.0, math.nan], SIZE),
                             np.where(p <= 0.5, p, 1 - p)]),
}  # fmt: skip


@pytest.mark.parametrize("name", GIVEN)
@pytest.mark.parametrize("before", [0, 1, 623, 2495, 70_000])
def test_numbers_and_states_are_those_of_the_function(name: str, before: int) -> None:
    loop, rows = GIVEN[name]
    ours, theirs = Twister(5), Twister(5)
    for source in (ours, theirs):
        source.words(before)
    made = loop.run(ours, *rows)
    stream = Stream(theirs)
    want = [loop.law(stream, *numbers) for numbers in np.stack(rows, 1).tolist()]
    theirs.normal = None if math.isnan(stream.normal) else stream.normal
    np.testing.assert_array_equal(made, want)
    assert ours.packed().tobytes() == theirs.packed().tobytes()


def test_an_element_that_needs_more_than_a_block() -> None:
    ours, theirs = Twister(1), Twister(1)
    rows = [np.array([1e5, 3.0]), np.array([9.9e-5, 0.5]), np.array([9.9e-5, 0.5])]
    stream = Stream(theirs)
    for _ in range(20):
        want = [SUCCESSES.law(stream, *numbers) for numbers in np.stack(rows, 1).tolist()]
        assert SUCCESSES.run(ours, *rows).tolist() == want
        assert ours.words(1)[0] == theirs.words(1)[0]


def test_nothing_drawn_leaves_a_fresh_state() -> None:
    source = Twister(3)
    before = source.packed().tobytes()
    assert COUNTS.run(source, np.zeros(4)).tolist() == [0.0] * 4
    assert COUNTS.run(source, np.zeros(0)).tolist() == []
    assert source.packed().tobytes() == before


def test_numbers_of_pytorch() -> None:
    """What PyTorch 2.13 draws after manual_seed(0)."""
    torch.manual_seed(0)
    assert torch.poisson(torch.tensor([3.0, 30.0, 0.1, 8.0])).tolist() == POISSON
    assert torch.binomial(torch.tensor([20.0, 200.0, 5.0]), torch.tensor([0.3, 0.9, 0.5])).tolist() == BINOMIAL
    shares = torch.distributions.Dirichlet(torch.tensor([0.5, 1.5, 3.0, 0.2, 1.0, 2.0], dtype=torch.float64)).sample()
    assert shares.tolist() == DIRICHLET


def test_many_are_quick_and_of_the_right_mean() -> None:
    torch.manual_seed(0)
    a = torch.full((200_000,), 2.5, dtype=torch.float64)
    assert abs(torch.distributions.Gamma(a, 1.0).sample().mean().item() - 2.5) < 0.02
    assert abs(torch.poisson(a).mean().item() - 2.5) < 0.02


def above(stream: Any, least: float) -> float:
    while True:
        u = stream.unit()
        if u > least:
            return u


def test_a_draw_without_an_end_is_an_error() -> None:
    source = Twister(0)
    before = source.packed().tobytes()
    with pytest.raises(RuntimeError, match=r"no number is drawn with the parameters 2\.0"):
        Loop(above).run(source, np.array([2.0]))
    assert source.packed().tobytes() == before
    made = Loop(above).run(source, np.array([0.5, 0.9999]))
    assert made[0] > 0.5 and made[1] > 0.9999
