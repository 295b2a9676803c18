"""A small transformer learns the essay on heaps that ships with Python, as a program written for PyTorch.

    python examples/small_transformer.py            with pullback
    python examples/small_transformer.py --torch    with PyTorch

Only the import differs. Weights come from NumPy's generator, so both print the same losses.
"""

import heapq
import math
import sys
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING or "--torch" not in sys.argv:
    import pullback as torch
else:
    import torch

nn = torch.nn
TEXT: str = getattr(heapq, "__about__").lower()  # noqa: B009
LETTERS = sorted(set(TEXT))
WIDTH, HEADS, LAYERS, LENGTH, BATCH, STEPS = 32, 4, 2, 32, 8, 200


class Transformer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(len(LETTERS), WIDTH)
        layer = nn.TransformerEncoderLayer(WIDTH, HEADS, 4 * WIDTH, dropout=0.0, batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, LAYERS, norm=nn.LayerNorm(WIDTH), enable_nested_tensor=False)
        self.out = nn.Linear(WIDTH, len(LETTERS))
        self.register_buffer("places", places())
        self.register_buffer("mask", torch.triu(torch.full((LENGTH, LENGTH), -math.inf), diagonal=1))

    def forward(self, x):
        h = self.embed(x) * math.sqrt(WIDTH) + self.places
        return self.out(self.layers(h, mask=self.mask))


def places():
    """Sines and cosines of each position."""
    angles = torch.arange(LENGTH).unsqueeze(1) / 100 ** (torch.arange(0, WIDTH, 2) / WIDTH)
    return torch.cat([torch.sin(angles), torch.cos(angles)], dim=1)


def start(model):
    """Weights from NumPy's generator, in place of the module's own."""
    rng = np.random.default_rng(0)
    with torch.no_grad():
        for name, p in model.named_parameters():
            if p.dim() > 1:
                p.copy_(torch.from_numpy(rng.normal(size=tuple(p.shape), scale=p.shape[1] ** -0.5)))
            elif name.endswith("bias"):
                p.zero_()


def main() -> None:
    codes = torch.tensor([LETTERS.index(c) for c in TEXT])
    model = Transformer()
    start(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.01, total_steps=STEPS)
    criterion = nn.CrossEntropyLoss()
    rng, losses = np.random.default_rng(1), []
    for step in range(STEPS):
        begins = rng.integers(0, len(TEXT) - LENGTH - 1, size=BATCH).tolist()
        x = torch.stack([codes[k : k + LENGTH] for k in begins])
        y = torch.stack([codes[k + 1 : k + LENGTH + 1] for k in begins])
        optimizer.zero_grad()
        loss = criterion(model(x).flatten(0, 1), y.flatten())
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        losses.append(loss.item())
        if step % 40 == 39:
            print(f"step {step + 1}: {sum(losses[-40:]) / 40:.4f} nats a letter, gradient {norm.item():.4f}")


if __name__ == "__main__":
    main()
