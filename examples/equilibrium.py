"""Where supply meets demand, found by a solver that nobody differentiates.

The price is a solution of an equation. Its derivative follows from the equation, by the implicit function theorem, so
it does not matter that the solver is bisection in plain Python, called from the compiled function as it is. Nor can the
demand be traced, which is a table read from elsewhere: that one is differentiated by central differences.
"""

import bisect

import numpy as np

from pullback import external, grad, implicit, value_and_grad

PRICES, DEMANDED = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0], [90.0, 70.0, 45.0, 30.0, 22.0, 18.0]


def demanded(price):
    """A cubic through the nearest points of a table."""
    k = min(max(bisect.bisect(PRICES, price) - 2, 0), len(PRICES) - 4)
    nodes, values = PRICES[k : k + 4], DEMANDED[k : k + 4]
    total = 0.0
    for i in range(4):
        weight = 1.0
        for j in range(4):
            if j != i:
                weight *= (price - nodes[j]) / (nodes[i] - nodes[j])
        total += weight * values[i]
    return total


demand = external(demanded, float, differences=True)


def surplus(price, tax, scale):
    """What is offered beyond what is asked for."""
    return scale * np.sqrt(np.maximum(price - tax, 0.0)) - demand(price)


@external
def bisected(tax, scale):
    low, high = tax, 5.0
    while high - low > 1e-14 * high:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if surplus(middle, tax, scale) > 0 else (middle, high)
    return 0.5 * (low + high)


@implicit(surplus)
def equilibrium(tax, scale):
    return bisected(tax, scale)


def main() -> None:
    def revenue(tax, scale):
        return tax * demand(equilibrium(tax, scale))

    step = value_and_grad(equilibrium, argnums=(0, 1))
    print("  tax     price   d/dtax  d/dscale   d(revenue)/dtax")
    for tax in (0.0, 0.5, 1.0, 1.5):
        price, (by_tax, by_scale) = step(tax, 30.0)
        print(f"{tax:5.2f} {price:9.5f} {by_tax:8.5f} {by_scale:9.5f} {grad(revenue)(tax, 30.0):12.4f}")


if __name__ == "__main__":
    main()
