"""Training steps as a user of PyTorch writes them: each function takes the module that it calls `torch`, gives a step.

A step computes a loss and its gradients, changes the parameters, and returns the loss as a number. Weights and data
come from NumPy's generator, so that the same program with another module computes the same numbers.

    step = mlp(pullback, 64, 64, 10, 32, "Adam")
    losses = [step() for _ in range(100)]
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Step = Callable[[], float]
RATES = {"SGD": 0.01, "Adam": 1e-3}


def optimiser(torch: Any, name: str, model: Any) -> Any:
    return getattr(torch.optim, name)(model.parameters(), lr=RATES[name])


def start(torch: Any, model: Any, seed: int = 0) -> Any:
    """Weights that both modules can draw."""
    rng = np.random.default_rng(seed)
    with torch.no_grad():
        for p in model.parameters():
            fan = p.shape[-1] if p.dim() > 1 else 100
            p.copy_(torch.from_numpy((rng.normal(size=tuple(p.shape)) / fan**0.5).astype(np.float32)))
    return model


def normal(torch: Any, *size: int) -> Any:
    return torch.from_numpy(np.random.default_rng(1).normal(size=size).astype(np.float32))


def labels(torch: Any, classes: int, count: int) -> Any:
    return torch.from_numpy(np.random.default_rng(2).integers(0, classes, size=count))


def mlp(torch: Any, width: int, hidden: int, classes: int, batch: int, name: str) -> Step:
    """A perceptron with one hidden layer."""
    nn = torch.nn
    model = start(torch, nn.Sequential(nn.Linear(width, hidden), nn.Tanh(), nn.Linear(hidden, classes)))
    x, y = normal(torch, batch, width), labels(torch, classes, batch)
    criterion, descent = nn.CrossEntropyLoss(), optimiser(torch, name, model)

    def step() -> float:
        descent.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        descent.step()
        return loss.item()

    return step


def logistic(torch: Any, rows: int, columns: int) -> Step:
    """Logistic regression on all rows."""
    model = start(torch, torch.nn.Linear(columns, 1))
    x = normal(torch, rows, columns)
    y = labels(torch, 2, rows).to(torch.float32).reshape(rows, 1)
    criterion, descent = torch.nn.BCEWithLogitsLoss(), optimiser(torch, "SGD", model)

    def step() -> float:
        descent.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        descent.step()
        return loss.item()

    return step


def lstm(torch: Any, length: int, width: int, hidden: int, batch: int, name: str = "SGD") -> Step:
    """An LSTM cell unrolled over a sequence; its last state is to be a given one."""
    cell = start(torch, torch.nn.LSTMCell(width, hidden))
    x, target = normal(torch, length, batch, width), normal(torch, batch, hidden)
    zero, descent = torch.zeros(batch, hidden), optimiser(torch, name, cell)

    def step() -> float:
        descent.zero_grad()
        h, c = zero, zero
        for k in range(length):
            h, c = cell(x[k], (h, c))
        loss = torch.nn.functional.mse_loss(h, target)
        loss.backward()
        descent.step()
        return loss.item()

    return step


def transformer(torch: Any, batch: int, length: int, width: int, heads: int, name: str = "SGD") -> Step:
    """A layer of a transformer's encoder that is to give a target."""
    layer = start(torch, torch.nn.TransformerEncoderLayer(width, heads, 4 * width, dropout=0.0, batch_first=True))
    x, descent = normal(torch, batch, length, width), optimiser(torch, name, layer)
    target = x.flip(0)

    def step() -> float:
        descent.zero_grad()
        loss = torch.nn.functional.mse_loss(layer(x), target)
        loss.backward()
        descent.step()
        return loss.item()

    return step


def random_tree(rng: np.random.Generator, leaves: int, words: int) -> Any:
    """A word, or a pair of trees."""
    if leaves == 1:
        return int(rng.integers(words))
    left = int(rng.integers(1, leaves))
    return random_tree(rng, left, words), random_tree(rng, leaves - left, words)


def tree_network(torch: Any, leaves: int, width: int, words: int = 20, classes: int = 3) -> Step:
    """A recursive network on a tree that is another one at each step."""

    class Network(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = torch.nn.Parameter(torch.zeros(words, width))
            self.join, self.score = torch.nn.Linear(2 * width, width), torch.nn.Linear(width, classes)

        def state(self, tree: Any) -> Any:
            if isinstance(tree, int):
                return self.table[tree]
            left, right = tree
            return torch.tanh(self.join(torch.cat([self.state(left), self.state(right)])))

        def forward(self, tree: Any) -> Any:
            return self.score(self.state(tree))

    rng, model = np.random.default_rng(3), start(torch, Network())
    descent = optimiser(torch, "SGD", model)

    def step() -> float:
        tree = random_tree(rng, leaves, words)
        label = torch.tensor([int(rng.integers(classes))])
        descent.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(tree).reshape(1, classes), label)
        loss.backward()
        descent.step()
        return loss.item()

    return step


def chain(torch: Any, operations: int) -> tuple[float, float]:
    """A long chain of operations and its gradient: the last value, and the slope of the first."""
    first = torch.tensor(0.5, requires_grad=True)
    x = first
    for _ in range(operations // 2):
        x = x * 0.9999
        x = x + 0.0001
    x.backward()
    return x.item(), first.grad.item()
