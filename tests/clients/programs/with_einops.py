"""einops: rearrange, reduce, repeat, einsum and its layers, and gradients through them."""

import torch
from einops import einsum, pack, rearrange, reduce, repeat, unpack
from einops.layers.torch import Rearrange, Reduce

torch.manual_seed(0)
x = torch.randn(2, 3, 4, 6, requires_grad=True)
model = torch.nn.Sequential(
    torch.nn.Conv2d(3, 4, 3, padding=1), Reduce("b c (h u) (w v) -> b c h w", "max", u=2, v=2), torch.nn.ReLU(),
    Rearrange("b c h w -> b (c h w)"), torch.nn.Linear(24, 2),
)  # fmt: skip
packed, shapes = pack([x.mean((2, 3)), torch.ones(2, 5, 3)], "b * c")
made = einsum(rearrange(x, "b c h w -> b (h w) c"), repeat(model(x), "b k -> b c k", c=3), "b n c, b c k -> b n k")
loss = (made**2).mean() + reduce(packed, "b n c -> ", "sum") + unpack(packed, shapes, "b * c")[1].sum()
loss.backward()
print(loss.item(), x.grad.abs().sum().item(), [round(p.grad.norm().item(), 5) for p in model.parameters()])
