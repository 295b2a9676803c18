"""What people write around a training step: each function takes the module that it calls `torch`, gives a step.

The networks are small, so that a step's time is what the pattern itself costs: batches cut or gathered, a scheduler,
several backwards before one step of the optimiser, gradients that are clipped, losses with derivatives in them.
Every random number comes from NumPy's generator, so that either module computes the same losses.

    step = shuffled(pullback)
    losses = [step() for _ in range(100)]
"""

from __future__ import annotations

from typing import Any

import numpy as np
from programs import Step, labels, normal, start

ROWS, BATCH, WIDTH, HIDDEN, CLASSES = 320, 32, 16, 64, 4
"""Of the classifier that most patterns train."""


def classifier(torch: Any, *between: Any, seed: int = 0) -> Any:
    """A perceptron; `between` comes before what isn't linear in it."""
    nn = torch.nn
    return start(torch, nn.Sequential(nn.Linear(WIDTH, HIDDEN), *between, nn.ReLU(), nn.Linear(HIDDEN, CLASSES)), seed)


def data(torch: Any, rows: int = BATCH) -> tuple[Any, Any]:
    """What the classifier is given and the classes that it is to find."""
    return normal(torch, rows, WIDTH), labels(torch, CLASSES, rows)


def indices(torch: Any, rng: np.random.Generator, below: int, *size: int) -> Any:
    return torch.from_numpy(rng.integers(0, below, size=size))


def noise(torch: Any, rng: np.random.Generator, *size: int) -> Any:
    """New draws at each step."""
    return torch.from_numpy(rng.normal(size=size).astype(np.float32))


def fit(torch: Any, model: Any, x: Any, y: Any, **options: Any) -> Step:
    """The step of every introduction, with SGD."""
    criterion, descent = torch.nn.CrossEntropyLoss(), torch.optim.SGD(model.parameters(), lr=0.01, **options)

    def step() -> float:
        descent.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        descent.step()
        return loss.item()

    return step


def batch_norm(torch: Any) -> Step:
    return fit(torch, classifier(torch, torch.nn.BatchNorm1d(HIDDEN)), *data(torch))


def layer_norm(torch: Any) -> Step:
    return fit(torch, classifier(torch, torch.nn.LayerNorm(HIDDEN)), *data(torch))


def momentum(torch: Any) -> Step:
    """Momentum and weight decay."""
    return fit(torch, classifier(torch), *data(torch), momentum=0.9, weight_decay=1e-4)


def convolution(torch: Any) -> Step:
    """Two convolutions with pooling, on images of 8 x 8."""
    nn = torch.nn
    first, second = nn.Conv2d(1, 8, 3, padding=1), nn.Conv2d(8, 16, 3, padding=1)
    layers = first, nn.ReLU(), nn.MaxPool2d(2), second, nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(64, 10)
    return fit(torch, start(torch, nn.Sequential(*layers)), normal(torch, 16, 1, 8, 8), labels(torch, 10, 16))


def slices(torch: Any) -> Step:
    """The next rows as a batch at each step."""
    model, (x, y), begin = classifier(torch), data(torch, ROWS), 0
    criterion, descent = torch.nn.CrossEntropyLoss(), torch.optim.SGD(model.parameters(), lr=0.01)

    def step() -> float:
        nonlocal begin
        descent.zero_grad()
        loss = criterion(model(x[begin : begin + BATCH]), y[begin : begin + BATCH])
        loss.backward()
        descent.step()
        begin = (begin + BATCH) % ROWS
        return loss.item()

    return step


def shuffled(torch: Any) -> Step:
    """Rows drawn at random as a batch at each step."""
    model, (x, y), rng = classifier(torch), data(torch, ROWS), np.random.default_rng(3)
    criterion, descent = torch.nn.CrossEntropyLoss(), torch.optim.SGD(model.parameters(), lr=0.01)

    def step() -> float:
        rows = torch.from_numpy(rng.permutation(ROWS)[:BATCH])
        descent.zero_grad()
        loss = criterion(model(x[rows]), y[rows])
        loss.backward()
        descent.step()
        return loss.item()

    return step


def epoch(torch: Any) -> Step:
    """All batches of a DataLoader: the mean of their losses."""
    model, files = classifier(torch), torch.utils.data
    criterion, descent = torch.nn.CrossEntropyLoss(), torch.optim.SGD(model.parameters(), lr=0.01)
    loader = files.DataLoader(files.TensorDataset(*data(torch, ROWS)), batch_size=BATCH, shuffle=False)

    def step() -> float:
        total = 0.0
        for x, y in loader:
            descent.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            descent.step()
            total += loss.item() * len(x)
        return total / ROWS

    return step


def clipping(torch: Any) -> Step:
    """All gradients together are no longer than 1."""
    model, (x, y) = classifier(torch), data(torch)
    criterion, descent = torch.nn.CrossEntropyLoss(), torch.optim.SGD(model.parameters(), lr=0.01)

    def step() -> float:
        descent.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        descent.step()
        return loss.item()

    return step


def scheduled(torch: Any) -> Step:
    """Adam at a rate that falls with each step."""
    model, (x, y), criterion = classifier(torch), data(torch), torch.nn.CrossEntropyLoss()
    descent = torch.optim.Adam(model.parameters(), lr=0.001)
    schedule = torch.optim.lr_scheduler.ExponentialLR(descent, 0.999)

    def step() -> float:
        descent.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        descent.step()
        schedule.step()
        return loss.item()

    return step


def by_hand(torch: Any) -> Step:
    """Gradient descent without an optimiser."""
    model, (x, y), criterion = classifier(torch), data(torch), torch.nn.CrossEntropyLoss()

    def step() -> float:
        loss = criterion(model(x), y)
        loss.backward()
        with torch.no_grad():
            for p in model.parameters():
                p -= 0.01 * p.grad
                p.grad = None
        return loss.item()

    return step


def accumulated(torch: Any) -> Step:
    """Gradients of four parts of a batch add up before one step."""
    model, (x, y), part = classifier(torch), data(torch), BATCH // 4
    criterion, descent = torch.nn.CrossEntropyLoss(), torch.optim.SGD(model.parameters(), lr=0.01)

    def step() -> float:
        descent.zero_grad()
        total = 0.0
        for k in range(0, BATCH, part):
            loss = criterion(model(x[k : k + part]), y[k : k + part]) / 4
            loss.backward()
            total += loss.item()
        descent.step()
        return total

    return step


def averaged(torch: Any) -> Step:
    """A mean teacher: a second network, whose weights are a moving average of the first one's, is to say the same."""
    model, teacher, (x, y) = classifier(torch), classifier(torch, seed=4), data(torch)
    criterion, descent = torch.nn.CrossEntropyLoss(), torch.optim.SGD(model.parameters(), lr=0.01)

    def step() -> float:
        with torch.no_grad():
            advice = teacher(x)
        said = model(x)
        loss = criterion(said, y) + torch.nn.functional.mse_loss(said, advice)
        descent.zero_grad()
        loss.backward()
        descent.step()
        with torch.no_grad():
            for p, q in zip(model.parameters(), teacher.parameters(), strict=True):
                q.mul_(0.99).add_(p, alpha=0.01)
        return loss.item()

    return step


def embedding(torch: Any, words: int = 100, width: int = 16) -> Step:
    """The next word from the four before it."""
    nn, rng = torch.nn, np.random.default_rng(3)
    model = start(torch, nn.Sequential(nn.Embedding(words, width), nn.Flatten(), nn.Linear(4 * width, words)))
    x, y = indices(torch, rng, words, BATCH, 4), indices(torch, rng, words, BATCH)
    descent = torch.optim.Adam(model.parameters(), lr=0.001)

    def step() -> float:
        descent.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        descent.step()
        return loss.item()

    return step


def recurrent(torch: Any, kind: str, length: int, width: int = 8, hidden: int = 16) -> Step:
    """A GRU or an LSTM as one layer, and a number from what it gives last."""
    layer = start(torch, getattr(torch.nn, kind)(width, hidden, batch_first=True))
    last = start(torch, torch.nn.Linear(hidden, 1))
    x, y = normal(torch, 16, length, width), normal(torch, 16, 1)
    descent = torch.optim.Adam([*layer.parameters(), *last.parameters()], lr=0.001)

    def step() -> float:
        descent.zero_grad()
        states, _ = layer(x)
        loss = torch.nn.functional.mse_loss(last(states[:, -1]), y)
        loss.backward()
        descent.step()
        return loss.item()

    return step


def attention(torch: Any) -> Step:
    """A sequence that attends to itself."""
    layer = start(torch, torch.nn.MultiheadAttention(32, 4, batch_first=True))
    x, descent = normal(torch, 4, 10, 32), torch.optim.SGD(layer.parameters(), lr=0.01)

    def step() -> float:
        descent.zero_grad()
        seen, _ = layer(x, x, x)
        loss = (seen**2).mean()
        loss.backward()
        descent.step()
        return loss.item()

    return step
