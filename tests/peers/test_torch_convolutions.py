"""Convolutions and pooling under `import torch` and `import pullback as torch`: values, gradients, errors, print."""

import pytest
import torch

import pullback
from tests.peers.test_torch_peer import BACKWARD, compare, run

BEGIN = """
def made(*shape, scale=1 / 16):  # sums of products of these are exact
    n = 1
    for k in shape:
        n *= k
    q = ((torch.arange(n) * 37) % 101).float() - 50
    return (q * scale).reshape(shape).requires_grad_()

row, rows = made(4, 9), made(2, 4, 9)
picture, pictures = made(4, 9, 8), made(2, 4, 9, 8)
k1, k2, k3, k4 = made(6, 4, 3), made(6, 2, 3), made(6, 4, 3, 2), made(4, 1, 3, 3)
b6, b4 = made(6), made(4)
whole = (pictures * 10).detach().long()
nan = pictures.detach().clone()
nan[0, 0, 2, 3] = float("nan")
nan[1, 1] = float("-inf")
nan.requires_grad_()
same = torch.zeros(2, 4, 9, 8, requires_grad=True)
LEAVES = (row, rows, picture, pictures, k1, k2, k3, k4, b6, b4, nan, same)
"""

END = f"""{BACKWARD}
r = r, [q.grad for q in LEAVES]
"""

EXPRESSIONS = """
F.conv1d(rows, k1)
F.conv1d(rows, k1, b6)
F.conv1d(row, k1, b6)
F.conv1d(rows, k1, b6, stride=2)
F.conv1d(rows, k1, b6, 3, 2)
F.conv1d(rows, k1, b6, dilation=3, padding=1)
F.conv1d(rows, k1, b6, padding="same", dilation=2)
F.conv1d(rows, k1, b6, padding="valid")
F.conv1d(rows, k2, b6, groups=2)
F.conv1d(rows, k2, None, stride=2, padding=3, dilation=2, groups=2)
torch.conv1d(rows, k1)
F.conv2d(pictures, k3)
F.conv2d(pictures, k3, b6)
F.conv2d(picture, k3, b6)
F.conv2d(pictures, k3, b6, stride=2)
F.conv2d(pictures, k3, b6, stride=(2, 1), padding=(1, 2))
F.conv2d(pictures, k3, b6, dilation=(2, 3))
F.conv2d(pictures, k3, padding="same")
F.conv2d(pictures, k3, padding="same", dilation=2)
F.conv2d(pictures, k3, padding="valid")
F.conv2d(pictures, k3, padding=[1])
F.conv2d(pictures, k4, b4, groups=4)
F.conv2d(pictures, k4, b4, groups=4, stride=3, padding=2, dilation=2)
F.conv2d(pictures, torch.ones(8, 2, 1, 1), groups=2)
F.conv2d(pictures[:0], k3).sum() + k3.sum()
F.conv2d(pictures.double(), k3.double(), b6.double())
F.conv2d(whole, torch.ones(2, 4, 3, 2, dtype=torch.int64))
F.conv2d(pictures[:, :, ::2], k3[:, :, :2].transpose(2, 3))
torch.conv2d(pictures, k3, b6, 2)
F.max_pool1d(rows, 2)
F.max_pool1d(row, 3)
F.max_pool1d(rows, 3, 1)
F.max_pool1d(rows, 3, 2, 1)
F.max_pool1d(rows, 2, ceil_mode=True)
F.max_pool1d(rows, 2, 3, 1, 3)
F.max_pool1d(rows, 2, return_indices=True)
F.max_pool2d(pictures, 2)
F.max_pool2d(picture, 2)
F.max_pool2d(rows, 2)
F.max_pool2d(pictures, 3, 2)
F.max_pool2d(pictures, 3, 2, 1)
F.max_pool2d(pictures, 3, 1, 1)
F.max_pool2d(pictures, (3, 2), (1, 2))
F.max_pool2d(pictures, 2, dilation=2)
F.max_pool2d(pictures, 2, ceil_mode=True)
F.max_pool2d(pictures, 3, 2, 1, ceil_mode=True)
F.max_pool2d(pictures, 2, 5, 1, ceil_mode=True)
F.max_pool2d(pictures, 3, 2, 1, 2, True)
F.max_pool2d(pictures, 3, 2, 1, return_indices=True)
F.max_pool2d(pictures, 2, return_indices=True)[1]
F.max_pool2d(whole, 2)
F.max_pool2d(nan, 2)
F.max_pool2d(nan, 3, 1, 1)
F.max_pool2d(same, 2)
F.max_pool2d(same, 3, 1, 1)
F.max_pool2d(pictures[:0], 2).sum() + pictures.sum()
F.max_pool2d(pictures.relu(), 2)
F.avg_pool1d(rows, 2)
F.avg_pool1d(row, 3)
F.avg_pool1d(rows, 3, 1)
F.avg_pool1d(rows, 3, 2, 1)
F.avg_pool1d(rows, 3, 2, 1, count_include_pad=False)
F.avg_pool1d(rows, 2, ceil_mode=True)
F.avg_pool2d(pictures, 2)
F.avg_pool2d(picture, 2)
F.avg_pool2d(pictures, 3, 2)
F.avg_pool2d(pictures, 3, 2, 1)
F.avg_pool2d(pictures, 3, 1, 1, count_include_pad=False)
F.avg_pool2d(pictures, 2, ceil_mode=True)
F.avg_pool2d(pictures, 3, 2, 1, ceil_mode=True)
F.avg_pool2d(pictures, 3, 2, 1, True, False)
F.avg_pool2d(pictures, (3, 2), (1, 2))
F.avg_pool2d(pictures, 2, divisor_override=3)
F.avg_pool2d(pictures, 3, 2, 1, divisor_override=5)
F.avg_pool2d(whole, 2)
F.adaptive_avg_pool1d(rows, 3)
F.adaptive_avg_pool1d(rows, 4)
F.adaptive_avg_pool1d(row, 1)
F.adaptive_avg_pool2d(pictures, 1)
F.adaptive_avg_pool2d(pictures, 3)
F.adaptive_avg_pool2d(pictures, (3, 4))
F.adaptive_avg_pool2d(pictures, (None, 2))
F.adaptive_avg_pool2d(picture, (5, 7))
F.adaptive_avg_pool2d(pictures, (12, 9))
F.adaptive_avg_pool2d(pictures.detach(), 0)
nn.MaxPool2d(2)(pictures)
nn.MaxPool1d(2, return_indices=True)(rows)
nn.AvgPool2d(2)(pictures)
nn.AvgPool1d(2, 1)(rows)
nn.AdaptiveAvgPool2d((2, 2))(pictures)
nn.AdaptiveAvgPool1d(2)(rows)
nn.Flatten()(F.conv2d(pictures, k3, b6))
torch.autograd.grad((F.conv2d(pictures, k3, b6, 2, 1) ** 2).sum(), (pictures, k3, b6))
torch.autograd.grad((F.avg_pool2d(pictures, 3, 2, 1) ** 2).sum(), pictures)
torch.autograd.grad((F.max_pool2d(pictures, 3, 2, 1) ** 3).sum(), pictures)
""".strip().splitlines()

PROGRAMS = """
c, o, l = nn.Conv2d(4, 6, (3, 2), stride=2, padding=1, groups=2), nn.MaxPool2d(2), nn.Linear(24, 3)
with torch.no_grad():
    for n, q in enumerate([*c.parameters(), *l.parameters()]):
        q.copy_(made(*q.shape, scale=0.002 * (n + 1)))
net = nn.Sequential(c, nn.ReLU(), o, nn.Flatten(), l)
opt = torch.optim.SGD(net.parameters(), lr=0.01)
losses = []
for n in range(4):
    opt.zero_grad()
    loss = F.cross_entropy(net(pictures.detach()), torch.tensor([0, 2]))
    loss.backward()
    opt.step()
    losses.append(loss.item())
r = losses, list(net.parameters()), [q.grad for q in net.parameters()]

z = F.conv2d(pictures.double(), k3.double(), b6.double(), 2, 1)
(g,) = torch.autograd.grad((z * z * z).sum(), k3, create_graph=True)
(h,) = torch.autograd.grad((g * g).sum().mul(1e-6), pictures, create_graph=True)
(h * h).sum().mul(1e-12).backward()
r = pictures.grad, k3.grad, b6.grad

z = F.conv1d(rows, k2, b6, 2, 1, 2, 2)
(g,) = torch.autograd.grad((z * z).sum(), rows, create_graph=True)
(g * g).sum().mul(1e-6).backward()
r = rows.grad, k2.grad, b6.grad

c = nn.Conv1d(400, 5, 3)
a, b = bool(c.weight.abs().max() <= 1 / 1200 ** 0.5), bool(c.bias.abs().max() > 0.005)
r = a, b, list(c.state_dict()), c.weight.shape

a = nn.Conv2d(3, 4, 3), nn.Conv2d(4, 4, (3, 2), stride=2, padding=1, dilation=2, groups=2, bias=False)
b = nn.Conv1d(3, 4, 3, padding="same"), nn.MaxPool2d(2), nn.MaxPool1d(3, 2, 1), nn.MaxPool2d((2, 3), ceil_mode=True)
c = nn.AvgPool2d(2), nn.AvgPool1d(3), nn.AvgPool2d((3, 2), stride=(2, 1)), nn.AdaptiveAvgPool2d(1)
f = nn.AdaptiveAvgPool2d((None, 2)), nn.AdaptiveAvgPool1d(2), nn.Sequential(nn.Conv1d(1, 2, 3), nn.Flatten())
r = [repr(q) for q in (*a, *b, *c, *f)]
""".strip().split("\n\n")

ERRORS = """
F.conv2d(rows, k1)
F.conv2d(pictures, k1)
F.conv2d(pictures, k3[:, :2])
F.conv2d(pictures, k3.double())
F.conv2d(whole, k3)
F.conv2d(pictures, k3, b6[:3])
F.conv2d(pictures, k3, b6.double())
F.conv2d(pictures, k3, stride=0)
F.conv2d(pictures, k3, padding=-1)
F.conv2d(pictures, k3, dilation=0)
F.conv2d(pictures, k3, stride=(1, 2, 3))
F.conv2d(pictures, k3, stride=2, padding="same")
F.conv2d(pictures, k3, padding="foo")
F.conv2d(pictures, k3, groups=3)
F.conv2d(pictures, k3, groups=0)
F.conv2d(pictures[:, :, :2], k3)
F.conv2d(pictures, k3, stride=1.5)
F.conv2d(pictures, 3)
F.conv1d(pictures, k1)
F.conv1d(rows, k2[:5], groups=2)
F.conv2d(pictures, k3[:0])
F.max_pool2d(pictures, 0)
F.max_pool2d(pictures, 3, padding=2)
F.max_pool2d(pictures, 3, stride=0)
F.max_pool2d(pictures, 20)
F.max_pool2d(pictures[0, 0], 2)
F.max_pool2d(pictures, (2, 2, 2))
F.max_pool2d(pictures, 2, dilation=0)
F.max_pool2d(pictures[:, :0], 2)
F.max_pool2d(pictures, 1.5)
F.max_pool2d(3, 2)
F.max_pool1d(pictures, 2)
F.avg_pool2d(pictures, 0)
F.avg_pool2d(pictures, 3, padding=2)
F.avg_pool2d(pictures, 20)
F.avg_pool2d(pictures, 2, divisor_override=0)
F.avg_pool1d(pictures, 2)
F.adaptive_avg_pool2d(pictures, -1)
F.adaptive_avg_pool2d(rows[0, 0], 2)
F.adaptive_avg_pool2d(pictures, (1, 2, 3))
F.adaptive_avg_pool2d(whole, 2)
F.adaptive_avg_pool2d(pictures[:, :, :0], 2)
nn.Conv2d(3, 4, 3, groups=2)
nn.Conv2d(4, 3, 3, groups=2)
nn.Conv2d(4, 4, 3, groups=0)
nn.Conv2d(4, 4, 3, padding="x")
nn.Conv2d(4, 4, 3, stride=2, padding="same")
nn.Conv2d(4, 4, 3, padding_mode="x")
nn.Conv2d(4, 4, 3)(rows)
""".strip().splitlines()


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_expression(expression: str) -> None:
    compare(f"{BEGIN}\nr = {expression}\n{END}")


@pytest.mark.parametrize("program", PROGRAMS)
def test_program(program: str) -> None:
    compare(f"{BEGIN}\n{program}")


@pytest.mark.parametrize("program", ERRORS)
def test_error(program: str) -> None:
    ours, theirs = (run(f"{BEGIN}\n{program}", module) for module in (pullback, torch))
    assert "error" in theirs, "torch accepts it"
    assert "error" in ours, f"torch raises {theirs['error']!r}, we do not"
    mine, yours = ours["error"], theirs["error"]
    assert isinstance(mine, type(yours)), f"{mine!r} instead of {yours!r}"
