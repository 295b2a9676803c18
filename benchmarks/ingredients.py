"""A small training loop with one ordinary ingredient more: INGREDIENTS has for each name what changes in the loop.

An ingredient is a dict of functions of a `Loop`, each in place of a part of the plain step, and `step(torch, name)`
gives a function that runs the next step and returns its loss, which is read at every tenth step only:

    setup   once, after the model and its optimiser have been made
    loss    of the step, in place of the mean square of model(x) - y
    seen    what is done between the loss and backward
    then    what is done between backward and the optimiser's step
    end     what is done after the optimiser's step
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from programs import normal, start

ROWS, WIDTH, HIDDEN = 32, 16, 32
READ = 10
"""A step's loss is read at every so many steps."""

DRAWN = ("dropout", "a dropout rate that changes", "noise of a size that changes", "torch.randperm")
"""What draws random numbers of the library's own, so that the losses are others."""


class Loop:
    """Its model, data, step number `k` and random numbers, the loss `now`, and what a part has `kept`."""

    def __init__(self, torch: Any) -> None:
        nn = torch.nn
        self.torch, self.nn, self.F, self.k = torch, nn, nn.functional, 0
        self.rng = np.random.default_rng(5)
        self.first, self.second = nn.Linear(WIDTH, HIDDEN), nn.Linear(HIDDEN, 1)
        self.model = start(torch, nn.Sequential(self.first, nn.Tanh(), self.second), 0)
        self.x, self.y = normal(torch, ROWS, WIDTH), normal(torch, ROWS, 1)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01)
        self.kept: Any = None
        self.now: Any = None

    def hidden(self) -> Any:
        return self.torch.tanh(self.first(self.x))

    def error(self) -> Any:
        return ((self.model(self.x) - self.y) ** 2).mean()

    def of(self, hidden: Any) -> Any:
        """The loss of another hidden layer."""
        return ((self.second(hidden) - self.y) ** 2).mean()

    def whole(self, low: int, high: int) -> int:
        return int(self.rng.integers(low, high))


Part = Callable[[Loop], Any]


def step(torch: Any, name: str) -> Callable[[], float]:
    """The next step of the loop with that ingredient."""
    loop, parts = Loop(torch), INGREDIENTS[name]
    nothing: Part = lambda w: None  # noqa: E731
    loss_of: Part = parts.get("loss", Loop.error)
    seen, then, end = (parts.get(part, nothing) for part in ("seen", "then", "end"))
    parts.get("setup", nothing)(loop)
    last = 0.0

    def run() -> float:
        nonlocal last
        loop.k += 1
        loop.optimizer.zero_grad()
        loop.now = loss_of(loop)
        seen(loop)
        loop.now.backward()
        then(loop)
        loop.optimizer.step()
        end(loop)
        if loop.k % READ == 0:
            last = loop.now.item() if name not in DRAWN else 0.0
        return last

    return run


# ---- parts that are more than an expression


def _doubled(w: Loop) -> None:
    class Twice(w.torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            (x,) = ctx.saved_tensors
            return 2 * x * grad

    w.kept = Twice


def _counted_cell_by_cell(w: Loop) -> None:
    table = w.torch.zeros(4, 4)
    for k in range(8):
        table[w.whole(0, 4), k % 4] += 1


def _clip_by_hand(w: Loop) -> None:
    norm = sum((p.grad**2).sum() for p in w.model.parameters()) ** 0.5
    for p in w.model.parameters():
        p.grad.mul_(1.0 / (1.0 + norm))


def _average(w: Loop) -> None:
    with w.torch.no_grad():
        for mean, p in zip(w.kept, w.model.parameters(), strict=True):
            mean.mul_(0.99).add_(p, alpha=0.01)


def _noise(w: Loop) -> None:
    for p in w.model.parameters():
        p.grad.add_(w.torch.from_numpy(w.rng.normal(size=tuple(p.shape)).astype(np.float32)), alpha=1e-4)


def _set_rate(w: Loop, rate: Any) -> None:
    for group in w.optimizer.param_groups:
        group["lr"] = rate


def _by_columns(w: Loop) -> Any:
    made = w.torch.zeros(ROWS, HIDDEN)
    h = w.hidden()
    for k in range(0, HIDDEN, 8):
        made[:, k : k + 8] = h[:, k : k + 8] * (1 + k / HIDDEN)
    return w.of(made)


def _written(w: Loop) -> Any:
    h = w.hidden() * 1.0
    h[:, 0] = 0.5
    return w.of(h)


def _into_grown(w: Loop, p: Any) -> None:
    p.data.add_(p.grad, alpha=-0.001)


def _lookahead(w: Loop) -> None:
    if w.k % 5 == 0:
        with w.torch.no_grad():
            for slow, p in zip(w.kept, w.model.parameters(), strict=True):
                slow.add_(p - slow, alpha=0.5)
                p.copy_(slow)


def _grow_list(w: Loop) -> None:
    w.kept.append(w.now.detach())
    if len(w.kept) == 50:
        w.kept = [w.torch.stack(w.kept).mean()]


def _penalty(w: Loop) -> Any:
    x = w.x.clone().requires_grad_()
    made = w.model(x)
    (slope,) = w.torch.autograd.grad(made.sum(), x, create_graph=True)
    return ((made - w.y) ** 2).mean() + 0.1 * (slope**2).mean()


def _adversarial(w: Loop) -> Any:
    x = w.x.clone().requires_grad_()
    (slope,) = w.torch.autograd.grad(((w.model(x) - w.y) ** 2).mean(), x)
    return ((w.model(x.detach() + 0.01 * slope.sign()) - w.y) ** 2).mean()


def _early(w: Loop) -> Any:
    h = w.x
    for layer in w.kept:
        h = w.torch.tanh(layer(h))
        if h.abs().max() < 0.01:
            break
    return w.of(h)


def _layers(w: Loop) -> None:
    w.kept = [w.nn.Linear(WIDTH, HIDDEN), w.nn.Linear(HIDDEN, HIDDEN), w.nn.Linear(HIDDEN, HIDDEN)]
    for k, layer in enumerate(w.kept):
        start(w.torch, layer, k)
        w.optimizer.add_param_group({"params": list(layer.parameters())})


def _depth(w: Loop) -> Any:
    h = w.torch.tanh(w.kept[0](w.x))
    for _ in range(w.whole(1, 5)):
        h = w.torch.tanh(w.kept[1](h))
    return w.of(h)


def _part(w: Loop, rows: Any) -> Any:
    return ((w.model(w.x[rows]) - w.y[rows]) ** 2).mean()


def _tree(w: Loop, depth: int = 0) -> Any:
    """A random binary tree over rows."""
    if depth == 4 or (depth > 1 and w.rng.random() < 0.4):
        return w.first(w.x[w.whole(0, ROWS)])
    return w.torch.tanh(w.kept[1](w.torch.tanh(_tree(w, depth + 1) + _tree(w, depth + 1))))


def _groups(w: Loop) -> None:
    groups = [{"params": p, "lr": 0.01 * 0.9**k} for k, p in enumerate(w.model.parameters())]
    w.optimizer = w.torch.optim.SGD(groups, lr=0.01)


def _scheduler(name: str, **options: Any) -> dict[str, Part]:
    def setup(w: Loop) -> None:
        w.kept = getattr(w.torch.optim.lr_scheduler, name)(w.optimizer, **options)

    return {"setup": setup, "end": lambda w: w.kept.step()}


def _optimizer(name: str, **options: Any) -> dict[str, Part]:
    def setup(w: Loop) -> None:
        w.optimizer = getattr(w.torch.optim, name)(w.model.parameters(), **options)

    return {"setup": setup}


def _copies(w: Loop) -> None:
    w.kept = [p.detach().clone() for p in w.model.parameters()]


def _data(w: Loop) -> Any:
    return w.torch.from_numpy(w.rng.normal(size=(ROWS, WIDTH)).astype(np.float32))


def _watched(w: Loop) -> None:
    w.second.register_forward_hook(lambda module, given, made: made * 1.5)


def _counted(w: Loop) -> None:
    w.kept = 0

    def count(module: Any, given: Any, made: Any) -> None:
        w.kept += 1

    w.second.register_forward_hook(count)


def _masked_fill(w: Loop) -> Any:
    h = w.hidden()
    return w.of(h.masked_fill(h < 0, 0.0))


def _boolean(w: Loop) -> Any:
    error = (w.model(w.x) - w.y).abs()
    return error[error > 0.1].mean()


def _set_where(w: Loop) -> Any:
    h = w.hidden() * 1.0
    h[h < 0] = 0
    return w.of(h)


def _shifted(w: Loop) -> Any:
    h = w.hidden()
    made = h.clone()
    made[:, 1:] = h[:, :-1] * 0.5
    return w.of(made)


def _rows_written(w: Loop) -> Any:
    made = w.torch.zeros(ROWS, 1)
    for k in range(4):
        made[k] = w.model(w.x[k])
    return ((made - w.y) ** 2).mean()


def _scattered(w: Loop) -> Any:
    index = (w.torch.arange(HIDDEN) * 5 % HIDDEN).expand(ROWS, HIDDEN)
    return w.of(w.torch.zeros(ROWS, HIDDEN).scatter_(1, index, w.hidden()))


def _indexed(w: Loop) -> Any:
    return w.of(w.torch.zeros(ROWS, HIDDEN).index_put_((w.torch.arange(ROWS),), w.hidden()))


def _above(w: Loop) -> Any:
    errors = ((w.model(w.x) - w.y) ** 2).squeeze(1)
    return errors[errors > errors.median()].mean()


def _nonzero(w: Loop) -> Any:
    errors = ((w.model(w.x) - w.y) ** 2).squeeze(1)
    return errors[(w.y[:, 0] > 0).nonzero().squeeze(1)].mean()


def _scaled(w: Loop) -> Any:
    error = w.error()
    w.kept = 0.9 * (w.kept or error.item()) + 0.1 * error.item()
    return error / (1 + w.kept)


def _micro(w: Loop) -> None:
    for k in range(0, ROWS, 8):
        (_part(w, slice(k, k + 8)) / 4).backward()


def _by_hand(w: Loop) -> None:
    for p in w.model.parameters():
        p.data -= 0.001 * p.grad.data


def _slowly(w: Loop) -> None:
    for mean, p in zip(w.kept, w.model.parameters(), strict=True):
        mean.data.mul_(0.99).add_(0.01 * p.data)


def _clip_if_large(w: Loop) -> None:
    norm = w.torch.sqrt(sum((p.grad**2).sum() for p in w.model.parameters()))
    if norm > 0.1:
        for p in w.model.parameters():
            p.grad.mul_(0.1 / norm)


def _evaluated(w: Loop) -> None:
    if w.k % 10 == 0:
        w.model.eval()
        with w.torch.no_grad():
            w.kept = w.error().item()
        w.model.train()


def _stored(w: Loop) -> None:
    w.second.register_forward_hook(lambda module, given, made: setattr(w, "kept", made))


def _pulled(w: Loop) -> Any:
    h = w.hidden()
    h.register_hook(lambda g: g * 0.5)
    return w.of(h)


INGREDIENTS: dict[str, dict[str, Part]] = {
    "nothing more": {},
    # what is looked at
    "loss.item() before backward": {"seen": lambda w: w.now.item()},
    "loss.item() at the end": {"end": lambda w: w.now.item()},
    "if loss > 100": {"seen": lambda w: w.now > 100 and print("large")},
    "if isnan(loss)": {"seen": lambda w: w.torch.isnan(w.now) and print("nan")},
    "if not isfinite(gradient).all()": {
        "then": lambda w: w.torch.isfinite(w.first.weight.grad).all() or print("no number")
    },
    "the gradient's norm, read": {"then": lambda w: w.first.weight.grad.norm().item()},
    "a list of losses": {"setup": lambda w: setattr(w, "kept", []), "end": _grow_list},
    "float(accuracy)": {"end": lambda w: float((w.model(w.x).sign() == w.y.sign()).float().mean())},
    "prediction as NumPy": {"end": lambda w: w.model(w.x).detach().numpy().mean()},
    "repr of the loss": {"end": lambda w: f"{w.now:.3f}"},
    "state_dict": {"end": lambda w: w.model.state_dict()},
    # numbers that change
    "divided by np.sqrt(8)": {"loss": lambda w: w.of(w.hidden() / np.sqrt(8))},
    "a rate from np.cos": {"end": lambda w: _set_rate(w, 0.01 * (1 + np.cos(w.k / 100)))},
    "a rate from math": {"end": lambda w: _set_rate(w, 0.01 * 0.999**w.k)},
    "a weight that changes": {"loss": lambda w: w.error() * (1.0 + 1.0 / w.k)},
    "a power that changes": {"loss": lambda w: (w.model(w.x) - w.y).abs().pow(1.5 + 0.5 / w.k).mean()},
    "label smoothing that changes": {
        "loss": lambda w: w.F.cross_entropy(w.hidden(), w.y[:, 0].long().abs(), label_smoothing=0.1 / w.k)},
    "an epsilon that changes": {"loss": lambda w: w.of(w.F.layer_norm(w.hidden(), (HIDDEN,), eps=1e-5 * w.k))},
    "a slope that changes": {"loss": lambda w: w.of(w.F.leaky_relu(w.hidden(), 0.1 / w.k))},
    "clamp that changes": {"loss": lambda w: w.of(w.hidden().clamp(-1.0 / w.k - 0.5, 0.9))},
    "Huber's delta that changes": {"loss": lambda w: w.F.huber_loss(w.model(w.x), w.y, delta=1.0 + 1.0 / w.k)},
    "dropout": {"loss": lambda w: w.of(w.F.dropout(w.hidden(), 0.2))},
    "a dropout rate that changes": {"loss": lambda w: w.of(w.F.dropout(w.hidden(), 0.5 / (1 + w.k % 97)))},
    "a temperature": {"loss": lambda w: w.of(w.torch.softmax(w.hidden() / (1 + 0.9**w.k), -1))},
    "a NumPy float as factor": {"loss": lambda w: w.error() * np.float32(1.0 / w.k)},
    "noise of a size that changes": {"loss": lambda w: w.of(w.hidden() + 0.1 / w.k * w.torch.randn(ROWS, HIDDEN))},
    # hooks and functions
    "an activation hook": {"setup": _counted},
    "a hook that changes the result": {"setup": _watched},
    "a hook on a gradient": {"setup": lambda w: w.first.weight.register_hook(lambda g: g * 0.5)},
    "a hook on a result": {"loss": _pulled},
    "a hook that keeps a result": {"setup": _stored, "loss": lambda w: w.error() + 0.01 * (w.kept**2).mean()},
    "retain_grad": {"loss": lambda w: w.of((h := w.hidden(), h.retain_grad())[0])},
    "an autograd.Function": {"setup": _doubled, "loss": lambda w: w.of(w.kept.apply(w.hidden()))},
    "detach": {"loss": lambda w: w.of(w.hidden()) + (w.hidden().detach() * w.hidden()).mean()},
    "no_grad in the middle": {"end": lambda w: w.torch.no_grad()(w.model)(w.x)},
    "eval and train": {"end": lambda w: (w.model.eval(), w.model(w.x), w.model.train())},
    "checkpoint": {"loss": lambda w: w.of(w.torch.utils.checkpoint.checkpoint(w.hidden, use_reentrant=False))},
    "func.grad": {"end": lambda w: w.torch.func.grad(lambda x: w.model(x).sum())(w.x)},
    # writing
    "a column written": {"loss": _written},
    "columns written": {"loss": _by_columns},
    "a number where a mask holds": {"loss": _set_where},
    "a part written from another": {"loss": _shifted},
    "rows written": {"loss": _rows_written},
    "scatter_": {"loss": _scattered},
    "index_put_": {"loss": _indexed},
    "p.data -= ": {"then": _by_hand},
    "an average through data": {"setup": _copies, "end": _slowly},
    "relu_": {"loss": lambda w: w.of(w.first(w.x).relu_())},
    "p.data.add_": {"then": lambda w: [_into_grown(w, p) for p in w.model.parameters()]},
    "weights clamped": {"end": lambda w: [p.data.clamp_(-2, 2) for p in w.model.parameters()]},
    "gradients clipped by hand": {"then": _clip_by_hand},
    "gradients clipped if large": {"then": _clip_if_large},
    "clip_grad_norm_": {"then": lambda w: w.nn.utils.clip_grad_norm_(w.model.parameters(), 1.0)},
    "clip_grad_value_": {"then": lambda w: w.nn.utils.clip_grad_value_(w.model.parameters(), 0.5)},
    "noise on gradients": {"then": _noise},
    "an average of weights": {"setup": _copies, "end": _average},
    "Lookahead": {"setup": _copies, "end": _lookahead},
    "a row of a table": {
        "setup": lambda w: setattr(w, "kept", w.torch.zeros(ROWS)),
        "end": lambda w: w.kept.__setitem__(w.k % ROWS, w.now.detach()),
    },
    # what is read of the state after a step
    "sums of gradients read": {"then": lambda w: [p.grad.sum().item() for p in w.model.parameters()]},
    "norms of gradients read": {"then": lambda w: [p.grad.norm().item() for p in w.model.parameters()]},
    "gradients that must be finite": {
        "then": lambda w: all(bool(w.torch.isfinite(p.grad).all()) for p in w.model.parameters()),
    },
    "the largest weights read": {"end": lambda w: [p.abs().max().item() for p in w.model.parameters()]},
    "weights as NumPy arrays": {"end": lambda w: [p.detach().numpy().mean() for p in w.model.parameters()]},
    "one vector of all weights": {"end": lambda w: w.nn.utils.parameters_to_vector(w.model.parameters()).norm().item()},
    "a list of a bias": {"end": lambda w: w.second.bias.tolist()},
    "a table counted cell by cell": {"end": _counted_cell_by_cell},
    # derivatives and several backwards
    "a gradient penalty": {"loss": _penalty},
    "an adversarial example": {"loss": _adversarial},
    "two losses, two backwards": {"seen": lambda w: (w.model(w.x) ** 2).mean().backward()},
    "micro-batches": {"seen": _micro},
    "evaluated at each tenth step": {"end": _evaluated},
    "a loss over its mean": {"loss": _scaled},
    "retain_graph": {"seen": lambda w: w.now.backward(retain_graph=True)},
    "weight decay by hand": {"loss": lambda w: w.error() + 1e-4 * sum((p**2).sum() for p in w.model.parameters())},
    # data
    "new data from NumPy": {"loss": lambda w: ((w.model(_data(w)) - w.y) ** 2).mean()},
    "a tensor of a list": {"loss": lambda w: w.error() + w.torch.tensor([0.1, 0.2, w.k / 100]).sum()},
    "rows drawn": {"loss": lambda w: _part(w, w.torch.from_numpy(w.rng.integers(0, ROWS, 16)))},
    "torch.randperm": {"loss": lambda w: _part(w, w.torch.randperm(ROWS)[:16])},
    "a slice that moves": {"loss": lambda w: _part(w, slice(w.k % 16, w.k % 16 + 16))},
    "rows of random number": {"loss": lambda w: _part(w, slice(0, w.whole(1, ROWS)))},
    "rows by a mask": {"loss": _boolean},
    "losses above the median": {"loss": _above},
    "nonzero": {"loss": _nonzero},
    "masked_fill": {"loss": _masked_fill},
    "one_hot": {"loss": lambda w: w.of(w.hidden() * w.F.one_hot(w.torch.arange(ROWS) % HIDDEN, HIDDEN))},
    "where": {"loss": lambda w: w.of(w.torch.where(w.x[:, :1] > 0, w.hidden(), -w.hidden()))},
    "cat and split": {"loss": lambda w: w.of(w.torch.cat(w.hidden().split(8, 1)[::-1], 1))},
    "einsum": {"loss": lambda w: w.of(w.torch.einsum("ij,kj->ik", w.x, w.first.weight))},
    "topk": {"loss": lambda w: w.error() + w.hidden().topk(3, 1).values.mean()},
    "sort and cumsum": {"loss": lambda w: w.of(w.hidden().sort(1).values.cumsum(1) / HIDDEN)},
    # structure
    "a loop until it is small": {"setup": _layers, "loss": _early},
    "a random depth": {"setup": _layers, "loss": _depth},
    "a random tree": {"setup": _layers, "loss": lambda w: (_tree(w) ** 2).mean()},
    "groups of parameters": {"setup": _groups},
    "Adam": _optimizer("Adam", lr=1e-3),
    "AdamW": _optimizer("AdamW", lr=1e-3),
    "RMSprop": _optimizer("RMSprop", lr=1e-3),
    "cosine annealing": _scheduler("CosineAnnealingLR", T_max=1000),
    "warm restarts": _scheduler("CosineAnnealingWarmRestarts", T_0=50),
    "an OneCycleLR": _scheduler("OneCycleLR", max_lr=0.02, total_steps=10**6),
    "in float64": {"setup": lambda w: (w.model.double(), setattr(w, "x", w.x.double()), setattr(w, "y", w.y.double()))},
    "sqrt of math": {"loss": lambda w: w.of(w.hidden() * math.sqrt(1.0 / HIDDEN))},
}
