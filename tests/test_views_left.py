"""Views that are all that is left of their memory when a trace has run: nothing runs again for them."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback as torch
from pullback.runtime.tensor.trace.opened import open_tapes
from tests.test_new_structures import unrecognised

KEPT: dict[str, Callable[[Any], tuple[Any, ...]]] = {
    "a view": lambda y: (y.view(-1),),
    "a view of a view": lambda y: (y.view(-1).reshape(4, 1).squeeze(),),
    "an alias": lambda y: (y.detach(),),
    "a view of an alias": lambda y: (y.detach().view(-1),),
    "a part": lambda y: (y[0],),
    "transposed": lambda y: (y.t(),),
    "two views": lambda y: (y.view(-1), y.reshape(1, 4)),
    "two parts": lambda y: (y[0], y[:, 1]),
    "with its base": lambda y: (y, y.view(-1)),
}


def observed(t: Any) -> list[Any]:
    base = None if t._base is None else (tuple(t._base.shape), t._base.tolist())
    return [tuple(t.shape), t.requires_grad, t.is_leaf, t._version, base, type(t.grad_fn).__name__, t.tolist()]


def program(keep: Callable[[Any], tuple[Any, ...]]) -> list[Any]:
    """What can be seen of tensors that a step left, before and after they are written to."""
    w = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    y = (torch.tensor([[1.0, 0.5], [0.25, 2.0]]) @ w).tanh()
    kept = keep(y)
    (kept[0] * kept[0] if kept[0].requires_grad else y * y).sum().backward()
    seen = [w.grad.tolist(), *map(observed, kept)]
    with torch.no_grad():
        kept[0].add_(1)
    seen += map(observed, kept)
    kept[0].mul_(w.reshape(-1)[0])
    seen += map(observed, kept)
    try:
        kept[0].sum().backward()
        seen.append(w.grad.tolist())
    except RuntimeError as error:
        seen.append(str(error)[:30])
    return seen


@pytest.mark.parametrize("keep", KEPT.values(), ids=KEPT)
def test_what_is_left_behaves_as_if_nothing_had_been_recognised(keep: Callable[[Any], tuple[Any, ...]]) -> None:
    with unrecognised():
        known = program(keep)
    for _ in range(5):
        for mine, yours in zip(program(keep), known, strict=True):
            assert mine == pytest.approx(yours) if isinstance(yours, float) else mine == yours


def pieces_left() -> list[Any]:
    """What can be seen of the pieces of a value that is gone, and of writes to them and to it."""
    w = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    first, second = (torch.tensor([[1.0, 0.5], [0.25, 2.0]]) @ w).tanh().chunk(2, -1)
    (first * second).sum().backward()
    seen = [w.grad.tolist(), *map(observed, (first, second))]  # type: ignore[union-attr]
    for write in (lambda: first.mul_(2), lambda: first.data.mul_(2), lambda: second.sum().backward(),
                  lambda: first._base.mul_(3), lambda: (first * w[:1, :1]).sum().backward()):  # fmt: skip
        try:
            write()
        except RuntimeError as error:
            seen.append(str(error)[:30])
        base, slope = first._base, w.grad.tolist()  # type: ignore[union-attr]
        seen += [first.tolist(), second.tolist(), base.tolist(), base.grad_fn.name(), slope]
    return seen


def test_pieces_of_what_is_gone_behave_as_if_nothing_had_been_recognised() -> None:
    with unrecognised():
        known = pieces_left()
    for _ in range(5):
        assert pieces_left() == known


def in_no_grad(make: Callable[[Any], Any]) -> Callable[[Any], tuple[Any, ...]]:
    def keep(d: Any) -> tuple[Any, ...]:
        with torch.no_grad():
            return (make(d),)

    return keep


PLAIN: dict[str, Callable[[Any], tuple[Any, ...]]] = {
    "a piece": lambda d: (d.unbind()[1],),
    "a piece with its whole": lambda d: (d.unbind()[0], d),
    "two pieces": lambda d: d.split(1),
    "the only piece": lambda d: d.split(2),
    "a part of a piece": lambda d: (d.unbind()[0][1:], d),
    "a view made in no_grad": in_no_grad(lambda d: d.view(-1)),
    "a view of one made in no_grad": in_no_grad(lambda d: d.view(-1).reshape(4, 1).squeeze()),
    "a view of what was made in no_grad": lambda d: (in_no_grad(lambda d: d.view(-1))(d)[0].view(2, 2),),
    "with its whole": lambda d: (in_no_grad(lambda d: d[0])(d)[0], d),
}


def plain_program(keep: Callable[[Any], tuple[Any, ...]], after: str) -> list[Any]:
    """The same of what has no history, of which parts must not be written to while gradients are kept."""
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    d = torch.tensor([[1.0, 0.5], [0.25, 2.0]]) * 2
    kept = keep(d)
    (d.sum() * w).sum().backward()
    del d
    seen = [w.grad.tolist()]  # type: ignore[union-attr]
    try:
        if after == "written":
            kept[0].add_(1)
        elif after == "written with gradients":
            kept[0].mul_(w[0])
        elif after == "written in no_grad":
            with torch.no_grad():
                kept[-1].mul_(w[0])
        elif after == "a leaf":
            kept[0].requires_grad_().mul(3).sum().backward()
            seen.append(kept[0].grad.tolist())
            kept[-1].mul_(w[1])
    except RuntimeError as error:
        seen.append(str(error).partition("The view was made")[2] or str(error)[:40])
    for t in kept:
        try:
            seen.append(observed(t))
        except RuntimeError as error:
            seen.append(str(error)[:40])
    return seen


@pytest.mark.parametrize("after", ["read", "written", "written with gradients", "written in no_grad", "a leaf"])
@pytest.mark.parametrize("keep", PLAIN.values(), ids=PLAIN)
def test_pieces_and_views_of_no_grad_are_so_later(keep: Callable[[Any], tuple[Any, ...]], after: str) -> None:
    with unrecognised():
        known = plain_program(keep, after)
    for _ in range(5):
        assert plain_program(keep, after) == known


def test_the_value_of_a_view_is_read_amid_a_step_that_stays_whole() -> None:
    """Also where weights were written to before, and where the last step has not ended its trace."""
    torch.manual_seed(0)
    model = torch.nn.Linear(4, 3)
    x, descent = torch.ones(4), torch.optim.SGD(model.parameters(), lr=0.1)
    losses, last = [], 0.0
    for k in range(12):
        with torch.no_grad():
            best = model(x).max(0).indices.view(1, 1)
        chosen = best.item()
        descent.zero_grad()
        value = model(x)[chosen]
        loss = (value - 1.0) ** 2 + value.item() * value
        for row in torch.tensor([0.5, k / 10]) * 2:
            loss = loss + row * value
        loss.backward()
        descent.step()
        losses.append(loss.item())
        if k == 7:
            last = dict(torch.explain())["cold"]
    assert dict(torch.explain())["cold"] == last
    torch.manual_seed(0)
    model = torch.nn.Linear(4, 3)
    descent = torch.optim.SGD(model.parameters(), lr=0.1)
    with unrecognised():
        for k in range(12):
            descent.zero_grad()
            value = model(x)[model(x).max(0).indices.view(1, 1).item()]
            loss = (value - 1.0) ** 2 + value.item() * value + (1.0 + k / 5) * value
            loss.backward()
            descent.step()
            assert losses[k] == pytest.approx(loss.item(), rel=1e-4, abs=1e-5)


def test_a_step_that_keeps_a_view_runs_natively() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    x, y, descent = torch.ones(3, 4), torch.zeros(3), torch.optim.SGD(model.parameters(), lr=0.1)
    before = dict(torch.explain())
    for k in range(12):
        descent.zero_grad()
        output = model(x).squeeze(-1)
        loss = ((output - y) ** 2).mean()
        loss.backward()
        descent.step()
        if k == 5:
            before = dict(torch.explain())
    after = dict(torch.explain())
    assert after["replayed"] - before["replayed"] == 6
    assert output._base is not None and tuple(output._base.shape) == (3, 1)
    assert output.grad_fn.name() == "SqueezeBackward1"


def test_a_step_that_keeps_the_pieces_of_what_is_gone_runs_natively() -> None:
    """As the mean and the logarithm of the variance that an encoder gives."""
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 4))
    x, descent = torch.ones(3, 4), torch.optim.SGD(model.parameters(), lr=0.1)
    before = dict(torch.explain())
    for k in range(12):
        descent.zero_grad()
        mean, spread = model(x).chunk(2, -1)
        loss = (mean * spread.exp()).square().mean()
        loss.backward()
        descent.step()
        if k == 5:
            before = dict(torch.explain())
    after = dict(torch.explain())
    assert after["replayed"] - before["replayed"] == 6 and after["cold"] == before["cold"]
    assert mean._base is spread._base and tuple(mean._base.shape) == (3, 4)
    assert mean._base[:, 2:].tolist() == spread.tolist() and mean.grad_fn.name() == "SplitBackward0"
    assert mean._base.grad_fn.name() == "AddmmBackward0"


def test_a_saved_part_of_a_parameter_that_is_written_is_an_error() -> None:
    linear = torch.nn.Linear(3, 3)
    for k in range(6):
        x = torch.ones(2, 3, requires_grad=True)
        y = linear(x).tanh()
        if k < 3:
            y.sum().backward()
            continue
        with torch.no_grad():
            linear.weight.add_(1)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.sum().backward()


def test_a_view_of_an_alias_is_joined_to_the_alias() -> None:
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    d = x.detach()
    for k in range(5):
        loss, v, w = (x * 2).sum(), d.view(-1), d.t()
        loss.backward()
        loss.item()
        assert not v.requires_grad and v._base is d and w._base is d and not w.is_contiguous()
        d.add_(1)
        assert v.tolist() == [2.0 + k, 3.0 + k, 4.0 + k, 5.0 + k]
        assert x.tolist() == d.tolist() and w.tolist() == d.t().tolist()


def test_what_is_kept_of_steps_keeps_no_earlier_step() -> None:
    model, x, kept = torch.nn.Linear(3, 1), torch.ones(4, 3), None
    descent = torch.optim.SGD(model.parameters(), lr=0.01)
    for k in range(60):
        descent.zero_grad()
        loss = model(x).pow(2).mean()
        loss.backward()
        descent.step()
        kept = loss.detach()
        if k == 20:
            gc.collect()
            before = sum(isinstance(o, torch.Tensor) for o in gc.get_objects())
    gc.collect()
    assert kept is not None
    assert sum(isinstance(o, torch.Tensor) for o in gc.get_objects()) <= before + 2


def test_tapes_of_threads_that_ended_are_let_go_of() -> None:
    made: list[Any] = []
    before = len(open_tapes())  # other tests' threads may have left values that nobody has asked for
    for _ in range(20):
        thread = threading.Thread(target=lambda: made.append((torch.ones(3) + 1).sum()))
        thread.start()
        thread.join()
        assert made.pop().item() == 6.0
    assert len(open_tapes()) <= before + 3


def test_memory_that_an_array_gave_back_is_a_tensor_of_its_own_again() -> None:
    x = torch.from_numpy(np.ones(3, np.float32))
    for _ in range(4):
        assert (x * 2).sum().item() == 6.0
    assert x._storage is None and x._flags == 0
