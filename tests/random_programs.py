"""Random programs of views, writes, layers and training steps, the same for every module with PyTorch's face.

A program keeps a pool of tensors.  At each step a choice, which is a method named `do_...`, takes two of them and
makes a third, writes to one, or looks at one:

    program = RandomProgram(torch, seed=3)
    for _ in range(30):
        program.step()  # "", or the name of the error that was raised
    program.tensors(), program.gradients(), program.observed

The seed decides what happens; `values` decides only which numbers it happens to.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

ERRORS = (RuntimeError, IndexError, TypeError, ValueError)
"""What a choice may raise; NotImplementedError is a RuntimeError, and found by its name."""


class Choices:
    """What every choice reads and changes."""

    def __init__(self, module: Any, seed: int, values: int = 0) -> None:
        self.torch, self.rng = module, np.random.default_rng(seed)
        numbers = np.random.default_rng((seed, values))

        def drawn(shape: tuple[int, ...], scale: float = 4.0) -> Any:
            return (numbers.integers(-8, 8, shape) / scale).tolist()

        self.leaves = [module.tensor(drawn((2, 4)), requires_grad=True) for _ in range(3)]
        self.pool = [*[leaf * 1.0 for leaf in self.leaves], module.tensor(drawn((2, 4)))]
        self.layer = module.nn.Linear(4, 4)
        with module.no_grad():
            self.layer.weight.copy_(module.tensor(drawn((4, 4), 8.0)))
            self.layer.bias.zero_()
        self.trained = [*self.leaves, *self.layer.parameters()]
        self.sgd = module.optim.SGD(self.trained, lr=0.01)
        self.adam = module.optim.Adam([self.leaves[0], self.layer.weight], lr=0.01)
        self.arrays: list[np.ndarray] = []
        self.observed: list[str] = []
        self.log: list[str] = []
        self.unseen = False  # whether anything was written behind the back of the tensors

    def kept(self, made: Any) -> Any:
        """What is kept of a tensor with memory of its own."""
        return made


class Arithmetic(Choices):
    """Choices that make new tensors."""

    def do_arithmetic(self, x: Any, y: Any, n: Any) -> Any:
        return [x + 1, x * 0.5, 1 - x, x - x.detach(), x * x][n[0] % 5]

    def do_pair(self, x: Any, y: Any, n: Any) -> Any:
        if x.shape != y.shape:
            return x + y.sum()
        return [x + y, x * y, x - y][n[0] % 3]

    def do_compare(self, x: Any, y: Any, n: Any) -> Any:
        if x.shape == y.shape:
            return self.torch.where(x > y, x, y * 1.0)
        return self.torch.maximum(x.sum(), y.sum())

    def do_product(self, x: Any, y: Any, n: Any) -> Any:
        fits = x.dim() == 2 and y.dim() == 2 and x.shape[1] == y.shape[1]
        return x @ y.t() if fits else x.sin()

    def do_layer(self, x: Any, y: Any, n: Any) -> Any:
        return self.layer(x) if x.dim() and x.shape[-1] == 4 else x.sigmoid()

    def do_reduce(self, x: Any, y: Any, n: Any) -> Any:
        return [x.softmax(-1), x.sum(-1, keepdim=True), x.mean()][n[0] % 3]

    def do_join(self, x: Any, y: Any, n: Any) -> Any:
        if n[0] % 2:
            return self.torch.stack([x, x.detach()])[0]
        return self.torch.cat([x.reshape(-1), y.reshape(-1)])[:8].reshape(2, -1)


class Views(Choices):
    """Choices that make tensors of the same memory, or may."""

    def do_view(self, x: Any, y: Any, n: Any) -> Any:
        if not x.dim():
            return x.unsqueeze(0)
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

    def do_arrange(self, x: Any, y: Any, n: Any) -> Any:
        if n[0] % 4 == 3:
            return self.kept(x.clone()).t() if x.dim() == 2 else x
        return [x.contiguous, lambda: x.expand_as(x), x.flatten][n[0] % 4]()

    def do_pieces(self, x: Any, y: Any, n: Any) -> Any:
        if not x.dim():
            return None
        if n[0] % 3 == 0:
            return x.chunk(2, -1)[n[1] % 2]
        return x.unbind(0)[0] if n[0] % 3 == 1 else x.split(1, 0)[0]

    def do_alias(self, x: Any, y: Any, n: Any) -> Any:
        if n[0] % 6 == 5:
            self.unseen = True  # no write through x.data is counted
            return x.data
        return x.clone() if n[0] % 2 else x.detach()

    def do_quiet_view(self, x: Any, y: Any, n: Any) -> Any:
        with self.torch.no_grad():
            if n[0] % 4 == 0:
                return x.reshape(-1)
            if n[0] % 4 == 1:
                return x[0] if x.dim() else x.view(1)
            return x.detach() if n[0] % 4 == 2 else x * 2

    def do_leaf_view(self, x: Any, y: Any, n: Any) -> Any:
        leaf = self.leaves[n[0] % 3]
        ways = [
            lambda: leaf[n[1] % 2], leaf.t, lambda: leaf.view(4, 2), lambda: leaf[:, :2],
            lambda: self.layer.weight[n[1] % 4], lambda: leaf.detach()[0],
        ]  # fmt: skip
        return ways[n[2] % 6]()


class Writes(Choices):
    """Choices that write, with and without a history, or through NumPy."""

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
        if self.arrays and n[2] % 3 == 0:
            self.unseen = True
            array = self.arrays[n[0] % len(self.arrays)]
            array[...] = array + n[1] % 4

    def do_drop_array(self, x: Any, y: Any, n: Any) -> None:
        if self.arrays:
            del self.arrays[n[0] % len(self.arrays)]

    def do_import(self, x: Any, y: Any, n: Any) -> Any:
        self.arrays.append(np.arange(8, dtype=np.float32).reshape(2, 4) / 4)
        return self.torch.from_numpy(self.arrays[-1])


class Gradients(Choices):
    """Choices that run backward and train."""

    def do_backward(self, x: Any, y: Any, n: Any) -> None:
        if n[0] % 3 or not x.requires_grad:
            return
        try:
            (x * x).sum().backward(retain_graph=bool(n[1] % 2))
        except RuntimeError:
            for t in self.trained:
                t.grad = None  # how far it came does not matter
            raise

    def do_grad(self, x: Any, y: Any, n: Any) -> Any:
        if not x.requires_grad or n[0] % 2 == 0:
            return None
        options = {"retain_graph": True, "allow_unused": True, "create_graph": bool(n[2] % 2)}
        found = self.torch.autograd.grad((x * x).sum(), [self.leaves[n[1] % 3]], **options)[0]
        return None if self.unseen else found

    def do_train(self, x: Any, y: Any, n: Any) -> None:
        if n[0] % 5 == 0:
            with self.torch.no_grad():
                for leaf in self.leaves:
                    if leaf.grad is not None:
                        leaf.sub_(leaf.grad * 0.001 if n[1] % 2 else leaf.grad, alpha=0.01)
        elif n[0] % 5 == 1:
            self.sgd.step()
        elif n[0] % 5 == 2:
            self.sgd.zero_grad()
        elif n[0] % 5 == 3:
            self.adam.step()


class RandomProgram(Arithmetic, Views, Writes, Gradients):
    """Tensors, and what happens to them at random."""

    def pick(self) -> Any:
        return self.pool[self.rng.integers(len(self.pool))]

    def step(self) -> str:
        """One choice; the kind of error, if it is not allowed."""
        names = [name for name in dir(self) if name.startswith("do_")]
        name = names[self.rng.integers(len(names))]
        numbers = self.rng.integers(0, 1000, 6).tolist()
        x, y = self.pick(), self.pick()
        self.log.append(f"{name} {tuple(x.shape)} {tuple(y.shape)} {numbers}")
        try:
            made = getattr(self, name)(x, y, numbers)
        except ERRORS as error:
            return type(error).__name__
        if made is not None and made.numel():
            self.pool.append(self.kept(made))
        return ""

    def do_forget(self, x: Any, y: Any, n: Any) -> None:
        if len(self.pool) > 4:
            del self.pool[n[0] % len(self.pool)]

    def do_swap(self, x: Any, y: Any, n: Any) -> None:
        i, j = n[0] % len(self.pool), n[1] % len(self.pool)
        self.pool[i], self.pool[j] = self.pool[j], self.pool[i]

    def do_read(self, x: Any, y: Any, n: Any) -> None:
        x.tolist()

    def do_observe(self, x: Any, y: Any, n: Any) -> None:
        """Note something that does not depend on the values."""
        looks: list[Callable[[], object]] = [
            lambda: type(x.grad_fn).__name__,
            lambda: x._version,
            lambda: x.is_contiguous(),
            lambda: x.storage_offset(),
            lambda: x.is_leaf,
            lambda: None if x._base is None else tuple(x._base.shape),
        ]
        self.observed.append(f"{len(self.log)} look {n[0] % 6}: {looks[n[0] % 6]()}")

    # ---- what has become of it

    def tensors(self) -> list[Any]:
        """Of each tensor of the pool and each that is trained: shape, place in the gradient graph, values."""
        both = [*self.pool, *self.trained]
        return [
            (tuple(t.shape), attempt(lambda t=t: (t.requires_grad, t.is_leaf)), attempt(lambda t=t: values_of(t)))
            for t in both
        ]

    def gradients(self) -> list[Any]:
        return [values_of(t.grad) for t in self.trained]

    def loss(self) -> Any:
        """A number that depends on every tensor that can be read."""
        return sum((t * t).sum() for t in self.pool if not isinstance(attempt(t.tolist), str))


def values_of(tensor: Any) -> np.ndarray | None:
    return None if tensor is None else np.array(tensor.tolist())


def attempt(call: Callable[[], Any]) -> Any:
    """What the call returns, or the kind of error that it raises."""
    try:
        return call()
    except RuntimeError as error:
        return type(error).__name__


def same(a: Any, b: Any) -> bool:
    """Whether two results are the same: arrays up to rounding, of which the greatest element is the measure."""
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        finite = np.abs(b[np.isfinite(b)])
        bound = 1e-4 * max(1.0, float(finite.max())) if finite.size else 1e-4
        return a.shape == b.shape and np.allclose(a, b, rtol=1e-3, atol=bound, equal_nan=True)
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and a == b
