"""torch_optimizer: optimisers that PyTorch has not."""

import torch
import torch_optimizer

NAMES = "DiffGrad AdaBound Lamb RAdam Yogi NovoGrad QHAdam SWATS Ranger AdaMod AggMo"

for name in NAMES.split():
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
    optimizer = getattr(torch_optimizer, name)(model.parameters(), lr=0.01)
    x = torch.randn(8, 3)
    for _ in range(8):
        optimizer.zero_grad()
        loss = ((model(x) - x.sum(1, keepdim=True)) ** 2).mean()
        loss.backward()
        optimizer.step()
    print(name, loss.item())
