"""Programs whose steps are never the same, and gradients that nobody reads yet: `f(torch)` gives the next step.

UNREAD      many backwards before anything is looked at; a step is all of them
VARYING     rows, tokens, lengths, trees, depths and slices that are random
new_model   a small model of another form each time, with its first three steps
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from programs import Step, normal, start

WIDTH, HIDDEN = 16, 32


def _mlp(torch: Any) -> Any:
    nn = torch.nn
    return start(torch, nn.Sequential(nn.Linear(WIDTH, HIDDEN), nn.Tanh(), nn.Linear(HIDDEN, 1)))


# ---- what nobody reads


def backwards(torch: Any) -> Step:
    """400 backwards in a row without an optimiser."""
    model, x = _mlp(torch), normal(torch, 32, WIDTH)

    def step() -> float:
        for p in model.parameters():
            p.grad = None
        for _ in range(400):
            (model(x) ** 2).mean().backward()
        return model[0].weight.grad.sum().item()

    return step


def micro_batches(torch: Any) -> Step:
    """200 parts of a batch, whose gradients are added up and used once."""
    model, x = _mlp(torch), normal(torch, 200, 4, WIDTH)
    descent = torch.optim.SGD(model.parameters(), lr=0.01)

    def step() -> float:
        descent.zero_grad()
        total: Any = 0.0
        for part in x:
            loss = (model(part) ** 2).mean() / 200
            loss.backward()
            total = total + loss.detach()
        descent.step()
        return total.item()

    return step


def by_sample(torch: Any) -> Step:
    """The gradients of 64 samples, stacked at the end."""
    model, x = _mlp(torch), normal(torch, 64, WIDTH)
    params = list(model.parameters())

    def step() -> float:
        found = [torch.autograd.grad((model(row) ** 2).sum(), params) for row in x]
        stacked = [torch.stack(each) for each in zip(*found, strict=True)]
        return stacked[0].sum().item()

    return step


def jacobian_rows(torch: Any) -> Step:
    """The 100 rows of a Jacobian, from one graph."""
    model, x = start(torch, torch.nn.Linear(WIDTH, 100)), normal(torch, WIDTH)

    def step() -> float:
        at = x.clone().requires_grad_()
        y = torch.tanh(model(at))
        rows = []
        for k in range(100):
            at.grad = None
            y[k].backward(retain_graph=True)
            rows.append(at.grad)
        return torch.stack(rows).sum().item()

    return step


# ---- what is another each time


class _Random:
    def __init__(self, torch: Any) -> None:
        nn = torch.nn
        self.torch, self.rng = torch, np.random.default_rng(3)
        self.model, self.cell = _mlp(torch), start(torch, nn.Linear(HIDDEN, HIDDEN))
        self.x, self.words = normal(torch, 64, WIDTH), start(torch, nn.Embedding(50, HIDDEN))
        self.gru, self.head = start(torch, nn.GRU(HIDDEN, HIDDEN, batch_first=True)), start(torch, nn.Linear(HIDDEN, 1))
        parts = (self.model, self.cell, self.words, self.gru, self.head)
        self.descent = torch.optim.SGD([p for part in parts for p in part.parameters()], lr=0.01)

    def whole(self, low: int, high: int) -> int:
        return int(self.rng.integers(low, high))

    def tokens(self, *size: int) -> Any:
        return self.torch.from_numpy(self.rng.integers(0, 50, size))

    def hidden(self, x: Any) -> Any:
        return self.torch.tanh(self.model[0](x))


def _tree(w: _Random, depth: int = 0) -> Any:
    if depth == 5 or (depth > 1 and w.rng.random() < 0.3):
        return w.hidden(w.x[w.whole(0, 64)])
    return w.torch.tanh(w.cell(_tree(w, depth + 1) + _tree(w, depth + 1)))


def _depth(w: _Random) -> Any:
    h = w.hidden(w.x)
    for _ in range(w.whole(1, 9)):
        h = w.torch.tanh(w.cell(h))
    return w.head(h)


def _rows(w: _Random) -> Any:
    return w.model(w.torch.from_numpy(w.rng.normal(size=(w.whole(1, 64), WIDTH)).astype(np.float32)))


def _slices(w: _Random) -> Any:
    low = w.whole(0, 30)
    return w.model(w.x[low : low + w.whole(1, 30)])


def _sentences(w: _Random) -> Any:
    return w.head(w.gru(w.words(w.tokens(4, w.whole(2, 20))))[0][:, -1])


def _unpadded(w: _Random) -> Any:
    """A GRU cell, written out over a sentence."""
    h, words = w.torch.zeros(HIDDEN), w.words(w.tokens(w.whole(3, 20)))
    for word in words:
        h = w.torch.tanh(w.cell(h) + word)
    return w.head(h)


def _varying(loss: Callable[[_Random], Any]) -> Callable[[Any], Step]:
    def program(torch: Any) -> Step:
        w = _Random(torch)

        def step() -> float:
            w.descent.zero_grad()
            error = (loss(w) ** 2).mean()
            error.backward()
            w.descent.step()
            return error.item()

        return step

    return program


UNREAD: dict[str, Callable[[Any], Step]] = {
    "400 backwards, read once": backwards,
    "200 micro-batches": micro_batches,
    "gradients of 64 samples, stacked": by_sample,
    "100 rows of a Jacobian": jacobian_rows,
}

VARYING: dict[str, Callable[[Any], Step]] = {
    "rows of random number": _varying(_rows),
    "tokens of random number": _varying(lambda w: w.head(w.words(w.tokens(w.whole(1, 40))).mean(0))),
    "sequences of random length, nn.GRU": _varying(_sentences),
    "sentences of random length, a cell": _varying(_unpadded),
    "random trees": _varying(lambda w: w.head(_tree(w))),
    "random depth": _varying(_depth),
    "random slices": _varying(_slices),
}


def new_model(torch: Any) -> Callable[[int], float]:
    """Model number k, with its first three steps."""

    def make(k: int) -> float:
        rng = np.random.default_rng(k)
        nn, sizes = torch.nn, [int(n) for n in rng.integers(4, 40, rng.integers(3, 6))]
        act = (nn.ReLU, nn.Tanh, nn.Sigmoid, nn.GELU)[k % 4]
        layers = [part for a, b in pairwise(sizes) for part in (nn.Linear(a, b), act())]
        model = start(torch, nn.Sequential(*layers, nn.Linear(sizes[-1], 1)), k)
        descent = torch.optim.Adam(model.parameters(), lr=1e-3)
        x = normal(torch, 16, sizes[0])
        for _ in range(3):
            descent.zero_grad()
            loss = (model(x) ** 2).mean()
            loss.backward()
            descent.step()
        return loss.item()

    return make
