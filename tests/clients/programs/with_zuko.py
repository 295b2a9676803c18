"""zuko: flows of several kinds, fitted to points under a condition."""

import torch
import zuko

for flow in (zuko.flows.NSF, zuko.flows.MAF, zuko.flows.NICE):
    torch.manual_seed(0)
    model = flow(2, 1, transforms=2, hidden_features=(8,))
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    x, c = torch.randn(32, 2), torch.randn(32, 1)
    for _ in range(4):
        optimizer.zero_grad()
        loss = -model(c).log_prob(x).mean()
        loss.backward()
        optimizer.step()
        print(flow.__name__, loss.item())
