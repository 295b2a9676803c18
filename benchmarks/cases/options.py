"""Black-Scholes: the price of European calls and all their Greeks, option by option."""

from __future__ import annotations

from collections.abc import Iterator

import native
import numpy as np
import peers
from harness import Case
from scipy.special import erf

from pullback import grad, jit, value_and_grad


def normal(x):
    """The distribution function of the standard normal."""
    return 0.5 * (1.0 + erf(x * 0.7071067811865476))


def price(spot, strike, years, rate, volatility):
    spread = volatility * np.sqrt(years)
    d1 = (np.log(spot / strike) + (rate + 0.5 * volatility * volatility) * years) / spread
    return spot * normal(d1) - strike * np.exp(-rate * years) * normal(d1 - spread)


def total(spot, strike, years, rate, volatility):
    """Options do not depend on one another, so the gradient of the sum is every option's own."""
    prices = price(spot, strike, years, rate, volatility)
    return np.sum(prices), prices


def delta_sum(*options):
    return np.sum(grad(total, has_aux=True)(*options)[0])


def price_and_greeks(*options):
    first = value_and_grad(total, argnums=(0, 2, 3, 4), has_aux=True)
    (_, prices), (delta, theta, rho, vega) = first(*options)
    return prices, delta, grad(delta_sum)(*options), rho, vega, -theta


def by_hand(spot, strike, years, rate, volatility):
    root = np.sqrt(years)
    spread = volatility * root
    d1 = (np.log(spot / strike) + (rate + 0.5 * volatility * volatility) * years) / spread
    d2 = d1 - spread
    density = 0.3989422804014327 * np.exp(-0.5 * d1 * d1)
    n1, owed = normal(d1), strike * np.exp(-rate * years) * normal(d2)
    vega = spot * density * root
    theta = -0.5 * vega * volatility / years - rate * owed
    return spot * n1 - owed, n1, density / (spot * spread), years * owed, vega, theta


def options(n: int) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    ranges = ((80, 120), (80, 120), (0.1, 2), (0.01, 0.05), (0.1, 0.5))
    return [rng.uniform(low, high, n) for low, high in ranges]


def by_torch(torch, given):
    tensors = [torch.tensor(v, requires_grad=k != 1) for k, v in enumerate(given)]
    active = [tensors[k] for k in (0, 2, 3, 4)]

    def normal(x):
        return 0.5 * (1.0 + torch.erf(x * 0.7071067811865476))

    def run():
        spot, strike, years, rate, volatility = tensors
        spread = volatility * torch.sqrt(years)
        d1 = (torch.log(spot / strike) + (rate + 0.5 * volatility * volatility) * years) / spread
        prices = spot * normal(d1) - strike * torch.exp(-rate * years) * normal(d1 - spread)
        delta, theta, rho, vega = torch.autograd.grad(prices.sum(), active, create_graph=True)
        gamma = torch.autograd.grad(delta.sum(), spot)[0]
        return prices, delta, gamma, rho, vega, -theta

    return run


def by_jax(jax, given):
    def normal(x):
        return 0.5 * (1.0 + jax.scipy.special.erf(x * 0.7071067811865476))

    def price(spot, strike, years, rate, volatility):
        spread = volatility * jax.numpy.sqrt(years)
        d1 = (jax.numpy.log(spot / strike) + (rate + 0.5 * volatility * volatility) * years) / spread
        return spot * normal(d1) - strike * jax.numpy.exp(-rate * years) * normal(d1 - spread)

    def total(*options):
        prices = price(*options)
        return prices.sum(), prices

    def run(*options):
        first = jax.value_and_grad(total, (0, 2, 3, 4), has_aux=True)
        (_, prices), (delta, theta, rho, vega) = first(*options)
        gamma = jax.grad(lambda *o: jax.grad(total, has_aux=True)(*o)[0].sum())(*options)
        return prices, delta, gamma, rho, vega, -theta

    return peers.by_jax(run, *given)


def cases(size: str) -> Iterator[Case]:
    n = 100 if size == "tiny" else 1_000_000
    given = options(n)
    ours = jit(price_and_greeks)
    ways = {"pullback": lambda: ours(*given), "NumPy": lambda: by_hand(*given)}
    if torch := peers.torch():
        ways["torch"] = by_torch(torch, given)
    if jax := peers.jax():
        ways["jax"] = by_jax(jax, given)
    if c_version := native.kernel("options", n, *given, out=[np.empty(n) for _ in range(6)], returns=None):
        ways |= {"C": c_version, "C, fresh results": c_version.fresh}
    goals = (("jax", 5.0), ("C, fresh results", 1.0))
    yield Case(f"Black-Scholes with all Greeks, {n:,} options f64", ways, "ns/option", 1e9 / n, goals, moved=11 * 8 * n)
