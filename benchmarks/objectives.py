"""Steps whose loss is the special thing: each function takes the module that it calls `torch`, gives a step.

Two networks against each other, noise inside a loss, a target that another network computes, derivatives with respect
to what goes in. In the style of `patterns.py`, where the step is special and the loss is not.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from patterns import BATCH, WIDTH, classifier, data, indices, noise
from programs import Step, normal, start


def autoencoder(torch: Any, hidden: int = 32, latent: int = 4) -> Step:
    """A variational one: its codes are drawn from a normal distribution, which is drawn to the standard one."""

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.encode, self.decode = torch.nn.Linear(WIDTH, hidden), torch.nn.Linear(latent, WIDTH)
            self.mean, self.spread = torch.nn.Linear(hidden, latent), torch.nn.Linear(hidden, latent)

        def forward(self, x: Any, drawn: Any) -> Any:
            h = torch.relu(self.encode(x))
            mean, spread = self.mean(h), self.spread(h)
            return self.decode(mean + drawn * (0.5 * spread).exp()), mean, spread

    model, x, rng = start(torch, Model()), normal(torch, BATCH, WIDTH), np.random.default_rng(3)
    descent = torch.optim.Adam(model.parameters(), lr=0.001)

    def step() -> float:
        descent.zero_grad()
        copy, mean, spread = model(x, noise(torch, rng, BATCH, latent))
        divergence = -0.5 * (1 + spread - mean**2 - spread.exp()).mean()
        loss = torch.nn.functional.mse_loss(copy, x) + divergence
        loss.backward()
        descent.step()
        return loss.item()

    return step


def watched(torch: Any) -> Step:
    """A step that looks at its loss before it goes on, and at an activation: a run that diverges is to stop."""
    model, (x, y) = classifier(torch), data(torch)
    body, head = model[:-1], model[-1]
    descent = torch.optim.SGD(model.parameters(), lr=0.01)

    def step() -> float:
        h = body(x)
        assert h.abs().max().item() < 1e3
        loss = torch.nn.functional.cross_entropy(head(h), y)
        value = loss.item()
        if value > 1e3:
            raise RuntimeError("the loss is too large")
        descent.zero_grad()
        loss.backward()
        descent.step()
        return value

    return step


def policy(torch: Any, actions: int = 3) -> Step:
    """The gradient of a policy, with a bonus for its entropy (Williams, 1992), of actions that are given."""
    nn, rng, distributions = torch.nn, np.random.default_rng(3), torch.distributions
    model = start(torch, nn.Sequential(nn.Linear(WIDTH, 32), nn.Tanh(), nn.Linear(32, actions)))
    states, rewards = normal(torch, BATCH, WIDTH), normal(torch, BATCH)
    descent = torch.optim.Adam(model.parameters(), lr=1e-3)

    def step() -> float:
        chances = distributions.Categorical(logits=model(states))
        taken = indices(torch, rng, actions, BATCH)
        loss = -(chances.log_prob(taken) * rewards).mean() - 0.01 * chances.entropy().mean()
        descent.zero_grad()
        loss.backward()
        descent.step()
        return loss.item()

    return step


def inference(torch: Any, latent: int = 4) -> Step:
    """The autoencoder again, by distributions: a bound on the evidence of zeros and ones."""
    nn, rng, distributions = torch.nn, np.random.default_rng(3), torch.distributions
    encode, decode = start(torch, nn.Linear(WIDTH, 2 * latent)), start(torch, nn.Linear(latent, WIDTH))
    x, prior = (normal(torch, BATCH, WIDTH) > 0).float(), distributions.Normal(torch.zeros(latent), torch.ones(latent))
    descent = torch.optim.Adam([*encode.parameters(), *decode.parameters()], lr=1e-3)

    def step() -> float:
        mean, scale = encode(x).chunk(2, -1)
        codes = distributions.Normal(mean, scale.exp())
        drawn = codes.mean + codes.stddev * noise(torch, rng, BATCH, latent)
        copies = distributions.Independent(distributions.Bernoulli(logits=decode(drawn)), 1)
        loss = (distributions.kl_divergence(codes, prior).sum(-1) - copies.log_prob(x)).mean()
        descent.zero_grad()
        loss.backward()
        descent.step()
        return loss.item()

    return step


def adversaries(torch: Any, hidden: int = 32, latent: int = 4) -> Step:
    """A generator, and a discriminator that is to tell what it makes from data."""
    nn, rng = torch.nn, np.random.default_rng(3)
    maker = start(torch, nn.Sequential(nn.Linear(latent, hidden), nn.ReLU(), nn.Linear(hidden, WIDTH)))
    judge = start(torch, nn.Sequential(nn.Linear(WIDTH, hidden), nn.LeakyReLU(0.2), nn.Linear(hidden, 1)))
    making, judging = (torch.optim.Adam(model.parameters(), lr=1e-3) for model in (maker, judge))
    x, one, zero = normal(torch, BATCH, WIDTH), torch.ones(BATCH, 1), torch.zeros(BATCH, 1)
    criterion = nn.BCEWithLogitsLoss()

    def step() -> float:
        fake = maker(noise(torch, rng, BATCH, latent))
        judging.zero_grad()
        caught = criterion(judge(x), one) + criterion(judge(fake.detach()), zero)
        caught.backward()
        judging.step()
        making.zero_grad()
        fooled = criterion(judge(fake), one)
        fooled.backward()
        making.step()
        return caught.item() + fooled.item()

    return step


def q_learning(torch: Any, discount: float = 0.9) -> Step:
    """The value of the actions that were taken, towards the reward and the best value after it."""
    values, slow, rng = classifier(torch), classifier(torch, seed=4), np.random.default_rng(3)
    state, action = data(torch)
    after, reward = noise(torch, rng, BATCH, WIDTH), noise(torch, rng, BATCH)
    descent = torch.optim.Adam(values.parameters(), lr=1e-3)

    def step() -> float:
        with torch.no_grad():
            target = reward + discount * slow(after).max(1)[0]
        taken = values(state).gather(1, action.unsqueeze(1)).squeeze(1)
        loss = torch.nn.functional.smooth_l1_loss(taken, target)
        descent.zero_grad()
        loss.backward()
        descent.step()
        return loss.item()

    return step


def differential_equation(torch: Any, points: int = 64, hidden: int = 32) -> Step:
    """A network that is to solve u' = -u with u(0) = 1: its loss has its own derivative in it."""
    nn = torch.nn
    model = start(torch, nn.Sequential(nn.Linear(1, hidden), nn.Tanh(), nn.Linear(hidden, 1)))
    x = torch.linspace(0, 1, points).reshape(-1, 1).requires_grad_()
    descent = torch.optim.Adam(model.parameters(), lr=1e-3)

    def step() -> float:
        descent.zero_grad()
        u = model(x)
        (slope,) = torch.autograd.grad(u.sum(), x, create_graph=True)
        loss = ((slope + u) ** 2).mean() + (u[0] - 1).pow(2).sum()
        loss.backward()
        descent.step()
        return loss.item()

    return step


def factors(torch: Any, users: int = 50, items: int = 40, rank: int = 8, ratings: int = 64) -> Step:
    """A matrix as a product of two, known at some places."""
    rng = np.random.default_rng(3)
    u, v = (torch.nn.Parameter(noise(torch, rng, count, rank)) for count in (users, items))
    i, j, rating = indices(torch, rng, users, ratings), indices(torch, rng, items, ratings), noise(torch, rng, ratings)
    descent = torch.optim.SGD([u, v], lr=0.01)

    def step() -> float:
        descent.zero_grad()
        loss = ((u[i] * v[j]).sum(1) - rating).pow(2).mean()
        loss.backward()
        descent.step()
        return loss.item()

    return step


def valley(torch: Any) -> Step:
    """Rosenbrock's function of two numbers, by Adam."""
    point = torch.tensor([-1.2, 1.0], requires_grad=True)
    descent = torch.optim.Adam([point], lr=0.01)

    def step() -> float:
        descent.zero_grad()
        x, y = point
        loss = (1 - x) ** 2 + 100 * (y - x**2) ** 2
        loss.backward()
        descent.step()
        return loss.item()

    return step


def hamiltonian(torch: Any, width: int = 10, leaps: int = 5, pace: float = 0.01) -> Step:
    """A step of Hamiltonian Monte Carlo on a normal distribution: leapfrog, then accepted or not."""
    rng = np.random.default_rng(3)
    root = noise(torch, rng, width, width)
    precision, place = root @ root.t() + torch.eye(width), noise(torch, rng, width)

    def energy(q: Any) -> Any:
        return 0.5 * q @ precision @ q

    def force(q: Any) -> Any:
        q = q.detach().requires_grad_()
        (slope,) = torch.autograd.grad(energy(q), q)
        return -slope

    potential = energy(place)

    def step() -> float:
        nonlocal place, potential
        q, p = place, noise(torch, rng, width)
        before = potential + 0.5 * p @ p
        for _ in range(leaps):
            p = p + 0.5 * pace * force(q)
            q = q + pace * p
            p = p + 0.5 * pace * force(q)
        reached = energy(q)
        gain = (before - reached - 0.5 * p @ p).item()
        if math.log(rng.random()) < gain:
            place, potential = q, reached
        return potential.item()

    return step
