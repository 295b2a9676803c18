"""torchsde: a stochastic differential equation, and gradients through its solver."""

import torch
import torchsde


class Equation(torch.nn.Module):
    noise_type, sde_type = "diagonal", "ito"

    def __init__(self):
        super().__init__()
        self.rate = torch.nn.Parameter(torch.tensor([0.5, 0.3]))

    def f(self, t, y):
        return -self.rate * y

    def g(self, t, y):
        return 0.1 * torch.ones_like(y)


torch.manual_seed(0)
equation = Equation()
y0 = torch.ones(4, 2)
brownian = torchsde.BrownianInterval(t0=0.0, t1=1.0, size=(4, 2), entropy=7, levy_area_approximation="space-time")
for method in ("euler", "milstein", "srk"):
    equation.zero_grad()
    ys = torchsde.sdeint(equation, y0, torch.linspace(0, 1, 5), bm=brownian, method=method, dt=0.1)
    ys[-1].sum().backward()
    print(method, ys[-1].mean().item(), equation.rate.grad.tolist())
