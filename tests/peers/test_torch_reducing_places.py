"""What meets in one place, reduced by index or element by element, beside torch: values, gradients, new sizes."""

from typing import Any

import numpy as np
import pytest
import torch

import pullback
from pullback.runtime.tensor.trace.tape import tapes

REDUCES = ("sum", "mean", "prod", "amax", "amin")


def numbers(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Numbers of which many are equal, so that some share their place among the largest."""
    return rng.integers(0 if dtype == "uint8" else -3, 4, shape)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int64", "int32", "uint8"])
@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("reduce", REDUCES)
def test_values_and_gradients(reduce: str, include_self: bool, dtype: str, rng: np.random.Generator) -> None:
    for axis, shape in ((0, (6, 4)), (1, (3, 5)), (-1, (4, 7))):
        x, source = numbers(rng, (4, 5), dtype), numbers(rng, shape, dtype)
        places = rng.integers(0, (4, 5)[axis], shape)
        given = []
        for t in (torch, pullback):
            kind: Any = getattr(t, dtype)
            a, b = (t.tensor(v).to(kind) for v in (x, source))
            floats = dtype in ("float64", "float32")
            if floats:
                a.requires_grad_()
                b.requires_grad_()
            made = a.scatter_reduce(axis, t.tensor(places), b, reduce, include_self=include_self)
            given.append([made.detach().numpy()])
            if floats and (include_self or reduce in ("sum", "mean")):  # torch counts an own element it leaves out
                (made * made.detach().cos()).sum().backward()
                given[-1] += [a.grad.numpy(), b.grad.numpy()]
        for theirs, ours in zip(*given, strict=True):
            assert theirs.dtype == ours.dtype
            np.testing.assert_allclose(ours, theirs, rtol=2e-3 if dtype == "float16" else 1e-6)


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("reduce", REDUCES[1:])
@pytest.mark.filterwarnings("ignore:index_reduce")
def test_rows(reduce: str, include_self: bool, rng: np.random.Generator) -> None:
    for axis, shape in ((0, (7, 3, 2)), (1, (4, 6, 2)), (2, (4, 3, 5))):
        x, source, rows = rng.normal(size=(4, 3, 2)), rng.normal(size=shape), rng.integers(0, 2, shape[axis])
        made = [
            t.tensor(x).index_reduce(axis, t.tensor(rows), t.tensor(source), reduce, include_self=include_self).numpy()
            for t in (torch, pullback)
        ]
        np.testing.assert_allclose(made[1], made[0], rtol=1e-12)


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("reduce", REDUCES)
def test_second_derivatives_by_differences(reduce: str, include_self: bool, rng: np.random.Generator) -> None:
    """Also where two factors are zero, and where what is reduced has more elements than the index."""
    places = pullback.tensor(rng.integers(0, 3, (4, 2)))
    x, source = rng.normal(size=(3, 2)), rng.normal(size=(5, 3))
    source[:2, 0] = 0.0 if reduce == "prod" else source[:2, 0]

    def f(x: Any, source: Any) -> Any:
        made = x.scatter_reduce(0, places, source, reduce, include_self=include_self)
        return (made.sin() * made).sum()

    given = [pullback.tensor(v, requires_grad=True) for v in (x, source)]
    assert pullback.autograd.gradcheck(f, given)
    assert pullback.autograd.gradgradcheck(f, given)


def test_where_the_largest_are_equal_they_share() -> None:
    places, values = pullback.tensor([0, 0, 1, 0]), pullback.tensor([2.0, 2.0, 5.0, 1.0], requires_grad=True)
    own = pullback.tensor([2.0, 7.0], requires_grad=True)
    own.scatter_reduce(0, places, values, "amax").sum().backward()
    assert values.grad is not None and own.grad is not None
    np.testing.assert_allclose(values.grad, [1 / 3, 1 / 3, 0.0, 0.0])
    np.testing.assert_allclose(own.grad, [1 / 3, 1.0])


def test_a_place_outside_is_an_error_also_in_later_calls() -> None:
    for t in (torch, pullback):
        for k in (0, 1, 2, 3, 5):
            places = t.tensor([0, 1, k])
            if k < 3:
                assert t.zeros(3).scatter_reduce(0, places, t.ones(3), "amax").sum() == len({0, 1, k})
            else:
                with pytest.raises(RuntimeError, match="out of bounds"):
                    t.zeros(3).scatter_reduce(0, places, t.ones(3), "amax").sum()


def test_under_vmap(rng: np.random.Generator) -> None:
    x, source, places = rng.normal(size=(3, 4)), rng.normal(size=(3, 6)), rng.integers(0, 4, (3, 6))
    for reduce in ("sum", "mean", "amax"):
        given = [
            t.vmap(lambda a, s, p: a.scatter_reduce(0, p, s, reduce))(*map(t.tensor, (x, source, places))).numpy()  # noqa: B023
            for t in (torch, pullback)
        ]
        np.testing.assert_allclose(given[1], given[0], rtol=1e-12)


def trained(t: Any, steps: int) -> list[float]:
    """The losses of a net over graphs of random sizes, whose messages meet by every reduction."""
    t.manual_seed(0)
    rng = np.random.default_rng(3)
    first, last = t.nn.Linear(3, 8), t.nn.Linear(32, 1)
    optimiser = t.optim.Adam([*first.parameters(), *last.parameters()], 1e-2)
    losses = []
    for _ in range(steps):
        n = int(rng.integers(4, 12))
        x = t.tensor(rng.normal(size=(n, 3)).astype(np.float32))
        edges = t.tensor(rng.integers(0, n, (2, 3 * n))) + 0  # computed, as where graphs are joined
        message = first(x)[edges[0]]
        at = edges[1].view(-1, 1).expand_as(message)
        parts = [message.new_zeros(n, 8).scatter_add(0, at, message)] + [
            message.new_zeros(n, 8).scatter_reduce(0, at, message, reduce, include_self=False)
            for reduce in ("mean", "amin", "amax")
        ]
        loss = (last(t.cat(parts, 1)).tanh() - 0.5).pow(2).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    return losses


def test_steps_of_new_sizes() -> None:
    np.testing.assert_allclose(trained(pullback, 60), trained(torch, 60), rtol=2e-4)


def test_places_that_are_a_part_of_what_is_known_do_not_end_a_trace() -> None:
    """Whether indices lie inside is looked up in memory; a trace that ended there would be run in pieces."""
    places = pullback.tensor([[0, 1, 2, 1], [2, 2, 0, 1]])
    for k in range(4):
        x = pullback.ones(4, 2) * 2
        at = places[1].view(-1, 1).expand_as(x)
        serial = tapes.tape.serial
        made = pullback.zeros(3, 2).scatter_add(0, at, x)
        assert tapes.tape.serial == serial or not k
        assert made.tolist() == [[2.0, 2.0], [2.0, 2.0], [4.0, 4.0]]


@pytest.mark.parametrize("way", ["numpy", "tensor"])
def test_places_written_to_after_a_view_of_them_was_made(way: str) -> None:
    """A view of memory is what lies there when it is read, whoever wrote, and so is what is asked of it."""
    given: list[list[Any]] = [[], []]
    for t, made in zip((torch, pullback), given, strict=True):
        array = np.array([0, 1, 2, 1])
        places = t.from_numpy(array) if way == "numpy" else t.tensor(array)
        to: Any = array if way == "numpy" else places
        for k in range(6):
            x = t.ones(4, 2) * 2
            at = places.view(-1, 1).expand(4, 2)
            to[3] = k % 3
            made += [t.zeros(3, 2).scatter_add(0, at, x).tolist(), at.tolist()]
        at = places.view(-1, 1).expand(4, 2)
        to[3] = 7
        with pytest.raises(RuntimeError, match="index 7 is out of bounds"):
            t.zeros(3, 2).scatter_add(0, at, t.ones(4, 2))
    assert given[0] == given[1]
