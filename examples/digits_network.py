"""A convolutional network learns scikit-learn's handwritten digits, as a program written for PyTorch.

    python examples/digits_network.py            with pullback
    python examples/digits_network.py --torch    with PyTorch

Only the import differs. Weights and the order of examples come from NumPy's generator, so both print the same losses.
"""

import sys
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.datasets import load_digits

if TYPE_CHECKING or "--torch" not in sys.argv:
    import pullback as torch
else:
    import torch

nn, F = torch.nn, torch.nn.functional
EPOCHS, BATCH, TRAIN = 5, 64, 1437


class Network(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 8, 3, padding=1), nn.Conv2d(8, 16, 3, padding=1)
        self.norm = nn.BatchNorm2d(16)
        self.dense, self.out = nn.Linear(64, 32), nn.Linear(32, 10)

    def forward(self, x):
        x = F.max_pool2d(torch.relu(self.conv1(x)), 2)
        x = F.max_pool2d(torch.relu(self.norm(self.conv2(x))), 2)
        return self.out(torch.relu(self.dense(x.flatten(1))))


def start(model):
    """Weights from NumPy's generator, in place of the module's own."""
    rng = np.random.default_rng(0)
    with torch.no_grad():
        for name, p in model.named_parameters():
            if p.dim() > 1:
                p.copy_(torch.from_numpy(rng.normal(size=tuple(p.shape), scale=p[0].numel() ** -0.5)))
            elif name.endswith("bias"):
                p.zero_()


def accuracy(model, x, y):
    model.eval()
    with torch.no_grad():
        right = (model(x).argmax(1) == y).float().mean().item()
    model.train()
    return right


def main() -> None:
    digits: Any = load_digits()
    x = torch.from_numpy(digits.images.astype(np.float32)).unsqueeze(1) / 16
    y = torch.from_numpy(digits.target)
    data = torch.utils.data.TensorDataset(x[:TRAIN], y[:TRAIN])
    model = Network()
    start(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=1e-4)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.7)
    criterion = nn.CrossEntropyLoss()
    rng = np.random.default_rng(1)
    for epoch in range(EPOCHS):
        order = rng.permutation(TRAIN).tolist()
        losses = []
        for inputs, labels in torch.utils.data.DataLoader(data, BATCH, sampler=order, drop_last=True):
            optimizer.zero_grad()
            loss = criterion(model(inputs), labels)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        scheduler.step()
        rate = scheduler.get_last_lr()[0]
        print(f"epoch {epoch + 1}: loss {sum(losses) / len(losses):.4f}, last {losses[-1]:.4f}, next rate {rate:.5f}")
    print(f"right: {accuracy(model, x[TRAIN:], y[TRAIN:]):.3f} of the digits that it has not seen")


if __name__ == "__main__":
    main()
