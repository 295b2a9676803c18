"""Tensors of one place as indices and bounds, with torch and with pullback: a step comes in, its gradients come out."""

from typing import Any

import numpy as np
import pytest
import torch

import pullback
from pullback.runtime.tensor.trace import plans


def path_score(library: Any, places: Any, w: Any) -> Any:
    """The score of a path of places, found by tensors of one element."""
    score = (w * 2)[0][places[0]]
    for k in range(1, 5):
        score = score + w[places[k - 1], places[k]] * (w * k)[places[k]][places[k - 1]]
    return score + (w[: places[1]] ** 2).sum() + (w + 1)[places[0] :, places[2]].sum()


def test_steps_with_places_in_tensors_are_pytorchs_and_are_recognised(monkeypatch: pytest.MonkeyPatch) -> None:
    missed: list[str] = []
    monkeypatch.setattr(plans, "because", lambda name, why: missed.append(name))
    given = np.random.default_rng(0).standard_normal((5, 5)).astype(np.float32)
    paths = [np.array(p) for p in ([0, 3, 1, 4, 2], [4, 1, 1, 0, 3])]
    grads: dict[Any, list[Any]] = {torch: [], pullback: []}
    for library, found in grads.items():
        w = library.tensor(given).requires_grad_()
        for k in range(6):
            w.grad = None
            loss = path_score(library, library.tensor(paths[k % 2]), w)
            loss.backward()
            found.append([loss.item(), *w.grad.flatten().tolist()])
    np.testing.assert_allclose(grads[pullback], grads[torch], rtol=1e-5, atol=1e-5)
    assert "getitem" not in [name.strip("_") for name in missed]


def test_a_view_by_a_place_in_a_tensor_is_a_view() -> None:
    for library in (torch, pullback):
        x = library.ones(3, 2, requires_grad=True)
        h = x * 2
        row = h[library.tensor(1)]
        row.mul_(5)
        h[library.tensor(2)] += 1
        assert row._base is h and h.tolist() == [[2, 2], [10, 10], [3, 3]]
        h.sum().backward()
        assert x.grad.tolist() == [[2, 2], [10, 10], [2, 2]]


class _Two:
    def __index__(self) -> int:
        return 2


BOUNDS = {"object": _Two(), "float": 1.5, "text": "a", "array": np.array(1), "bool": True}


@pytest.mark.parametrize("bound", BOUNDS.values(), ids=BOUNDS)
def test_bounds_that_are_no_ints(bound: Any) -> None:
    found = []
    for t in (pullback, torch):
        try:
            found.append(t.arange(5.0)[bound:].tolist())
        except TypeError:
            found.append("TypeError")
    assert found[0] == found[1]
