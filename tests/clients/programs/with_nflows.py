"""nflows: a masked autoregressive flow fitted to points."""

import torch
from nflows.distributions.normal import StandardNormal
from nflows.flows.base import Flow
from nflows.transforms.autoregressive import MaskedAffineAutoregressiveTransform
from nflows.transforms.base import CompositeTransform
from nflows.transforms.permutations import ReversePermutation

torch.manual_seed(0)
steps = []
for _ in range(2):
    steps += [ReversePermutation(features=2), MaskedAffineAutoregressiveTransform(features=2, hidden_features=4)]
flow = Flow(CompositeTransform(steps), StandardNormal([2]))
optimizer = torch.optim.Adam(flow.parameters(), lr=0.01)
x = torch.randn(64, 2) * torch.tensor([1.0, 0.3]) + 1
for _ in range(10):
    optimizer.zero_grad()
    loss = -flow.log_prob(x).mean()
    loss.backward()
    optimizer.step()
    print(loss.item())
print(flow.sample(3).sum().item())
