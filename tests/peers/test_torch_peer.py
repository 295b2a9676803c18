"""The same small programs under `import torch` and `import pullback as torch`: values, gradients and all.

A program is text.  What it leaves in `r` (and in the `grad` of the leaves x, y, w, v) is compared: values,
dtypes, shapes, requires_grad, is_leaf, the name of grad_fn, printed form; or the error's type.
"""

import contextlib
import io
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import pullback

PRELUDE = """
import math
nn, F = torch.nn, torch.nn.functional
x = torch.tensor([[0.5, -1.25, 2.0, 0.75], [1.5, 0.25, -0.5, 3.0], [-2.0, 1.0, 0.125, -0.75]], requires_grad=True)
y = torch.tensor([[1.5, 0.25, -1.0, 2.5], [0.5, 2.0, 1.25, -3.0], [0.75, -0.5, 1.5, 0.25]], requires_grad=True)
w = torch.tensor([[0.5, -1.0, 0.25], [1.0, 0.75, -0.5], [-0.25, 2.0, 1.5], [0.125, -0.75, 1.0]], requires_grad=True)
v = torch.tensor([0.5, 1.5, 0.25, 2.0], requires_grad=True)
d = torch.tensor([[0.5, 1.25], [2.0, 0.75]], dtype=torch.float64, requires_grad=True)
s = torch.tensor(1.5, requires_grad=True)
i = torch.tensor([[3, -1, 4], [1, -5, 9]])
j = torch.tensor([2, 7, 1], dtype=torch.int32)
k = torch.tensor([0, 2, 1])
m = torch.tensor([[True, False, True, True], [False, False, True, True], [True, True, False, False]])
p = torch.tensor([[0.5, 1.25, 2.0, 0.75], [1.5, 0.25, 0.5, 3.0]], requires_grad=True)
"""

LEAVES = ("x", "y", "w", "v", "d", "s", "p")

# One expression a line; each that can be differentiated is, from its sum.
EXPRESSIONS = """
x + 1
1 + x
x + y
x + v
x - 1
1 - x
x - y
x * 2
2 * x
x * y
x * v
x / 2
1 / p
x / y
-x
+x
x ** 2
x ** 3
p ** 2.5
p ** 0.5
p ** -1
p ** -2
p ** p
2 ** x
x ** 0
x ** 4
x ** 5
x % 2
x % 0.7
(x // 2).detach()
7 % i
i // 2
i % 3
i ** 2
i / 2
i + 1
i + 1.5
i * j[0]
i + j
j + 1
j * 2.5
j / j
i + x[0, :3]
m + 1
m + 1.5
m * m
m | ~m
m ^ m
m & m
~m
~i
i & 3
i | 8
i ^ j
d + x[:2, :2]
d + 1
d * s
s * i
s + 1
s + j
abs(x)
x.abs()
x.exp()
x.exp2()
x.expm1()
p.log()
p.log2()
p.log10()
p.log1p()
p.sqrt()
p.rsqrt()
p.reciprocal()
x.square()
x.sin()
x.cos()
x.tan()
x.atan()
(x / 4).asin()
(x / 4).acos()
torch.atan2(x, y)
x.arctan2(v)
i.atan()
x.sinh()
x.cosh()
x.tanh()
x.sigmoid()
x.relu()
x.erf()
x.sign()
x.floor()
x.ceil()
x.round()
x.trunc()
x.neg()
i.exp()
i.sqrt()
i.abs()
i.sign()
i.float().mean()
x.clamp(-0.5, 1.0)
x.clamp(min=0.0)
x.clamp(max=0.5)
i.clamp(0, 3)
i.clamp(0.5)
x.clamp(v, y.abs() + 2)
torch.maximum(x, y)
torch.minimum(x, y)
torch.maximum(x, x.detach())
torch.where(x > 0, x, y)
torch.where(x > 0, x, 0.0)
torch.where(x > 0, 1.0, y)
torch.where(m, i[0, 0], 2)
torch.where(m, 1, 2.5)
x.where(m, y)
x.masked_fill(m, -1.0)
i.masked_fill(i > 2, 0)
torch.hypot(x, y)
torch.lerp(x, y, 0.25)
torch.addcmul(x, y, y, value=0.5)
torch.addcdiv(x, y, p[:, :1].sum() + y * y, value=0.5)
x.add(y, alpha=2)
x.sub(y, alpha=0.5)
x.mul(y)
x.div(y)
p.div(2, rounding_mode="floor")
p.div(-0.3, rounding_mode="trunc")
i.div(2, rounding_mode="trunc")
i.div(2, rounding_mode="floor")
x == y
x != x
x < y
x <= 0.5
x > 1
x >= y
i == 3
i < 2.5
m == True
torch.eq(i, i)
torch.logical_and(m, x > 0)
torch.logical_or(i, m[:2, :3])
torch.logical_xor(m, m)
torch.logical_not(i)
torch.isnan(x / 0)
torch.isinf(x / 0)
torch.isfinite(x / 0)
x.sum()
x.sum(0)
x.sum(1)
x.sum(-1)
x.sum(dim=1, keepdim=True)
x.sum(axis=0)
x.sum((0, 1))
x.sum(dtype=torch.float64)
i.sum()
j.sum()
m.sum()
m.sum(0)
x.mean()
x.mean(0)
x.mean(1, keepdim=True)
x.mean((0, 1))
i.mean(dtype=torch.float32)
x.prod()
x.prod(0)
x.prod(1, keepdim=True)
i.prod()
x.var()
x.var(0)
x.var(1, unbiased=False)
x.var(1, correction=0, keepdim=True)
x.std()
x.std(0)
x.std(1, keepdim=True)
x.norm()
x.norm(dim=1)
x.max()
x.min()
x.max(0).values
x.max(1).indices
x.max(dim=1, keepdim=True)
x.min(0)
x.min(1).values
i.max()
i.max(1)
x.amax(0)
x.amin(1, keepdim=True)
x.amax()
torch.tensor([1.0, 3.0, 3.0], requires_grad=True).max()
torch.max(x, y)
torch.min(x, y)
x.argmax()
x.argmax(0)
x.argmin(1)
x.argmin(1, keepdim=True)
i.argmin()
m.any()
m.all()
m.any(1)
m.all(0)
x.any()
i.all(1)
x.softmax(0)
x.softmax(-1)
x.log_softmax(1)
F.softmax(v, 0)
x.softmax(1).log()
x.logsumexp(1)
x.logsumexp(0, keepdim=True)
x.logsumexp((0, 1))
i.softmax(1, dtype=torch.float64)
x @ w
x.mm(w)
v @ w
x @ v
v @ v
x.mv(v)
v.dot(v)
x.matmul(w)
torch.outer(v, v)
x.view(3, 2, 2) @ d.float()
x.view(3, 2, 2) @ x.view(3, 2, 2).mT
v @ x.view(1, 3, 4).mT
x.view(3, 1, 2, 2) @ y.view(1, 3, 2, 2)
torch.bmm(x.view(3, 2, 2), y.view(3, 2, 2))
torch.addmm(v[:3], x, w)
i @ i.t()
torch.einsum("ij,jk->ik", x, w)
torch.einsum("ij,ij->", x, y)
torch.einsum("ij->ji", x)
torch.einsum("ij->j", x)
torch.einsum("i,j->ij", v, v)
torch.einsum("bij,bjk->bik", x.view(3, 2, 2), y.view(3, 2, 2))
x.view(-1)
x.view(2, 6)
x.view(4, -1)
x.reshape(6, 2)
x.reshape((2, -1))
x.t()
x.T
x.mT
x.transpose(0, 1)
x.t().reshape(-1)
x.t().contiguous().view(-1)
x.permute(1, 0)
x.view(3, 2, 2).permute(2, 0, 1)
x.view(3, 2, 2).movedim(0, 2)
x.unsqueeze(0)
x.unsqueeze(-1)
x[None].squeeze()
x[None].squeeze(0)
x[:, :1].squeeze(1)
x.squeeze(0)
x.flatten()
x.view(3, 2, 2).flatten(1)
s.flatten()
v.expand(3, 4)
v.expand(2, -1, 4) if False else v.expand(3, -1)
x[:, :1].expand(-1, 5)
s.expand(2, 3)
v.repeat(2)
x.repeat(2, 2)
v.repeat(2, 1)
x.flip(0)
x.flip(0, 1)
torch.cat([x, y])
torch.cat([x, y], dim=1)
torch.cat([x, i[:1, :1].expand(3, 1)], 1)
torch.stack([x, y])
torch.stack([v, v], dim=1)
x.split(2)[0]
x.split([1, 3], 1)[1]
x.chunk(2, 1)[1]
x.unbind(1)[2]
x.narrow(1, 1, 2)
x.select(1, 2)
torch.broadcast_tensors(x, v)[1]
x[0]
x[-1]
x[0, 1]
x[1:]
x[:, 1]
x[:, 1:3]
x[::2]
x[1:, ::2]
x[..., 0]
x[None]
x[:, None]
x[0:0]
x[k]
x[[0, 2]]
x[k, k]
x[:, k]
x[k, 1]
x[1, k]
x[k[:, None], k]
x[m]
x[x > 0]
x[m[:, 0]]
x[-k]
x.view(3, 2, 2)[k, :, k % 2]
x.view(3, 2, 2)[:, k % 2, 1]
x.view(3, 2, 2)[:, 0, k % 2]
i[i > 2]
x.index_select(0, k)
x.index_select(1, k)
x.gather(1, k[:, None])
x.gather(0, k[None].expand(1, 3))
x.masked_select(m)
x.clone()
x.detach()
x.detach() * x
x.double()
x.float()
x.long()
x.int()
x.bool()
x.to(torch.float64)
x.to(d)
i.float()
i.double()
j.long()
d.float()
x.type_as(d)
torch.zeros(2, 3)
torch.ones(2, dtype=torch.int64)
torch.full((2,), 3)
torch.full((2, 2), 1.5)
torch.full((2,), True)
torch.eye(3)
torch.eye(2, 3)
torch.arange(5)
torch.arange(1, 6, 2)
torch.arange(0, 1, 0.3)
torch.arange(5.0)
torch.arange(3, dtype=torch.float64)
torch.linspace(0, 1, 5)
torch.zeros_like(x)
torch.ones_like(i)
torch.full_like(x, 2)
torch.tensor(3)
torch.tensor(3.5)
torch.tensor([1, 2.5])
torch.tensor([True, False])
torch.tensor([[1, 2], [3, 4]])
torch.tensor([])
torch.tensor([1], dtype=torch.float64)
torch.tensor([x.sum().item(), 2])
torch.as_tensor([1.0, 2.0])
torch.zeros(0, 3)
torch.zeros(0)
torch.zeros(2, 0, dtype=torch.int64)
F.linear(x, w.t())
F.linear(x, w.t(), v[:3])
F.linear(v, w.t(), v[:3])
F.linear(x.view(1, 3, 4), w.t(), v[:3])
F.relu(x)
F.gelu(x)
F.silu(x)
F.softplus(x)
F.logsigmoid(x)
F.leaky_relu(x)
F.leaky_relu(x, 0.2)
F.mse_loss(x, y)
F.mse_loss(x, y, reduction="sum")
F.mse_loss(x, y, reduction="none")
F.l1_loss(x, y)
F.cross_entropy(x, k)
F.cross_entropy(x, k, reduction="none")
F.cross_entropy(x, k, reduction="sum")
F.cross_entropy(x, k, ignore_index=2)
F.cross_entropy(v, k[1])
F.cross_entropy(x, y.softmax(1))
F.cross_entropy(x.view(1, 3, 4), k[None, :].expand(1, 3)[:, :1].expand(1, 4) * 0 + 1)
F.nll_loss(x.log_softmax(1), k)
F.binary_cross_entropy_with_logits(x, m.float())
F.binary_cross_entropy_with_logits(x, y, reduction="sum")
F.binary_cross_entropy_with_logits(x, y.sigmoid(), reduction="none")
F.binary_cross_entropy_with_logits(x, m.float(), pos_weight=torch.tensor(2.0))
F.binary_cross_entropy_with_logits(x, m.float(), torch.tensor([1.0, 2.0, 3.0, 4.0]))
F.binary_cross_entropy_with_logits(x * 0, m.float())
F.dropout(x, 0.5, training=False)
(x * y).sum() * s
torch.equal(x, x.detach()), torch.equal(x, y), torch.equal(x, w)
torch.allclose(x, x + 1e-9), torch.allclose(x, x + 1), torch.allclose(x / 0, x / 0, equal_nan=True)
torch.isclose(x, x + torch.tensor([0.0, 1e-9, 1e-3, 1.0]))
x.cumsum(0)
x.cumsum(1)
i.cumsum(1)
x.tolist()
x.shape
x.size(0)
x.t().stride()
x.t().is_contiguous()
x.dim(), x.ndim, x.numel(), x.dtype, x.is_floating_point()
x.shape[0:1], x.shape.numel()
len(x), [t.shape for t in x]
x.sum().item()
i[0, 0].item()
m[0, 0].item()
float(s), int(s), bool(s)
int(i[0, 0]), range(4)[k[1]]
[a for a in k]
f"{s:.3f} {k}"
s.detach().numpy()
x.detach().numpy()
i.numpy()
torch.result_type(i, 2.5), torch.result_type(j, i[0, 0]), torch.result_type(j, i)
torch.get_default_dtype()
torch.is_tensor(x), torch.is_tensor(3)
repr(torch.Size([2, 3])), repr(torch.float64), repr(x.device)
2.0 in v, 7.0 in v
x.data.requires_grad, x.data.is_leaf
torch.nn.Linear(3, 2)
torch.nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Sequential(nn.Tanh(), nn.Sigmoid()))
nn.CrossEntropyLoss()(x, k)
nn.MSELoss()(x, y)
nn.BCEWithLogitsLoss()(x, m.float())
nn.Sequential(nn.Tanh(), nn.Softmax(dim=1), nn.Flatten(0))(x)
""".strip().splitlines()

# Several lines each, parted by an empty line.
PROGRAMS = """
x.sum().backward()
r = x.grad

(x * x).sum().backward()
(x * 3).sum().backward()
r = x.grad

z = x * y
z.backward(torch.ones_like(z))
r = x.grad, y.grad

z = (x * y).sum()
z.backward(retain_graph=True)
z.backward()
r = x.grad

inp = torch.eye(5, requires_grad=True)
out = (inp + 1).pow(2)
out.backward(torch.ones_like(inp), retain_graph=True)
a = inp.grad.clone()
out.backward(torch.ones_like(inp), retain_graph=True)
b = inp.grad.clone()
inp.grad.zero_()
out.backward(torch.ones_like(inp), retain_graph=True)
r = a, b, inp.grad

z = x * 2
z.retain_grad()
(z * z).sum().backward()
r = z.grad, x.grad, z.retains_grad

with torch.no_grad():
    z = x * 2
r = z, z.requires_grad, torch.is_grad_enabled()

@torch.no_grad()
def f(a):
    return a * 2, torch.is_grad_enabled()
r = f(x)

with torch.no_grad():
    with torch.enable_grad():
        z = x * 2
r = z

with torch.set_grad_enabled(False):
    z = x * 2
r = z, torch.is_grad_enabled()

torch.set_grad_enabled(False)
z = x * 2
torch.set_grad_enabled(True)
r = z, x * 2

(g,) = torch.autograd.grad((x ** 3).sum(), x, create_graph=True)
(h,) = torch.autograd.grad(g.sum(), x)
r = g, h

(g,) = torch.autograd.grad((x.exp() * x.sin()).sum(), x, create_graph=True)
(h,) = torch.autograd.grad((g * g).sum(), x, create_graph=True)
(q,) = torch.autograd.grad(h.sum(), x)
r = g, h, q

z = (x.tanh() ** 2).sum()
z.backward(create_graph=True)
g = x.grad
x.grad = None
(g * g).sum().backward()
r = x.grad

r = torch.autograd.grad(x.sum() + 0 * y.sum(), [x, y])

r = torch.autograd.grad(x.sum(), [x, y], allow_unused=True)

r = torch.autograd.grad(x.sum(), [x, y], allow_unused=True, materialize_grads=True)

r = torch.autograd.grad([x.sum(), (x * y).sum()], [x, y], [torch.tensor(2.0), torch.tensor(3.0)])

z = x * y
q = z.exp()
r = torch.autograd.grad(q.sum(), [z, x])

z = (x * y).sum()
z.backward(inputs=[x])
r = x.grad, y.grad

z = x * 2
(z * y).sum().backward(inputs=[z, y])
r = y.grad, x.grad

torch.autograd.backward([x.sum(), y.sum()])
r = x.grad, y.grad

z = x.clone()
z.add_(1)
z.mul_(y)
z.sum().backward()
r = z, x.grad, y.grad

z = x * 1
z[0] = 5.0
(z * z).sum().backward()
r = z, x.grad

z = x * 1
z[:, 1] = y[:, 0]
(z * z).sum().backward()
r = z, x.grad, y.grad

z = x * 1
z[k, k] = v[:3]
(z * z).sum().backward()
r = z, x.grad, v.grad

z = x * 1
z[m] = 0.5
(z * z).sum().backward()
r = z, x.grad

z = x * 1
a = z[0]
a.mul_(2)
(z * z).sum().backward()
r = z, x.grad, a.detach()

z = x * 1
a = z.view(-1)
z.mul_(3)
(a * y.view(-1)).sum().backward()
r = a.detach(), x.grad, y.grad

z = torch.zeros(3, 4)
a = z[1]
a.copy_(v)
(z * x).sum().backward()
r = z.requires_grad, z.detach(), v.grad, x.grad

z = torch.zeros(3)
a = z.view(3, 1)
z += 1
a *= 5
r = z, a

z = torch.arange(6.0)
a = z.view(2, 3).t()
a[0] = 9
z[5] = -1
r = z, a

z = x.detach()
z.zero_()
r = x, z

z = x.detach().clone()
a = z.numpy()
z += 1
a[0, 0] = 7
r = z, a

import numpy as np
a = np.arange(4.0)
t = torch.from_numpy(a)
q = t * 2
a[0] = 100
r = t, q, t.dtype

import numpy as np
a = np.arange(4.0)
t = torch.from_numpy(a)
t += 1
t[1] = 50
r = a, t

import numpy as np
a = np.arange(6.0).reshape(2, 3)
t = torch.from_numpy(a)[1]
a[1, 1] = 10
r = t, t.sum()

with torch.no_grad():
    w -= 0.1 * x.t()
r = w, w.is_leaf, w.grad_fn

w.data -= 1
r = w

w.data = torch.ones(2, 2)
r = w, w.shape

z = x * 2
z.detach_()
r = z, z.grad_fn

x.grad = torch.ones_like(x)
x.sum().backward()
r = x.grad

z = x.detach().requires_grad_()
(z * 2).sum().backward()
r = z.grad, x.grad

z = x * 2
z.requires_grad_()
r = z.requires_grad, z.is_leaf

z = torch.ones(3)
z.requires_grad = True
(z * z).sum().backward()
r = z.grad

a = x.sum()
total = 0
for n in range(5):
    if a.item() > 0:
        a = a * 2 - n
    else:
        a = a * a + n
    total = total + a
total.backward()
r = total, x.grad

h = x
for n in range(4):
    h = torch.tanh(h @ w @ w.t())
h.sum().backward()
r = h, x.grad, w.grad

x.requires_grad_(False)
z = (x @ w + v[:3]).relu().sum()
z.backward()
r = x.grad, w.grad, v.grad

z = (x.sum() * 2)
r = z.grad_fn.name(), [type(n).__name__ for n, _ in z.grad_fn.next_functions]

z = x @ w + v[:3]
r = [type(n).__name__ for n, _ in z.grad_fn.next_functions], [k for _, k in z.grad_fn.next_functions]

z = 1 - x * 2 + y ** 2
r = [None if n is None else type(n).__name__ for n, _ in z.grad_fn.next_functions]

torch.set_default_dtype(torch.float64)
z = torch.tensor([1.5]), torch.ones(2), torch.zeros(1) + 1, i * 1.5, i / 2
torch.set_default_dtype(torch.float32)
r = z

l = nn.Linear(4, 3)
with torch.no_grad():
    l.weight.copy_(w.t())
    l.bias.copy_(v[:3])
(l(x) ** 2).sum().backward()
r = l(x), l.weight.grad, l.bias.grad, list(l.state_dict()), [n for n, _ in l.named_parameters()]

l = nn.Sequential(nn.Linear(4, 3, bias=False), nn.Tanh())
r = len(list(l.parameters())), [n for n, _ in l.named_parameters()], l[0].bias, l.training, l.eval().training

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 3)
        self.scale = nn.Parameter(torch.ones(3))
        self.register_buffer("count", torch.zeros(1))
    def forward(self, q):
        return self.a(q) * self.scale
net = Net()
a = [n for n, _ in net.named_parameters()], [n for n, _ in net.named_buffers()]
r = repr(net), list(net.state_dict()), a, net(x).shape

a, b = nn.Linear(4, 3), nn.Linear(4, 3)
r = repr(b.load_state_dict(a.state_dict())), bool((a.weight == b.weight).all())

opt = torch.optim.SGD([w], lr=0.1)
for n in range(4):
    opt.zero_grad()
    F.mse_loss(x.detach() @ w, y.detach()[:, :3]).backward()
    opt.step()
r = w

opt = torch.optim.SGD([w], lr=0.1, momentum=0.9, weight_decay=0.01)
for n in range(5):
    opt.zero_grad()
    F.mse_loss(x.detach() @ w, y.detach()[:, :3]).backward()
    opt.step()
r = w

opt = torch.optim.SGD([w, v], lr=0.1, momentum=0.9, nesterov=True)
for n in range(5):
    opt.zero_grad()
    (F.mse_loss(x.detach() @ w, y.detach()[:, :3]) + (v * v).sum()).backward()
    opt.step()
r = w, v

opt = torch.optim.SGD([w], lr=0.1, momentum=0.5, dampening=0.25, maximize=True)
for n in range(3):
    opt.zero_grad()
    (w * w).mean().backward()
    opt.step()
r = w

opt = torch.optim.Adam([w], lr=0.05)
for n in range(6):
    opt.zero_grad()
    F.mse_loss(x.detach() @ w, y.detach()[:, :3]).backward()
    opt.step()
r = w

opt = torch.optim.Adam([{"params": [w]}, {"params": [v], "lr": 0.5}], lr=0.05, weight_decay=0.1, betas=(0.8, 0.9))
for n in range(4):
    opt.zero_grad()
    (F.mse_loss(x.detach() @ w, y.detach()[:, :3]) + (v * v).sum()).backward()
    opt.step()
r = w, v

opt = torch.optim.AdamW([w], lr=0.05)
for n in range(4):
    opt.zero_grad()
    F.mse_loss(x.detach() @ w, y.detach()[:, :3]).backward()
    opt.step()
r = w

opt = torch.optim.SGD([w], lr=0.1)
def closure():
    opt.zero_grad()
    loss = (w * w).sum()
    loss.backward()
    return loss
r = opt.step(closure), w

z = x.exp()
del x.grad
r = x.grad

a, b = x.max(1)
(a * v[:3]).sum().backward()
r = a, b, x.grad

a = torch.tensor([1.0, 2.0, 2.0], requires_grad=True)
a.max().backward()
r = a.grad

a = torch.tensor([1.0, 2.0, 2.0], requires_grad=True)
a.max(0).values.backward()
r = a.grad

a = torch.tensor([0.0, -0.0, 1.0], requires_grad=True)
(a.relu() + a.abs() + a.clamp(0, 1)).sum().backward()
r = a.grad

a = torch.tensor([0.0, 4.0], requires_grad=True)
a.sqrt().sum().backward()
r = a.grad

a = torch.zeros(3, requires_grad=True)
a.norm().backward()
r = a.grad

a = torch.tensor([1.0, float("nan"), float("inf"), -float("inf")])
r = a, a.relu(), a.clamp(-1, 1), a.sum(), a.max(), a > 0, a.sign()

import copy
l = nn.Linear(4, 3)
c = copy.deepcopy(l)
with torch.no_grad():
    l.weight.zero_()
r = bool((c.weight != 0).any()), c.weight.requires_grad

a, b = torch.ones(2, 3), torch.ones(2, 3)
a += b
a -= 0.5
a *= 3
a /= 2
a **= 2
r = a

a = torch.arange(6).view(2, 3)
a += 2
a //= 3
a %= 2
r = a

a = torch.tensor([1, 2, 3])
a[0] = 7.9
r = a

a = torch.zeros(2, 3)
a[:] = torch.tensor([1.0, 2.0, 3.0])
a[1, :2] = 9
a[..., 2] += 4
r = a

a = torch.zeros(4)
a[torch.tensor([0, 0, 2])] = torch.tensor([1.0, 2.0, 3.0])
r = a

a = torch.zeros(3)
a.fill_(2).add_(1).mul_(3).sub_(1).div_(4).clamp_(0, 1.5)
r = a

a = torch.ones(3, dtype=torch.float64)
a.copy_(torch.tensor([1, 2, 3]))
r = a

torch.manual_seed(3)
a = torch.rand(1000)
torch.manual_seed(3)
r = bool((a == torch.rand(1000)).all()), bool((a >= 0).all()), bool((a < 1).all()), a.dtype

a = torch.randn(3, 4, requires_grad=True)
r = a.shape, a.dtype, a.requires_grad, a.is_leaf

a = torch.randint(2, 5, (100,))
r = a.dtype, int(a.min()), int(a.max()), a.shape

a = torch.randperm(10)
r = a.dtype, sorted(a.tolist())
"""

ERRORS = """
x.add_(1)
x[0] = 1
x[0].fill_(1)
(x * 2).backward()
x.numpy()
z = (x * x).sum(); z.backward(); z.backward()
z = x.exp().sum(); torch.autograd.grad(z, x); torch.autograd.grad(z, x)
torch.ones(3).sum().backward()
torch.zeros(2).backward()
x.detach().backward()
bool(torch.ones(3))
if x > 0: pass
torch.ones(3).item()
float(torch.ones(3))
int(torch.ones(3))
torch.ones(3) + torch.ones(4)
torch.ones(3, 4) @ torch.ones(3)
torch.ones(3, 4).mm(torch.ones(3))
torch.ones(3, 4) @ torch.ones(3, 4)
torch.ones(2) @ torch.ones(3)
torch.tensor(1.0) @ torch.ones(2)
torch.ones(3, 4).view(5)
torch.ones(3, 4).t().view(12)
torch.ones(3).reshape(2, 2)
torch.ones(4).view(-1, -1)
torch.tensor([1], requires_grad=True)
torch.arange(3).requires_grad_()
torch.ones(3)[5]
torch.ones(3)[-4]
torch.ones(3)[torch.tensor([5])]
torch.ones(3)[torch.tensor([1.5])]
torch.ones(2, 3)[0, 1, 2]
torch.tensor(1.0)[0]
torch.ones(3)[::-1]
torch.ones(3)["a"]
torch.ones(3).sum(3)
torch.ones(3).sum((0, 0))
torch.ones(3).argmax(5)
torch.ones(3).squeeze(4)
torch.ones(0).max()
torch.tensor([[1, 2], [3]])
torch.tensor("a")
(x * 2).backward(torch.ones(2))
torch.ones(3, dtype=torch.int64).add_(1.5)
torch.ones(1).add_(torch.ones(3))
(x * 2).requires_grad_(False)
len(torch.tensor(1.0))
list(torch.tensor(1.0))
torch.ones(3).expand(2, 3).add_(1)
torch.ones(4, 5).expand(3, 5)
torch.cat([torch.ones(2, 2), torch.ones(3)])
torch.cat([torch.ones(2, 2), torch.ones(3, 3)])
torch.cat([])
torch.stack([torch.ones(2), torch.ones(3)])
torch.stack([])
torch.ones(3).int().mean()
torch.ones(2, 3).permute(0, 0)
torch.ones(2, 3).permute(0)
torch.ones(2).max(1)
torch.ones(3) + "a"
torch.ones(3) @ 2
torch.ones(3, 3) @ torch.ones(3, 3).double()
torch.ones(2, 2, 2).t()
torch.ones(2, 3).flatten(1, 0)
torch.ones(3).narrow(0, 2, 5)
torch.ones(3).split(0)
F.binary_cross_entropy_with_logits(torch.ones(3), torch.ones(2))
F.cross_entropy(torch.ones(2, 3), torch.tensor([0, 5]))
F.cross_entropy(torch.ones(2, 3), torch.tensor([0]))
F.mse_loss(torch.ones(3), torch.ones(3), reduction="avg")
torch.autograd.grad(x.sum(), torch.ones(2, requires_grad=True))
torch.autograd.grad(x.sum(), torch.ones(2))
x.grad = torch.ones(2)
x.grad = 3
torch.ones(3).retain_grad()
-torch.tensor([True])
torch.tensor([True]) - torch.tensor([True])
~torch.ones(2)
torch.ones(2) & 1
torch.tensor([2]) ** -1
torch.tensor([1, 2]) // 0
torch.zeros(-1)
torch.ones(3).to("foo")
torch.set_default_dtype(torch.int64)
torch.from_numpy([1, 2])
nn.Linear(3, 2)(torch.ones(2, 4))
nn.Linear(3, 2).load_state_dict({})
nn.Linear(3, 2).load_state_dict({"weight": torch.ones(3, 3), "bias": torch.ones(2), "c": torch.ones(2)})
nn.Linear(3, 2).foo
nn.Linear(3, 2).weight = torch.ones(2)
nn.Module()(1)
nn.Sequential(3)
torch.optim.SGD([], lr=0.1)
torch.optim.SGD([x * 2], lr=0.1)
torch.optim.SGD([x], lr=-0.1)
torch.optim.SGD(x, lr=0.1)
torch.optim.SGD([x], lr=0.1, nesterov=True)
torch.optim.Adam([x], betas=(1.0, 0.9))
torch.optim.Adam([3])
torch.clamp(x)
torch.full((2,), "a")
x.copy_(3)
torch.arange(0, 1, -1)
torch.ones(2, 3).dot(torch.ones(2))
torch.einsum("ij,jk->il", x, w)
""".strip().splitlines()

NAMELESS = ("einsum", "y.softmax(1))", "create_graph")
"""Programs whose nodes we name after our own steps."""


def run(program: str, module: Any) -> dict[str, Any]:
    """The names that a program leaves, or its error."""
    names: dict[str, Any] = {"torch": module}
    exec(PRELUDE, names)
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        try:
            exec(program, names)
        except Exception as error:
            names["error"] = error
    return names


def assert_same(mine: Any, theirs: Any, where: str, named: bool = True) -> None:
    """Compare two values, of ours and of torch's."""
    if isinstance(theirs, torch.Tensor):
        assert isinstance(mine, pullback.Tensor), f"{where}: {type(mine)} is no Tensor"
        assert_same_tensor(mine, theirs, where, named)
    elif isinstance(theirs, np.ndarray):
        assert mine.dtype == theirs.dtype and mine.shape == theirs.shape, where
        np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=1e-6, err_msg=where)
    elif isinstance(theirs, (list, tuple)):
        assert len(mine) == len(theirs), where
        for n, (a, b) in enumerate(zip(mine, theirs, strict=True)):
            assert_same(a, b, f"{where}[{n}]", named)
    elif isinstance(theirs, float):
        assert mine == pytest.approx(theirs, rel=1e-5, abs=1e-6, nan_ok=True), where
        assert type(mine) is type(theirs), where
    elif isinstance(theirs, (bool, int, str, type(None))):
        assert mine == theirs and type(mine) is type(theirs), f"{where}: {mine!r} != {theirs!r}"
    else:
        assert repr(mine) == repr(theirs), where


def assert_same_tensor(mine: Any, theirs: Any, where: str, named: bool) -> None:
    assert repr(mine.dtype) == repr(theirs.dtype), f"{where}: {mine.dtype} != {theirs.dtype}"
    assert tuple(mine.shape) == tuple(theirs.shape), f"{where}: {mine.shape} != {theirs.shape}"
    assert mine.requires_grad == theirs.requires_grad, f"{where}.requires_grad"
    assert mine.is_leaf == theirs.is_leaf, f"{where}.is_leaf"
    names = [t.grad_fn and type(t.grad_fn).__name__ for t in (mine, theirs)]
    assert not named or names[0] == names[1], f"{where}.grad_fn: {names}"
    a, b = mine.detach().numpy(), theirs.detach().numpy()
    single = a.dtype != np.float64
    np.testing.assert_allclose(
        a, b, rtol=2e-5 if single else 1e-12, atol=2e-6 if single else 1e-13, err_msg=where
    )
    if named and a.tobytes() == b.tobytes():
        assert repr(mine) == repr(theirs), where


def compare(program: str) -> None:
    ours, theirs = run(program, pullback), run(program, torch)
    if "error" in ours:
        raise AssertionError(f"only ours fails: {program}") from ours["error"]
    assert "error" not in theirs, theirs.get("error")
    named = not any(part in program for part in NAMELESS)
    assert_same(ours["r"], theirs["r"], "r", named)
    for name in LEAVES:
        a, b = ours[name].grad, theirs[name].grad
        assert (a is None) == (b is None), f"{name}.grad: {a} and {b}"
        if b is not None:
            assert_same_tensor(a, b, f"{name}.grad", named)


BACKWARD = """
if isinstance(r, torch.Tensor) and r.requires_grad:
    (r * torch.arange(1.0, r.numel() + 1, dtype=r.dtype).reshape(r.shape)).sum().backward()
"""


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_expression(expression: str) -> None:
    compare(f"r = {expression}\n{BACKWARD}")


@pytest.mark.parametrize("program", PROGRAMS.strip().split("\n\n"))
def test_program(program: str) -> None:
    compare(program)


GOLDEN = Path(__file__).parents[1] / "golden" / "printing" / "tensor.txt"


@pytest.mark.parametrize("entry", GOLDEN.read_text(encoding="utf-8").split(">>> ")[1:])
def test_the_golden_of_printing_is_torchs(entry: str) -> None:
    expression, _, printed = entry.partition("\n")
    assert repr(eval(expression, {"torch": torch})) == printed.rstrip("\n")


@pytest.mark.parametrize("program", ERRORS)
def test_error(program: str) -> None:
    ours, theirs = run(program, pullback), run(program, torch)
    assert "error" in theirs, "torch accepts it"
    assert "error" in ours, f"torch raises {theirs['error']!r}, we do not"
    mine, yours = ours["error"], theirs["error"]
    assert isinstance(mine, type(yours)), f"{mine!r} instead of {yours!r}"
