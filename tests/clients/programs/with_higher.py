"""higher: a gradient through the steps of an optimiser."""

import higher
import torch

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
outer = torch.optim.Adam(model.parameters(), lr=0.01)
inner = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
x, y = torch.randn(10, 4), torch.randn(10, 1)
for _ in range(4):
    outer.zero_grad()
    with higher.innerloop_ctx(model, inner, copy_initial_weights=False) as (copy, steps):
        for _ in range(3):
            steps.step(((copy(x[:5]) - y[:5]) ** 2).mean())
        loss = ((copy(x[5:]) - y[5:]) ** 2).mean()
        loss.backward()
    print(loss.item(), sum(p.grad.norm().item() for p in model.parameters()))
    outer.step()
