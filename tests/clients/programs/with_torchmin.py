"""pytorch-minimize: the methods of scipy.optimize on a function of tensors."""

import torch
from torchmin import minimize


def rosen(x):
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


start = torch.tensor([1.3, 0.7, 0.8, 1.9, 1.2], dtype=torch.float64)
for method in ("bfgs", "l-bfgs", "cg", "newton-cg", "newton-exact", "trust-ncg"):
    found = minimize(rosen, start, method=method)
    print(method, round(found.fun.item(), 6), [round(v, 4) for v in found.x.tolist()])
