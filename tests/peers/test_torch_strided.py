"""as_strided of views beside PyTorch: it reads and writes the memory that they are parts of, and differentiates."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
import torch

import pullback


def _viewed(r: random.Random, v: Any) -> Any:
    """A view of a view, of up to three kinds of steps."""
    for _ in range(r.randint(0, 3)):
        kind = r.randint(0, 4)
        if kind == 0:
            v = v[r.randrange(v.shape[0]) :]
        elif kind == 1:
            v = v.transpose(0, -1)
        elif kind == 2 and v.dim() > 1:
            v = v[:, r.randrange(v.shape[1])]
        elif kind == 3:
            v = v.unsqueeze(0).expand(2, *v.shape)
        elif kind == 4:
            v = v[::2]
    return v


def _tried(t: Any, seed: int) -> list[Any]:
    """What a random program of it gives; 'error' where PyTorch has one."""
    r = random.Random(seed)
    shape = tuple([r.randint(1, 4) for _ in range(r.randint(1, 3))])
    size, shaped = int(np.prod(shape)), r.randint(0, 3)
    wanted = tuple([r.randint(1, 3) for _ in range(shaped)])
    steps = tuple([r.randint(0, 4) for _ in range(shaped)])
    offset = None if r.random() < 0.5 else r.randint(0, 6)
    leaf = t.arange(float(size)).reshape(shape).requires_grad_()
    kept = r.random() < 0.5
    whole = leaf * 2.0 if kept else t.arange(float(size)).reshape(shape)
    v = _viewed(r, whole)
    try:
        s = v.as_strided(wanted, steps) if offset is None else v.as_strided(wanted, steps, offset)
    except RuntimeError:
        return ["error"]
    made = [s.tolist(), s.stride(), s.storage_offset()]
    places = [int(np.dot(at, steps)) for at in np.ndindex(*wanted)]
    if len(set(places)) == len(places):
        s.mul_(3.0)
        made += [whole.tolist(), v.tolist()]
    if kept:
        (whole**2).sum().backward()
        made.append(leaf.grad.tolist())
    return made


@pytest.mark.parametrize("seed", range(0, 400, 40))
def test_strided_views_are_those_of_the_memory(seed: int) -> None:
    for k in range(seed, seed + 40):
        assert _tried(pullback, k) == _tried(torch, k), f"program {k}"


def test_gradients_go_where_the_memory_is_seen() -> None:
    """Here also to elements that are not the view's; PyTorch's node is the view's, and leaves them out."""
    leaf = pullback.arange(12.0).requires_grad_()
    column = (leaf * 1.0).reshape(3, 4)[:, 1]
    (column.as_strided((2, 2), (4, 1), 1) ** 2).sum().backward()
    wanted = [2.0 * k if k in (1, 2, 5, 6) else 0.0 for k in range(12)]
    assert leaf.grad is not None and leaf.grad.tolist() == wanted


def test_memory_that_is_not_known_is_refused() -> None:
    view = (pullback.arange(12.0).requires_grad_() * 1.0).reshape(3, 4)[:, 1].detach()
    with pytest.raises(NotImplementedError, match=r"as_strided\(\) of a view without its history.*clone\(\)"):
        view.as_strided((2, 2), (4, 1))


def _rows_of_one(t: Any) -> list[Any]:
    """Writes into parts of what is repeated, of which no two elements lie in one place: values, slopes and theirs."""
    made: list[Any] = []
    for k in range(4):
        w = t.tensor([1.0, 2.0, 3.0], dtype=t.float64, requires_grad=True)
        b = w * 2
        e = b.unsqueeze(0).expand(2, 3)
        e[0] = w.exp() * (k + 1)
        ((e * t.arange(6.0, dtype=t.float64).view(2, 3)).sum() + b.pow(2).sum()).backward()
        made += [w.grad.tolist(), e.tolist()]
        z = t.zeros(4, dtype=t.float64)
        v = z.view(2, 2).unsqueeze(1).expand(2, 3, 2)
        v[:, 1, 0] = t.tensor([5.0, 6.0], dtype=t.float64)
        v[1, 2].mul_(2.0)
        q = (w * 1).view(3, 1).expand(3, 4)
        q[:, 2].mul_(w.sin())
        (g,) = t.autograd.grad(q.pow(2).sum(), w, create_graph=True)
        made += [z.tolist(), g.tolist(), t.autograd.grad(g.sum(), w)[0].tolist()]
        with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
            q[:, 1:3].add_(1.0)
        q[1:2, 3:].add_(1.0)
        made.append(q.tolist())
    return made


def test_a_row_of_rows_that_are_one_may_be_written_to() -> None:
    for ours, theirs in zip(_rows_of_one(pullback), _rows_of_one(torch), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)
