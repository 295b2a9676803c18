"""Draws that are made of gamma draws are torch's, and so are their gradients, as far as torch has digits there."""

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
import torch

import pullback
from pullback.compiler.ops.scipy.draws import share_slope

FAMILIES: dict[str, Callable[[Any], Any]] = {
    "Beta": lambda t: t.distributions.Beta(t.tensor([0.4, 3.0]), t.tensor([0.4, 1.0])),
    "Dirichlet": lambda t: t.distributions.Dirichlet(t.tensor([[0.5, 1.0, 30.0], [0.01, 0.02, 0.03]])),
    "StudentT": lambda t: t.distributions.StudentT(t.tensor([0.7, 5.0])),
    "Chi2": lambda t: t.distributions.Chi2(t.tensor([1.0, 7.0])),
    "FisherSnedecor": lambda t: t.distributions.FisherSnedecor(3.0, t.tensor([4.0])),
    "InverseGamma": lambda t: t.distributions.InverseGamma(t.tensor([2.0]), 1.0),
    "NegativeBinomial": lambda t: t.distributions.NegativeBinomial(t.tensor([3.0]), 0.4),
    "Binomial": lambda t: t.distributions.Binomial(100, t.tensor([0.4, 0.01])),
    "Poisson": lambda t: t.distributions.Poisson(t.tensor([3.0, 300.0])),
    "VonMises": lambda t: t.distributions.VonMises(t.tensor([0.3, 1.0]), t.tensor([1.0, 0.1])),
    "LKJCholesky": lambda t: t.distributions.LKJCholesky(3, 0.7),
}


@pytest.mark.parametrize("name", FAMILIES)
def test_draws(name: str) -> None:
    made = []
    for t in (pullback, torch):
        t.manual_seed(5)
        made.append([FAMILIES[name](t).sample((40,)).numpy(), t.rand(1).item()])
    np.testing.assert_allclose(made[0][0], made[1][0], rtol=3e-6, atol=1e-30)
    assert made[0][1] == made[1][1]


@pytest.mark.parametrize("a, b", [(0.05, 0.1), (0.5, 0.7), (3.0, 4.0), (20.0, 0.3), (300.0, 400.0)])
def test_slopes_of_shares_are_exact(a: float, b: float) -> None:
    mpmath.mp.dps = 40
    for x in (a / (a + b), 0.7 * a / (a + b), min(1.2 * a / (a + b), 0.999)):
        below = mpmath.diff(lambda a, x=x: mpmath.betainc(a, b, 0, x, regularized=True), a)
        density = mpmath.mpf(x) ** (a - 1) * (1 - mpmath.mpf(x)) ** (b - 1) / mpmath.beta(a, b)
        made = float(share_slope(np.array(x), np.array(a), np.array(b)))
        assert made == pytest.approx(float(-below / density), 1e-13)


def test_gradients_of_shares() -> None:
    made = []
    for t in (pullback, torch):
        t.manual_seed(1)
        a = t.tensor([[0.5, 2.0, 3.0], [20.0, 7.0, 9.0]], dtype=t.float64, requires_grad=True)
        (t.distributions.Dirichlet(a).rsample((50,)) * t.tensor([1.0, -2.0, 0.5])).pow(2).sum().backward()
        b = t.tensor(0.7, dtype=t.float64, requires_grad=True)
        t.distributions.Beta(b, 2.0 * b).rsample((50,)).log().sum().backward()
        made.append(np.append(a.grad.numpy(), b.grad.numpy()))
    np.testing.assert_allclose(*made, rtol=2e-3)
