"""Calls of Tensors that do not fit."""

from typing import Any

import pullback as torch

ANY: Any = torch
V, M = torch.ones(3), torch.ones(3, 2)


def leaf(*sizes: int) -> Any:
    return torch.ones(*sizes, requires_grad=True)


def twice() -> Any:
    y = (leaf(3) * leaf(3)).sum()
    y.backward()
    y.backward()


def in_place() -> Any:
    x = leaf(3)
    x += 1.0


def overwritten() -> Any:
    x = leaf(3)
    y = x.exp()
    y += 1.0
    y.sum().backward()


CASES = {
    "shapes in a sum": lambda: V + torch.ones(2),
    "shapes in a product": lambda: V @ torch.ones(2),
    "shapes of matrices": lambda: M @ M,
    "a view of another size": lambda: V.view(2, 2),
    "a reshape of another size": lambda: V.reshape(2, 2),
    "two unknown sizes": lambda: V.reshape(-1, -1),
    "an axis beyond": lambda: V.sum(1),
    "an axis that is a text": lambda: ANY.sum(V, "a"),
    "an index beyond": lambda: V[3],
    "an index of floats": lambda: V[torch.ones(2)],
    "too many indices": lambda: V[0, 0],
    "cat of other ranks": lambda: torch.cat([V, M]),
    "cat of nothing": lambda: torch.cat([]),
    "stack of other shapes": lambda: torch.stack([V, torch.ones(2)]),
    "item of many": lambda: V.item(),
    "truth of many": lambda: bool(V),
    "float of many": lambda: float(V),
    "backward of a vector": lambda: leaf(3).exp().backward(),
    "backward without history": lambda: V.sum().backward(),
    "backward twice": twice,
    "a leaf changed in place": in_place,
    "a value overwritten": overwritten,
    "numpy with history": lambda: leaf(3).numpy(),
    "gradients of ints": lambda: torch.ones(3, dtype=torch.int64, requires_grad=True),
    "requires_grad of ints": lambda: torch.ones(3, dtype=torch.int64).requires_grad_(),
    "a gradient of another shape": lambda: setattr(leaf(3), "grad", torch.ones(2)),
    "a tensor of a word": lambda: ANY.tensor("a"),
    "a tensor of ragged lists": lambda: torch.tensor([[1.0], [1.0, 2.0]]),
    "a tensor of None": lambda: ANY.tensor(None),
    "a dtype that is none": lambda: ANY.ones(3, dtype="float65"),
    "a device that is none": lambda: torch.ones(3, device="gpu"),
    "a cuda device": lambda: torch.ones(3).cuda(),
    "a name that is none": lambda: ANY.sinus(V),
    "a method that is none": lambda: ANY.ones(3).sinus(),
    "an unknown option": lambda: ANY.sum(V, axes=0),
    "a module without a call": lambda: torch.nn.Module()(V),
    "linear of another size": lambda: torch.nn.Linear(2, 2)(V),
    "conv of another rank": lambda: torch.nn.Conv2d(1, 1, 3)(V),
    "an embedding of floats": lambda: torch.nn.Embedding(3, 2)(V),
    "an embedding beyond": lambda: torch.nn.Embedding(3, 2)(torch.tensor([5])),
    "a loss of other sizes": lambda: torch.nn.functional.cross_entropy(M, torch.tensor([0, 1])),
    "a class beyond": lambda: torch.nn.functional.cross_entropy(M, torch.tensor([0, 1, 5])),
    "dropout beyond one": lambda: torch.nn.Dropout(2.0),
    "no parameters": lambda: torch.optim.SGD([], lr=0.1),
    "a negative rate": lambda: torch.optim.SGD([leaf(3)], lr=-1.0),
    "a parameter that is no leaf": lambda: torch.optim.SGD([leaf(3) * 2.0], lr=0.1),
    "a state of other names": lambda: torch.nn.Linear(2, 2).load_state_dict({"a": V}),
    "a matrix that is singular": lambda: torch.linalg.inv(torch.zeros(2, 2)),
    "a matrix that is not square": lambda: torch.linalg.inv(M),
    "func.grad of a vector": lambda: torch.func.grad(lambda x: x)(V),
    "func.vmap of other lanes": lambda: torch.func.vmap(lambda x, y: x + y)(V, torch.ones(2)),
}
