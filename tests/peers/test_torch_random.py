"""Random programs of views, writes and arithmetic: every tensor and gradient must be torch's."""

import warnings
from typing import Any

import numpy as np
import pytest
import torch

import pullback


class Program:
    """The same random choices for either module: one tensor after another is made or written."""

    def __init__(self, module: Any, seed: int) -> None:
        self.torch, self.rng = module, np.random.default_rng(seed)
        values = self.rng.integers(-8, 8, (3, 2, 4)) / 4.0
        self.leaves = [module.tensor(v.tolist(), requires_grad=True) for v in values]
        self.pool = [leaf * 1.0 for leaf in self.leaves]
        self.pool.append(module.tensor((self.rng.integers(-8, 8, (2, 4)) / 4.0).tolist()))
        self.arrays: list[np.ndarray] = []
        self.log: list[str] = []
        self.view_of_late_history = False

    def pick(self) -> Any:
        return self.pool[self.rng.integers(len(self.pool))]

    def step(self) -> str:
        """One choice; the kind of error, if it is not allowed."""
        names = [n for n in dir(self) if n.startswith("do_")]
        name = names[self.rng.integers(len(names))]
        numbers = self.rng.integers(0, 1000, 6)
        x, y = self.pick(), self.pick()
        self.view_of_late_history = getattr(x, "_base", None) is not None and x.requires_grad
        self.log.append(f"{name} {x.shape} {y.shape} {numbers}")
        try:
            made = getattr(self, name)(x, y, numbers)
        except (RuntimeError, IndexError) as error:
            return type(error).__name__
        if made is not None and made.numel():
            self.pool.append(made)
        return ""

    # ---- what can happen

    def do_arithmetic(self, x: Any, y: Any, n: Any) -> Any:
        return [x + 1, x * 0.5, 1 - x, x - x.detach(), x * x][n[0] % 5]

    def do_pair(self, x: Any, y: Any, n: Any) -> Any:
        if x.shape != y.shape:
            return x + y.sum()
        return [x + y, x * y, x - y][n[0] % 3]

    def do_view(self, x: Any, y: Any, n: Any) -> Any:
        if n[0] % 5 == 0:
            return x.reshape(-1)
        if n[0] % 5 == 1:
            return x.t() if x.dim() == 2 else x.unsqueeze(0)
        if n[0] % 5 == 2:
            return x[n[1] % len(x)] if x.dim() > 1 else x[n[1] % len(x) :]
        if n[0] % 5 == 3:
            return x[..., :: n[1] % 2 + 1]
        return x.view(x.shape)

    def do_narrow(self, x: Any, y: Any, n: Any) -> Any:
        return x.narrow(-1, n[0] % x.shape[-1], 1) if n[1] % 2 else x[1:]

    def do_alias(self, x: Any, y: Any, n: Any) -> Any:
        if n[0] % 3 == 2:
            self.log.append("unseen")  # torch counts no write through x.data
            return x.data
        return x.clone() if n[0] % 3 else x.detach()

    def do_write(self, x: Any, y: Any, n: Any) -> None:
        if n[0] % 6 == 0:
            x.add_(1)
        elif n[0] % 6 == 1:
            x.mul_(0.5)
        elif n[0] % 6 == 2:
            x.zero_()
        elif n[0] % 6 == 3:
            x[0] = n[1] / 256.0
        elif n[0] % 6 == 4:
            x.add_(y.sum())
        else:
            x.copy_(y.reshape(-1)[:1].clone())

    def do_quiet_write(self, x: Any, y: Any, n: Any) -> None:
        with self.torch.no_grad():
            x.sub_(0.25) if n[0] % 2 else x.copy_(y.reshape(-1)[0].clone())

    def do_assign(self, x: Any, y: Any, n: Any) -> None:
        if n[0] % 3 == 0 and x.dim() == 2:
            x[:, n[1] % x.shape[1]] = y.reshape(-1)[0].clone()
        elif n[0] % 3 == 1:
            x[[0, -1]] = 0.75
        else:
            x[x > 0] = -0.5

    def do_export(self, x: Any, y: Any, n: Any) -> None:
        self.arrays.append(x.detach().numpy())

    def do_write_array(self, x: Any, y: Any, n: Any) -> None:
        if self.arrays:
            array = self.arrays[n[0] % len(self.arrays)]
            array[...] = array + n[1] % 4

    def do_import(self, x: Any, y: Any, n: Any) -> Any:
        self.arrays.append(np.arange(8, dtype=np.float32).reshape(2, 4) / 4)
        return self.torch.from_numpy(self.arrays[-1])

    def do_forget(self, x: Any, y: Any, n: Any) -> None:
        if len(self.pool) > 4:
            del self.pool[n[0] % len(self.pool)]

    def do_read(self, x: Any, y: Any, n: Any) -> None:
        x.tolist()


def state(p: Program) -> list[Any]:
    return [(tuple(t.shape), t.requires_grad, t.is_leaf, t.tolist()) for t in p.pool]


@pytest.mark.parametrize("seed", range(400))
def test_random_program(seed: int) -> None:
    ours, theirs = Program(pullback, seed), Program(torch, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(25):
            a, b = ours.step(), theirs.step()
            if b and not a and theirs.view_of_late_history:
                return  # torch takes a view for a leaf until somebody has asked for its grad_fn
            assert a == b, f"{ours.log[-1]}: ours {a or 'works'}, torch's {b or 'works'}"
    for k, (a, b) in enumerate(zip(state(ours), state(theirs), strict=True)):
        assert a == b, f"tensor {k}"
    for mine, yours in zip(ours.arrays, theirs.arrays, strict=True):
        assert mine.tolist() == yours.tolist()
    if any("do_write_array" in line or line == "unseen" for line in ours.log):
        return  # torch's backward reads what was written unseen, ours what was read going forward
    losses = [sum((t * t).sum() for t in p.pool) for p in (ours, theirs)]
    assert losses[0].requires_grad == losses[1].requires_grad
    try:
        losses[1].backward()
    except RuntimeError as error:
        assert "inplace operation" in str(error)
        return
    losses[0].backward()
    for mine, yours in zip(ours.leaves, theirs.leaves, strict=True):
        assert (mine.grad is None) == (yours.grad is None)
        if yours.grad is not None:
            np.testing.assert_allclose(mine.grad.numpy(), yours.grad.numpy(), rtol=1e-4, atol=1e-4)
