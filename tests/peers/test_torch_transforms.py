"""Transforms inside transforms: every pair of forward mode, reverse mode and lanes, and some of three, beside torch."""

import itertools
import random

import pytest
import torch

import pullback

pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")

C = [0.5, -1.25, 2.0]
X = [0.3, -0.7, 1.1]


def base(t, x):
    w = t.tensor([[1.0, 0.2, -0.4], [0.3, -1.0, 0.5], [0.7, 0.1, 0.9]], dtype=t.float64)
    return t.sin(w @ x) * x + t.tanh(x).prod()


def clipped(t, x):
    y = t.where(x > 0, x**3, t.exp(x))
    z = t.zeros_like(y)
    z[1:] = y[:2] * y[2]
    return z + y.cumsum(0)


def constant(t):
    return t.tensor(C, dtype=t.float64)


TRANSFORMS = {
    "grad": lambda t, f: t.func.grad(lambda x: (f(x) * constant(t)).sum()),
    "jvp": lambda t, f: lambda x: t.func.jvp(f, (x,), (t.sin(x) + 1,))[1],
    "vmap": lambda t, f: lambda x: t.vmap(lambda s: f(s * x))(constant(t)).sum(0),
    "vmap of its own": lambda t, f: lambda x: t.vmap(lambda a: f(x + a))(x).mean(0),
    "jacrev": lambda t, f: lambda x: t.func.jacrev(f)(x) @ x,
    "jacfwd": lambda t, f: lambda x: t.func.jacfwd(f)(x).sum(0),
    "vjp": lambda t, f: lambda x: t.func.vjp(f, x)[1](t.cos(x))[0],
    "hessian": lambda t, f: lambda x: t.func.hessian(lambda y: (f(y) * constant(t)).sum())(x) @ constant(t),
    "backward": lambda t, f: f,
}


def composed(t, function, names):
    f = lambda x: function(t, x)  # noqa: E731
    for name in names:
        f = TRANSFORMS[name](t, f)
    return f


def result(t, function, names):
    x = t.tensor(X, dtype=t.float64)
    if names[-1] != "backward":
        return composed(t, function, names)(x).tolist()
    x.requires_grad_()
    y = composed(t, function, names)(x)
    (g,) = t.autograd.grad((y * constant(t)).sum(), x, create_graph=True)
    return [y.tolist(), g.tolist(), t.autograd.grad(g.sum(), x)[0].tolist()]


def pairs():
    inner = [n for n in TRANSFORMS if n != "backward"]
    yield from itertools.product(inner, TRANSFORMS)


def threes():
    chosen = random.Random(4)
    inner = [n for n in TRANSFORMS if n != "backward"]
    every = [(*a, b) for a in itertools.product(inner, inner) for b in TRANSFORMS]
    yield from chosen.sample(every, 40)


def close(a, b):
    for p, q in zip(a, b, strict=True):
        if isinstance(p, list):
            close(p, q)
        else:
            assert abs(p - q) <= 1e-9 * abs(q) + 1e-9, (a, b)


@pytest.mark.parametrize("names", [*pairs(), *threes()], ids=" in ".join)
@pytest.mark.parametrize("function", [base, clipped], ids=lambda f: f.__name__)
def test_transforms_of_transforms(function, names) -> None:
    close(result(pullback, function, names), result(torch, function, names))
