"""An LSTM learns the Zen of Python, which ships with Python, letter by letter: a program written for PyTorch.

    python examples/character_lstm.py            with pullback
    python examples/character_lstm.py --torch    with PyTorch

Only the import differs. Weights come from NumPy's generator, so both print the same losses and write the same text.
"""

import codecs
import contextlib
import io
import sys
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING or "--torch" not in sys.argv:
    import pullback as torch
else:
    import torch

with contextlib.redirect_stdout(io.StringIO()):  # importing it prints it
    import this

nn = torch.nn
TEXT = codecs.decode(this.s, "rot13").lower()
LETTERS = sorted(set(TEXT))
HIDDEN, PIECE, BATCH, STEPS = 48, 24, 8, 120


class Speller(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(len(LETTERS), 16)
        self.lstm = nn.LSTM(16, HIDDEN, batch_first=True)
        self.out = nn.Linear(HIDDEN, len(LETTERS))

    def forward(self, x, state=None):
        h, state = self.lstm(self.embed(x), state)
        return self.out(h), state


def start(model):
    """Weights from NumPy's generator, in place of the module's own."""
    rng = np.random.default_rng(0)
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.from_numpy(rng.normal(size=tuple(p.shape), scale=0.2)))


def written(model, count):
    """What the network writes by itself, always taking the likeliest letter."""
    text, state = "the ", None
    letters = torch.tensor([[LETTERS.index(c) for c in text]])
    with torch.no_grad():
        for _ in range(count):
            scores, state = model(letters, state)
            letters = scores[:, -1].argmax(-1, keepdim=True)
            text += LETTERS[letters.item()]
    return " ".join(text.split())


def main() -> None:
    codes = torch.tensor([LETTERS.index(c) for c in TEXT])
    model = Speller()
    start(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    criterion = nn.CrossEntropyLoss()
    rng, losses = np.random.default_rng(1), []
    for step in range(STEPS):
        begins = rng.integers(0, len(TEXT) - PIECE - 1, size=BATCH).tolist()
        x = torch.stack([codes[k : k + PIECE] for k in begins])
        y = torch.stack([codes[k + 1 : k + PIECE + 1] for k in begins])
        optimizer.zero_grad()
        scores, _ = model(x)
        loss = criterion(scores.reshape(-1, len(LETTERS)), y.reshape(-1))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
        if step % 20 == 19:
            print(f"step {step + 1}: {sum(losses[-20:]) / 20:.4f} nats a letter")
    print("It writes:", written(model, 60))


if __name__ == "__main__":
    main()
