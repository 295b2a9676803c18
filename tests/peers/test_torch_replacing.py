"""Programs that write to a buffer, give it other memory and write to parameters, in steps that keep gradients: what the
buffers hold at the end of each step is what PyTorch's do, however often the step has come before."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
import torch as reference

import pullback


class Buffers:
    def __init__(self, torch: Any) -> None:
        self.torch = torch
        self.a, self.b = (torch.full((2,), v, dtype=torch.float64) for v in (1.0, 2.0))
        self.w = torch.ones(2, dtype=torch.float64, requires_grad=True)
        self.kept: Any = None
        self.part: Any = None

    def exchange(self) -> None:
        self.a.data, self.b.data = self.b.data, self.a.data


MOVES: dict[str, Callable[[Buffers], Any]] = {
    "halve": lambda s: s.a.mul_(0.5),
    "add to": lambda s: s.a.add_(s.b, alpha=0.25),
    "average": lambda s: s.a.mul_(0.9).add_(s.w.detach() * 0.1),
    "fill the first": lambda s: s.a[:1].fill_(3.0),
    "replace": lambda s: setattr(s.a, "data", s.a + 1),
    "replace by a kept one": lambda s: setattr(s.a, "data", s.kept),
    "be a new one": lambda s: s.a.set_(s.b * 0.5 + s.a),
    "replace the other": lambda s: setattr(s.b, "data", s.a * 0.125),
    "write the other": lambda s: s.b.copy_(s.a * 0.75),
    "into the other": lambda s: s.torch.add(s.a, 1, out=s.b),
    "keep": lambda s: setattr(s, "kept", s.a * 2),
    "resize": lambda s: s.a.resize_(2),
    "give the parameter": lambda s: s.w.data.copy_(s.a / (1 + s.b.abs())),
    "write the parameter": lambda s: s.w.mul_(0.5),
    "move the parameter": lambda s: s.w.detach().add_(1.0),
    "replace the parameter": lambda s: setattr(s.w, "data", s.a * 0.5),
    "look": lambda s: s.a.tolist(),
    "exchange": lambda s: s.exchange(),
    "take a part": lambda s: setattr(s, "part", s.a[:1]),
    "take all of it": lambda s: setattr(s, "part", s.a.view(1, 2)),
    "write the part": lambda s: s.part is not None and s.part.mul_(0.5),
}


def run(torch: Any, moves: list[str], backward: bool) -> list[Any]:
    s, found = Buffers(torch), []
    for _ in range(5):
        s.kept = s.b * 1.5
        y = (s.b.detach().clone() * s.w).sum()
        if backward:
            y.backward()
            found.append(s.w.grad.tolist())
            s.w.grad = None
        with torch.no_grad():
            for move in moves:
                MOVES[move](s)
        found.append([s.a.tolist(), s.b.tolist(), s.w.tolist(), s.kept.tolist(), y.item()])
        found.append([] if s.part is None else s.part.tolist())
    return found


@pytest.mark.parametrize("part", range(8))
def test_buffers_that_get_other_memory_hold_what_pytorch_s_do(part: int) -> None:
    rng = random.Random(part)
    for _ in range(40):
        moves = rng.choices(list(MOVES), k=rng.randint(2, 7))
        backward = rng.random() < 0.5
        have, want = run(pullback, moves, backward), run(reference, moves, backward)
        for step, (mine, theirs) in enumerate(zip(have, want, strict=True)):
            assert reference.allclose(
                reference.tensor(_flat(mine)), reference.tensor(_flat(theirs)), 1e-12, 0, equal_nan=True
            ), (moves, backward, step, mine, theirs)


def _flat(values: Any) -> list[float]:
    return [x for v in values for x in _flat(v)] if isinstance(values, list) else [values]


@pytest.mark.parametrize("make", ["Tensor", "FloatTensor"])
def test_a_tensor_made_of_a_tensor_is_an_alias_with_its_history(make: str) -> None:
    for t in (reference, pullback):
        cls = getattr(t, make)
        for _ in range(3):
            x = t.ones(3, requires_grad=True)
            y = cls(x * 2)
            (y * y).sum().backward()
            assert x.grad.tolist() == [8.0] * 3 and type(y.grad_fn).__name__ == "AliasBackward0"
        base = t.ones(4)
        part = cls(base[1:3])
        part += 1
        assert base.tolist() == [1.0, 2.0, 2.0, 1.0] and part.is_leaf and part._base is base
        made = t.func.vmap(lambda v, cls=cls: cls(v) * 2)(t.ones(2, 2))
        assert made.tolist() == [[2.0, 2.0], [2.0, 2.0]]
    with pytest.raises(TypeError, match=r"LongTensor.*torch.int64 was expected, got torch.float32"):
        pullback.LongTensor(pullback.ones(2))


def test_what_comes_out_of_lanes_is_called_as_what_made_it() -> None:
    for t in (reference, pullback):
        w = t.ones(3, requires_grad=True)
        made = t.func.vmap(lambda x, w=w: (x * w).exp())(t.ones(2, 3))
        assert type(made.grad_fn).__name__ == "ExpBackward0"
        made.sum().backward()
        assert w.grad.shape == (3,)
