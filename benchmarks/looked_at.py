"""Programs that look at values in the middle of a step and go on from what they see: `f(torch)` gives the next step.

A look is `item()`, a comparison, or a place that depends on data (`where`, `topk`), while there is still a backward to
come through what was looked at.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from programs import Step, labels, normal, start


def adaptive_solver(torch: Any) -> Step:
    """A neural ODE by Bogacki and Shampine's method, whose steps are accepted or not."""
    nn, width = torch.nn, 8
    f = start(torch, nn.Sequential(nn.Linear(width, 32), nn.Tanh(), nn.Linear(32, width)))
    descent, both = torch.optim.Adam(f.parameters(), lr=1e-2), normal(torch, 32, width)
    y0, target = both[:16], both[16:]

    def step() -> float:
        t, h, y = 0.0, 0.1, y0
        while t < 1 - 1e-9:
            h = min(h, 1 - t)
            k1 = f(y)
            k2 = f(y + h / 2 * k1)
            k3 = f(y + 3 / 4 * h * k2)
            z = y + h * (2 / 9 * k1 + 1 / 3 * k2 + 4 / 9 * k3)
            lower = y + h * (7 / 24 * k1 + 1 / 4 * k2 + 1 / 3 * k3 + 1 / 8 * f(z))
            error = (z - lower).abs().max().item()
            if error < 1e-3:
                t, y = t + h, z
            h *= min(2.0, max(0.3, 0.9 * (1e-3 / (error + 1e-12)) ** (1 / 3)))
        loss = torch.nn.functional.mse_loss(y, target)
        descent.zero_grad()
        loss.backward()
        descent.step()
        return loss.item()

    return step


def filter_likelihood(torch: Any) -> Step:
    """The likelihood of 30 observations under a Kalman filter, whose `solve` looks whether a matrix is singular."""
    nn, n = torch.nn, 4
    a, log_q, log_r = nn.Parameter(torch.eye(n) * 0.9), nn.Parameter(torch.zeros(n)), nn.Parameter(torch.zeros(2))
    descent, c, seen = torch.optim.Adam([a, log_q, log_r], lr=1e-2), normal(torch, 2, n), normal(torch, 30, 2)

    def step() -> float:
        m, p = torch.zeros(n), torch.eye(n)
        likelihood: Any = 0.0
        q, r = torch.diag(log_q.exp()), torch.diag(log_r.exp())
        for y in seen:
            m, p = a @ m, a @ p @ a.T + q
            s, error = c @ p @ c.T + r, y - c @ m
            gain = torch.linalg.solve(s, c @ p).T
            likelihood = likelihood - 0.5 * (error @ torch.linalg.solve(s, error) + torch.logdet(s))
            m, p = m + gain @ error, p - gain @ s @ gain.T
        descent.zero_grad()
        (-likelihood).backward()
        descent.step()
        return -likelihood.item()

    return step


def backtracking(torch: Any) -> Step:
    """Gradient descent whose step is halved until the loss has decreased enough."""
    nn = torch.nn
    model, x = start(torch, nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 1))), normal(torch, 64, 8)
    y, params = x[:, :1].sin(), list(model.parameters())

    def step() -> float:
        loss = torch.nn.functional.mse_loss(model(x), y)
        grads = torch.autograd.grad(loss, params)
        rate, slope = 1.0, sum((g**2).sum().item() for g in grads)
        before = [p.detach().clone() for p in params]
        while rate > 1e-6:
            with torch.no_grad():
                for p, old, g in zip(params, before, grads, strict=True):
                    p.copy_(old - rate * g)
            if torch.nn.functional.mse_loss(model(x), y).item() <= loss.item() - 0.3 * rate * slope:
                break
            rate /= 2
        return loss.item()

    return step


def experts(torch: Any) -> Step:
    """A mixture of experts, each of which gets the rows that chose it: as many as there are."""
    nn = torch.nn
    pairs = [nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 16)) for _ in range(4)]
    model = nn.ModuleDict({"experts": nn.ModuleList(pairs), "gate": nn.Linear(16, 4), "head": nn.Linear(16, 3)})
    start(torch, model)
    descent = torch.optim.AdamW(model.parameters(), lr=1e-3)
    x, y = normal(torch, 64, 16), labels(torch, 3, 64)

    def step() -> float:
        weights, chosen = model["gate"](x).softmax(-1).topk(2, -1)
        weights, out = weights / weights.sum(-1, keepdim=True), torch.zeros_like(x)
        for k, expert in enumerate(model["experts"]):
            rows, which = torch.where(chosen == k)
            if rows.numel():
                out[rows] += weights[rows, which, None] * expert(x[rows])
        loss = torch.nn.functional.cross_entropy(model["head"](x + out), y)
        descent.zero_grad()
        loss.backward()
        descent.step()
        return loss.item()

    return step


def equilibrium(torch: Any) -> Step:
    """A deep equilibrium model: a fixed point, and one of its adjoint in a hook."""
    nn = torch.nn
    cell, inject, head = nn.Linear(16, 16), nn.Linear(8, 16), nn.Linear(16, 1)
    model = start(torch, nn.ModuleList([cell, inject, head]))
    descent, x = torch.optim.Adam(model.parameters(), lr=1e-3), normal(torch, 32, 8)
    y = x[:, :1].sin()

    def fixed(f: Callable[[Any], Any], z: Any) -> Any:
        for _ in range(50):
            new = f(z)
            if ((new - z).norm() / (new.norm() + 1e-9)).item() < 1e-4:
                return new
            z = new
        return z

    def step() -> float:
        def f(z: Any) -> Any:
            return torch.tanh(0.5 * cell(z) + inject(x))

        with torch.no_grad():
            z = fixed(f, torch.zeros(32, 16))
        z = f(z)
        at = z.clone().detach().requires_grad_()
        once = f(at)
        z.register_hook(
            lambda g: fixed(lambda v: torch.autograd.grad(once, at, v, retain_graph=True)[0] + g, torch.zeros_like(g))
        )
        loss = torch.nn.functional.mse_loss(head(z), y)
        descent.zero_grad()
        loss.backward()
        descent.step()
        return loss.item()

    return step


def decoder(torch: Any) -> Step:
    """A decoder with attention, whose sentences have random lengths and end where it says so."""
    nn, hidden, words, rng = torch.nn, 32, 40, np.random.default_rng(5)
    functional = nn.functional
    read, write = nn.Embedding(words, hidden), nn.Embedding(words, hidden)
    encoder, cell = nn.GRU(hidden, hidden), nn.GRU(hidden, hidden)
    looks, joins, out = nn.Linear(2 * hidden, 12), nn.Linear(2 * hidden, hidden), nn.Linear(hidden, words)
    model = start(torch, nn.ModuleList([read, write, encoder, cell, looks, joins, out]))
    descent = torch.optim.SGD(model.parameters(), lr=0.01)

    def step() -> float:
        given, wanted = (torch.from_numpy(rng.integers(0, words, (rng.integers(3, 10), 1))) for _ in range(2))
        h, states = torch.zeros(1, 1, hidden), torch.zeros(12, hidden)
        for i, word in enumerate(given):
            o, h = encoder(read(word).view(1, 1, -1), h)
            states[i] = o[0, 0]
        x, told = torch.tensor([[0]]), rng.random() < 0.5
        loss: Any = 0.0
        for word in wanted:
            e = write(x).view(1, 1, -1)
            weights = functional.softmax(looks(torch.cat((e[0], h[0]), 1)), dim=1)
            seen = torch.bmm(weights.unsqueeze(0), states.unsqueeze(0))
            o, h = cell(functional.relu(joins(torch.cat((e[0], seen[0]), 1)).unsqueeze(0)), h)
            o = functional.log_softmax(out(o[0]), dim=1)
            loss = loss + functional.nll_loss(o, word)
            x = word if told else o.topk(1)[1].squeeze().detach()
            if not told and x.item() == 1:
                break
        descent.zero_grad()
        loss.backward()
        descent.step()
        return loss.item()

    return step


LOOKED_AT: dict[str, Callable[[Any], Step]] = {
    "adaptive ODE solver": adaptive_solver,
    "Kalman filter with solve": filter_likelihood,
    "descent with backtracking": backtracking,
    "mixture of experts by rows": experts,
    "deep equilibrium model": equilibrium,
    "decoder with attention, random lengths": decoder,
}
