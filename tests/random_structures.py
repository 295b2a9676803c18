"""Random programs whose structure is another one at each step: trees over a few parameters, as a parser makes them.

A program is told by its seed; it runs on whatever module is given, and tells all that can be seen of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

NUMBERS = (2, 0.5, -0.0, 0, -3, 1e-3, True, 7.25)
"""Numbers that programs multiply by: of three classes, and zeros of both signs."""

ROWS, WIDTH = 3, 4


class Structures:
    """A program over parameters `w`, `v`, a table of rows, and a layer; each step makes another tree of them."""

    def __init__(self, torch: Any, seed: int, optimiser: str = "sgd", integers: bool = True) -> None:
        self.torch, self.rng, self.integers = torch, np.random.default_rng(seed), integers
        torch.manual_seed(seed)
        self.w = self.leaf(WIDTH, WIDTH)
        self.v = self.leaf(WIDTH)
        self.table = self.leaf(6, WIDTH)
        self.bias = self.leaf(WIDTH)
        self.leaves = [self.w, self.v, self.table, self.bias]
        make = {
            "sgd": lambda: torch.optim.SGD(self.leaves, lr=0.01),
            "momentum": lambda: torch.optim.SGD(self.leaves, lr=0.01, momentum=0.9, weight_decay=0.01),
            "adam": lambda: torch.optim.Adam(self.leaves, lr=0.01),
        }[optimiser]
        self.optimiser = make()
        self.seen: list[Any] = []
        self.late = self.made = 0

    def leaf(self, *sizes: int) -> Any:
        return self.torch.tensor((self.rng.integers(-8, 8, sizes) / 8).tolist(), requires_grad=True)

    # ---- trees: every node is a matrix of ROWS rows

    def tree(self, depth: int) -> Any:
        made = self.branch(depth)
        self.made += 1
        self.late += bool(getattr(made, "_is_late", False))
        if self.rng.integers(12) == 0:
            self.look(made)
        return made

    def branch(self, depth: int) -> Any:
        if depth == 0:
            return self.end()
        x = self.tree(depth - 1)
        names = [name for name in dir(self) if name.startswith("do_")]
        name = names[self.rng.integers(len(names))]
        return getattr(self, name)(x, depth)

    def end(self) -> Any:
        torch, w, table = self.torch, self.w, self.table
        k = int(self.rng.integers(10))
        rows = [int(n) for n in self.rng.integers(0, 6, ROWS)]
        return (
            lambda: table[:3],
            lambda: table[torch.tensor(rows)],
            lambda: torch.nn.functional.embedding(torch.tensor(rows), table),
            lambda: w[1:],
            lambda: w.t()[:3],
            lambda: table[::2],
            lambda: torch.stack([table[n] for n in rows]),
            lambda: torch.stack([self.v, self.bias, self.v]),
            lambda: w[:3] @ w,
            lambda: table[rows[0]].expand(ROWS, WIDTH),
        )[k]()

    def do_add(self, x: Any, depth: int) -> Any:
        return x + self.tree(depth - 1)

    def do_twice(self, x: Any, depth: int) -> Any:
        return (x * x, x * x.detach(), x * x.clone(), x - x)[self.rng.integers(4)]

    def do_number(self, x: Any, depth: int) -> Any:
        n = NUMBERS[self.rng.integers(len(NUMBERS))]
        m = int(n) if type(n) is bool else n  # masks are subtracted from nothing, and are no factors
        return (x * n, m - x, x + n, x.add(self.bias, alpha=m))[self.rng.integers(4)]

    def do_large(self, x: Any, depth: int) -> Any:
        return x * (1e39, 2**40, 10**30, 1e-50)[self.rng.integers(4)] * 0.0 if self.rng.integers(2) else x / 3

    def do_matmul(self, x: Any, depth: int) -> Any:
        return (x @ self.w, x @ self.w.t(), torch_linear(self.torch, x, self.w, self.bias))[self.rng.integers(3)]

    def do_cat(self, x: Any, depth: int) -> Any:
        y = self.tree(depth - 1)
        return self.torch.cat([x, y], dim=int(self.rng.integers(2)))[:ROWS, :WIDTH]

    def do_stack(self, x: Any, depth: int) -> Any:
        y = self.tree(depth - 1)
        return self.torch.stack((x, y, x)[: int(self.rng.integers(1, 4))], dim=0).sum(dim=0)

    def do_split(self, x: Any, depth: int) -> Any:
        a, b = x.split(2, dim=1)
        return self.torch.cat([b, a], 1)

    def do_chunks(self, x: Any, depth: int) -> Any:
        a, b = x.chunk(2, -1)
        return self.torch.cat([a.sigmoid(), b.tanh()], dim=-1)

    def do_topk(self, x: Any, depth: int) -> Any:
        values, places = x.topk(WIDTH, dim=1)
        return values if self.rng.integers(2) else values * (places + 1)

    def do_max(self, x: Any, depth: int) -> Any:
        found = x.max(dim=1, keepdim=True)
        return x - (found.values if self.rng.integers(2) else found[0])

    def do_views(self, x: Any, depth: int) -> Any:
        return (
            lambda: x.t().contiguous().t(), lambda: x.reshape(WIDTH, ROWS).t(), lambda: x.flatten().view(ROWS, WIDTH),
            lambda: x.unsqueeze(0)[0], lambda: x.flip(0)[:, [0, 2, 1, 3]], lambda: x.t()[::1].t() * 1,
        )[self.rng.integers(6)]()  # fmt: skip

    def do_softmax(self, x: Any, depth: int) -> Any:
        return (x.softmax(dim=1), x.softmax(-1), self.torch.log_softmax(x, dim=int(self.rng.integers(2))))[
            self.rng.integers(3)
        ]

    def do_quiet(self, x: Any, depth: int) -> Any:
        with self.torch.no_grad():
            y = (x * 2, x.detach(), x + self.v, x.t().t())[self.rng.integers(4)]
        return x + y

    def do_in_place(self, x: Any, depth: int) -> Any:
        y = x * 1.5
        (y.add_, y.mul_, y.copy_)[self.rng.integers(3)](self.v)
        if self.rng.integers(2):
            y[0] = 0.0
        return y

    def do_norm(self, x: Any, depth: int) -> Any:
        f = self.torch.nn.functional
        return f.layer_norm(x, (WIDTH,), weight=self.v, bias=self.bias) if self.rng.integers(2) else x.tanh()

    def do_drop(self, x: Any, depth: int) -> Any:
        f = self.torch.nn.functional
        return f.dropout(x, 0.5, training=bool(self.rng.integers(2)))

    def do_where(self, x: Any, depth: int) -> Any:
        y = self.tree(depth - 1)
        return self.torch.where(x > y, x, y)

    def do_half(self, x: Any, depth: int) -> Any:
        return x.double().mul(self.v.double()).float() if self.rng.integers(2) else x.pow(2)

    # ---- what is seen

    def look(self, x: Any) -> None:
        k = int(self.rng.integers(8))
        self.seen.append(
            (
                lambda: type(x.grad_fn).__name__, lambda: x._version, lambda: x.is_leaf, lambda: x.requires_grad,
                lambda: x.tolist(), lambda: x.is_contiguous(), lambda: tuple(x.shape), lambda: x.sum().item(),
            )[k]()
        )  # fmt: skip

    def loss(self, x: Any) -> Any:
        f, k = self.torch.nn.functional, int(self.rng.integers(4))
        labels = self.torch.tensor([int(n) for n in self.rng.integers(0, WIDTH, ROWS)])
        if k == 0:
            return f.cross_entropy(x, labels)
        if k == 1:
            return f.mse_loss(x, self.torch.zeros(ROWS, WIDTH))
        return x.sum() if k == 2 else f.nll_loss(self.torch.log_softmax(x, 1), labels)

    def step(self) -> None:
        """One step; what it leaves is noted."""
        x = self.tree(int(self.rng.integers(1, 5)))
        loss, k = self.loss(x), int(self.rng.integers(8))
        if not loss.requires_grad:
            self.seen.append(("no history", loss.tolist()))
            return
        if k == 0:
            self.seen.append([None if g is None else g.tolist() for g in self.torch.autograd.grad(
                loss, self.leaves, retain_graph=True, allow_unused=True)])
        loss.backward(retain_graph=k < 3)
        if k == 1:
            loss.backward()
        elif k == 2:
            (loss * 2 + self.tree(1).sum()).backward()
        if k != 4:  # else gradients go on over several traces
            self.optimiser.step()
            self.optimiser.zero_grad(set_to_none=k != 5)
        self.seen.append((loss.tolist(), x.detach().tolist(), type(x.grad_fn).__name__, x._version))
        self.seen.append([(None if p.grad is None else p.grad.tolist(), p._version, p.is_leaf) for p in self.leaves])

    def end_values(self) -> Any:
        return [p.tolist() for p in self.leaves]


def torch_linear(torch: Any, x: Any, w: Any, bias: Any) -> Any:
    """A linear layer, whose bias is given by name."""
    return torch.nn.functional.linear(x, w, bias=bias)
