"""How tensors print.  The golden was written by PyTorch 2.13, and tests/peers holds torch to it."""

from collections.abc import Callable
from typing import Any

import pytest

import pullback

PRINTED = """
torch.tensor(3)
torch.tensor(2.5)
torch.tensor(3.0)
torch.tensor(True)
torch.tensor(1e-9)
torch.tensor(123456789.0)
torch.tensor(float("nan"))
torch.tensor(-float("inf"))
torch.tensor([])
torch.zeros(0, 3)
torch.zeros(2, 0, dtype=torch.int64)
torch.zeros(0, dtype=torch.float64)
torch.ones(3)
torch.ones(3, dtype=torch.float64)
torch.ones(3, dtype=torch.int64)
torch.ones(3, dtype=torch.int32)
torch.ones(3, dtype=torch.bool)
torch.tensor([1, -20, 300])
torch.tensor([True, False])
torch.tensor([1.0, -2.0, 30.0])
torch.tensor([1.0, 0.5])
torch.tensor([-1.0, 0.25, 100.125])
torch.tensor([0.00012, 0.5])
torch.tensor([0.00001, 0.5])
torch.tensor([1.0, 1001.0])
torch.tensor([1.0, 1000.0])
torch.tensor([0.5, 1001.0])
torch.tensor([1e8, 2e8])
torch.tensor([1.1e8, 2e8])
torch.tensor([-1e-5, 1e-5])
torch.tensor([1e-40, 1.0])
torch.tensor([0.0, -0.0])
torch.tensor([1.0, float("nan")])
torch.tensor([0.5, float("inf"), -float("inf")])
torch.tensor([float("nan"), float("inf")])
torch.tensor([1e10, float("nan")])
torch.tensor([0.99999, 1.00001])
torch.tensor([1e300, 1.0], dtype=torch.float64)
torch.tensor([[1.5, 2.0], [-3.0, 4.0]])
torch.tensor([[[1, 2], [3, 4]], [[5, 6], [7, 8]]])
torch.tensor([[[[1.0]]]])
torch.arange(30)
torch.arange(30.0) / 7
torch.arange(40.0).reshape(2, 20) / 3
torch.arange(60.0).reshape(3, 4, 5)
torch.arange(1000)
torch.arange(1001)
torch.arange(1001.0)
torch.arange(2000.0).reshape(40, 50)
torch.arange(2000).reshape(2, 1000)
torch.arange(2000).reshape(1000, 2)
torch.arange(24000.0).reshape(20, 30, 40)
torch.arange(2000.0).reshape(5, 400) / 7
torch.ones(3, requires_grad=True)
torch.ones(2, 2, dtype=torch.float64, requires_grad=True)
torch.ones(3, requires_grad=True) * 2
torch.ones(3, requires_grad=True).sum()
torch.ones(3, 3, requires_grad=True).double() + 1
torch.arange(16.0, requires_grad=True) / 7
(torch.arange(18.0, requires_grad=True) / 7).double()
torch.nn.functional.binary_cross_entropy_with_logits(torch.ones(3, requires_grad=True), torch.zeros(3))
torch.ones(2, 3).t()
torch.ones(3, requires_grad=True).detach()
torch.nn.Parameter(torch.ones(2, 3))
torch.tensor([[1.0, 3.0], [2.0, 0.5]]).max(1)
torch.tensor([[1, 3], [2, 5]]).min(0)
torch.ones(2, 3).shape
torch.ones(2, 3).dtype
torch.ones(2, 3).device
f"{torch.tensor(2.5):.3f}"
str(torch.tensor([2.5, 1.0]))
[torch.tensor(1.0), torch.tensor([2])]
torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU(), torch.nn.Linear(3, 2, bias=False))
torch.nn.Sequential(torch.nn.Sequential(torch.nn.Tanh(), torch.nn.Sigmoid()), torch.nn.Flatten())
torch.nn.Dropout(0.25)
torch.nn.Softmax(dim=1)
torch.nn.CrossEntropyLoss()
torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=0.1).param_groups[0]["lr"]
""".strip().splitlines()


def transcript(torch: Any) -> str:
    """Every expression with what it prints."""
    rows = []
    for expression in PRINTED:
        rows += [f">>> {expression}", repr(eval(expression, {"torch": torch})), ""]
    return "\n".join(rows)


def test_tensors_print_as_pytorch_prints_them(golden: Callable[[str, str], None]) -> None:
    golden("printing/tensor.txt", transcript(pullback))


@pytest.mark.parametrize(
    ("name", "program"),
    [
        ("AddBackward0", lambda x: x + 1),
        ("SubBackward0", lambda x: x - 1),
        ("RsubBackward1", lambda x: 1 - x),
        ("MulBackward0", lambda x: 2 * x),
        ("DivBackward0", lambda x: x / 2),
        ("PowBackward0", lambda x: x**2),
        ("PowBackward1", lambda x: x**x),
        ("MmBackward0", lambda x: x @ x),
        ("SumBackward0", lambda x: x.sum()),
        ("SumBackward1", lambda x: x.sum(0)),
        ("MeanBackward0", lambda x: x.mean()),
        ("ViewBackward0", lambda x: x.view(-1)),
        ("TBackward0", lambda x: x.t()),
        ("PermuteBackward0", lambda x: x.T),
        ("SelectBackward0", lambda x: x[0]),
        ("SliceBackward0", lambda x: x[:1]),
        ("IndexBackward0", lambda x: x[[0, 1]]),
        ("ReluBackward0", lambda x: x.relu()),
        ("CatBackward0", lambda x: pullback.cat([x, x])),
        ("AddmmBackward0", lambda x: pullback.nn.functional.linear(x, x, x[0])),
        ("NllLossBackward0", lambda x: pullback.nn.functional.cross_entropy(x, x.argmax(1))),
    ],
)
def test_a_node_prints_its_name(name: str, program: Callable[[Any], Any]) -> None:
    node = program(pullback.eye(2, requires_grad=True)).grad_fn
    assert type(node).__name__ == node.name() == name
    assert repr(node) == f"<{name} object at {id(node):#x}>"


def test_a_leaf_ends_the_graph() -> None:
    x = pullback.ones(2, requires_grad=True)
    ((node, index), other) = (x + 1).grad_fn.next_functions
    assert (type(node).__name__, index, other) == ("AccumulateGrad", 0, (None, 0))
    assert node.variable is x and node.next_functions == ()
