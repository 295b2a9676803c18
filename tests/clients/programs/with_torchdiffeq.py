"""torchdiffeq: a differential equation fitted through its solver and through the adjoint equation."""

import torch
from torchdiffeq import odeint, odeint_adjoint

torch.manual_seed(0)
field = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2)).double()


class Right(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.field = field

    def forward(self, t, y):
        return self.field(y**3)


times = torch.linspace(0.0, 1.0, 6, dtype=torch.float64)
goal = torch.stack([torch.cos(times), torch.sin(times)], -1)
right = Right()
optimizer = torch.optim.Adam(right.parameters(), lr=0.02)
for solve, method in ((odeint, "dopri5"), (odeint, "rk4"), (odeint_adjoint, "dopri5")):
    for _ in range(3):
        optimizer.zero_grad()
        loss = (solve(right, goal[0], times, method=method) - goal).abs().mean()
        loss.backward()
        optimizer.step()
        print(method, loss.item())
