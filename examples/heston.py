"""The price of an option on a stock whose volatility wanders, and all its sensitivities, from one simulation.

A `for` over days with arrays of paths inside. The gradient of the mean payoff costs about as much as two more runs,
for any number of parameters; bumping each of them would cost six.
"""

import numpy as np

from pullback import value_and_grad

NAMES = ("spot", "variance", "pull", "mean", "wander", "rho")
DAYS, PATHS, DT = 126, 2000, 1 / 252


def price(spot, variance, pull, mean, wander, rho, first, second):
    """A call struck at 100 after half a year (Heston's model, the variance cut off at zero)."""
    s = np.full(PATHS, np.log(spot))
    v = np.full(PATHS, variance)
    other = np.sqrt(1 - rho * rho)
    for day in range(DAYS):
        positive = np.maximum(v, 1e-8)
        step = np.sqrt(positive * DT)
        s += step * first[day] - 0.5 * positive * DT
        v += pull * (mean - positive) * DT + wander * step * (rho * first[day] + other * second[day])
    return np.mean(np.maximum(np.exp(s) - 100.0, 0.0))


def main() -> None:
    rng = np.random.default_rng(1)
    first, second = rng.normal(size=(DAYS, PATHS)), rng.normal(size=(DAYS, PATHS))
    given = (100.0, 0.05, 2.0, 0.06, 0.4, -0.6)
    value, slopes = value_and_grad(price, argnums=(0, 1, 2, 3, 4, 5))(*given, first, second)
    print(f"price {value:.4f}")
    for name, at, slope in zip(NAMES, given, slopes, strict=True):
        print(f"  d price / d {name:8s} at {at:6.2f}: {slope:9.4f}")
    # Central differences, with the same random numbers, say the same of the first.
    up, down = (price(given[0] + h, *given[1:], first, second) for h in (1e-3, -1e-3))
    print(f"  spot by differences:           {(up - down) / 2e-3:9.4f}")


if __name__ == "__main__":
    main()
