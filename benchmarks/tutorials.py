"""Programs as tutorials have them: each function takes the module that it calls `torch`, gives a training step.

Random numbers are the library's own, which both modules draw alike, but where an environment or a sampler has NumPy's.
What a tutorial prints at each step is the loss, so a step returns it as a float.
"""

from __future__ import annotations

from itertools import cycle
from typing import Any

import numpy as np
from programs import Step


def step_of(descent: Any, loss_of: Any) -> Step:
    def step() -> float:
        descent.zero_grad()
        loss = loss_of()
        loss.backward()
        descent.step()
        return loss.item()

    return step


def linear_regression(torch: Any) -> Step:
    torch.manual_seed(0)
    x = torch.rand(100, 1) * 10
    y = 2 * x + 1 + torch.randn(100, 1)
    w, b = torch.zeros(1, requires_grad=True), torch.zeros(1, requires_grad=True)

    def step() -> float:
        loss = ((x * w + b - y) ** 2).mean()
        loss.backward()
        with torch.no_grad():
            w.sub_(0.001 * w.grad)
            b.sub_(0.001 * b.grad)
            w.grad.zero_()
            b.grad.zero_()
        return loss.item()

    return step


def logistic_regression(torch: Any) -> Step:
    torch.manual_seed(0)
    x = torch.randn(200, 4)
    y = (x.sum(1, keepdim=True) > 0).float()
    model, criterion = torch.nn.Sequential(torch.nn.Linear(4, 1), torch.nn.Sigmoid()), torch.nn.BCELoss()
    return step_of(torch.optim.SGD(model.parameters(), lr=0.1), lambda: criterion(model(x), y))


def loaded_mlp(torch: Any) -> Step:
    """A perceptron over a DataLoader, with the accuracy so far."""
    torch.manual_seed(0)
    data = torch.utils.data
    x, y = torch.randn(640, 20), torch.randint(0, 5, (640,))
    loader = data.DataLoader(data.TensorDataset(x, y), batch_size=64, shuffle=True)
    model = torch.nn.Sequential(torch.nn.Linear(20, 64), torch.nn.ReLU(), torch.nn.Dropout(0.1), torch.nn.Linear(64, 5))
    criterion, descent = torch.nn.CrossEntropyLoss(), torch.optim.Adam(model.parameters(), lr=1e-3)
    batches = (batch for _ in cycle([0]) for batch in loader)
    right = 0

    def step() -> float:
        nonlocal right
        inputs, targets = next(batches)
        descent.zero_grad()
        made = model(inputs)
        loss = criterion(made, targets)
        loss.backward()
        descent.step()
        right += (made.argmax(1) == targets).sum().item()
        return loss.item()

    return step


def convolutions(torch: Any) -> Step:
    torch.manual_seed(0)
    nn, F = torch.nn, torch.nn.functional

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv1, self.conv2 = nn.Conv2d(1, 8, 3, padding=1), nn.Conv2d(8, 16, 3, padding=1)
            self.fc = nn.Linear(16 * 4 * 4, 10)

        def forward(self, x: Any) -> Any:
            x = F.max_pool2d(F.relu(self.conv1(x)), 2)
            x = F.max_pool2d(F.relu(self.conv2(x)), 2)
            return F.log_softmax(self.fc(torch.flatten(x, 1)), dim=1)

    model, x, y = Net(), torch.randn(16, 1, 16, 16), torch.randint(0, 10, (16,))
    descent = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    return step_of(descent, lambda: F.nll_loss(model(x), y))


def characters(torch: Any) -> Step:
    """A character model: LSTM whose state goes on from chunk to chunk, detached."""
    torch.manual_seed(0)
    nn = torch.nn
    text = torch.randint(0, 30, (2000,))
    embed, lstm, head = nn.Embedding(30, 16), nn.LSTM(16, 32, batch_first=True), nn.Linear(32, 30)
    params = [p for m in (embed, lstm, head) for p in m.parameters()]
    descent, criterion = torch.optim.Adam(params, lr=1e-3), nn.CrossEntropyLoss()
    state: Any = None
    at = 0

    def step() -> float:
        nonlocal state, at
        at = (at + 20) % 1900
        chunk = text[at : at + 21].unsqueeze(0)
        out, state = lstm(embed(chunk[:, :-1]), state)
        state = tuple(s.detach() for s in state)
        loss = criterion(head(out).view(-1, 30), chunk[:, 1:].reshape(-1))
        descent.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(params, 1.0)
        descent.step()
        return loss.item()

    return step


def translation(torch: Any) -> Step:
    """Encoder and decoder of GRUs with attention, one pair of sentences of 5 to 9 words at a time."""
    torch.manual_seed(0)
    nn, F, H = torch.nn, torch.nn.functional, 16
    rng = np.random.default_rng(0)
    read, encoder = nn.Embedding(40, H), nn.GRU(H, H)
    said, decoder, attend, head = nn.Embedding(40, H), nn.GRU(2 * H, H), nn.Linear(2 * H, 10), nn.Linear(H, 40)
    params = [p for m in (read, encoder, said, decoder, attend, head) for p in m.parameters()]
    descent, criterion = torch.optim.SGD(params, lr=0.01), nn.NLLLoss()

    def step() -> float:
        source = torch.tensor(rng.integers(2, 40, rng.integers(5, 10)).tolist())
        target = torch.tensor(rng.integers(2, 40, rng.integers(5, 10)).tolist())
        outputs, hidden = torch.zeros(10, H), torch.zeros(1, 1, H)
        for k in range(len(source)):
            out, hidden = encoder(read(source[k]).view(1, 1, -1), hidden)
            outputs[k] = out[0, 0]
        word, loss = torch.tensor([0]), torch.zeros(())
        for k in range(len(target)):
            embedded = said(word).view(1, 1, -1)
            weights = F.softmax(attend(torch.cat((embedded[0], hidden[0]), 1)), dim=1)
            seen = torch.bmm(weights.unsqueeze(0), outputs.unsqueeze(0))
            out, hidden = decoder(torch.cat((embedded, seen), 2), hidden)
            loss = loss + criterion(F.log_softmax(head(out[0]), dim=1), target[k : k + 1])
            word = target[k : k + 1]
        descent.zero_grad()
        loss.backward()
        descent.step()
        return loss.item() / len(target)

    return step


def small_gpt(torch: Any) -> Step:
    """Two blocks of causal attention with dropout, over random windows of a text."""
    torch.manual_seed(0)
    nn, F, C, T, HEADS = torch.nn, torch.nn.functional, 32, 16, 4

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.ln1, self.ln2 = nn.LayerNorm(C), nn.LayerNorm(C)
            self.qkv, self.out = nn.Linear(C, 3 * C), nn.Linear(C, C)
            self.mlp = nn.Sequential(nn.Linear(C, 4 * C), nn.GELU(), nn.Linear(4 * C, C), nn.Dropout(0.1))
            self.register_buffer("bias", torch.tril(torch.ones(T, T)).view(1, 1, T, T))

        def forward(self, x: Any) -> Any:
            B, n, _ = x.size()
            q, k, v = (part.view(B, n, HEADS, C // HEADS).transpose(1, 2) for part in self.qkv(self.ln1(x)).split(C, 2))
            att = (q @ k.transpose(-2, -1)) * (1.0 / (k.size(-1) ** 0.5))
            att = F.softmax(att.masked_fill(self.bias[:, :, :n, :n] == 0, float("-inf")), dim=-1)
            y = (F.dropout(att, 0.1, self.training) @ v).transpose(1, 2).contiguous().view(B, n, C)
            x = x + self.out(y)
            return x + self.mlp(self.ln2(x))

    text = torch.randint(0, 50, (3000,))
    tokens, places, blocks = nn.Embedding(50, C), nn.Embedding(T, C), nn.Sequential(Block(), Block())
    norm, head = nn.LayerNorm(C), nn.Linear(C, 50, bias=False)
    params = [p for m in (tokens, places, blocks, norm, head) for p in m.parameters()]
    descent = torch.optim.AdamW(params, lr=1e-3)

    def loss() -> Any:
        ix = torch.randint(len(text) - T, (8,))
        x = torch.stack([text[i : i + T] for i in ix])
        y = torch.stack([text[i + 1 : i + T + 1] for i in ix])
        logits = head(norm(blocks(tokens(x) + places(torch.arange(T)))))
        return F.cross_entropy(logits.view(-1, 50), y.view(-1))

    return step_of(descent, loss)


def autoencoder(torch: Any) -> Step:
    """A variational one."""
    torch.manual_seed(0)
    nn, F = torch.nn, torch.nn.functional
    x = torch.rand(32, 64)
    first, mu, logvar = nn.Linear(64, 32), nn.Linear(32, 4), nn.Linear(32, 4)
    third, last = nn.Linear(4, 32), nn.Linear(32, 64)
    params = [p for m in (first, mu, logvar, third, last) for p in m.parameters()]

    def loss() -> Any:
        h = F.relu(first(x))
        mean, spread = mu(h), logvar(h)
        std = torch.exp(0.5 * spread)
        z = mean + torch.randn_like(std) * std
        made = torch.sigmoid(last(F.relu(third(z))))
        bce = F.binary_cross_entropy(made, x, reduction="sum")
        return bce - 0.5 * torch.sum(1 + spread - mean.pow(2) - spread.exp())

    return step_of(torch.optim.Adam(params, lr=1e-3), loss)


def adversaries(torch: Any) -> Step:
    torch.manual_seed(0)
    nn = torch.nn
    G = nn.Sequential(nn.Linear(8, 32), nn.LeakyReLU(0.2), nn.BatchNorm1d(32), nn.Linear(32, 2))
    D = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Dropout(0.3), nn.Linear(32, 1), nn.Sigmoid())
    criterion = nn.BCELoss()
    g_descent = torch.optim.Adam(G.parameters(), lr=2e-4, betas=(0.5, 0.999))
    d_descent = torch.optim.Adam(D.parameters(), lr=2e-4, betas=(0.5, 0.999))
    valid, fake = torch.ones(32, 1), torch.zeros(32, 1)

    def step() -> float:
        real = torch.randn(32, 2) * 0.5 + 1
        d_descent.zero_grad()
        made = G(torch.randn(32, 8))
        d_loss = (criterion(D(real), valid) + criterion(D(made.detach()), fake)) / 2
        d_loss.backward()
        d_descent.step()
        g_descent.zero_grad()
        g_loss = criterion(D(made), valid)
        g_loss.backward()
        g_descent.step()
        return d_loss.item() + g_loss.item()

    return step
