"""The figures of PyTorch's tutorial on automatic differentiation, and our own version of it in examples/."""

import re
import runpy
from pathlib import Path
from typing import Any

import pytest

import pullback as torch

EXAMPLE = Path(__file__).parents[1] / "examples" / "tutorial.py"


def matrix(diagonal: str, rest: str) -> str:
    """Five rows as they print."""
    rows = [", ".join(diagonal if i == j else rest for j in range(5)) for i in range(5)]
    return "tensor([[" + "],\n        [".join(rows) + "]])"


@pytest.fixture
def layer() -> tuple[Any, ...]:
    torch.manual_seed(0)
    x, y = torch.ones(5), torch.zeros(3)
    w, b = torch.randn(5, 3, requires_grad=True), torch.randn(3, requires_grad=True)
    z = torch.matmul(x, w) + b
    return x, w, b, z, torch.nn.functional.binary_cross_entropy_with_logits(z, y)


def test_gradient_functions(layer: tuple[Any, ...]) -> None:
    *_, z, loss = layer
    assert re.fullmatch(r"<AddBackward0 object at 0x[0-9a-f]+>", str(z.grad_fn))
    name = "BinaryCrossEntropyWithLogitsBackward0"
    assert re.fullmatch(rf"<{name} object at 0x[0-9a-f]+>", str(loss.grad_fn))
    assert repr(loss).endswith(f", grad_fn=<{name}>)")


def test_the_gradient_of_the_layer(layer: tuple[Any, ...]) -> None:
    _, w, b, z, loss = layer
    loss.backward()
    want = (z.detach().sigmoid() / 3).tolist()
    assert w.grad.shape == (5, 3) and b.grad.tolist() == pytest.approx(want, rel=1e-6)
    assert all(row == b.grad.tolist() for row in w.grad.tolist())
    with pytest.raises(RuntimeError, match="a second time"):
        loss.backward()


def test_disabling_gradients(layer: tuple[Any, ...]) -> None:
    x, w, b, z, _ = layer
    assert z.requires_grad
    with torch.no_grad():
        z = torch.matmul(x, w) + b
    assert not z.requires_grad
    assert not (torch.matmul(x, w) + b).detach().requires_grad


def test_jacobian_products() -> None:
    inp = torch.eye(5, requires_grad=True)
    out = (inp + 1).pow(2)
    out.backward(torch.ones_like(inp), retain_graph=True)
    assert str(inp.grad) == matrix("4.", "2.")
    out.backward(torch.ones_like(inp), retain_graph=True)
    assert str(inp.grad) == matrix("8.", "4.")
    inp.grad.zero_()
    out.backward(torch.ones_like(inp), retain_graph=True)
    assert str(inp.grad) == matrix("4.", "2.")


def test_a_scalar_needs_no_weight() -> None:
    x: Any = torch.tensor(2.0, requires_grad=True)
    (x * x).backward()
    (x * x).backward(torch.tensor(1.0))
    assert x.grad.item() == 8.0


PRINTED = f"""
Each result knows the operation that made it; parameters are leaves, which nothing made.
  z     <AddBackward0 object at 0x...>
  loss  <BinaryCrossEntropyWithLogitsBackward0 object at 0x...>
  w     None - a leaf: True
  before z: ['SqueezeBackward4', 'AccumulateGrad']

backward() walks that graph from the loss and adds to the .grad of each leaf.
tensor([[0.1489, 0.1667, 0.1845],
        [0.1489, 0.1667, 0.1845],
        [0.1489, 0.1667, 0.1845],
        [0.1489, 0.1667, 0.1845],
        [0.1489, 0.1667, 0.1845]])
tensor([0.1489, 0.1667, 0.1845])
The graph is gone after that:
  RuntimeError: Trying to backward through the graph a second time

Where no gradient is needed, none need be kept: for inference, or for frozen parameters.
  usual True - in no_grad False - detached False
  with w frozen: w.grad is None and b.grad is tensor([1., 1., 1.])

A result that is not a number needs a vector to multiply its Jacobian with; gradients add up.
First call
{matrix("4.", "2.")}
Second call
{matrix("8.", "4.")}
After zeroing
{matrix("4.", "2.")}

The graph is made anew by each run, so Python's own `while` and `if` may decide what is in it.
  4 steps from 3.0 to 5184.0: the derivative is 6912.0
"""


def test_the_example_prints_what_pytorch_prints(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(EXAMPLE), run_name="__main__")
    printed = re.sub("0x[0-9a-f]+", "0x...", capsys.readouterr().out)
    assert printed.strip() == PRINTED.strip()
