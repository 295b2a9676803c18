"""Steps that are run at each look: stretches between looks are one node of the gradient graph, and nothing tells that.

Whether the trace is run at looks depends on how often steps came again (`trace/paths.py`); here it is so always.
"""

from __future__ import annotations

import random
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch as reference

import pullback
from pullback.runtime.tensor.reverse import segments as stretches
from pullback.runtime.tensor.reverse.segment_nodes import SegmentNode
from pullback.runtime.tensor.trace import paths, planning
from pullback.runtime.tensor.value import taken

STEPS = 6


@pytest.fixture(autouse=True)
def segments(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[SegmentNode]]:
    """The trace is run at each look, and no history left to who may ask; the segments that are made."""
    made: list[SegmentNode] = []
    init = SegmentNode.__init__

    def noted(self: SegmentNode, *args: Any) -> None:
        init(self, *args)
        made.append(self)

    monkeypatch.setattr(paths._Habit, "note", lambda *_: None)
    monkeypatch.setattr(paths, "_habits", OrderedDict())
    monkeypatch.setattr(planning, "may_keep", lambda tape, live: False)
    monkeypatch.setattr(SegmentNode, "__init__", noted)
    yield made


def _plain(x: Any) -> Any:
    return None if x is None else np.array(x.detach().numpy())


def _same(mine: Any, theirs: Any) -> bool:
    if isinstance(theirs, list | tuple):
        return len(mine) == len(theirs) and all(map(_same, mine, theirs))
    if theirs is None or isinstance(theirs, str):
        return bool(mine == theirs) if isinstance(mine, str) or mine is None else False
    return not isinstance(mine, str) and np.allclose(mine, theirs, rtol=1e-9, atol=1e-9, equal_nan=True)


def _leaves(torch: Any, step: int) -> Any:
    data = np.random.default_rng(step)
    return [torch.tensor(data.standard_normal((3, 3))).requires_grad_() for _ in range(2)]


def _solver(torch: Any, step: int) -> Any:
    """An adaptive solver, whose steps are accepted or not."""
    (w, y0), y, t, h = _leaves(torch, step), None, 0.0, 0.3
    y, w = y0, torch.tanh(w)
    while t < 1 - 1e-9:
        h = min(h, 1 - t)
        k1 = torch.tanh(y @ w)
        z = y + h * k1
        better = y + h / 2 * (k1 + torch.tanh(z @ w))
        error = (better - z).abs().max().item()
        if error < 0.05:
            t, y = t + h, better
        h *= min(2.0, max(0.3, 0.9 * (0.05 / (error + 1e-12)) ** 0.5))
    return y


def _two(torch: Any, step: int) -> Any:
    """Two values that outlive a stretch, of which one leads to the other; a view; a sum that nobody reads."""
    a, b = _leaves(torch, step)
    h = (a * b).sin()
    y = (h @ a).exp().clamp(max=5.0)
    view, unread = y.t(), (h * 2).sum()
    assert y.sum().item() < 1e9
    return view * h + y, h, y, view, unread, a


def _written(torch: Any, step: int) -> Any:
    """Writes in a stretch: to a row, in place, and to what a module keeps."""
    a, b = _leaves(torch, step)
    norm = torch.nn.BatchNorm1d(3).double()
    y = torch.zeros(3, 3, dtype=torch.float64)
    y[1] = a[0] * 2
    y[:, 2] = norm(b)[:, 0]
    y = y * 1.0
    y += a
    y.relu_()
    assert y.sum().item() < 1e9
    return y.sin() + norm.running_mean


def _loss(result: Any) -> Any:
    return ((result[0] if isinstance(result, tuple) else result) ** 2).mean()


PROGRAMS = {"solver": _solver, "two": _two, "written": _written}


def _both(program: Callable[[Any, int], Any]) -> tuple[list[Any], list[Any]]:
    return tuple([[program(torch, k) for k in range(STEPS)] for torch in (pullback, reference)])  # type: ignore[return-value]


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_through_stretches(name: str, segments: list[SegmentNode]) -> None:
    def run(torch: Any, step: int) -> Any:
        leaves: list[Any] = []
        made = torch.tensor
        torch_tensor = lambda x: leaves.append(made(x)) or leaves[-1]  # noqa: E731
        proxy = type("Torch", (), {"__getattr__": lambda _, n: torch_tensor if n == "tensor" else getattr(torch, n)})()
        loss = _loss(PROGRAMS[name](proxy, step))
        loss.backward()
        return [loss.item(), *[_plain(x.grad) for x in leaves]]

    mine, theirs = _both(run)
    assert all(map(_same, mine, theirs))
    assert segments


ASKS: dict[str, Callable[..., Any]] = {
    "names": lambda torch, r, log: [type(x.grad_fn).__name__ for x in r[1:5]],
    "before": lambda torch, r, log: [type(n and n).__name__ for n, _ in r[2].grad_fn.next_functions],
    "first before": lambda torch, r, log: [type(n).__name__ for n, _ in r[0].grad_fn.next_functions],
    "hook": lambda torch, r, log: r[1].register_hook(lambda g: log.append(_plain(g))) and None,
    "hook changes": lambda torch, r, log: r[2].register_hook(lambda g: g * 3) and None,
    "node's hook": lambda torch, r, log: r[1].grad_fn.register_hook(lambda g, _: log.append(len(g))) and None,
    "leaf's hook": lambda torch, r, log: r[5].register_hook(lambda g: log.append(_plain(g))) and None,
    "kept": lambda torch, r, log: r[1].retain_grad(),
    "twice": lambda torch, r, log: r[1].sum().backward(),
    "with graph": lambda torch, r, log: r[1].sum().backward(retain_graph=True),
    "of a value": lambda torch, r, log: list(map(_plain, torch.autograd.grad(_loss(r), r[1], retain_graph=True))),
    "of two values": lambda torch, r, log: list(map(_plain, torch.autograd.grad(_loss(r), r[1:3]))),
    "of none": lambda torch, r, log: [_plain(torch.autograd.grad(r[1].sum(), r[2], allow_unused=True)[0])],
    "batched": lambda torch, r, log: list(
        map(_plain, torch.autograd.grad(r[0], r[5], torch.eye(9).double().view(9, 3, 3), True, is_grads_batched=True))
    ),
    "second": lambda torch, r, log: (torch.autograd.grad(_loss(r), r[5], create_graph=True)[0] ** 2).sum().backward(),
    "written over": lambda torch, r, log: r[1].detach().mul_(2) and None,
    "in place": lambda torch, r, log: r[1].mul_(2) and None,
    "data": lambda torch, r, log: r[4].data.mul_(2) and None,
    "edge": lambda torch, r, log: type(torch.autograd.graph.get_gradient_edge(r[2])[0]).__name__,
    "leaf": lambda torch, r, log: [r[1].is_leaf, r[1].output_nr, r[3]._is_view(), r[3]._base is r[2]],
}


@pytest.mark.parametrize("ask", ASKS)
def test_what_a_stretch_left_is_asked_for(ask: str, segments: list[SegmentNode]) -> None:
    def run(torch: Any, step: int) -> Any:
        result, log = _two(torch, step), list[Any]()
        for part in (lambda: ASKS[ask](torch, result, log), lambda: _loss(result).backward(), result[4].backward):
            try:
                made = part()
                log.append(made if isinstance(made, list | str) else None)
            except RuntimeError as error:
                said = str(error)
                log.append("modified" if "modified by an inplace" in said else "second" if "second" in said else said)
        kept = [result[1].grad] if result[1].retains_grad else []
        return [log, [_plain(x) for x in (result[5].grad, *kept)]]

    mine, theirs = _both(run)
    for k, (a, b) in enumerate(zip(mine, theirs, strict=True)):
        assert _same(a, b), f"step {k}: {a} is not {b}"
    assert segments


# ---- writes to what an earlier stretch gave a history


def _filled(torch: Any, x: Any, w: Any, look: Any) -> Any:
    """Rows of a table, one by one, with a look after each."""
    table, h = torch.zeros(4, 3, dtype=torch.float64), x[0]
    for k in range(4):
        h = (h @ w + x[k]).tanh()
        table[k] = h
        look(table)
    return (table * table).sum()


def _routed(torch: Any, x: Any, w: Any, look: Any) -> Any:
    """Sums scattered into rows that values choose, as in a mixture of experts."""
    out = torch.zeros(4, 3, dtype=torch.float64)
    for k in range(3):
        rows = torch.where(x[:, k].detach() > 0)[0]
        out[rows] += x[rows] @ w * (k + 1)
        look(out)
    return out.exp().mean()


def _in_place(torch: Any, x: Any, w: Any, look: Any) -> Any:
    """Functions that end in an underscore, of what was looked at."""
    y = x @ w
    look(y)
    y.mul_(0.5).add_(x)
    look(y)
    kept = y + 1.0
    y[1:3].tanh_()
    z = y * 2.0
    look(z)
    z.masked_fill_(x > 1, 0.25)
    return (kept * x).sum() + (z**2).sum()


WRITES = {"filled": _filled, "routed": _routed, "in_place": _in_place}


def _writing(torch: Any, name: str, step: int) -> list[Any]:
    data = np.random.default_rng([7, step])
    x, w = (torch.tensor(data.standard_normal(shape)).requires_grad_() for shape in ((4, 3), (3, 3)))
    seen: list[Any] = []

    def look(t: Any) -> None:
        seen.extend([t.sum().item(), t._version])

    loss = WRITES[name](torch, x, w, look)
    slopes = torch.autograd.grad(loss, [x, w], create_graph=step % 2 == 1)
    if step % 2 == 1:
        sum([(g**2).sum() for g in slopes], torch.zeros(())).backward()
    return [*seen, *map(_plain, slopes), _plain(x.grad), _plain(w.grad)]


@pytest.mark.parametrize("name", WRITES)
def test_writes_to_what_an_earlier_stretch_gave_a_history(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[Any] = []
    take = taken._take_up
    monkeypatch.setattr(taken, "_take_up", lambda *a: found.append(take(*a)) or found[-1])
    for step in range(8):
        assert _same(_writing(pullback, name, step), _writing(reference, name, step)), step
    assert found and None not in found


@pytest.mark.parametrize("again", [False, True])
def test_such_a_write_is_seen_by_who_has_saved_what_was_there(again: bool) -> None:
    for _ in range(4):
        w = pullback.ones(4, requires_grad=True)
        out = pullback.zeros(4)
        out[0] = w[0] * 2
        out.sum().item()
        y = out * out
        if again:
            y.sum().item()
        out[1] = w[1] * 3
        with pytest.raises(RuntimeError, match=r"modified by an inplace operation.*version 2; expected version 1"):
            y.sum().backward()
        with pytest.raises(IndexError):
            out[7] = w[1]
        out.sum().backward()
        assert w.grad is not None and w.grad.tolist() == [2, 3, 0, 0]


def test_a_step_that_fails_leaves_what_was_written_to_as_it_was() -> None:
    for _ in range(4):
        w = pullback.ones(3, requires_grad=True)
        out = pullback.zeros(3)
        out[0] = w[0] * 2
        before = out.tolist()
        a = pullback.zeros(2, 2)
        with pytest.raises(RuntimeError):
            out[1] = pullback.linalg.inv(a)[0, 0] * w[1]
            out.tolist()
        assert out.tolist() == before and out._version == 1
        out.sum().backward()
        assert w.grad is not None and w.grad.tolist() == [2, 0, 0]


def test_a_view_that_outlasts_its_stretch_leaves_the_segment_closed(segments: list[SegmentNode]) -> None:
    def run(torch: Any, step: int) -> Any:
        w = torch.tensor(np.random.default_rng(step).standard_normal((3, 3))).requires_grad_()
        h = torch.ones(1, 3, dtype=torch.float64)
        for _ in range(5):
            h = (h.view(1, 3) @ w).tanh().unsqueeze(0)[0]
            h.sum().item()
        h.sum().backward()
        return _plain(w.grad)

    mine, theirs = _both(run)
    assert all(map(_same, mine, theirs))
    assert segments and all(s.opened is None for s in segments)


# ---- random programs


def _operations(torch: Any, lin: Any, norm: Any) -> list[Callable[[Any, Any], Any]]:
    def with_row(a: Any, b: Any) -> Any:
        made = a.clone()
        made[0] = b[1]
        return made

    def row_of(a: Any, b: Any) -> Any:
        if a.grad_fn is not None:
            a[1] = b[0]
        return a + b

    def added_to(a: Any, b: Any) -> Any:
        if a.grad_fn is not None:
            a.add_(b.sin())
        return a * 0.5

    return [
        lambda a, b: a + b, lambda a, b: a * b, lambda a, b: a.sin(), lambda a, b: a @ b, lambda a, b: lin(a),
        lambda a, b: a.tanh() * 0.5, lambda a, b: (a * a + 1).sqrt(), lambda a, b: a.exp().clamp(max=5.0),
        lambda a, b: a - b.mean(), lambda a, b: torch.nn.functional.gelu(a), lambda a, b: torch.softmax(a, -1),
        lambda a, b: a.t(), lambda a, b: a.detach() + b, lambda a, b: torch.cat([a, b], 0)[:3] * 1.0,
        lambda a, b: a[:, :1] * b, with_row, lambda a, b: norm(a), lambda a, b: (a + 0.0).relu_(), row_of, added_to,
    ]  # fmt: skip


def _random_step(torch: Any, seed: int, step: int) -> list[Any]:
    r, data, log = random.Random(seed), np.random.default_rng([seed, step]), list[Any]()
    leaves = [torch.tensor(data.standard_normal((3, 3))).requires_grad_(r.random() < 0.8) for _ in range(2)]
    lin, norm = torch.nn.Linear(3, 3).double(), torch.nn.BatchNorm1d(3).double()
    with torch.no_grad():
        lin.weight.copy_(torch.tensor(data.standard_normal((3, 3))))
        lin.bias.copy_(torch.tensor(data.standard_normal(3)))
    pool, operations = list(leaves), _operations(torch, lin, norm)

    def pick() -> Any:
        return r.choice(pool[-6:])

    for _ in range(r.randint(1, 4)):
        pool += [r.choice(operations)(pick(), pick()) for _ in range(r.randint(1, 6))]
        what, a = r.randrange(8), pick()
        log.append(a.sum().item())
        if what == 0 and a.grad_fn is not None:
            log.append(type(a.grad_fn).__name__)
        elif what == 1 and a.requires_grad:
            a.register_hook(lambda g: log.append(_plain(g)))
        elif what == 2 and a.requires_grad:
            a.retain_grad()
            pool.insert(0, a)
        elif what == 3 and len(pool) > 3:
            del pool[r.randrange(2, len(pool)):]
    for _ in range(r.randint(1, 3)):
        what, loss = r.randrange(6), (pick() ** 2).mean()
        asked = [x for x in (*leaves, lin.weight) if x.requires_grad]
        try:
            if what < 3:
                loss.backward(retain_graph=True)
            elif what == 3:
                log.append([_plain(g) for g in torch.autograd.grad(loss, asked, retain_graph=True, allow_unused=True)])
            elif what == 4:
                log.append([_plain(torch.autograd.grad(loss, [pick()], retain_graph=True, allow_unused=True)[0])])
            else:
                found = torch.autograd.grad(loss, asked, create_graph=True, allow_unused=True)
                sum([(g**2).sum() for g in found if g is not None], torch.zeros(())).backward()
        except RuntimeError:
            log.append("error")
            break
    log.append([_plain(x.grad) for x in (*leaves, lin.weight, lin.bias, norm.weight)])
    return [*log, _plain(norm.running_mean)]


@pytest.mark.parametrize("seed", range(60))
def test_random_programs(seed: int) -> None:
    for step in range(4):
        mine, theirs = _random_step(pullback, seed, step), _random_step(reference, seed, step)
        assert _same(mine, theirs), f"step {step}"


def test_no_more_than_so_many_segments_are_kept(monkeypatch: pytest.MonkeyPatch, segments: list[SegmentNode]) -> None:
    monkeypatch.setattr(stretches, "KEPT", 3)
    monkeypatch.setattr(stretches, "_kept", OrderedDict())
    w = pullback.ones(3, requires_grad=True)
    for depth in [*range(1, 8), 1, 1]:
        for _ in range(3):
            y = w * 2.0
            for _ in range(depth):
                y = (y * w).sin()
            y.sum().item()
            w.grad = None
            (y * 2).sum().backward()
            assert len(stretches._kept) <= 3
        expected = reference.ones(3, requires_grad=True)
        z = expected * 2.0
        for _ in range(depth):
            z = (z * expected).sin()
        (z * 2).sum().backward()
        assert w.grad is not None and expected.grad is not None
        assert np.allclose(w.grad.numpy(), expected.grad.numpy(), rtol=1e-5)
    assert segments


@pytest.mark.parametrize("name", ["add", "sub", "lerp", "mul"])
def test_a_second_backward_through_what_saved_numbers_alone(name: str, segments: list[SegmentNode]) -> None:
    def run(torch: Any, step: int) -> Any:
        a, b = _leaves(torch, step)
        y = a.lerp(b, 0.3) if name == "lerp" else a * 2.5 if name == "mul" else getattr(torch, name)(a, b, alpha=2.5)
        said = [y.sum().item()]
        for loss in (y.sum(), (y * 3.0).mean()):
            try:
                loss.backward()
            except RuntimeError as error:
                said.append("second" if "second time" in str(error) else str(error))
        return [*said, _plain(a.grad)]

    mine, theirs = _both(run)
    assert _same(mine, theirs)
    assert segments
