"""entmax, pytorch-crf, lion, schedulefree, prodigy, msssim, rotary embeddings, averages, warm-up, torchinfo."""

import entmax
import prodigyopt
import pytorch_msssim
import pytorch_warmup
import schedulefree
import torch
import torchcrf
import torchinfo
from ema_pytorch import EMA
from lion_pytorch import Lion
from rotary_embedding_torch import RotaryEmbedding

torch.manual_seed(0)
x = torch.randn(3, 5, requires_grad=True)
for function in (entmax.sparsemax, entmax.entmax15, entmax.entmax_bisect):
    (gradient,) = torch.autograd.grad((function(x, dim=-1) * torch.arange(5.0)).sum(), x)
    print(function.__name__, function(x, dim=-1).tolist()[0], gradient.tolist()[0])
crf = torchcrf.CRF(4, batch_first=True)
emissions, tags = torch.randn(2, 6, 4), torch.randint(4, (2, 6))
loss = -crf(emissions, tags)
loss.backward()
print(loss.item(), crf.transitions.grad.norm().item(), crf.decode(emissions))
for kind in (Lion, schedulefree.AdamWScheduleFree, prodigyopt.Prodigy):
    torch.manual_seed(1)
    model = torch.nn.Linear(3, 2)
    average = EMA(model, beta=0.9, update_every=1)
    optimizer = kind(model.parameters(), lr=0.1)
    warmup = pytorch_warmup.LinearWarmup(optimizer, 4)
    getattr(optimizer, "train", int)()
    for _ in range(5):
        optimizer.zero_grad()
        loss = ((model(torch.ones(2, 3)) - 1) ** 2).sum()
        loss.backward()
        optimizer.step()
        average.update()
        with warmup.dampening():
            pass
    print(kind.__name__, loss.item(), average(torch.ones(1, 3)).tolist())
pictures = torch.rand(2, 1, 32, 32, requires_grad=True)
score = pytorch_msssim.ssim(pictures, torch.rand(2, 1, 32, 32), data_range=1.0)
score.backward()
print(score.item(), pictures.grad.abs().sum().item())
print(RotaryEmbedding(dim=8).rotate_queries_or_keys(torch.randn(1, 2, 3, 8)).sum((0, 1, 2)).tolist())
print(torchinfo.summary(torch.nn.Linear(3, 2), (1, 3), verbose=0).total_params)
