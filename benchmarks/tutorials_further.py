"""Further programs as tutorials have them, see `tutorials.py`: equations, agents, images, graphs and other optimisers.

TUTORIALS has all twenty by name.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import tutorials as first
from programs import Step
from tutorials import step_of


def heat_pinn(torch: Any) -> Step:
    """u_t = u_xx at random points: gradients of gradients."""
    torch.manual_seed(0)
    nn = torch.nn
    net = nn.Sequential(nn.Linear(2, 20), nn.Tanh(), nn.Linear(20, 20), nn.Tanh(), nn.Linear(20, 1))
    rest = torch.rand(32, 1)

    def slope(u: Any, x: Any) -> Any:
        return torch.autograd.grad(u, x, grad_outputs=torch.ones_like(u), create_graph=True)[0]

    def loss() -> Any:
        x, t = torch.rand(64, 1, requires_grad=True), torch.rand(64, 1, requires_grad=True)
        u = net(torch.cat([x, t], 1))
        u_t, u_x = slope(u, t), slope(u, x)
        residual = u_t - slope(u_x, x)
        begin = net(torch.cat([rest, torch.zeros_like(rest)], 1)) - torch.sin(np.pi * rest)
        return (residual**2).mean() + (begin**2).mean()

    return step_of(torch.optim.Adam(net.parameters(), lr=1e-3), loss)


def flow(torch: Any) -> Step:
    """Four affine couplings (RealNVP)."""
    torch.manual_seed(0)
    nn = torch.nn
    layers = [nn.Sequential(nn.Linear(1, 24), nn.ReLU(), nn.Linear(24, 2)) for _ in range(4)]
    base = torch.distributions.Normal(torch.zeros(2), torch.ones(2))
    descent = torch.optim.Adam([p for layer in layers for p in layer.parameters()], lr=1e-3)

    def loss() -> Any:
        z = torch.randn(64, 2) * 0.7 + 0.3
        logdet = torch.zeros(64)
        for k, layer in enumerate(layers):
            kept, changed = z.chunk(2, 1) if k % 2 == 0 else z.chunk(2, 1)[::-1]
            s, t = layer(kept).chunk(2, 1)
            s = torch.tanh(s)
            changed = changed * s.exp() + t
            z = torch.cat((kept, changed) if k % 2 == 0 else (changed, kept), 1)
            logdet = logdet + s.squeeze(1)
        return -(base.log_prob(z).sum(1) + logdet).mean()

    return step_of(descent, loss)


def _cart(rng: np.random.Generator, state: Any, action: int) -> Any:
    return 0.95 * state + 0.1 * (2 * action - 1) + 0.05 * rng.normal(size=4)


def reinforce(torch: Any) -> Step:
    """An episode of 8 to 20 steps, then one update from its returns."""
    torch.manual_seed(0)
    nn, rng = torch.nn, np.random.default_rng(0)
    policy = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
    descent = torch.optim.Adam(policy.parameters(), lr=1e-2)

    def step() -> float:
        state, logs, rewards = rng.normal(size=4), [], []
        for _ in range(rng.integers(8, 20)):
            probs = torch.softmax(policy(torch.from_numpy(state).float().unsqueeze(0)), dim=1)
            chances = torch.distributions.Categorical(probs)
            action = chances.sample()
            logs.append(chances.log_prob(action))
            state = _cart(rng, state, action.item())
            rewards.append(1.0 - abs(state[0]))
        R, returns = 0.0, []
        for r in rewards[::-1]:
            R = r + 0.99 * R
            returns.insert(0, R)
        returns = torch.tensor(returns, dtype=torch.float32)
        returns = (returns - returns.mean()) / (returns.std() + 1e-8)
        loss = torch.cat([-log * R for log, R in zip(logs, returns, strict=True)]).sum()
        descent.zero_grad()
        loss.backward()
        descent.step()
        return loss.item()

    return step


def deep_q(torch: Any) -> Step:
    """One step in the environment, one batch from the memory, a soft update of the target."""
    torch.manual_seed(0)
    nn, rng = torch.nn, np.random.default_rng(0)
    make = lambda: nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))  # noqa: E731
    net, target = make(), make()
    target.load_state_dict(net.state_dict())
    descent, criterion, memory = torch.optim.AdamW(net.parameters(), lr=1e-3, amsgrad=True), nn.SmoothL1Loss(), []
    state = torch.tensor(rng.normal(size=4), dtype=torch.float32).unsqueeze(0)

    def step() -> float:
        nonlocal state
        with torch.no_grad():
            action = net(state).max(1).indices.view(1, 1)
        after = torch.tensor(_cart(rng, state.numpy()[0], action.item()), dtype=torch.float32).unsqueeze(0)
        memory.append((state, action, after, torch.tensor([1.0 - abs(after[0, 0].item())])))
        state = after
        batch = [memory[k] for k in rng.integers(0, len(memory), 32)]
        states, actions, afters, rewards = (torch.cat(part) for part in zip(*batch, strict=True))
        values = net(states).gather(1, actions)
        with torch.no_grad():
            best = target(afters).max(1).values
        loss = criterion(values, (best * 0.99 + rewards).unsqueeze(1))
        descent.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_value_(net.parameters(), 100)
        descent.step()
        theirs, ours = target.state_dict(), net.state_dict()
        for key in ours:
            theirs[key] = ours[key] * 0.005 + theirs[key] * 0.995
        target.load_state_dict(theirs)
        return loss.item()

    return step


def actor_critic(torch: Any) -> Step:
    torch.manual_seed(0)
    nn, F, rng = torch.nn, torch.nn.functional, np.random.default_rng(0)
    body, actor, critic = nn.Linear(4, 32), nn.Linear(32, 2), nn.Linear(32, 1)
    descent = torch.optim.Adam([p for m in (body, actor, critic) for p in m.parameters()], lr=3e-2)
    eps = np.finfo(np.float32).eps.item()

    def step() -> float:
        state, saved, rewards = rng.normal(size=4), [], []
        for _ in range(10):
            h = F.relu(body(torch.from_numpy(state).float()))
            chances = torch.distributions.Categorical(F.softmax(actor(h), dim=-1))
            action = chances.sample()
            saved.append((chances.log_prob(action), critic(h)))
            state = _cart(rng, state, action.item())
            rewards.append(1.0 - abs(state[0]))
        R, returns = 0.0, []
        for r in rewards[::-1]:
            returns.insert(0, R := r + 0.99 * R)
        returns = torch.tensor(returns, dtype=torch.float32)
        returns = (returns - returns.mean()) / (returns.std() + eps)
        policies, values = [], []
        for (log, value), R in zip(saved, returns, strict=True):
            policies.append(-log * (R - value.item()))
            values.append(F.smooth_l1_loss(value, R.unsqueeze(0)))
        descent.zero_grad()
        loss = torch.stack(policies).sum() + torch.stack(values).sum()
        loss.backward()
        descent.step()
        return loss.item()

    return step


def neural_ode(torch: Any) -> Step:
    """A field fitted to a path by Runge and Kutta's steps, over batches of pieces of the path."""
    torch.manual_seed(0)
    nn, rng = torch.nn, np.random.default_rng(0)
    net = nn.Sequential(nn.Linear(2, 24), nn.Tanh(), nn.Linear(24, 2))
    times = torch.linspace(0.0, 1.0, 10)
    path = torch.stack([torch.cos(6 * torch.linspace(0, 1, 60)), torch.sin(6 * torch.linspace(0, 1, 60))], 1)

    def loss() -> Any:
        begin = torch.from_numpy(rng.choice(50, 16, replace=False))
        y = path[begin]
        made = [y]
        for t0, t1 in pairwise(times):
            h = t1 - t0
            k1 = net(y**3)
            k2 = net((y + h * k1 / 2) ** 3)
            k3 = net((y + h * k2 / 2) ** 3)
            k4 = net((y + h * k3) ** 3)
            y = y + h * (k1 + 2 * k2 + 2 * k3 + k4) / 6
            made.append(y)
        truth = torch.stack([path[begin + i] for i in range(10)])
        return torch.mean(torch.abs(torch.stack(made) - truth))

    return step_of(torch.optim.RMSprop(net.parameters(), lr=1e-3), loss)


def style(torch: Any) -> Step:
    """An image changed until its features' products match another's, clamped at each step."""
    torch.manual_seed(0)
    nn, F = torch.nn, torch.nn.functional
    conv1, conv2 = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 8, 3, padding=1)
    for p in (*conv1.parameters(), *conv2.parameters()):
        p.requires_grad_(False)
    content, look = torch.rand(1, 3, 16, 16), torch.rand(1, 3, 16, 16)
    image = content.clone().requires_grad_(True)

    def features(x: Any) -> tuple[Any, Any]:
        h = F.relu(conv1(x))
        return h, F.relu(conv2(h))

    def gram(h: Any) -> Any:
        a, b, c, d = h.size()
        flat = h.view(a * b, c * d)
        return torch.mm(flat, flat.t()).div(a * b * c * d)

    kept = features(content)[1].detach()
    grams = [gram(h).detach() for h in features(look)]
    descent = torch.optim.Adam([image], lr=0.01)

    def step() -> float:
        with torch.no_grad():
            image.clamp_(0, 1)
        descent.zero_grad()
        made = features(image)
        loss = F.mse_loss(made[1], kept) + 1e4 * sum(F.mse_loss(gram(h), g) for h, g in zip(made, grams, strict=True))
        loss.backward()
        descent.step()
        return loss.item()

    return step


def graph_network(torch: Any) -> Step:
    """Two rounds of messages over edges, summed by index_add_, with dropout."""
    torch.manual_seed(0)
    nn, F = torch.nn, torch.nn.functional
    x, source, target = torch.randn(40, 8), torch.randint(0, 40, (120,)), torch.randint(0, 40, (120,))
    y, train = torch.randint(0, 3, (40,)), torch.rand(40) < 0.6
    first, second = nn.Linear(8, 16), nn.Linear(16, 3)
    degree = torch.zeros(40).index_add_(0, target, torch.ones(120)).clamp(min=1).unsqueeze(1)

    def spread(h: Any) -> Any:
        return torch.zeros(40, h.size(1)).index_add_(0, target, h[source]) / degree

    def loss() -> Any:
        h = F.dropout(F.relu(spread(first(x))), 0.5)
        out = F.log_softmax(spread(second(h)), dim=1)
        return F.nll_loss(out[train], y[train])

    descent = torch.optim.Adam([*first.parameters(), *second.parameters()], lr=0.01, weight_decay=5e-4)
    return step_of(descent, loss)


def factorization(torch: Any) -> Step:
    torch.manual_seed(0)
    nn = torch.nn
    users, items = nn.Embedding(50, 8), nn.Embedding(60, 8)
    user_bias, item_bias = nn.Embedding(50, 1), nn.Embedding(60, 1)
    u, i, r = torch.randint(0, 50, (1000,)), torch.randint(0, 60, (1000,)), torch.rand(1000) * 5
    params = [p for m in (users, items, user_bias, item_bias) for p in m.parameters()]

    def loss() -> Any:
        k = torch.randperm(1000)[:64]
        made = (users(u[k]) * items(i[k])).sum(1) + user_bias(u[k]).squeeze() + item_bias(i[k]).squeeze()
        return nn.functional.mse_loss(made, r[k])

    return step_of(torch.optim.Adam(params, lr=1e-2, weight_decay=1e-5), loss)


def quasi_newton(torch: Any) -> Step:
    """A step of L-BFGS with its closure, on the fit of a small network."""
    torch.manual_seed(0)
    nn = torch.nn
    x = torch.linspace(-1, 1, 50).unsqueeze(1)
    y = torch.sin(4 * x) + 0.1 * torch.randn(50, 1)
    net = nn.Sequential(nn.Linear(1, 12), nn.Tanh(), nn.Linear(12, 1))
    descent = torch.optim.LBFGS(net.parameters(), lr=0.1, max_iter=4, history_size=5)

    def closure() -> Any:
        descent.zero_grad()
        loss = ((net(x) - y) ** 2).mean()
        loss.backward()
        return loss

    return lambda: descent.step(closure).item()


def meta_learning(torch: Any) -> Step:
    """MAML on sines: one inner step for each of 4 tasks, differentiated through."""
    torch.manual_seed(0)
    F, rng = torch.nn.functional, np.random.default_rng(0)
    shapes = [(20, 1), (20,), (1, 20), (1,)]
    params = [torch.nn.Parameter(torch.randn(*shape) * 0.3) for shape in shapes]
    descent = torch.optim.Adam(params, lr=1e-3)

    def net(x: Any, p: Any) -> Any:
        return F.linear(torch.relu(F.linear(x, p[0], p[1])), p[2], p[3])

    def task() -> Any:
        size, phase = rng.uniform(0.1, 5.0), rng.uniform(0, np.pi)
        x = torch.from_numpy(rng.uniform(-5, 5, (20, 1)).astype(np.float32))
        return x, size * torch.sin(x + phase)

    def loss() -> Any:
        total = torch.tensor(0.0)
        for _ in range(4):
            x, y = task()
            grads = torch.autograd.grad(F.mse_loss(net(x[:10], params), y[:10]), params, create_graph=True)
            quick = [p - 0.01 * g for p, g in zip(params, grads, strict=True)]
            total = total + F.mse_loss(net(x[10:], quick), y[10:])
        return total / 4

    return step_of(descent, loss)


TUTORIALS = {
    "linear regression by hand": first.linear_regression,
    "logistic regression, BCELoss": first.logistic_regression,
    "MLP with DataLoader and accuracy": first.loaded_mlp,
    "convolutional network": first.convolutions,
    "LSTM character model": first.characters,
    "GRU sequence to sequence with attention": first.translation,
    "small GPT": first.small_gpt,
    "variational autoencoder": first.autoencoder,
    "GAN": first.adversaries,
    "PINN, heat equation": heat_pinn,
    "normalizing flow": flow,
    "REINFORCE, an episode": reinforce,
    "DQN with memory": deep_q,
    "actor critic, an episode": actor_critic,
    "neural ODE, rk4": neural_ode,
    "style transfer": style,
    "graph network, index_add_": graph_network,
    "matrix factorization": factorization,
    "L-BFGS fit": quasi_newton,
    "MAML": meta_learning,
}
